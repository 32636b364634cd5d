"""Names of calls and keywords in Python code that fix a version, see the environment or talk to a server."""

from __future__ import annotations

INSTALLERS = frozenset({"pip_install", "uv_pip_install", "pip", "add_python_packages"})
REQUIREMENTS = frozenset({"install_requires", "setup_requires", "tests_require", "dependencies", "pip"})
PYTHON_VERSIONS = frozenset({"python_version", "add_python"})
INDEXES = frozenset({"index_url", "extra_index_url", "find_links"})
INSTALLER_OPTIONS = "extra_options"
"""Holds options of the installer as one text."""
BASES = frozenset({"from_registry", "from_dockerhub", "from_aws_ecr", "from_gcp_artifact_registry"})
"""Calls that build on an image."""
DEVICE_METHODS = frozenset({"cuda", "from_pretrained", "system", "check_output"})
"""Methods that may use a GPU, or start what does."""
BODIES = frozenset({"extra_body", "extra_args"})
"""Keywords that hold fields of a request."""
