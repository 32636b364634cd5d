"""What an image starts: `CMD` and `ENTRYPOINT`, alone and together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vllm_migrate.hosts import Context, read_shell
from vllm_migrate.hosts.dockerfile_lines import Instruction
from vllm_migrate.hosts.dockerfile_values import (
    json_inner,
    json_quote,
    json_region,
    json_strings,
    quote_value,
)
from vllm_migrate.hosts.listed import ListContainer, mapped, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.launch import container_launch, script_of
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import CannotRender, Change, InsertVariable, Pin, Reading, Site, Variable, Word
from vllm_migrate.text import Edit, Region, Span

if TYPE_CHECKING:
    from vllm_migrate.hosts.dockerfile_stage import Stage

HOST = "dockerfile"


@dataclass
class NewEnv:
    """Takes environment variables of a stage that sets none: a line before its command."""

    host: str
    region: Region
    before: Instruction | None
    newline: str

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        if self.before is None:
            raise CannotRender("no place for a variable")
        out: list[Edit] = []
        for change in changes:
            value = quote_value(change.value, (), "") if isinstance(change, InsertVariable) else None
            if value is None or not isinstance(change, InsertVariable):
                raise CannotRender("only a variable can be added here")
            place = self.before.start
            out.append(Edit(place, place, f"ENV {change.name}={value}{self.newline}"))
        return mapped(self.region, out)


@dataclass
class Exec:
    """A JSON array of `CMD` or `ENTRYPOINT`: words, their array, and the array's own text."""

    instruction: Instruction
    logical: Region
    spans: list[Span]
    words: list[Word]
    home: ListContainer


def read_exec(region: Region, instruction: Instruction, removable: bool) -> Exec | None:
    """Return the words of an instruction's JSON array, or None where it is in shell form.

    removable: the instruction goes away when its last word does.
    """
    logical = instruction.logical(region)
    found = json_strings(logical.text)
    if found is None:
        return None
    spans, texts = found
    outer = [logical.to_parent(s.start, s.end) for s in spans]
    if any(s is None for s in outer):
        return None
    items = [s for s in outer if s is not None]
    opener = region.text.index("[", instruction.args) + 1
    listing = Listing(
        region.text,
        items,
        opener,
        ",",
        instruction.escape,
        newline=region.source.newline,
    )
    home = ListContainer(HOST, region, listing, json_quote, json_inner)
    if removable:
        home.empty = lambda: [whole_lines(region.text, instruction.start, instruction.line_end)]
    words = []
    for i, (span, text) in enumerate(zip(items, texts, strict=True)):
        word = Word(region, Span(span.start + 1, span.end - 1), home, text=text)
        home.add(word, i)
        words.append(word)
    return Exec(instruction, logical, spans, words, home)


_Remap = Callable[[Pin, "Stage"], Pin]


def sites_of_stage(
    region: Region, context: Context, stage: Stage, remap: _Remap
) -> tuple[Reading, list[Site]]:
    """Return what a stage's own CMD or ENTRYPOINT starts, and all sites of the stage so far."""
    sites = list(stage.sites)
    reading = Reading()
    if stage.command is None and stage.entry is None:
        return reading, sites
    entry = next((s.entry for s in stage.line() if s.entry is not None), None)
    command = stage.command
    inside = context.inside(stage.owner, stage.image)
    first = _exec(region, entry, stage, removable=False) if entry is not None else None
    second = _exec(region, command, stage, removable=True) if command is not None else None
    if entry is not None and first is None:
        guest = _shell(region, entry, inside)
        reading.extend(guest)
    elif command is not None and second is None:
        if entry is None:
            reading.extend(_shell(region, command, inside))
    else:
        reading.extend(_exec_reading(region, inside, stage, first, second))
    reading.pins = [remap(pin, stage) for pin in reading.pins]
    return reading, [*sites, *(s for s in reading.sites if not any(s is t for t in sites))]


def _exec(region: Region, instruction: Instruction, stage: Stage, removable: bool) -> Exec | None:
    """Read an array once, so that stages which share it share its words."""
    if instruction.shared is None:
        instruction.shared = read_exec(region, instruction, removable) or False
    shared = instruction.shared
    return shared if isinstance(shared, Exec) else None


def _shell(region: Region, instruction: Instruction, context: Context) -> Reading:
    return read_shell(instruction.script(region), context)


def _exec_reading(
    region: Region, context: Context, stage: Stage, entry: Exec | None, command: Exec | None
) -> Reading:
    words = [*(entry.words if entry else ()), *(command.words if command else ())]
    texts = [w.text for w in words]
    if not texts:
        return Reading()
    script = script_of(texts)
    if script is not None:
        array, at = (entry, script) if entry and script < len(entry.words) else (command, script)
        if array is command and entry:
            at -= len(entry.words)
        assert array is not None
        text = json_region(array.logical, array.spans[at])
        return read_shell(text, context) if text is not None else Reading()
    launch = container_launch(texts, stage.image, len(entry.words) if entry else 0)
    if launch is None:
        return Reading()
    last = command or entry
    assert last is not None
    span = Span(last.instruction.start, last.instruction.line_end)
    site = Site(launch.entry_point, HOST, region, span, launch.passed(words, texts), owner=stage.owner)
    launch.mark(site).word_home = last.home
    for i in launch.assignments:
        word = words[i]
        name, _, value = word.text.partition("=")
        array = entry if entry and i < len(entry.words) else command
        assert array is not None
        at = i if array is entry or entry is None else i - len(entry.words)
        cut = word.span.start + len(name) + 1
        variable = Variable(
            region,
            word.span,
            array.home,
            name=name,
            value=value,
            only=True,
            value_span=Span(min(cut, word.span.end), word.span.end),
        )
        array.home.members.insert(0, (variable, at))
        site.variables.append(variable)
    return Reading(sites=[site])
