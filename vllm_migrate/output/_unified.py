"""Unified diffs of bytes, as git writes and takes them."""

from __future__ import annotations

from collections.abc import Iterator

_CONTEXT = 3


def lines_of(raw: bytes) -> list[bytes]:
    """Split at `\\n` alone, as git does, keeping the line ends."""
    parts = raw.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


Hunk = tuple[str, list[tuple[str, bytes]]]


def hunks(before: bytes, after: bytes, context: int = _CONTEXT) -> Iterator[Hunk]:
    """Yield each hunk of a diff: its `@@` line, and its lines as (sign, line with its line end)."""
    old, new = lines_of(before), lines_of(after)
    # What is equal at both ends stays so: the matcher's time grows with the square of the rest, and among lines that
    # are all alike it may find others to be equal, which leaves a hunk without the lines around it.
    head = 0
    while head < len(old) and head < len(new) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = _opcodes(old[head : len(old) - tail], new[head : len(new) - tail])
    opcodes = [
        ("equal", 0, head, 0, head),
        *((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle),
        ("equal", len(old) - tail, len(old), len(new) - tail, len(new)),
    ]
    for group in _grouped([code for code in opcodes if code[1] < code[2] or code[3] < code[4]], context):
        first, last = group[0], group[-1]
        was, now = _range(first[1], last[2]), _range(first[3], last[4])
        header = f"@@ -{was} +{now} @@"
        body: list[tuple[str, bytes]] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                body += [(" ", line) for line in old[i1:i2]]
            else:
                body += [("-", line) for line in old[i1:i2]]
                body += [("+", line) for line in new[j1:j2]]
        yield header, body


_PAIRS = 40_000
"""Pairs of equal lines up to which the standard library's matcher is asked: its time grows with their number."""
_SAME = 4
"""Lines in a row that are equal again after a change."""
_FARTHEST = 600
"""Lines a change may take out and put in, together, before all that follows counts as changed."""

Opcode = tuple[str, int, int, int, int]


def _opcodes(a: list[bytes], b: list[bytes]) -> list[Opcode]:
    """Return what makes `b` of `a`, as `difflib` puts it, in time about linear in their lengths."""
    from collections import Counter

    counts = Counter(b)
    if sum(n * counts[line] for line, n in Counter(a).items()) <= _PAIRS:
        import difflib

        return list(difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes())
    out: list[Opcode] = []
    i = j = 0
    while i < len(a) or j < len(b):
        start = i
        while i < len(a) and j < len(b) and a[i] == b[j]:
            i, j = i + 1, j + 1
        if i > start:
            out.append(("equal", start, i, j - (i - start), j))
        if i < len(a) or j < len(b):
            i2, j2 = _again(a, b, i, j)
            out.append(("replace" if i2 > i and j2 > j else "delete" if i2 > i else "insert", i, i2, j, j2))
            i, j = i2, j2
    return out


def _again(a: list[bytes], b: list[bytes], i: int, j: int) -> tuple[int, int]:
    """Return the nearest places behind `i` and `j` from which lines are equal again, the ends where there are none."""
    for far in range(1, _FARTHEST):
        for x in range(far + 1):
            i2, j2 = i + x, j + far - x
            if i2 > len(a) or j2 > len(b):
                continue
            same = min(_SAME, len(a) - i2, len(b) - j2)
            ends = i2 == len(a) and j2 == len(b)
            if ends or (same and a[i2] == b[j2] and a[i2 : i2 + same] == b[j2 : j2 + same]):
                return i2, j2
    return len(a), len(b)


def _grouped(opcodes: list[Opcode], context: int) -> Iterator[list[Opcode]]:
    """Yield the changes that stand near each other, with the equal lines around them."""
    group: list[Opcode] = []
    last = len(opcodes) - 1
    for number, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        if number == 0:
            i1, j1 = max(i1, i2 - context), max(j1, j2 - context)
        elif number == last:
            i2, j2 = min(i2, i1 + context), min(j2, j1 + context)
        elif i2 - i1 > 2 * context:
            group.append((tag, i1, min(i2, i1 + context), j1, min(j2, j1 + context)))
            yield group
            group = []
            i1, j1 = max(i1, i2 - context), max(j1, j2 - context)
        group.append((tag, i1, i2, j1, j2))
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _range(start: int, stop: int) -> str:
    """Write a range of lines (from 0, half open) as a hunk header does."""
    length = stop - start
    if length == 0:
        return f"{start},0"
    return str(start + 1) if length == 1 else f"{start + 1},{length}"


def file_diff(name: str, before: bytes, after: bytes) -> bytes:
    """Return the diff of one file under a name with forward slashes; empty where nothing changed."""
    if before == after:
        return b""
    out = [head_of(name)]
    for header, body in hunks(before, after):
        out.append(header.encode() + b"\n")
        for sign, line in body:
            out.append(sign.encode() + line)
            if not line.endswith(b"\n"):
                out.append(b"\n\\ No newline at end of file\n")
    return b"".join(out)


def head_of(name: str) -> bytes:
    """Return the lines that name a file at the head of its diff."""
    old, new = _quoted("a/" + name), _quoted("b/" + name)
    # A tab ends a name with blanks in it, else a reader takes what follows a blank for a date.
    end = b"\t" if b" " in old else b""
    return b"diff --git %s %s\n--- %s%s\n+++ %s%s\n" % (old, new, old, end, new, end)


_ESCAPES = dict(zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True))


def _quoted(name: str) -> bytes:
    """Write a file name as git does: in quotes where it holds a quote, a backslash or a control."""
    raw = name.encode("utf-8", "surrogateescape")
    out = bytearray()
    special = False
    text = _is_text(raw)
    for byte in raw:
        if byte in _ESCAPES:
            out += bytes((0x5C, _ESCAPES[byte]))
            special = True
        elif byte < 0x20 or byte == 0x7F or (byte >= 0x80 and not text):
            out += b"\\%03o" % byte
            special = True
        else:
            out.append(byte)
    return b'"' + bytes(out) + b'"' if special else raw


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
