"""The text engine: edits change what they say and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.text import (
    Edit,
    OverlapError,
    Piece,
    Region,
    Source,
    Span,
    UndecodableError,
    apply_edits,
    line_end,
    line_start,
    next_line,
    shrink,
    spans_after,
)

texts = st.text(alphabet=st.sampled_from("ab \n\r\t'\"\\é😀\u2028"), max_size=60)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edits = [
        Edit(a, b, draw(st.text(alphabet="xyz\n", max_size=5)))
        for a, b in zip(cuts[::2], cuts[1::2], strict=False)
        if a < b
    ]
    return text, edits


@given(edited())
def test_bytes_outside_the_edits_stay(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    wanted = text
    for edit in reversed(edits):
        wanted = wanted[: edit.start] + edit.text + wanted[edit.end :]
    assert apply_edits(text, edits) == wanted
    assert apply_edits(text, edits[::-1]) == wanted


def test_insertions_at_one_place_keep_their_order_and_equal_ones_count_once() -> None:
    assert apply_edits("ab", [Edit(1, 1, "2"), Edit(1, 1, "1"), Edit(1, 1, "2"), Edit(2, 2, "!")]) == "a21b!"
    assert apply_edits("ab", [Edit(0, 1, "x"), Edit(1, 2, "y")]) == "xy"


@given(edited(), st.booleans())
def test_source_keeps_its_byte_order_mark(case: tuple[str, list[Edit]], bom: bool) -> None:
    text, edits = case
    raw = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    source = Source("f", raw)
    assert source.with_edits([]).raw == raw
    assert source.with_edits(edits).raw.startswith(b"\xef\xbb\xbf") == bom


def lines_of(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text)


@given(texts | st.text(alphabet="a\n", max_size=20), st.booleans(), st.data())
def test_positions_lines_and_byte_offsets_agree(text: str, bom: bool, data: st.DataObject) -> None:
    mark = b"\xef\xbb\xbf" if bom else b""
    source = Source("f", mark + text.encode())
    offset = data.draw(st.integers(0, len(text)))
    assert source.raw[: source.byte_offset(offset)] == mark + text[:offset].encode()
    assert [source.line(n + 1) for n in range(len(lines_of(text)))] == lines_of(text)
    assert source.line(0) == source.line(len(lines_of(text)) + 1) == ""
    if text[offset - 1 : offset + 1] == "\r\n":
        offset += 1  # inside a line end there is no line
    before = lines_of(text[:offset])
    assert source.position(offset) == (len(before), len(before[-1]) + 1)


@given(texts, st.data())
def test_line_borders(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        offset -= 1
    start, end = line_start(text, offset), line_end(text, offset)
    assert text[start:end] == Source.of(text).line(Source.of(text).position(offset)[0])
    assert start <= offset <= end
    after = text[end : next_line(text, offset)]
    assert after in ("\r\n", "\n", "\r") or (after == "" and end == len(text))
    assert not (after == "\r" and text.startswith("\n", end + 1))
    assert next_line(text, offset) <= len(text)


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\r\nb\nc\n", "\n"),
        ("a\r\nb\n", "\n"),
        ("a\rb\rc\n", "\r"),
        ("a\rb\n", "\n"),
        ("a\r\nb\r", "\r\n"),
        ("a\r\nb\rc\r", "\r"),
        ("a\rb\r\nc\n\n", "\n"),
    ],
)
def test_a_new_line_ends_as_most_do(text: str, newline: str) -> None:
    assert Source.of(text).newline == newline


def test_spans_touch_where_they_share_text() -> None:
    for other, touching in [((0, 2), False), ((1, 3), True), ((2, 3), True), ((3, 4), True), ((4, 6), False)]:
        assert Span(2, 4).touches(Span(*other)) == touching
        assert Span(*other).touches(Span(2, 4)) == touching
    assert len(Span(2, 5)) == 3


@given(texts, st.integers(0, 60), st.integers(0, 60), st.text(alphabet="ab\n", max_size=8))
def test_shrink_means_the_same(text: str, a: int, b: int, new: str) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    edit = Edit(start, end, new)
    small = shrink(text, edit)
    assert apply_edits(text, [small]) == apply_edits(text, [edit])
    old = text[small.start : small.end]
    assert old[:1] != small.text[:1] or not (old and small.text)
    assert old[-1:] != small.text[-1:] or not (old and small.text)


@pytest.mark.parametrize(
    ("new", "small"),
    [
        ("abc", Edit(3, 3, "")),
        ("ab", Edit(2, 3, "")),
        ("bc", Edit(0, 1, "")),
        ("abcd", Edit(3, 3, "d")),
        ("zabc", Edit(0, 0, "z")),
        ("ac", Edit(1, 2, "")),
        ("abbc", Edit(2, 2, "b")),
        ("", Edit(0, 3, "")),
    ],
)
def test_shrink_keeps_what_differs(new: str, small: Edit) -> None:
    assert shrink("abc", Edit(0, 3, new)) == small


def test_shrink_when_letters_repeat() -> None:
    assert shrink("aaa", Edit(0, 3, "aa")) == Edit(2, 3, "")
    assert shrink("aa", Edit(0, 2, "aaa")) == Edit(2, 2, "a")


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(OverlapError):
        apply_edits("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])
    for outlying in (Edit(2, 9, ""), Edit(2, 4, ""), Edit(2, 1, ""), Edit(-1, 1, "")):
        with pytest.raises(OverlapError, match=rf"{outlying.start}\.\.{outlying.end}"):
            apply_edits("abc", [outlying])


def test_what_is_not_utf8_is_said_with_its_place() -> None:
    with pytest.raises(UndecodableError) as caught:
        Source("f", b"\xef\xbb\xbfab\xff")
    assert caught.value.offset == 5
    assert "f: not UTF-8 text (byte 5: " in str(caught.value)
    with pytest.raises(UndecodableError) as caught:
        Source("f", b"ab\xff")
    assert caught.value.offset == 2


def test_only_real_line_ends_count() -> None:
    source = Source.of("a\u2028b\x85c\r\nd\re")
    assert source.position(source.text.index("d")) == (2, 1)
    assert source.position(source.text.index("e")) == (3, 1)


def block(source: Source) -> Region:
    """A YAML literal block's content: the indentation of four is not part of the guest."""
    whole = Region.whole(source)
    pieces, text, at = [], "", 0
    for line in source.text.splitlines(keepends=True):
        body = line[4:]
        pieces.append(Piece(len(text), len(text) + len(body), at + 4, at + len(line)))
        text += body
        at += len(line)
    return whole.child(text, pieces)


def test_whole_guest_lines_take_their_indentation_along() -> None:
    source = Source.of("    one\n    two\n    three\n")
    guest = block(source)
    start = guest.text.index("two")
    edit = guest.edit(start, start + 4, "")
    assert edit is not None
    assert source.with_edits([edit]).text == "    one\n    three\n"


def test_a_part_of_a_guest_line_leaves_the_indentation() -> None:
    source = Source.of("    one two\n    three\n")
    guest = block(source)
    edit = guest.edit(0, 4, "")
    assert edit is not None
    assert source.with_edits([edit]).text == "    two\n    three\n"


def test_an_edit_through_an_escape_is_refused() -> None:
    source = Source.of(r"a\nb")
    guest = Region.whole(source).child("a\nb", [Piece(0, 1, 0, 1), Piece(1, 2, 1, 3, False), Piece(2, 3, 3, 4)])
    assert guest.edit(0, 2, "x") is not None
    long = Region.whole(source).child("axyb", [Piece(0, 1, 0, 1), Piece(1, 3, 1, 3, False), Piece(3, 4, 3, 4)])
    assert long.edit(0, 2, "") is None
    assert long.edit(2, 4, "") is None
    assert long.span(2, 3) is None
    assert long.edit(1, 3, "") == Edit(1, 3, "")
    assert long.edit(1, 4, "z") == Edit(1, 4, "z")


def test_an_escape_writes_new_text_or_refuses_it_where_it_goes() -> None:
    seen: list[tuple[str, int]] = []

    def escape(new: str, at: int) -> str | None:
        seen.append((new, at))
        return None if "'" in new else new.replace("x", "xx")

    source = Source.of("'ab'")
    guest = Region.whole(source).child("ab", [Piece(0, 2, 1, 3)], escape)
    assert guest.edit(1, 2, "x") == Edit(2, 3, "xx")
    assert guest.edit(1, 2, "'") is None
    assert guest.edit(1, 2, "") == Edit(2, 3, "")
    assert guest.slice(1, 2).edit(0, 1, "x") == Edit(2, 3, "xx")
    assert guest.slice(1, 2).edit(1, 1, "z") == Edit(3, 3, "z")
    assert seen == [("x", 1), ("'", 1), ("x", 1), ("z", 2)]


def test_a_place_for_reports_is_the_smallest_around_what_has_no_exact_one() -> None:
    source = Source.of("0123456789")
    pieces = [Piece(0, 2, 1, 3), Piece(2, 4, 4, 6, False), Piece(4, 6, 7, 9)]
    guest = Region.whole(source).child("abcdef", pieces)
    assert guest.nearest_span(0, 1) == Span(1, 2)
    assert guest.nearest_span(3, 4) == Span(4, 6)
    assert guest.nearest_span(3, 3) == Span(4, 6)
    assert guest.nearest_span(2, 3) == Span(4, 6)
    assert guest.nearest_span(1, 3) == Span(1, 6)
    assert guest.nearest_span(3, 5) == Span(4, 9)
    assert guest.slice(3, 5).nearest_span(0, 1) == Span(4, 6)
    made_up = Region.whole(source).child("abc", [])
    assert made_up.nearest_span(0, 1) == Span(0, 0)
    assert made_up.span(0, 1) is None
    assert made_up.edit(0, 1, "") is None


def test_what_lies_between_two_pieces_goes_with_what_is_taken_whole() -> None:
    """`a` and `b` with three letters between them that the guest does not see."""
    source = Source.of("<a---b>")
    guest = Region.whole(source).child("ab", [Piece(0, 1, 1, 2), Piece(1, 2, 5, 6)])
    assert guest.span(0, 1) == Span(1, 2)
    assert guest.span(1, 2) == Span(5, 6)
    assert guest.span(0, 2) == Span(1, 6)
    assert guest.edit(1, 1, "x") == Edit(2, 2, "x"), "an insertion belongs to what it follows"
    assert guest.edit(0, 0, "x") == Edit(1, 1, "x")


def test_insertions_and_removals_of_lines_in_an_indented_block() -> None:
    source = Source.of("    one\n    two\n")
    guest = block(source)
    second = guest.text.index("two")
    assert guest.span(second, second) == Span(12, 12), "the start of a line is after its indentation"
    assert guest.span(0, 4) == Span(4, 8)
    assert guest.span(second, second + 3) == Span(12, 15)
    assert guest.span(second, second + 4) == Span(8, 16), "a line that is not the first goes with its indentation"
    assert guest.span(second - 1, second + 3) == Span(7, 15)
    assert guest.span(second - 1, second) == Span(7, 8)


def test_a_block_that_begins_with_an_empty_line() -> None:
    guest = block(Source.of("    \n    two\n    three\n"))
    assert guest.span(1, 5) == Span(5, 13), "the second line goes with its indentation"
    assert guest.span(0, 1) == Span(4, 5)
    assert guest.span(1, 1) == Span(9, 9)


@given(st.lists(st.text(alphabet="ab ", min_size=1, max_size=6), min_size=1, max_size=6), st.data())
def test_replacing_guest_text_by_itself_is_the_identity(lines: list[str], data: st.DataObject) -> None:
    source = Source.of("".join(f"    {line}\n" for line in lines))
    guest = block(source)
    a = data.draw(st.integers(0, len(guest.text)))
    b = data.draw(st.integers(a, len(guest.text)))
    span = guest.span(a, b)
    assert span is not None
    if "\n" not in guest.text[a:b]:
        edit = guest.edit(a, b, guest.text[a:b])
        assert edit is not None
        assert source.with_edits([edit]).text == source.text


@given(edited())
def test_what_was_written_is_found_again(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    after = apply_edits(text, edits)
    spans = spans_after(reversed(edits))
    assert [after[s.start : s.end] for s in spans] == [e.text for e in edits]
    rest, at = [], 0
    for span in spans:
        rest.append(after[at : span.start])
        at = span.end
    kept, here = [], 0
    for edit in edits:
        kept.append(text[here : edit.start])
        here = edit.end
    assert [*rest, after[at:]] == [*kept, text[here:]]
