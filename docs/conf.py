"""Settings of the documentation. The pages under `reference/` are written from the data before each build."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # noqa: E402

from vllm_migrate import __version__  # noqa: E402

generate.write(HERE / "reference")

project = "vllm-migrate"
author = "the vllm-migrate authors"
project_copyright = author
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
# CONTRIBUTING.md is included as it stands; its links are those of a repository.
exclude_patterns = ["_build", "README.md"]
# `--swap-space` is an option, not a word between dashes.
smartquotes = False
nitpicky = True

html_theme = "furo"
pygments_style = "default"
pygments_dark_style = "monokai"
html_title = f"vllm-migrate {__version__}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
