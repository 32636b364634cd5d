"""Reads the text of a scalar, letter by letter, from the lines it is written on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.hosts.yaml_mask import FILLER, Mask
from vllm_migrate.hosts.yaml_scalar import ScalarRegion
from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import regex
from vllm_migrate.text import Piece, Region, Span

_LINE = regex(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_ESCAPE = regex(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)"
)
_NAMED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028",
    "P": "\u2029",
}  # fmt: skip
_HEADER = regex(r"[|>]([-+0-9]*)[^\r\n]*(?:\r\n|\n|\r|\Z)")


class _Assembly:
    """Collects guest text and the pieces it comes from."""

    def __init__(self, masked: str, original: str, mask: Mask | None) -> None:
        self.masked = masked
        self.original = original
        self.mask = mask
        self.out: list[str] = []
        self.pieces: list[Piece] = []
        self.length = 0
        self.spellings: list[str] = []
        self.hidden: list[Span] = []
        self.quiet = False
        """Actions that part no word are left out."""

    def unit(self, guest: str, start: int, end: int) -> None:
        """Add guest text that stands for parent text as one unit."""
        if guest:
            self._piece(guest, start, end, verbatim=False)

    def _piece(self, guest: str, start: int, end: int, *, verbatim: bool) -> None:
        last = self.pieces[-1] if self.pieces else None
        if verbatim and last is not None and last.verbatim and last.parent_end == start:
            self.pieces[-1] = Piece(last.start, last.end + len(guest), last.parent_start, end)
        else:
            self.pieces.append(Piece(self.length, self.length + len(guest), start, end, verbatim))
        self.out.append(guest)
        self.length += len(guest)

    def same(self, start: int, end: int) -> None:
        """Add parent text that the guest sees as it is, template actions aside."""
        if start >= end:
            return
        at = start
        for action in self.mask.within(start, end) if self.mask is not None else ():
            low, high = max(action.start, start), min(action.end, end)
            if self.masked[low] == " " and not action.alone:
                continue
            if low > at:
                self._piece(self.original[at:low], at, low, verbatim=True)
            if self.quiet and action.silent and not action.alone:
                self.hidden.append(Span(low, high))
            else:
                self._letter(low, high)
            at = high
        if at < end:
            self._piece(self.original[at:end], at, end, verbatim=True)

    def _letter(self, start: int, end: int) -> None:
        spelled = self.original[start:end]
        if spelled not in self.spellings:
            self.spellings.append(spelled)
        # The same action is the same letter, so that a text says the same in both its places.
        self._piece(chr(0xE000 + min(self.spellings.index(spelled), 0x18FF)), start, end, verbatim=False)


def scalar_region(region: Region, node: Node, mask: Mask, *, flow: bool = False) -> ScalarRegion:
    """Return a scalar's text as a guest of the region the node was parsed from.

    Its text is the node's value, except that a block scalar keeps its last line end as it is written.
    """
    made = _Assembly(mask.text, region.text, mask if mask.actions else None)
    indent = ""
    folds = False
    made.quiet = node.style != "" and region.parent is None
    if node.style in ("|", ">"):
        indent, folds = _block(made, node)
    elif node.style == '"':
        folds = _quoted(made, node.body + 1, node.end - 1, double=True)
    elif node.style == "'":
        folds = _quoted(made, node.body + 1, node.end - 1, double=False)
    else:
        folds = _lines(made, node.body, node.end)
    text = "".join(made.out)
    if not made.pieces:
        inner = node.body + 1 if node.style in ("'", '"') else node.end
        made.pieces.append(Piece(0, 0, inner, inner))
    made_region = ScalarRegion(region.source, text, region, made.pieces)
    made_region.style, made_region.spellings, made_region.hidden = node.style, made.spellings, made.hidden
    made_region.mask = made.mask
    made_region.block_indent, made_region.folds, made_region.flow = indent, folds, flow
    made_region.letters = {chr(0xE000 + i): s for i, s in enumerate(made.spellings)}
    return made_region


def _lines(made: _Assembly, start: int, end: int) -> bool:
    """Add the lines of a multi-line plain scalar, folded."""
    return _fold(made, start, end, made.same)


def _fold(made: _Assembly, start: int, end: int, add: object) -> bool:
    text = made.masked
    assert callable(add)
    if "\n" not in text[start:end] and "\r" not in text[start:end]:
        add(start, end)
        return False
    at = start
    pending: tuple[int, int] | None = None
    first = True
    while at <= end:
        match = _LINE.match(text, at, end)
        assert match is not None
        low, high = match.span(1)
        last = match.end() >= end
        if not first:
            while low < high and text[low] in " \t":
                low += 1
        if not last:
            while high > low and text[high - 1] in " \t":
                high -= 1
        if low < high or first or last:
            if pending is not None:
                breaks = pending[1]
                made.unit(" " if breaks == 1 else "\n" * (breaks - 1), pending[0], low)
            add(low, high)
            pending = (high, 1)
        elif pending is not None:
            pending = (pending[0], pending[1] + 1)
        first = False
        if last:
            break
        at = match.end()
    return True


def _quoted(made: _Assembly, start: int, end: int, *, double: bool) -> bool:
    text = made.masked

    def single(low: int, high: int) -> None:
        at = low
        while True:
            found = text.find("''", at, high)
            if found < 0:
                made.same(at, high)
                return
            made.same(at, found)
            made.unit("'", found, found + 2)
            at = found + 2

    def escaped(low: int, high: int) -> None:
        at = low
        for match in _ESCAPE.finditer(text, low, high):
            made.same(at, match.start())
            made.unit(_unescape(match[0]), match.start(), match.end())
            at = match.end()
        made.same(at, high)

    if not double:
        return _fold(made, start, end, single)
    if not re.search(r"\\\r?\n", text[start:end]):
        return _fold(made, start, end, escaped)
    # An escaped line end joins two lines: each part between two of them is folded by itself.
    at = start
    for match in re.finditer(r"\\\r?\n[ \t]*", text[start:end]):
        if _slashes(text, start + match.start()) % 2 == 1:
            continue
        _fold_open(made, at, start + match.start(), escaped)
        at = start + match.end()
    _fold_open(made, at, end, escaped)
    return True


def _fold_open(made: _Assembly, start: int, end: int, add: object) -> None:
    if start < end:
        _fold(made, start, end, add)


def _slashes(text: str, at: int) -> int:
    """Return how many backslashes stand right before an offset."""
    count = 0
    while at - count > 0 and text[at - count - 1] == "\\":
        count += 1
    return count


def _unescape(raw: str) -> str:
    kind = raw[1]
    if kind in "xU" or (kind == "u" and len(raw) == 6):
        try:
            return chr(int(raw[2:], 16))
        except (ValueError, OverflowError):
            return "\ufffd"
    if kind == "u":
        return (
            raw.encode("ascii").decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if kind in "\r\n":
        return ""
    return _NAMED.get(kind, kind)


def _block(made: _Assembly, node: Node) -> tuple[str, bool]:
    """Add the lines of a block scalar; return their indentation and whether it has several."""
    text, original = made.masked, made.original
    header = _HEADER.match(text, node.body)
    if header is None or (header.end() >= len(text) and not text[header.end() :]):
        return "", False
    begin, end = header.end(), node.end
    lines = [(m.start(1), m.end(1), m.end()) for m in _LINE.finditer(text, begin, max(end, begin)) if m[0]]
    if lines:
        # The last line takes its line end along.
        low, high, _ = lines[-1]
        tail = _LINE.match(text, low)
        lines[-1] = (low, high, tail.end() if tail else high)
    width = _block_width(text, lines, header[1])
    indent = " " * width
    for low, high, _ in lines:
        shown = text[low:high]
        if shown.strip() and shown[:width].strip() == "":
            indent = original[low : low + width]
            break
    if node.style == "|":
        _literal(made, lines, width)
    else:
        _folded(made, lines, width)
    return indent, len(lines) > 1


def _block_width(text: str, lines: Sequence[tuple[int, int, int]], header: str) -> int:
    digits = re.search(r"\d", header)
    for low, high, _ in lines:
        shown = text[low:high]
        if shown.strip(" "):
            first = len(shown) - len(shown.lstrip(" "))
            if digits is None:
                return first
            break
    else:
        return 0
    # With an indentation indicator the first line may be deeper than the text.
    return min(len(t) - len(t.lstrip(" ")) for t in (text[low:high] for low, high, _ in lines) if t.strip(" "))


def _hidden(made: _Assembly, low: int, high: int) -> bool:
    """Tell whether a line holds nothing but template actions that print nothing; it is left out then."""
    if made.mask is None or made.masked[low:high].strip(" \t" + FILLER):
        return False
    actions = made.mask.within(low, high)
    return bool(actions) and all(a.control and a.alone for a in actions)


def _literal(made: _Assembly, lines: Sequence[tuple[int, int, int]], width: int) -> None:
    for low, high, after in lines:
        if _hidden(made, low, high):
            made.hidden.append(Span(low, after))
            continue
        start = min(low + width, high)
        actions = made.mask.within(low, high) if made.mask is not None else []
        if actions:
            start = min(start, max(actions[0].start, low))
        made.same(start, high)
        if after > high:
            if after - high == 1 and made.original[high] == "\n":
                made._piece("\n", high, after, verbatim=True)
            else:
                made.unit("\n", high, after)


def _folded(made: _Assembly, lines: Sequence[tuple[int, int, int]], width: int) -> None:
    pending: tuple[int, int, bool] | None = None
    for low, high, after in lines:
        if _hidden(made, low, high):
            made.hidden.append(Span(low, after))
            continue
        start = min(low + width, high)
        shown = made.masked[start:high]
        alone = made.mask is not None and not shown.strip() and bool(made.mask.within(low, high))
        if not shown.strip(" ") and not alone:
            if pending is not None:
                pending = (pending[0], pending[1] + 1, pending[2])
            continue
        spaced = shown[0] in " \t" and not alone
        if pending is not None:
            breaks = pending[1]
            guest = "\n" * breaks if spaced or pending[2] else " " if breaks == 1 else "\n" * (breaks - 1)
            made.unit(guest, pending[0], start)
        made.same(start, high)
        pending = (high, 1, spaced)
    if pending is not None and lines and lines[-1][2] > lines[-1][1]:
        made.unit("\n", pending[0], lines[-1][2])
