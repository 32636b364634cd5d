"""Archives and folders that would lead out, wait, or fill the disk and the memory: refused, nothing unpacked."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_migrate.catalog import source
from vllm_migrate.catalog.source import MineError, Tree
from vllm_migrate.cli import main

INIT = ("vllm/__init__.py", b"")
Member = tuple[str, bytes]


def tar(path: Path, *members: Member | tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def wheel(path: Path, *members: Member | tuple[zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def odd(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.fixture
def only(tmp_path: Path) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        assert [p.name for p in tmp_path.iterdir()] == [path.name], "something was unpacked"

    return check


def test_a_tar_that_leads_out(tmp_path: Path, only: Callable[[Path], None]) -> None:
    path = tar(
        tmp_path / "vllm-0.99.0.tar.gz", ("v/vllm/__init__.py", b""),
        ("v/../../out.py", b"x"), (f"{tmp_path}/in.py", b"x"), ("v/vllm/../../../up.py", b"x"),
        odd("v/vllm/envs.py", tarfile.SYMTYPE, "/etc/passwd"),
        odd("v/vllm/hard.py", tarfile.LNKTYPE, "/etc/passwd"), odd("v/vllm/device.py", tarfile.CHRTYPE),
        odd("v/vllm/pipe.py", tarfile.FIFOTYPE), ("v/vllm/new\nline\x1b.py", b"x"),
    )  # fmt: skip
    tree = Tree(path)
    assert tree.names(r".*[a-z]\.py") == []
    assert tree.read("vllm/envs.py") == ""
    only(path)


def test_a_wheel_that_leads_out(tmp_path: Path, only: Callable[[Path], None]) -> None:
    link = zipfile.ZipInfo("vllm/envs.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = wheel(tmp_path / "a.whl", INIT, ("../out.py", b"x"), ("/tmp/in.py", b"x"), (link, b"/etc/passwd"))
    tree = Tree(path)
    assert tree.names(r".*[a-z]\.py") == []
    assert tree.read("vllm/envs.py") == ""
    only(path)


@pytest.mark.parametrize("ends", [".tar.gz", ".whl"])
@pytest.mark.parametrize("how", ["short", "garbage", "flipped", "empty"])
def test_a_damaged_archive(tmp_path: Path, ends: str, how: str) -> None:
    text = os.urandom(2_000).hex().encode()
    make = tar if ends == ".tar.gz" else wheel
    path = make(tmp_path / f"a{ends}", ("v/vllm/__init__.py", b""), ("vllm/envs.py", text))
    raw = path.read_bytes()
    middle = len(raw) // 2
    path.write_bytes(
        {"short": raw[:middle], "garbage": b"\x1f\x8b\x08" + os.urandom(99), "empty": b""}.get(
            how, raw[:middle] + bytes(b ^ 255 for b in raw[middle : middle + 40]) + raw[middle + 40 :]
        )
    )
    with pytest.raises(MineError):
        Tree(path)


def test_an_encrypted_wheel(tmp_path: Path) -> None:
    path = wheel(tmp_path / "a.whl", INIT)
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x03\x04") + 6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(MineError, match="encrypted"):
        Tree(path)


def test_what_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_FILE_LIMIT", 10_000)
    monkeypatch.setattr(source, "_TOTAL_LIMIT", 50_000)
    big, many = b"\0" * 20_000, [(f"v/vllm/{n}.py", b"#" * 9_000) for n in range(9)]
    for path in (
        tar(tmp_path / "one.tar.gz", ("v/vllm/__init__.py", big)),
        wheel(tmp_path / "one.whl", ("vllm/__init__.py", big)),
        tar(tmp_path / "many.tar.gz", *many),
        wheel(tmp_path / "many.whl", *((name[2:], content) for name, content in many)),
        tar(tmp_path / "passed.tar.gz", ("v/other.bin", b"\0" * 100_000)),
    ):
        with pytest.raises(MineError, match=r"too large|holds more"):
            Tree(path)


def test_a_header_that_would_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    header = odd("././@PaxHeader", tarfile.XHDTYPE)
    header.size = 1 << 31
    with gzip.open(path, "wb") as stream:
        stream.write(header.tobuf() + b"1" * 4_096)
    with pytest.raises(MineError, match="header"):
        Tree(path)


@pytest.mark.parametrize("ends", [".tar.gz", ".whl"])
def test_too_many_files(tmp_path: Path, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_COUNT_LIMIT", 20)
    make = tar if ends == ".tar.gz" else wheel
    with pytest.raises(MineError, match="more than 20 files"):
        Tree(make(tmp_path / f"a{ends}", *((f"v/{n}.py", b"") for n in range(40))))


def test_a_folder_with_pipes_devices_and_links(tmp_path: Path) -> None:
    root = tmp_path / "vllm-0.99.0"
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/__init__.py").write_text("")
    os.mkfifo(root / "vllm/envs.py")
    os.mkfifo(root / "setup.py")
    (root / "vllm/zero.py").symlink_to("/dev/zero")
    (root / "vllm/loop").symlink_to(root)
    (root / "requirements").symlink_to("/etc")
    tree = Tree(root)
    assert tree.names(".*") == ["vllm/__init__.py"]
    assert tree.read("vllm/envs.py") == ""


@pytest.mark.parametrize("name", ["a.tar.gz", "a.whl", "a"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(MineError, match="neither"):
        Tree(tmp_path / name)
    (tmp_path / "zero.whl").symlink_to("/dev/zero")
    with pytest.raises(MineError, match="neither"):
        Tree(tmp_path / "zero.whl")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 5_000 + ")" * 5_000, "x = " + "-" * 50_000 + "1", "x = " + "+".join(["1"] * 50_000),
        "a" + ".b" * 20_000,
        "x = " + "9" * 100_000, "x\0", "def f(:\n", "x = 10 ** 10 ** 10\nwhile True: pass\n", "\ufeff\x0c\x1b",
    ],
    ids=range(9),
)  # fmt: skip
def test_sources_that_no_parser_likes(tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    names = ("vllm/envs.py", "vllm/engine/arg_utils.py", "vllm/entrypoints/openai/cli_args.py", "vllm/config.py")
    path = wheel(tmp_path / "vllm-0.99.0.whl", INIT, *((name, text.encode()) for name in names))
    assert main(["catalog", "build", str(path), "--output", str(tmp_path / "out.json")]) == 2
    told = capfd.readouterr().err
    assert "error: " in told
    assert "went wrong" not in told
    assert not (tmp_path / "out.json").exists()
