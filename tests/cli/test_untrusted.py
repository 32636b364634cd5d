"""What somebody else's repository may hold: pipes, devices, links and names that lead out, folders without end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standin import Run

STALE = "vllm serve m --swap-space 4\n"
CHECK = ("check", "--to", "0.33.0", "--output-format", "concise")


@pytest.fixture(autouse=True)
def watch() -> Iterator[None]:
    """End a run that waits for something."""

    def late(*_: object) -> None:
        raise TimeoutError("the run waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def tree(here: Path) -> Path:
    repository = here / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "run.sh").write_text(STALE)
    return repository


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


ODD = [pipe, endless, loop]


@pytest.mark.parametrize("make", [pipe, listener, loop], ids=lambda f: f.__name__)
def test_a_path_that_is_no_file_is_refused(
    real: Run, tree: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tree)
    make(Path("x.sh"))
    done = real(*CHECK, "x.sh")
    assert done.status == 2
    assert "x.sh" in done.err


@pytest.mark.parametrize("make", [pipe, endless], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "name",
    [
        "x.sh", ".gitignore", "deep/.gitignore", "values.yaml", "config.yaml", "requirements-more.txt", ".env",
        "kustomization.yaml", "Chart.yaml", "base.yaml", ".git/index", ".git/info/exclude", ".git/config", "sub/.git",
    ],
)  # fmt: skip
def test_nothing_odd_in_the_tree_is_opened(
    real: Run, tree: Path, make: Callable[[Path], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    (tree / "deep").mkdir()
    (tree / "deep/more.sh").write_text("vllm serve m --config config.yaml\nvllm serve m --config ../config.yaml\n")
    (tree / "requirements.txt").write_text("vllm==0.9.0\n-r requirements-more.txt\n-r x.sh\n-c values.yaml\n")
    (tree / "compose.yaml").write_text(
        "services:\n  a:\n    image: vllm/vllm-openai:v0.9.0\n    env_file: .env\n"
        "    extends: {file: base.yaml, service: a}\n"
    )
    (tree / "sub").mkdir()
    (tree / "sub/run.sh").write_text(STALE)
    (tree / "templates").mkdir()
    (tree / "templates/a.yaml").write_text(
        "kind: Pod\nspec:\n  containers:\n  - args: [--swap-space, '{{ .Values.vllm }}']\n"
    )
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    done = real("fix", "--to", "0.33.0", "--output-format", "concise", ".")
    assert done.status in (0, 1), done.err
    assert "went wrong" not in done.err
    assert (tree / "run.sh").read_text() == "vllm serve m\n"


@pytest.mark.parametrize("make", ODD, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [".vllm-migrate.yaml", "pyproject.toml"])
def test_a_configuration_that_is_no_file(real: Run, tree: Path, make: Callable[[Path], None], name: str) -> None:
    make(tree / name)
    done = real(*CHECK, "repository")
    assert done.status in (1, 2)
    assert "went wrong" not in done.err
    named = real(*CHECK, "--config", f"repository/{name}", "repository")
    assert named.status == 2
    assert name in named.err


@pytest.mark.parametrize("make", ODD, ids=lambda f: f.__name__)
@pytest.mark.parametrize("key", ["baseline", "migrations", "wrappers", "catalog"])
def test_data_that_is_no_file(real: Run, tree: Path, make: Callable[[Path], None], key: str) -> None:
    make(tree / "data.json")
    (tree / ".vllm-migrate.yaml").write_text(f"{key}: data.json\n")
    done = real(*CHECK, "repository")
    assert done.status == 2
    assert "data.json" in done.err
    assert "went wrong" not in done.err


@pytest.mark.parametrize("name", [".vllm-migrate.yaml", "pyproject.toml"])
def test_a_configuration_that_leads_outside_is_not_read(real: Run, tree: Path, name: str) -> None:
    secret = tree.parent / "secret"
    secret.write_text("hush: vllm-migrate tool\n[tool.vllm-migrate]\nhush=\n")
    (tree / name).symlink_to(secret)
    done = real(*CHECK, "repository")
    assert done.status == (2 if name == ".vllm-migrate.yaml" else 1)
    assert "hush" not in done.err + done.out.decode()
    assert done.status == 1 or "symbolic link" in done.err


@pytest.mark.parametrize(
    "link",
    [
        "-r ../secret.txt\n", "-r /SECRET\n", "-c link.txt\n", "-r ./sub/../../secret.txt\n", "-r folder/secret.txt\n",
        "-r ../../../../../../../../../../etc/passwd\n",
    ],
)  # fmt: skip
def test_nothing_outside_the_root_is_read(real: Run, tree: Path, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tree.parent / "secret.txt"
    secret.write_text("vllm==0.1.0\n")
    (tree / "link.txt").symlink_to(secret)
    (tree / "folder").symlink_to(tree.parent)
    (tree / "requirements.txt").write_text(link.replace("/SECRET", str(secret)))
    (tree / "kustomization.yaml").write_text("resources: [../../.., ../secret.txt, folder, /etc, link.txt]\n# vllm\n")
    (tree / "serve.sh").write_text("vllm serve m --config ../secret.txt\nvllm serve m --config folder/secret.yaml\n")
    seen: list[str] = []
    real_open, real_os_open, real_list = open, os.open, os.listdir

    def opened(path: object, *rest: object, **named: object) -> object:
        seen.append(os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else "")
        return real_os_open(path, *rest, **named)  # type: ignore[arg-type, call-overload]

    def listed(path: object = ".") -> object:
        seen.append(os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else "")
        return real_list(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "listdir", listed)
    done = real(*CHECK, "repository")
    assert done.status == 1
    assert real_open is open
    outside = [s for s in seen if s == str(secret) or s.startswith("/etc") or s == str(tree.parent)]
    assert not outside
    assert b"0.1.0" not in done.out


def test_folders_without_end(real: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getcwd()
    monkeypatch.chdir(tree)
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(here)
    done = real(*CHECK, "repository")
    # Python's own means of removing it go as deep as the folders do.
    subprocess.run(["rm", "-rf", str(tree / "d")], check=True)
    assert done.status == 1
    assert b"run.sh:1" in done.out
    assert "folders deep" in done.err


def test_an_unfinished_file_of_a_killed_run_is_passed_over_and_removed(real: Run, tree: Path) -> None:
    left = tree / ".vllm-migrate-0123456789abcdef.tmp"
    left.write_text("#!/bin/sh\n" + STALE)
    out = real(*CHECK, "repository").out
    assert b"run.sh:1" in out
    assert b".tmp" not in out
    assert left.exists()
    os.utime(left, (1, 1))
    real("fix", "--to", "0.33.0", "repository")
    assert not left.exists()
