"""`python -m vllm_migrate`."""

import sys

from vllm_migrate.cli import main

if __name__ == "__main__":
    sys.exit(main())
