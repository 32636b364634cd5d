"""The text engine: edits change what they say and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.text import Edit, OverlapError, Piece, Region, Source, UndecodableError, apply_edits, shrink

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
    after = apply_edits(text, edits)
    kept, at = [], 0
    for edit in edits:
        kept.append(text[at : edit.start])
        at = edit.end
    kept.append(text[at:])
    rest = after
    for part in kept:
        assert part in rest
        rest = rest[rest.index(part) + len(part) :]
    assert len(after) == len(text) + sum(len(e.text) - (e.end - e.start) for e in edits)


@given(edited(), st.booleans())
def test_source_keeps_its_byte_order_mark(case: tuple[str, list[Edit]], bom: bool) -> None:
    text, edits = case
    raw = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    source = Source("f", raw)
    assert source.with_edits([]).raw == raw
    assert source.with_edits(edits).raw.startswith(b"\xef\xbb\xbf") == bom


@given(texts, st.data())
def test_positions_and_byte_offsets_agree(text: str, data: st.DataObject) -> None:
    source = Source("f", b"\xef\xbb\xbf" + text.encode())
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.position(offset)
    assert source.line_starts[line - 1] + column - 1 == offset
    assert source.raw[: source.byte_offset(offset)] == b"\xef\xbb\xbf" + text[:offset].encode()


@given(texts, st.integers(0, 60), st.integers(0, 60), st.text(alphabet="ab\n", max_size=8))
def test_shrink_means_the_same(text: str, a: int, b: int, new: str) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    edit = Edit(start, end, new)
    small = shrink(text, edit)
    assert apply_edits(text, [small]) == apply_edits(text, [edit])
    assert small.end - small.start <= end - start


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(OverlapError):
        apply_edits("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])
    with pytest.raises(OverlapError):
        apply_edits("abc", [Edit(2, 9, "")])


def test_what_is_not_utf8_is_said_with_its_place() -> None:
    with pytest.raises(UndecodableError) as caught:
        Source("f", b"\xef\xbb\xbfab\xff")
    assert caught.value.offset == 5


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
