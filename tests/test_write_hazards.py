"""What can go wrong while files are written: full disks, links, locks, other writers, ends of the process."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vllm_migrate import write
from vllm_migrate.write import WriteError, create, other_names, replace, replace_all, save

OLD, NEW = b"old\n", b"new\n"
ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.sh", "b.sh", "c.sh"):
        (tmp_path / name).write_bytes(OLD)
    return tmp_path


def everything(tree: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(tree.iterdir()) if path.is_file()}


@contextlib.contextmanager
def small() -> Iterator[None]:
    """No file of this process may grow beyond 64 bytes: not even the one that the result of a test goes to."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_no_room_leaves_no_trace(tree: Path) -> None:
    with small(), pytest.raises(WriteError, match="too large"):
        replace(tree / "a.sh", OLD, b"x" * 100)
    with small(), pytest.raises(WriteError, match="too large"):
        save(tree / "notes", b"x" * 100)
    with small(), pytest.raises(WriteError, match="too large"):
        create(tree / "known.json", b"x" * 100)
    with small(), pytest.raises(WriteError, match="too large"):
        write.create_all(tree / "out", {"1.patch": b"x", "2.patch": b"x" * 100})
    assert everything(tree) == {"a.sh": OLD, "b.sh": OLD, "c.sh": OLD}
    assert not (tree / "out").exists()


def test_no_room_for_one_file_of_a_change_leaves_all_of_it(tree: Path) -> None:
    a, b, c = (tree / name for name in ("a.sh", "b.sh", "c.sh"))
    texts = {a: (OLD, NEW), b: (OLD, b"x" * 100), c: (OLD, NEW)}
    with small():
        refused = replace_all(texts, [{a, b}], tree)
    assert set(refused) == {a, b}
    assert everything(tree) == {"a.sh": OLD, "b.sh": OLD, "c.sh": NEW}


@pytest.mark.skipif(not ROOT or sys.platform != "linux", reason="mounts a small disk")
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "a.sh").write_bytes(OLD)
        with pytest.raises(WriteError, match="No space left"):
            replace(disk / "a.sh", OLD, b"x" * 200_000)
        assert everything(disk) == {"a.sh": OLD}
    finally:
        subprocess.run(["umount", str(disk)], check=False)


@pytest.mark.skipif(not ROOT or sys.platform != "linux", reason="mounts a file")
def test_a_file_that_is_a_mount_of_its_own(tree: Path) -> None:
    if subprocess.run(["mount", "--bind", str(tree / "a.sh"), str(tree / "b.sh")], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(WriteError, match=r"b\.sh: .*busy.*not written"):
            replace(tree / "b.sh", OLD, NEW)
    finally:
        subprocess.run(["umount", str(tree / "b.sh")], check=False)
    assert everything(tree) == {"a.sh": OLD, "b.sh": OLD, "c.sh": OLD}


def test_other_names_keep_the_old_text(tree: Path) -> None:
    os.link(tree / "a.sh", tree / "other")
    assert other_names([tree / "a.sh", tree / "b.sh"]) == [tree / "a.sh"]
    replace(tree / "a.sh", OLD, NEW)
    assert (tree / "other").read_bytes() == OLD
    assert (tree / "a.sh").stat().st_nlink == 1


def test_the_longest_of_names(tree: Path) -> None:
    path = tree / ("n" * 252 + ".sh")
    path.write_bytes(OLD)
    replace(path, OLD, NEW)
    assert path.read_bytes() == NEW


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_attributes_stay(tree: Path) -> None:
    try:
        os.setxattr(tree / "a.sh", "user.origin", b"here")
    except OSError:
        pytest.skip("the file system has none")
    replace(tree / "a.sh", OLD, NEW)
    assert os.getxattr(tree / "a.sh", "user.origin") == b"here"


ACL = "system.posix_acl_access"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
@pytest.mark.parametrize(
    ("name", "number", "lost"),
    [
        (ACL, errno.EPERM, True),
        ("user.origin", errno.ENOSPC, True),
        ("user.origin", errno.ENODATA, False),
        ("security.selinux", errno.EPERM, False),
        ("trusted.md5sum", errno.EPERM, False),
    ],
)
def test_an_attribute_that_would_be_lost_is_a_reason(
    tree: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, lost: bool
) -> None:
    monkeypatch.setattr(os, "listxattr", lambda path: [name] if str(path).endswith(".sh") else [])
    monkeypatch.setattr(os, "getxattr", lambda *_: b"")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "setxattr", refuse)
    if lost:
        with pytest.raises(WriteError, match=f"its attribute {name} would not stay"):
            replace(tree / "a.sh", OLD, NEW)
    else:
        replace(tree / "a.sh", OLD, NEW)
    assert everything(tree) == {"a.sh": OLD if lost else NEW, "b.sh": OLD, "c.sh": OLD}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_rights_that_a_folder_gives_do_not_come_to_a_file_without(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"a.sh": ["user.origin"], "b.sh": ["user.origin", ACL]}
    given = ["user.origin", ACL, "security.selinux"]
    gone: list[str] = []

    def remove(_: str, name: str) -> None:
        gone.append(name)

    monkeypatch.setattr(os, "listxattr", lambda path: here.get(Path(path).name, given))
    monkeypatch.setattr(os, "getxattr", lambda *_: b"")
    monkeypatch.setattr(os, "setxattr", lambda *_: None)
    monkeypatch.setattr(os, "removexattr", remove)
    replace(tree / "a.sh", OLD, NEW)
    assert gone == [ACL]
    replace(tree / "b.sh", OLD, NEW)
    assert gone == [ACL]


def test_nothing_is_renamed_before_it_is_on_the_disk(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tree / "a.sh", tree / "b.sh"
    done: list[str] = []
    real_sync, real_rename = os.fsync, os.replace

    def sync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_sync(handle)

    def rename(old: str, new: Path) -> None:
        done.append("rename")
        real_rename(old, new)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    assert replace_all(dict.fromkeys((a, b), (OLD, NEW)), [{a, b}], tree) == {}
    assert done == ["file", "file", "rename", "rename", "folder"]


def test_what_a_killed_run_left_long_ago_goes(tree: Path) -> None:
    for name in (".vllm-migrate-1.tmp", ".vllm-migrate-2.tmp", ".vllm-migrate-3", "mine.tmp"):
        (tree / name).write_bytes(b"")
        os.utime(tree / name, (0, 0))
    os.utime(tree / ".vllm-migrate-2.tmp")
    (tree / ".vllm-migrate-4.tmp").mkdir()
    os.utime(tree / ".vllm-migrate-4.tmp", (0, 0))
    replace_all({tree / "a.sh": (OLD, NEW)}, [], tree)
    left = {path.name for path in tree.iterdir()} - {"a.sh", "b.sh", "c.sh"}
    assert left == {".vllm-migrate-2.tmp", ".vllm-migrate-3", ".vllm-migrate-4.tmp", "mine.tmp"}


def test_a_signal_waits_and_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: got.append("came"))
    try:
        with write.unbroken():
            signal.raise_signal(signal.SIGTERM)
            got.append("written")
        assert got == ["written", "came"]
        signal.raise_signal(signal.SIGTERM)
        assert got == ["written", "came", "came"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_files_of_our_own_are_new_or_none(tree: Path) -> None:
    (tree / "out").mkdir()
    (tree / "out" / "2.patch").write_bytes(b"mine")
    with pytest.raises(WriteError, match=r"2\.patch: File exists, not written"):
        write.create_all(tree / "out", {"1.patch": b"x", "2.patch": b"x"})
    assert everything(tree / "out") == {"2.patch": b"mine"}
    with pytest.raises(WriteError):
        write.create_all(tree / "deep" / "er", {"1.patch": b"x", "2/3.patch": b"x"})
    assert not (tree / "deep").exists()
    made = write.create_all(tree / "deep" / "er", {"2.patch": b"x", "1.patch": b"y"})
    assert [p.name for p in made] == ["2.patch", "1.patch"]
    assert everything(tree / "deep" / "er") == {"1.patch": b"y", "2.patch": b"x"}
    assert write.create_all(tree / "deep", {}) == []


def test_what_is_private_is_for_its_owner_alone(tree: Path) -> None:
    save(tree / "deep" / "notes", b"1")
    save(tree / "deep" / "notes", b"2")
    assert (tree / "deep" / "notes").read_bytes() == b"2"
    assert stat.S_IMODE((tree / "deep" / "notes").stat().st_mode) == 0o600
    save(tree / "known", b"1", private=False)
    assert stat.S_IMODE((tree / "known").stat().st_mode) & 0o600 == 0o600
    with pytest.raises(WriteError, match="No such file"):
        save(tree / "none" / "known", b"1", private=False)


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o755, 0o4755, 0o2755, 0o1777])
def test_every_mode_stays(tree: Path, mode: int) -> None:
    path = tree / "a.sh"
    path.chmod(mode)
    if not ROOT and not mode & 0o200:
        pytest.skip("only the superuser writes what is read-only")
    replace(path, OLD, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("what", ["changed", "gone", "link", "folder", "pipe"])
def test_what_happens_between_reading_and_renaming(tree: Path, what: str) -> None:
    path = tree / "a.sh"
    ready = write.prepare(path, OLD, NEW)
    path.unlink()
    if what == "changed":
        path.write_bytes(b"mine\n")
    elif what == "link":
        path.symlink_to(tree / "b.sh")
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    with pytest.raises(WriteError, match=r"a\.sh: .*not written"):
        write.finish(ready, OLD)
    assert (tree / "b.sh").read_bytes() == OLD
    assert not list(tree.glob(".vllm-migrate-*"))
    assert path.exists() == (what != "gone")


def test_one_that_changes_late_takes_the_others_of_its_change_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (tree / name for name in ("a.sh", "b.sh", "c.sh"))
    real = write.finish

    def finish(ready: tuple[Path, str], before: bytes) -> None:
        if ready[0] == b:
            b.write_bytes(b"mine\n")
        real(ready, before)

    monkeypatch.setattr(write, "finish", finish)
    refused = replace_all(dict.fromkeys((a, b, c), (OLD, NEW)), [{a, b}], tree)
    assert set(refused) == {a, b}
    assert everything(tree) == {"a.sh": OLD, "b.sh": b"mine\n", "c.sh": NEW}


def test_two_writers_at_once(tree: Path) -> None:
    paths = []
    for n in range(40):
        path = tree / f"{n}.sh"
        path.write_bytes(OLD)
        paths.append(path)
    first, second = b"first\n" * 500, b"second\n" * 500
    refused: list[dict[Path, str]] = []

    def write_all(text: bytes) -> None:
        refused.append(replace_all(dict.fromkeys(paths, (OLD, text)), [], tree))

    threads = [threading.Thread(target=write_all, args=(text,)) for text in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.read_bytes() for path in paths} <= {first, second}
    assert all("changed while" in why for many in refused for why in many.values())
    assert not list(tree.glob(".vllm-migrate-*"))


PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from vllm_migrate import write
# A shell's background job ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
real = write.finish
def finish(ready, before):
    real(ready, before)
    print("one", flush=True)
    time.sleep(0.2)
write.finish = finish
tree = Path(sys.argv[1])
paths = [tree / name for name in ("a.sh", "b.sh", "c.sh")]
try:
    write.replace_all({p: (b"old\\n", b"new\\n") for p in paths}, [], tree)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_comes_when_all_files_are_written(tree: Path, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(tree)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "one\n"
        child.send_signal(number)
        child.stdout.read()
    assert child.returncode in (130, -number)
    assert everything(tree) == {"a.sh": NEW, "b.sh": NEW, "c.sh": NEW}


def test_killed_in_between_leaves_whole_files(tree: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(tree)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "one\n"
        child.kill()
    assert everything(tree) == {"a.sh": NEW, "b.sh": OLD, "c.sh": OLD}


@pytest.mark.skipif(not ROOT, reason="becomes another user")
@pytest.mark.parametrize("what", ["file", "folder", "owner"])
def test_without_the_right_to_write(tmp_path: Path, what: str) -> None:
    # A folder that other users may enter.
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        tree = Path(name)
        tree.chmod(0o777 if what != "folder" else 0o755)
        path = tree / "a.sh"
        path.write_bytes(OLD)
        path.chmod(0o666 if what != "file" else 0o644)
        program = textwrap.dedent("""
            import os, sys
            from pathlib import Path
            from vllm_migrate import write
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            try:
                write.replace(Path(sys.argv[1]), b"old\\n", b"new\\n")
            except write.WriteError as error:
                print(error)
        """)
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
        assert "not written" in done.stdout, done.stderr
        assert everything(tree) == {"a.sh": OLD}
