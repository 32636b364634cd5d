"""`python -m vllm_migrate`, and the program `vllm-migrate`: the command line as a process of its own."""

import gc
import sys


def run() -> int:
    """Run the command line and return its exit status, for a process that ends then.

    Nearly all of what a run makes lives until its end: the collector looks seldom, and not once more at the end.
    """
    gc.set_threshold(50_000)
    from vllm_migrate.cli import main

    status = main()
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(run())
