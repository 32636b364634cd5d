"""What holds for any bytes of any format: `examine` runs the tool on them and returns what did not hold.

No exception (those of a host too, which a run of the command shows as a problem of the file); no time out of
proportion; spans within the file; every item given its own value again leaves the file as it is; edits change no byte
outside them; the patch makes of the file what `fix` writes; nothing is left for a second `fix`; what is written reads
with no new syntax problem; every form of output renders, and those with a grammar parse.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vllm_migrate import budget, engine, hosts, output
from vllm_migrate.config import Config
from vllm_migrate.findings import FileResult, Report
from vllm_migrate.model import CannotRender, Entry, Pin, Replace, Variable, Word
from vllm_migrate.output import diff
from vllm_migrate.text import Edit, OverlapError, Source, apply_edits

ALL = Config(to=("0.33.0",), fix=True, unsafe_fixes=True, markdown="fix")
SAFE = Config(to=("0.33.0",), fix=True)
PINNED = Config(fix=True, unsafe_fixes=True, markdown="fix")
OLD = Config(to=("0.24.0",), fix=True, unsafe_fixes=True, keep_pins=True)
SETTINGS = (ALL, SAFE, PINNED, OLD)
"""Everything, only what is safe, no target, an older target without its pins."""

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit", "html", "markdown")


@dataclass(frozen=True)
class Fault:
    """Something that did not hold. kind and where name it; what is the message of this one instance."""

    kind: str
    where: str
    what: str

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.where


class Hang(BaseException):
    """Too much time went by; no handler of the package takes it for one of its errors."""


@dataclass(frozen=True)
class Limits:
    """Seconds of the processor a text may take: `base` and `rate` for each byte; `hang` seconds end it."""

    base: float = 2.0
    rate: float = 40e-6
    hang: int = 40

    def of(self, size: int) -> float:
        return self.base + self.rate * size


def place(error: BaseException) -> str:
    """Return the innermost function of the package that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}vllm_migrate{os.sep}" in f.filename]
    if not ours:
        return "outside"
    name = ours[-1].filename.rpartition(f"{os.sep}vllm_migrate{os.sep}")[2]
    return f"{name}:{ours[-1].name}"


@contextlib.contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """Raise Hang after some seconds of the processor, where the system can."""
    if not hasattr(signal, "setitimer") or not seconds:
        yield
        return

    def ring(_number: int, _frame: Any) -> None:
        raise Hang(f"no end after {seconds} s")

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old if old is not None else signal.SIG_IGN)


@contextlib.contextmanager
def watched(faults: list[Fault]) -> Iterator[None]:
    """Check at every edit of a source that the bytes outside it stay; show what hosts raise, and how long they take."""
    plain = Source.with_edits
    shown = os.environ.get("VLLM_MIGRATE_TRACEBACK")

    def with_edits(self: Source, edits: Any) -> Source:
        edits = list(edits)
        after = plain(self, edits)
        out, at = b"", 0
        for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end)):
            start = self.byte_offset(edit.start)
            out += self.raw[at:start] + edit.text.encode()
            at = max(self.byte_offset(edit.end), start) if edit.end > edit.start else start
        if out + self.raw[at:] != after.raw:
            faults.append(Fault("bytes", "text.py:with_edits", f"{edits!r}"))
        return after

    Source.with_edits = with_edits  # type: ignore[method-assign]
    os.environ["VLLM_MIGRATE_TRACEBACK"] = "1"
    seconds, budget.SECONDS = budget.SECONDS, 1e6
    try:
        yield
    finally:
        Source.with_edits = plain  # type: ignore[method-assign]
        budget.SECONDS = seconds
        if shown is None:
            del os.environ["VLLM_MIGRATE_TRACEBACK"]
        else:
            os.environ["VLLM_MIGRATE_TRACEBACK"] = shown


def host_of(name: str, raw: bytes) -> str:
    """Return the name of the host that reads a file, "" for none."""
    found = hosts.host_for(name, raw[:200].decode("utf-8", "replace").split("\n")[0])
    return found.NAME if found is not None else ""


def examine(
    files: dict[str, bytes], root: Path, config: Config = ALL, *, limits: Limits = Limits(), deep: bool = True
) -> list[Fault]:
    """Return what does not hold for some files, which are read together; one alone is read as a text.

    root: an empty folder, in which several files are written. deep: look at every form of output, and ask git too.
    """
    faults: list[Fault] = []
    size = sum(len(raw) for raw in files.values())
    name = next(iter(files))
    kind = "/".join(sorted({host_of(n, raw) or "?" for n, raw in files.items()})) if len(files) < 3 else "tree"
    began = time.process_time()
    try:
        with watched(faults), alarm(limits.hang):
            report = _run(files, root, config)
            taken = time.process_time() - began
            _spans(report, kind, faults)
            after = {f.path: f.fixed.raw for f in report.files if f.fixed is not None}
            if after:
                _patches(report, config, kind, root, faults, git=deep)
                _second(report, {**files, **after}, root, config, kind, faults)
            if deep:
                for path, raw in files.items():
                    _items(path, raw, root, kind, faults)
                _outputs(report, files, root, config, kind, faults)
    except Hang as error:
        return [*faults, Fault("hang", place(error), str(error))]
    except RecursionError as error:
        return [*faults, Fault("recursion", place(error), str(error))]
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-6:])
        return [*faults, Fault(f"crash {type(error).__name__}", place(error), f"{name}: {error}\n{text}")]
    if taken > limits.of(size):
        faults.append(Fault("slow", kind, f"{taken:.1f} s for {size} bytes"))
    return faults


def _run(files: dict[str, bytes], root: Path, config: Config) -> Report:
    if len(files) == 1:
        ((name, raw),) = files.items()
        return engine.run_text(name, raw, root, config)
    for name, raw in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)
    return engine.run([root], root, config)


def _spans(report: Report, kind: str, faults: list[Fault]) -> None:
    sources = {f.path: f.source for f in report.files}
    for file in report.files:
        text = file.source.text if file.source is not None else ""
        for finding in file.findings:
            if not 0 <= finding.span.start <= finding.span.end <= len(text):
                faults.append(Fault("span", f"{kind} {finding.code}", f"{finding.span} of {len(text)}"))
            edits: dict[str, list[Edit]] = {}
            for path, edit in finding.fix.edits if finding.fix is not None else ():
                edits.setdefault(path, []).append(edit)
            for path, some in edits.items():
                source = sources.get(path)
                if source is None:
                    continue
                try:
                    apply_edits(source.text, some)
                except OverlapError as error:
                    faults.append(Fault("edit", f"{kind} {finding.code}", str(error)))


def patched(before: bytes, patch: bytes) -> bytes:
    """Return a file after its patch, as strictly as git reads one. Raises ValueError where the patch does not fit."""
    old = _lines(before)
    out: list[bytes] = []
    at = 0
    rows = _lines(patch)
    i = 0
    while i < len(rows):
        row = rows[i]
        i += 1
        if not row.startswith(b"@@ -"):
            if row[:4] in (b"diff", b"--- ", b"+++ "):
                continue
            raise ValueError(f"no line of a patch: {row!r}")
        was, now = (part[1:].split(b",") for part in row.split(b" ")[1:3])
        counts = [int(part[1]) if len(part) > 1 else 1 for part in (was, now)]
        start = int(was[0]) - (1 if counts[0] else 0)
        if start < at:
            raise ValueError("hunks overlap")
        out += old[at:start]
        at = start
        while counts[0] or counts[1]:
            sign, line = rows[i][:1], rows[i][1:]
            i += 1
            if rows[i : i + 1] == [b"\\ No newline at end of file\n"]:
                line = line[:-1]
                i += 1
            if sign in b" -":
                if at >= len(old) or old[at] != line:
                    raise ValueError(f"{line!r} is not there")
                at += 1
                counts[0] -= 1
            if sign in b" +":
                out.append(line)
                counts[1] -= 1
    return b"".join([*out, *old[at:]])


def _lines(raw: bytes) -> list[bytes]:
    parts = raw.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]


def _patches(report: Report, config: Config, kind: str, root: Path, faults: list[Fault], *, git: bool) -> None:
    changed = [f for f in report.files if f.source is not None and f.fixed is not None]
    for file in changed:
        assert file.source is not None and file.fixed is not None
        patch = diff.render(replace(report, files=[file]), config).encode("utf-8", "surrogateescape")
        try:
            if patched(file.source.raw, patch) != file.fixed.raw:
                faults.append(Fault("patch", kind, "the patch makes something else of the file"))
        except (ValueError, IndexError) as error:
            faults.append(Fault("patch", kind, f"the patch does not apply: {error}"))
    if git:
        _git(report, config, changed, kind, root, faults)


def _git(report: Report, config: Config, changed: list[FileResult], kind: str, root: Path, faults: list[Fault]) -> None:
    """Ask git itself to apply the patch."""
    there = root / "applied"
    for file in changed:
        assert file.source is not None
        (there / file.path).parent.mkdir(parents=True, exist_ok=True)
        (there / file.path).write_bytes(file.source.raw)
    patch = diff.render(report, config).encode("utf-8", "surrogateescape")
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(root)}
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=there,
        input=patch,
        capture_output=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        faults.append(Fault("git", kind, done.stderr.decode("utf-8", "replace").strip()[:300]))
    for file in changed:
        assert file.fixed is not None
        if not done.returncode and (there / file.path).read_bytes() != file.fixed.raw:
            faults.append(Fault("git", kind, "git makes something else of the file"))
        (there / file.path).unlink()


def _second(
    report: Report, after: dict[str, bytes], root: Path, config: Config, kind: str, faults: list[Fault]
) -> None:
    again = _run(after, root, config)
    for file in again.files:
        if file.fixed is not None:
            codes = " ".join(sorted({f.code for f in file.findings if f.fix is not None}))
            faults.append(Fault("again", f"{kind} {codes}", f"{file.path} would change once more"))
    was = {f.path: sum(x.code in ("VM001", "VM002") for x in f.findings) for f in report.files}
    for file in again.files:
        mine = [x for x in file.findings if x.code in ("VM001", "VM002")]
        if len(mine) > was.get(file.path, 0):
            faults.append(Fault("reread", kind, f"{file.path}: {mine[-1].message}"))


def _items(path: str, raw: bytes, root: Path, kind: str, faults: list[Fault]) -> None:
    """Every item lies within the file, and given its own value again leaves the file as it is."""
    file = engine.read(path, raw, root)
    if not isinstance(file, engine.File):
        return
    text, reading = file.source.text, file.reading
    found: dict[int, Word | Entry | Variable | Pin] = {}
    for item in (*reading.pins, *reading.variables):
        found[id(item)] = item
    for site in reading.sites:
        for item in (*site.words, *site.entries, *site.variables, *site.pins):
            found[id(item)] = item
    places = [("site", s.place) for s in reading.sites] + [("mention", m.place) for m in reading.mentions]
    places += [(type(i).__name__, i.place) for i in found.values()]
    for what, span in places:
        if not 0 <= span.start <= span.end <= len(text):
            faults.append(Fault("place", f"{kind} {what}", f"{span} of {len(text)}"))
    for problem in reading.problems:
        if not 0 <= problem.offset <= len(text) or problem.end > len(text):
            faults.append(Fault("place", f"{kind} problem", f"{problem} of {len(text)}"))
    for item in list(found.values())[:200]:
        value = item.value if isinstance(item, (Entry, Variable)) else item.text
        if value is None:
            continue
        holes = () if isinstance(item, Entry) else item.holes
        try:
            edits = item.container.edits([Replace(item, value, holes)])
        except CannotRender:
            continue
        if apply_edits(text, edits) != text:
            faults.append(Fault("identity", f"{kind} {type(item).__name__}", f"{value!r}: {edits!r}"))


def _outputs(
    report: Report, files: dict[str, bytes], root: Path, config: Config, kind: str, faults: list[Fault]
) -> None:
    import xml.etree.ElementTree as ElementTree

    if len(files) == 1:
        report = _run(files, root, replace(config, fix=False, choose=True))
    for name in FORMATS:
        text = output.render(name, report, config)
        text.encode("utf-8", "surrogateescape")
        try:
            if name in ("json", "sarif", "gitlab"):
                parsed = json.loads(text)
                if name == "json":
                    _bytes(parsed, files, kind, faults)
            elif name == "junit":
                ElementTree.fromstring(text)
        except (ValueError, ElementTree.ParseError) as error:
            faults.append(Fault("output", f"{kind} {name}", str(error)))


def _bytes(data: dict[str, Any], files: dict[str, bytes], kind: str, faults: list[Fault]) -> None:
    """Edits of the JSON report count bytes of the file, at the borders of letters."""
    for finding in data["findings"]:
        for edit in (finding["fix"] or {}).get("edits", ()):
            raw = files.get(edit["path"], b"")
            try:
                raw[: edit["start"]].decode()
                raw[edit["start"] : edit["end"]].decode()
            except UnicodeDecodeError:
                faults.append(Fault("offsets", kind, f"{edit!r}"))
            if not 0 <= edit["start"] <= edit["end"] <= len(raw):
                faults.append(Fault("offsets", kind, f"{edit!r} of {len(raw)}"))
