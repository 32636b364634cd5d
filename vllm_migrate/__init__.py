"""vllm-migrate: moves vLLM launches from one release to another as small reviewable diffs."""

__version__ = "0.1.0"
