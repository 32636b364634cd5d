"""The text of a scalar as a region of the file, for each of the five styles.

Template actions inside are single letters that stand for themselves, as holes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from vllm_migrate.hosts.yaml_blocks import narrowed, widened
from vllm_migrate.hosts.yaml_mask import Mask
from vllm_migrate.hosts.yaml_spell import double_quoted
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import is_hole
from vllm_migrate.text import Edit, Piece, Region, Span, line_end, line_start, next_line


@dataclass
class ScalarRegion(Region):
    """A scalar's text. spellings: what the letters of template actions stand for, in order.

    style as of the node; hidden: spans of template lines that the text leaves out; block_indent: what
    stands before each line of a block scalar.
    """

    style: str = ""
    spellings: Sequence[str] = ()
    hidden: Sequence[Span] = ()
    mask: Mask | None = None
    block_indent: str = ""
    folds: bool = False
    flow: bool = False
    letters: dict[str, str] = field(default_factory=dict, compare=False)

    def to_parent(self, start: int, end: int) -> Span | None:
        text = self.text
        span = super().to_parent(start, end)
        if span is None:
            return None
        if self.style in ("|", ">") and end > start and text[end - 1] == "\n" and self.parent is not None:
            if start and text[start - 1] == "\n":
                # Whole lines, with their own indentation but not with hidden lines above.
                inside = self._up(start, at_end=False)
                if inside is None:
                    return None
                above = self.parent.text
                line = line_start(above, inside)
                span = Span(line, span.end)
            elif end < len(text):
                # What follows moves up to where the removed text began, and so without its indentation.
                following = self._up(end, at_end=False)
                if following is None:
                    return None
                span = Span(span.start, following)
        if self.mask is not None and end > start:
            if any(h.start < span.end and span.start < h.end for h in self.hidden):
                return None
            if not self.mask.whole(span.start, span.end):
                return None
        return span

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        parent = self.parent
        if parent is None or parent.parent is not None or self.mask is None or not self.hidden:
            return super().edit(start, end, new)
        text = parent.text
        if not new and self.style == ">":
            lines = self._whole_lines(start, end)
            if lines is not None:
                return Edit(*widened(text, self.mask, *lines), "")
        made = super().edit(start, end, new)
        if made is None:
            return None
        if made.text:
            lost = [a for a in self.mask.within(made.start, made.end) if text[a.start : a.end] not in made.text]
            return None if lost and made.end > made.start else made
        whole = made.start == line_start(text, made.start) and made.end == line_start(text, made.end)
        if whole and made.end > made.start and self.style in ("|", ">"):
            # Lines of a script go with the template's `if` that only they stood in.
            return Edit(*widened(text, self.mask, made.start, made.end), "")
        return Edit(*narrowed(self.mask, made.start, made.end), "")

    def _whole_lines(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the lines of the file that a part of a folded text is all of, blanks around it left out."""
        parent, text = self.parent, self.text
        while start < end and text[start] in " \n":
            start += 1
        while end > start and text[end - 1] in " \n":
            end -= 1
        low, high = self._up(start, at_end=False), self._up(end, at_end=True)
        if parent is None or low is None or high is None or self.mask is None or start == end:
            return None
        above = parent.text
        first, last = line_start(above, low), next_line(above, high)
        if above[first:low].strip() or above[high : line_end(above, high)].strip():
            return None
        # A block that starts above what goes, or ends below it, with nothing else of its own.
        for _ in range(8):
            if self.mask.whole(first, last):
                return first, last
            before = line_start(above, first - 1)
            if self._hides(before) and self.mask.within(before, first)[0].step >= 0:
                first = before
            elif self._hides(last):
                last = next_line(above, last)
            else:
                return None
        return None

    def _hides(self, line: int) -> bool:
        return any(h.start == line for h in self.hidden)

    def written(self, new: str, start: int, end: int) -> str | None:
        if self.style not in ("|", ">"):
            return self._plain(new, start)
        opens = start == 0 or self.text[start - 1] == "\n"
        closes = end > start and self.text[end - 1] == "\n"
        lines = opens and start > 0 and (closes or start == end == len(self.text))
        newline = self.source.newline
        new = new.replace("\r\n", "\n")
        if self.style == ">":
            if "\n" in new:
                return None
            if self.folds and start == end and new.startswith(" ") and self._ends_line(start):
                new = re.sub(r" (?=-)", "\n", new, count=0 if not re.search(r"['\"]", new) else 1)
        out = re.sub(r"\n(?=[^\n])", "\n" + self.block_indent.replace("\\", "\\\\"), new)
        if lines:
            out = self.block_indent + out
        elif out.endswith("\n") and (start == end or closes) and end < len(self.text):
            out += self.block_indent
        if newline != "\n":
            out = out.replace("\n", newline)
        return self._filled(out)

    def _ends_line(self, at: int) -> bool:
        """Tell whether the text before `at` ends a line of the file."""
        if at == len(self.text):
            return True
        return any(p.start == at and not p.verbatim and not is_hole(self.text[at]) for p in self.pieces)

    def _plain(self, new: str, at: int) -> str | None:
        if self.style == '"':
            return self._filled(double_quoted(new))
        if self.style == "'":
            return None if "\n" in new else self._filled(new.replace("'", "''"))
        if re.search(r"[\n\t]|:\s|\s#|:$", new):
            return None
        if self.flow and re.search(r"[,\[\]{}:]", new):
            return None
        if at == 0 and re.match(r"[\s\"'&*!|>%@`#,\[\]{}]|[-?:](?:\s|$)", new):
            return None
        return self._filled(new)

    def _filled(self, text: str) -> str:
        if not self.spellings:
            return text
        return "".join(self.letters.get(c, c) if is_hole(c) else c for c in text)


_DOLLAR = regex(r"\$\$|\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[A-Za-z_]\w*")


def dollar_region(parent: ScalarRegion) -> Region:
    """Return a scalar's text after what a compose file does to it: `$$` is a dollar, `${X}` a letter."""
    pieces: list[Piece] = []
    out: list[str] = []
    letters: dict[str, str] = {}
    at = length = 0

    def add(guest: str, start: int, end: int, verbatim: bool) -> None:
        nonlocal length
        if guest:
            pieces.append(Piece(length, length + len(guest), start, end, verbatim))
            out.append(guest)
            length += len(guest)

    for match in _DOLLAR.finditer(parent.text):
        add(parent.text[at : match.start()], at, match.start(), True)
        at = match.end()
        if match[0] == "$$":
            add("$", match.start(), at, False)
            continue
        known = next((c for c, spelled in letters.items() if spelled == match[0]), None)
        letter = known or chr(0xE000 + len(parent.spellings) + len(letters))
        letters[letter] = match[0]
        add(letter, match.start(), at, False)
    add(parent.text[at:], at, len(parent.text), True)

    def escape(new: str, where: int) -> str:
        return "".join(letters.get(c, c) for c in new.replace("$", "$$"))

    return parent.child("".join(out), pieces or (Piece(0, 0, 0, 0),), escape)


def lift(region: Region, edit: Edit, top: Region) -> Edit | None:
    """Return the edit of an outer region's text for an edit of a guest's, or None."""
    while region is not top:
        up = region.to_parent(edit.start, edit.end)
        text = region.written(edit.text, edit.start, edit.end) if edit.text else ""
        if up is None or text is None or region.parent is None:
            return None
        edit, region = Edit(up.start, up.end, text), region.parent
    return edit
