"""Which host reads a file, by its name and first line."""

from __future__ import annotations

import pytest

from vllm_migrate.hosts import host
from vllm_migrate.hosts.claims import CLAIMS, filled_host, host_name


@pytest.mark.parametrize(
    ("path", "head", "name"),
    [
        ("Dockerfile", "FROM x", "dockerfile"),
        ("docker/Dockerfile.rocm", "FROM x", "dockerfile"),
        ("vllm.Dockerfile", "FROM x", "dockerfile"),
        ("Containerfile", "FROM x", "dockerfile"),
        ("build", "# syntax=docker/dockerfile:1", "dockerfile"),
        ("Dockerfile.md", "FROM x", "markdown"),
        (".dockerignore", "FROM x", ""),
        ("docker-compose.yml", "", "yaml"),
        ("requirements.txt", "", "requirements"),
        ("requirements-gpu.txt", "", "requirements"),
        ("dev-requirements.in", "", "requirements"),
        ("requirements/cuda.txt", "", "requirements"),
        ("constraints.txt", "", "requirements"),
        ("notes.txt", "", ""),
        ("notes.txt", "#!/usr/bin/python", ""),
        ("requirements.md", "", "markdown"),
        ("requirements.yaml", "", "yaml"),
        ("pyproject.toml", "", "toml"),
        ("Pipfile", "", "toml"),
        ("app/uv.lock", "", "toml"),
        ("Pipfile.lock", "", "lockfile"),
        ("chart/templates/_helpers.tpl", "", "helm"),
        ("chart/templates/deployment.yaml", "", "yaml"),
        ("chart/templates/serve.py.tpl", "", "terraform"),
        ("values.yaml.gotmpl", "", "yaml"),
        ("a.json5", "", "json"),
        ("package-lock.json", "", ""),
        ("main.tf", "", "terraform"),
        ("user_data.sh.tpl", "", "terraform"),
        (".terraform.lock.hcl", "", ""),
        ("ci/Jenkinsfile.gpu", "", "groovy"),
        ("deploy/vllm.service", "[Unit]", "ini"),
        ("vllm@.service", "", "ini"),
        ("vllm.container", "", "ini"),
        ("vllm.service.d/override.conf", "[Service]", "ini"),
        ("supervisord.conf", "[supervisord]", "ini"),
        ("a.ini", "[program:vllm]", "ini"),
        ("setup.cfg", "", "ini"),
        ("nginx.conf", "server {", ""),
        (".env", "", "envfile"),
        (".env.prod", "", "envfile"),
        ("vllm.env", "", "envfile"),
        (".env.example", "", "envfile"),
        ("etc/sysconfig/vllm", "", "envfile"),
        ("env.py", "", "python"),
        ("Makefile", "", "makefile"),
        ("build/rules.mk", "", "makefile"),
        ("justfile", "", "makefile"),
        ("Makefile.gpu", "", "makefile"),
        ("make.py", "", "python"),
        ("run.sh.j2", "", "template"),
        ("vllm.service.j2", "", "template"),
        ("launch.J2", "", "template"),
        ("index.html.j2", "", ""),
        ("README.rst", "", "markdown"),
        ("a/b.py", "", "python"),
        ("bin/run", "#!/usr/bin/env python3", "python"),
        ("run.py", "#!/usr/bin/env bash", "python"),
        ("a.sh", "#!/bin/bash", "shell"),
        ("a/run.sh", "", "shell"),
        ("job.sbatch", "", "shell"),
        ("entrypoint", "#!/usr/bin/env bash", "shell"),
        ("x", "#!/bin/sh -e", "shell"),
        ("x", "#!/usr/bin/perl", ""),
        (".bashrc", "", "shell"),
        ("nb.ipynb", "", "notebook"),
        ("main.go", "", ""),
    ],
)
def test_the_host_of_a_file(path: str, head: str, name: str) -> None:
    assert host_name(path, head) == name


def test_a_template_is_read_as_what_it_gives() -> None:
    assert filled_host("deploy/run.sh.j2", "") == "shell"
    assert filled_host("deploy/vllm.service.tmpl", "") == "ini"
    assert filled_host("page.html.j2", "") == ""


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_has_a_host(name: str) -> None:
    module = host(name)
    assert module is not None
    assert name == module.NAME
