"""One small file of every format that is read: each speaks of vLLM, and all is well with it for 0.33.0."""

from __future__ import annotations

from pathlib import Path

TO = "0.33.0"
_SERVE = "vllm serve m --max-model-len 4096"
_IMAGE = f"vllm/vllm-openai:v{TO}"

FILES = {
    "python/serve.py": "from vllm import LLM\n\nmodel = LLM('m', max_model_len=4096)\n",
    "notebook/serve.ipynb": '{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, '
    '"outputs": [], "source": ["from vllm import LLM\\n", "model = LLM(\'m\', max_model_len=4096)\\n"]}], '
    '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    "shell/serve.sh": f"#!/bin/sh\nset -e\n{_SERVE}\n",
    "dockerfile/Dockerfile": f'FROM {_IMAGE}\nCMD ["--model", "m"]\n',
    "manifest/serve.yaml": f"spec:\n  containers:\n    - image: {_IMAGE}\n      args: [--model=m]\n",
    "compose/compose.yaml": f"services:\n  llm:\n    image: {_IMAGE}\n    command: --model m --max-model-len 4096\n",
    "conda/environment.yml": f"name: x\ndependencies:\n  - python=3.12\n  - pip:\n    - vllm=={TO}\n",
    "chart/Chart.yaml": f"apiVersion: v2\nname: vllm\nversion: 0.1.0\nappVersion: v{TO}\n",
    "chart/values.yaml": f"image:\n  repository: vllm/vllm-openai\n  tag: v{TO}\nargs:\n  - --model=m\n",
    "chart/templates/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n"
    "      containers:\n        - name: vllm\n"
    "          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}\n"
    "          args:\n            {{- toYaml .Values.args | nindent 12 }}\n",
    "json/serve.json": f'{{"image": "{_IMAGE}", "args": ["--model", "m"]}}\n',
    "terraform/main.tf": f'resource "x" "y" {{\n  image = "{_IMAGE}"\n  args  = ["--model", "m"]\n}}\n',
    "toml/pyproject.toml": f"[project]\nname = 'x'\nversion = '1'\ndependencies = ['vllm=={TO}']\n",
    "lock/uv.lock": f'version = 1\n\n[[package]]\nname = "vllm"\nversion = "{TO}"\n',
    "pipfile/Pipfile.lock": f'{{"default": {{"vllm": {{"version": "=={TO}"}}}}}}\n',
    "requirements/requirements.txt": f"vllm=={TO}\n",
    "markdown/README.md": f"# Use\n\n```bash\n{_SERVE}\n```\n",
    "unit/vllm.service": f"[Service]\nExecStart=/usr/bin/{_SERVE}\n",
    "supervisor/supervisord.ini": f"[program:vllm]\ncommand={_SERVE}\n",
    "makefile/Makefile": f"run:\n\t{_SERVE}\n",
    "env/.env": f"VLLM_LOGGING_LEVEL=INFO\nIMAGE={_IMAGE}\n",
    "jenkins/Jenkinsfile": "pipeline {\n  stages {\n    stage('a') {\n      steps {\n"
    f"        sh '{_SERVE}'\n      }}\n    }}\n  }}\n}}\n",
    "template/serve.sh.j2": "#!/bin/sh\nvllm serve {{ model }} --max-model-len 4096\n",
}
"""Folder of a repository and the file's name in it → text."""

QUIET = {
    "quiet/a.py": "import os\n\nprint(os.sep)\n" * 20,
    "quiet-yaml/a.yaml": "a: 1\nb: [x, y]\n",
}
"""Files that say nothing of vLLM."""


def write(folder: Path) -> None:
    """Write all files below a folder, each first folder a repository of its own."""
    for name, text in {**FILES, **QUIET}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (folder / name.partition("/")[0] / ".git").mkdir(exist_ok=True)
