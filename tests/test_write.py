"""Files are replaced whole or left as they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vllm_migrate.write import WriteError, create, replace, replace_all


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old\r\n")
    path.chmod(0o751)
    return path


def test_replaces_and_keeps_mode_and_owner(file: Path) -> None:
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    before = file.stat()
    replace(file, b"old\r\n", b"\xef\xbb\xbfnew")
    after = file.stat()
    assert file.read_bytes() == b"\xef\xbb\xbfnew"
    assert stat.S_IMODE(after.st_mode) == 0o751
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert os.listdir(file.parent) == ["run.sh"]


def test_refuses_a_file_that_changed(file: Path) -> None:
    with pytest.raises(WriteError, match="changed while"):
        replace(file, b"other", b"new")
    assert file.read_bytes() == b"old\r\n"


def test_refuses_a_symbolic_link(file: Path) -> None:
    link = file.parent / "link.sh"
    link.symlink_to(file)
    with pytest.raises(WriteError, match="symbolic link"):
        replace(link, b"old\r\n", b"new")
    assert file.read_bytes() == b"old\r\n"
    assert link.is_symlink()


def test_refuses_a_file_that_a_folder_link_puts_outside_the_root(file: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "away").symlink_to(tmp_path)
    with pytest.raises(WriteError, match="outside"):
        replace(root / "away" / "run.sh", b"old\r\n", b"new", root=root)
    assert file.read_bytes() == b"old\r\n"


def test_a_failure_leaves_no_trace(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(WriteError, match="No space left"):
        replace(file, b"old\r\n", b"new")
    assert file.read_bytes() == b"old\r\n"
    assert os.listdir(file.parent) == ["run.sh"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anything")
def test_refuses_a_read_only_file(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        replace(file, b"old\r\n", b"new")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"none\.sh"):
        replace(tmp_path / "none.sh", b"", b"new")
    with pytest.raises(WriteError):
        replace(tmp_path, b"", b"new")


def test_create_makes_or_replaces(tmp_path: Path) -> None:
    create(tmp_path / "known.json", b"1")
    create(tmp_path / "known.json", b"2")
    assert (tmp_path / "known.json").read_bytes() == b"2"
    with pytest.raises(WriteError, match="No such file"):
        create(tmp_path / "no" / "known.json", b"1")


def test_files_that_change_together_change_together_or_not_at_all(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in "abcd"}
    for path in paths.values():
        path.write_bytes(b"old")
    texts = dict.fromkeys(paths.values(), (b"old", b"new"))
    texts[paths["a"]] = (b"other", b"new")
    together = [{paths["b"], paths["c"]}, {paths["a"], paths["b"]}, {paths["d"]}]
    refused = replace_all(texts, together, tmp_path)
    assert {path.name for path in refused} == {"a", "b", "c"}
    assert "changed while" in refused[paths["a"]]
    assert [path.read_bytes() for path in paths.values()] == [b"old", b"old", b"old", b"new"]
