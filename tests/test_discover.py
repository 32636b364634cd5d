"""Which files are read, and what they are called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from vllm_migrate.config import Config
from vllm_migrate.discover import PathError, Walk, find_root, read_inside, triggers

LAUNCH = b"vllm serve m\n"


def put(root: Path, *names: str, content: bytes = LAUNCH) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def names(root: Path, *paths: str, **settings: object) -> list[str]:
    walk = Walk(root, Config(**settings))  # type: ignore[arg-type]
    return [name for name, _ in walk.files([root / p for p in paths or (".",)])]


def test_only_files_that_hold_a_trigger(tmp_path: Path) -> None:
    put(tmp_path, "a.sh", "b/c.yaml")
    put(tmp_path, "env", content=b"VLLM_USE_V1=1\n")
    put(tmp_path, "gpu.sh", content=b"CUDA_VISIBLE_DEVICES=0 serve\n")
    put(tmp_path, "other.sh", content=b"echo hello\n")
    put(tmp_path, "empty", content=b"")
    assert names(tmp_path) == ["a.sh", "b/c.yaml", "env", "gpu.sh"]


def test_hidden_files_are_walked_and_tools_folders_are_not(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".github/workflows/x.yml",
        ".env",
        ".git/hooks/x",
        "node_modules/a/x.sh",
        ".venv/x.sh",
        "vendor/x.sh",
    )
    put(tmp_path, "odd-environment/bin/x.sh")
    put(tmp_path, "odd-environment/pyvenv.cfg", content=b"")
    assert names(tmp_path) == [".env", ".github/workflows/x.yml"]


def test_a_named_path_is_read_although_its_folder_is_skipped(tmp_path: Path) -> None:
    put(tmp_path, "vendor/chart/x.yaml")
    assert names(tmp_path, "vendor/chart") == ["vendor/chart/x.yaml"]
    assert names(tmp_path, "vendor/chart/x.yaml") == ["vendor/chart/x.yaml"]


def test_binary_files_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.bin", "model.safetensors")
    put(tmp_path, "odd", content=b"vllm\0\1\2")
    put(tmp_path, "late", content=b"vllm " * 2000 + b"\0")
    assert names(tmp_path) == []


def test_a_trigger_deep_in_a_long_file_is_found(tmp_path: Path) -> None:
    put(tmp_path, "long.sh", content=b"# filler\n" * 20000 + LAUNCH)
    ((name, raw),) = Walk(tmp_path, Config()).files([tmp_path])
    assert name == "long.sh"
    assert raw.endswith(LAUNCH) and len(raw) == 9 * 20000 + len(LAUNCH)


def test_paths_may_overlap(tmp_path: Path) -> None:
    put(tmp_path, "a/x.sh", "b.sh")
    assert names(tmp_path, "a/x.sh", "a", ".") == ["a/x.sh", "b.sh"]


def test_excludes(tmp_path: Path) -> None:
    put(tmp_path, "a/x.sh", "attic/y.sh", "a/z.md", "vendor/v.sh")
    assert names(tmp_path, extend_exclude=("attic", "*.md")) == ["a/x.sh"]
    assert names(tmp_path, exclude=("a/",)) == ["attic/y.sh", "vendor/v.sh"]
    walk = Walk(tmp_path, Config(extend_exclude=("attic",)))
    assert list(walk.files([tmp_path / "attic" / "y.sh"])) == []
    assert "excludes it" in walk.notices[0]


def test_symbolic_links(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(root, "real/x.sh")
    put(outside, "secret.sh")
    (root / "link.sh").symlink_to(root / "real" / "x.sh")
    (root / "away.sh").symlink_to(outside / "secret.sh")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    assert names(root) == ["real/x.sh"]
    assert names(root, "link.sh") == ["real/x.sh"], "a named link inside the tree is read under its own name"
    walk = Walk(root, Config())
    assert list(walk.files([root / "away.sh", root / "folder"])) == []
    assert len(walk.notices) == 2
    assert read_inside(root, "away.sh") is None
    assert read_inside(root, "../outside/secret.sh") is None
    assert read_inside(root, "link.sh") == LAUNCH
    assert read_inside(root, "none.sh") is None


def test_special_files_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    put(tmp_path, "x.sh")
    assert names(tmp_path) == ["x.sh"]


def test_missing_and_unreadable_paths(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="none: No such file"):
        names(tmp_path, "none")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(PathError, match="dangling: No such file"):
        names(tmp_path, "dangling")


def test_ignore_files_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    put(tmp_path, ".gitignore", content=b"# logs\n*.log\n/out/\n!keep.log\nsub/*.tmp\n")
    put(tmp_path, "b/.gitignore", content=b"*.sh\n!main.sh\n")
    put(tmp_path, ".git/info/exclude", content=b"private*\n")
    put(
        tmp_path,
        "a.log",
        "keep.log",
        "out/x.sh",
        "deep/out/x.sh",
        "sub/x.tmp",
        "sub/deep/x.tmp",
        "b/x.sh",
        "b/main.sh",
    )
    put(tmp_path, "private.sh", "b/c/x.sh", "b/c/main.sh", "c.sh", "sub/y.log")
    shown = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = [n for n in shown.stdout.split() if LAUNCH in (tmp_path / n).read_bytes()]
    assert sorted(names(tmp_path, ".")) == sorted(wanted)
    assert "b/c/main.sh" in wanted and "out/x.sh" not in wanted
    assert names(tmp_path, "b") == ["b/c/main.sh", "b/main.sh"]
    assert names(tmp_path / "b") == ["c/main.sh", "main.sh"], "files above the root count too"
    assert names(tmp_path, "a.log") == ["a.log"], "a named file is read"


def test_the_root(tmp_path: Path) -> None:
    top = tmp_path / "top"
    put(top, "a/b/x.sh", "a/y.sh", "c/.vllm-migrate.yaml", "c/d/z.sh")
    (top / ".git").mkdir()
    assert find_root([Path("a/b/x.sh")], top) == top
    assert find_root([], top / "a" / "b") == top
    assert find_root([Path("c/d")], top) == top / "c"
    assert find_root([Path("c/d/z.sh"), Path("a")], top) == top
    assert find_root([Path("c")], top) == top / "c"


def test_the_root_without_any_mark(tmp_path: Path) -> None:
    put(tmp_path, "a/b/x.sh")
    assert find_root([Path("a/b/x.sh")], tmp_path) == tmp_path
    assert find_root([tmp_path / "a" / "b"], tmp_path / "a") == tmp_path / "a"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert find_root([tmp_path / "a" / "b" / "x.sh"], elsewhere) == tmp_path / "a" / "b"


def test_wrappers_bring_their_own_triggers(tmp_path: Path) -> None:
    wrappers = tmp_path / "w.json"
    wrappers.write_text(
        '{"format": 1, "wrappers": [{"id": "ours", "title": "our server", "programs": [["serve-llm"]],'
        ' "callables": {"corp.serving.build": "LLM"}}]}'
    )
    found = triggers(Config(wrappers=(wrappers,)))
    assert {b"vllm", b"serve-llm", b"build"} <= set(found)


def test_counts_what_was_looked_at(tmp_path: Path) -> None:
    put(tmp_path, "a.sh", "b.sh")
    put(tmp_path, "c.txt", content=b"nothing")
    walk = Walk(tmp_path, Config())
    assert len(list(walk.files([tmp_path]))) == 2
    assert walk.looked_at == 3
