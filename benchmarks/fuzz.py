"""Runs the tool on files made odd, for as long as asked, and keeps what broke.

    python benchmarks/fuzz.py OUT [--seconds 600] [--host shell yaml …] [--corpus FOLDER…] [--seed 1] [--plain]
    python benchmarks/fuzz.py OUT --replay FILE [--host NAME]

Starts from the files of `fixtures/` (and of the folders given), makes them odd as `tests/fuzz/mutations.py` says, and
asks `tests/fuzz/properties.py` what does not hold of them. Hosts take turns; "tree" reads whole cases of several files.
With atheris installed the mutations follow what code they reach (`--plain`: never); without it they are drawn from
the seed alone. Each turn is a process of its own: one that dies or hangs in compiled code leaves its input behind.

OUT/faults/NAME/ holds each kind of fault once: the input made small, and what was wrong. OUT/state.json counts
executions and seconds by host. Exit status 1 when something new was found. Run it with `nice`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
sys.path[:0] = [str(HERE.parent / "tests" / "fuzz"), str(HERE.parent)]

TREE = "tree"
LARGEST = 40_000
"""Bytes of a file that is taken from a corpus."""
DEEP = 8
"""One execution in this many looks at every form of output, at every item, and asks git."""

_UNREACHED = re.compile(r"__main__|\.cli|\.review|catalog\.(mine|interp|source|hints|plain|objects)")
"""Modules that no file's bytes reach."""
_TELLING = re.compile(r"compose|values|Chart|kustom|requirements|pyproject|setup|lock")

Files = dict[str, bytes]


@dataclass
class Pools:
    """What mutations start from: host → (name, bytes), and cases of several files."""

    files: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)
    trees: list[Files] = field(default_factory=list)

    def add(self, name: str, raw: bytes) -> None:
        from properties import host_of

        host = host_of(name, raw)
        if host and len(raw) <= LARGEST:
            self.files.setdefault(host, []).append((name, raw))

    @property
    def hosts(self) -> list[str]:
        return [*sorted(self.files), TREE]


def read_pools(corpora: Sequence[Path]) -> Pools:
    """Return the files of the fixtures, before and after, and those of the folders that speak of vLLM."""
    pools = Pools()
    for folder in sorted(p for p in FIXTURES.glob("*/*/*") if p.is_dir()):
        files = {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
        for name, raw in files.items():
            pools.add(name, raw)
        if 1 < len(files) <= 12:
            pools.trees.append(files)
    for corpus in corpora:
        for path in sorted(corpus.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                raw = path.read_bytes()
                if b"vllm" in raw.lower():
                    pools.add("/".join(path.relative_to(corpus).parts[-3:]), raw)
    return pools


def shape(name: str) -> str:
    """Return what of a name decides how a file is read; names alike in it are one choice."""
    folder, _, last = name.rpartition("/")
    _, dot, suffix = last.partition(".")
    kept = last if not dot or _TELLING.search(last) else "x"
    return f"{'t/' if 'templates' in folder else ''}{kept}.{suffix}"


class Child:
    """One process: executions of one host until its time is over."""

    def __init__(self, out: Path, host: str, pools: Pools, seed: int) -> None:
        self.out, self.host, self.pools, self.seed = out, host, pools, seed
        self.root = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.began = time.monotonic()
        self.executions = 0
        self.saved = 0.0
        self.hits: Counter[str] = Counter()
        self.texts = [raw for _, raw in pools.files.get(host, ())] or [r for t in pools.trees for r in t.values()]
        names = {shape(name): name for name, _ in pools.files.get(host, ())}
        self.names = [names[s] for s in sorted(names)]
        (out / "faults").mkdir(parents=True, exist_ok=True)
        self.known = {p.name for p in (out / "faults").iterdir()}

    def plain(self, seconds: float) -> None:
        """Draw inputs from the seed."""
        while time.monotonic() - self.began < seconds:
            self.drawn(Random(f"{self.seed} {self.host} {self.executions}"))
        self.save()

    def drawn(self, rng: Random) -> None:
        from mutations import mutate
        from properties import SETTINGS

        if self.host == TREE:
            files = dict(rng.choice(self.pools.trees))
            for name in rng.sample(sorted(files), rng.choice((1, 1, 2))):
                files[name] = mutate(rng, files[name], self.texts)
        else:
            name, raw = rng.choice(self.pools.files[self.host])
            files = {name: mutate(rng, raw, self.texts)}
        self.execute(files, rng.choice((0, 0, *range(len(SETTINGS)))))

    def guided(self, seconds: float) -> None:
        """Let atheris choose; the first two bytes of its inputs stand for the name and the settings."""
        import atheris
        from mutations import mutate

        corpus = self.out / "corpus" / self.host
        if not corpus.is_dir():
            corpus.mkdir(parents=True)
            index = {shape(n): i for i, n in enumerate(self.names)}
            for name, raw in self.pools.files[self.host]:
                data = bytes((index[shape(name)], 0)) + raw
                (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

        def take(data: bytes) -> None:
            if len(data) > 2 and self.names:
                self.execute({self.names[data[0] % len(self.names)]: data[2:]}, data[1])

        def change(data: bytes, largest: int, seed: int) -> bytes:
            rng = Random(seed)
            if rng.random() < 0.25:
                return bytes(atheris.Mutate(data, largest))[:largest]
            head = bytes((rng.randrange(256), rng.randrange(256))) if rng.random() < 0.1 else data[:2]
            return (head.ljust(2, b"\0") + mutate(rng, data[2:], self.texts))[:largest]

        line = [sys.argv[0], str(corpus), f"-max_total_time={int(seconds)}", f"-seed={self.seed}", "-max_len=60000"]
        atheris.Setup([*line, "-timeout=600", "-rss_limit_mb=5000", "-verbosity=0"], take, custom_mutator=change)
        atheris.Fuzz()

    def execute(self, files: Files, choice: int) -> None:
        from properties import SETTINGS, examine

        self.executions += 1
        deep = self.executions % DEEP == 0
        config = SETTINGS[choice % len(SETTINGS)]
        (self.out / "current").write_bytes(packed(files, choice % len(SETTINGS)))
        for fault in examine(files, self.root, config, deep=deep):
            name = re.sub(r"[^\w.-]+", "-", f"{fault.kind}-{fault.where}")[:120]
            self.hits[name] += 1
            if name not in self.known:
                self.known.add(name)
                self.keep(name, files, choice % len(SETTINGS), fault, deep)
        if self.host == TREE:
            self.clear()
        if time.monotonic() - self.saved > 5:
            self.save()

    def clear(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()

    def keep(self, name: str, files: Files, choice: int, fault: Any, deep: bool) -> None:
        """Write a fault with its input, made small as long as it shows the same."""
        from properties import SETTINGS, Limits, examine

        limits = Limits(hang=10)

        def same(some: Files) -> bool:
            if self.host == TREE:
                self.clear()
            return any(f.key == fault.key for f in examine(some, self.root, SETTINGS[choice], limits=limits, deep=deep))

        folder = self.out / "faults" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "input").write_bytes(packed(files, choice))
        small = dict(files)
        ends = time.monotonic() + (60 if fault.kind not in ("hang", "slow") else 90)
        for path in list(small):
            rest = {p: r for p, r in small.items() if p != path}
            if len(small) > 1 and same(rest):
                small = rest
        for path in list(small):
            small[path] = reduced(small[path], lambda raw, path=path: same({**small, path: raw}), ends)
        (folder / "small").write_bytes(packed(small, choice))
        (folder / "fault.txt").write_text(f"{fault.kind}\n{fault.where}\nsettings {choice}\n\n{fault.what}\n")
        print(f"{self.host}: {fault.kind} {fault.where}: {fault.what.partition(chr(10))[0]}", flush=True)

    def save(self) -> None:
        self.saved = time.monotonic()
        (self.out / "turn.json").write_text(
            json.dumps({"executions": self.executions, "seconds": self.saved - self.began, "hits": self.hits})
        )


def reduced(raw: bytes, same: Callable[[bytes], bool], ends: float) -> bytes:
    """Return bytes made smaller while they show the same: whole lines go first, then shorter and shorter parts."""
    parts = raw.splitlines(keepends=True)
    for again in range(3):
        size = max(1, len(parts) // 2)
        while size:
            at = 0
            while at < len(parts):
                if time.monotonic() > ends:
                    return b"".join(parts)
                less = [*parts[:at], *parts[at + size :]]
                if same(b"".join(less)):
                    parts = less
                else:
                    at += size
            size //= 2
        if again:
            continue
        parts = [bytes((b,)) for b in b"".join(parts)]
    return b"".join(parts)


def packed(files: Files, choice: int) -> bytes:
    """Return files and settings as one file: a line of JSON, then the bytes."""
    head = json.dumps({"settings": choice, "files": {n: len(r) for n, r in files.items()}})
    return head.encode() + b"\n" + b"".join(files.values())


def unpacked(data: bytes) -> tuple[Files, int]:
    head, _, body = data.partition(b"\n")
    spec = json.loads(head)
    files: Files = {}
    for name, length in spec["files"].items():
        files[name], body = body[:length], body[length:]
    return files, spec["settings"]


@dataclass
class Totals:
    """What all turns so far did, by host."""

    path: Path
    hosts: dict[str, dict[str, float]] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)

    @classmethod
    def load(cls, path: Path) -> Totals:
        data = json.loads(path.read_text()) if path.is_file() else {"hosts": {}, "hits": {}}
        return cls(path, data["hosts"], Counter(data["hits"]))

    def add(self, host: str, turn: dict[str, Any]) -> None:
        mine = self.hosts.setdefault(host, {"executions": 0, "seconds": 0.0, "deaths": 0})
        mine["executions"] += turn.get("executions", 0)
        mine["seconds"] += turn.get("seconds", 0.0)
        mine["deaths"] += turn.get("deaths", 0)
        self.hits.update(turn.get("hits", {}))
        self.path.write_text(json.dumps({"hosts": self.hosts, "hits": self.hits}, indent=1))


def turn(out: Path, host: str, seconds: float, arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Run one process; what it leaves when it dies or does not come back is a fault."""
    (out / "turn.json").unlink(missing_ok=True)
    line = [sys.executable, __file__, str(out), "--child", host, "--seconds", str(seconds), "--seed", str(seed)]
    line += ["--corpus", *map(str, arguments.corpus)] if arguments.corpus else []
    line += ["--plain"] if arguments.plain else []
    with open(out / "log", "ab") as log:
        child = subprocess.Popen(line, stdout=log, stderr=log)
        try:
            status = child.wait(timeout=3 * seconds + 1200)
        except subprocess.TimeoutExpired:
            child.kill()
            status = child.wait()
    done: dict[str, Any] = json.loads((out / "turn.json").read_text()) if (out / "turn.json").is_file() else {}
    if status != 0:
        folder = out / "faults" / f"died-{host}-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        if (out / "current").is_file():
            shutil.copy(out / "current", folder / "input")
        (folder / "fault.txt").write_text(f"the process ended with {status}\n")
        done["deaths"] = 1
    for left in Path("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()).glob("fuzz-*"):
        shutil.rmtree(left, ignore_errors=True)
    return done


def can_guide() -> bool:
    return importlib.util.find_spec("atheris") is not None


def run_child(arguments: argparse.Namespace) -> int:
    guided = can_guide() and not arguments.plain and arguments.child != TREE
    if guided:
        import atheris

        with atheris.instrument_imports(include=["vllm_migrate"], enable_loader_override=False):
            import vllm_migrate

            for module in pkgutil.walk_packages(vllm_migrate.__path__, "vllm_migrate."):
                if not _UNREACHED.search(module.name):
                    importlib.import_module(module.name)
    pools = read_pools(arguments.corpus)
    child = Child(arguments.out, arguments.child, pools, arguments.seed)
    if guided:
        child.guided(arguments.seconds)
    else:
        child.plain(arguments.seconds)
    return 0


def replay(arguments: argparse.Namespace) -> int:
    from properties import SETTINGS, examine

    files, choice = unpacked(arguments.replay.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        faults = examine(files, Path(folder), SETTINGS[choice])
    for fault in faults:
        print(f"{fault.kind} {fault.where}\n{fault.what}\n")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--turn", type=float, default=600, help="seconds a host has at a time")
    parser.add_argument("--host", nargs="*", default=[])
    parser.add_argument("--corpus", nargs="*", type=Path, default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="do not use atheris")
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.replay:
        return replay(arguments)
    if arguments.child:
        return run_child(arguments)
    totals = Totals.load(arguments.out / "state.json")
    before = set(totals.hits)
    hosts = arguments.host or read_pools(arguments.corpus).hosts
    ends = time.monotonic() + arguments.seconds
    number = arguments.seed
    while time.monotonic() < ends:
        host = hosts[number % len(hosts)]
        seconds = max(1.0, min(arguments.turn, ends - time.monotonic()))
        totals.add(host, turn(arguments.out, host, seconds, arguments, number))
        number += 1
    for host, count in totals.hosts.items():
        rate = count["executions"] / max(count["seconds"], 1)
        print(f"{host:14} {count['executions']:9.0f} executions {count['seconds'] / 3600:6.2f} h {rate:6.1f} a second")
    return 1 if set(totals.hits) - before else 0


if __name__ == "__main__":
    raise SystemExit(main())
