"""The words every part shares: sites, words, entries, environment variables, pins, changes, readings.

A host turns a file into a `Reading`. It knows formats only: it hands over *items* (words of a command
line, entries of a mapping, environment variables, references to versions) with their spans, and each
item's *container* knows how to render changes of its items as edits. What an item means to vLLM is
decided later, from data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol

from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Edit, Region, Span

HOLE = "\ue000"
"""First of the private-use letters that stand for a run-time part of a word; hole i is chr(0xE000 + i)."""


def is_hole(char: str) -> bool:
    return "\ue000" <= char <= "\uf8ff"


class Dynamic:
    """A value only a run can tell. `raw` is how the file spells it."""

    __slots__ = ("raw",)

    def __init__(self, raw: str = "") -> None:
        self.raw = raw

    def __repr__(self) -> str:
        return f"Dynamic({self.raw!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dynamic) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)


class Container(Protocol):
    """What holds items and can render changes of them as edits of the source.

    `edits` gets every change of its items at once and returns edits of the source, or raises
    CannotRender with the reason. Removing the last item takes away what would be left broken
    (an empty key, a lone `if`).
    """

    host: str

    def edits(self, changes: Sequence[Change]) -> list[Edit]: ...


class CannotRender(Exception):
    """These changes cannot be written at this place; the message says why, for the report."""


@dataclass(eq=False)
class Item:
    """What can be edited: a place in a region, with the container that edits it.

    region, span: the region the item was read from and where in its text it lies.
    locked: a reason why it must not be edited ("generated file", "inside a template action"), or "".
    shared: how many uses the text has beyond the one read here (a variable used elsewhere, an anchor).
    """

    region: Region
    span: Span
    container: Container

    locked: str = field(default="", kw_only=True)
    guarded: str = field(default="", kw_only=True)
    branch: int = field(default=-1, kw_only=True)
    """Which block of template actions (`if`, `range`) prints the item: where its innermost one starts, -1
    where the item is always there."""

    @property
    def place(self) -> Span:
        """The span in the source file, for reports."""
        return self.region.nearest_span(self.span.start, self.span.end)


@dataclass(eq=False)
class Word(Item):
    """One word of a command line as the process would get it.

    text: after unquoting; each run-time part is one private-use letter, spelled out in `holes`.
    splits: the word is an expansion that may become any number of words (`$ARGS`, `"$@"`, `*list`).
    """

    text: str = ""
    holes: tuple[str, ...] = ()
    splits: bool = False

    @property
    def literal(self) -> bool:
        return not self.holes

    def spelled(self) -> str:
        """Return the text with each hole as the file writes it."""
        return fill(self.text, self.holes)


@dataclass(eq=False)
class Entry(Item):
    """One key of a mapping or one keyword argument.

    value: a Python value (str, int, float, bool, None, list, dict) or Dynamic; nested values may hold
    Dynamic too. As the file's own typing has it: a YAML `4` is int, `"4"` is str.
    """

    key: str = ""
    value: Any = None
    key_span: Span | None = None
    value_span: Span | None = None


@dataclass(eq=False)
class Variable(Item):
    """One environment variable set in reach of a site.

    value: text with holes, or None where it is not given here (`valueFrom`, `export X`).
    scope: "process" (a prefix, a container's env: only this process sees it), "script" (an export:
    everything after it sees it), "file" (an image's ENV, an os.environ before more than one use).
    only: nothing but the sites that list this variable can see it.
    """

    name: str = ""
    value: str | None = None
    holes: tuple[str, ...] = ()
    scope: str = "process"
    only: bool = False
    value_span: Span | None = None

    @property
    def literal(self) -> bool:
        return self.value is not None and not self.holes

    def spelled(self) -> str:
        return "" if self.value is None else fill(self.value, self.holes)


@dataclass(eq=False)
class Pin(Item):
    """One place that names a version or a build: the text between quotes, nothing interpreted.

    kind: "image" (a container image a process runs in), "base" (an image built FROM), "requirement"
    (a PEP 508 line or one conda/pip spec), "url" (wheel or archive URL), "index" (package index URL or
    `--torch-backend` style channel word), "git" (ref of a source checkout), "package" (a system
    package), "python" (a Python version), "compiler" (value of CC/CXX, an alternative, a standard),
    "build-arg" (NAME=value given to an image build), "path" (a file of the vLLM tree).
    name: what the text belongs to, where the format says so (the ARG or key it stands under).
    parts: for texts split over two places (image repository and tag): the other part's text.
    owner: key of the scope it belongs to: sites with the same owner are governed by it.
    effective: the full reference in effect, where a file beside this one overrides a default written here.
    replaces: name of the images whose tag this pin sets in other files (a kustomization's `images:`).
    set_by: path and pin of those that decide what is in effect in place of this one.
    """

    kind: str = ""
    text: str = ""
    holes: tuple[str, ...] = ()
    name: str = ""
    owner: str = ""
    prefix: str = ""
    suffix: str = ""
    effective: str = ""
    replaces: str = ""
    set_by: list[tuple[str, Pin]] = field(default_factory=list, repr=False)
    conditional: bool = False
    """It counts only where something else holds: on one kind of machine, with an extra asked for."""

    @property
    def whole(self) -> str:
        """The full reference: `repository:tag` where the file splits it."""
        return self.prefix + self.text + self.suffix


@dataclass(eq=False)
class Mention(Item):
    """A name in code or data that rules may know: an import, an attribute, a metric, a request field.

    kind: "import" (dotted name), "call" (dotted name of what is called), "attribute", "string"
    (a string literal of a program), "metric", "made" (a metric that the file itself makes), "endpoint", "field".
    """

    kind: str = ""
    name: str = ""
    group: object = None
    """The same for names that stand together: in one query, one list, one body; None: in one program."""
    of: str = ""
    """The endpoint that a field is sent to, where the file says so."""
    ours: bool = False
    """The place itself says that the server is vLLM's."""
    nests: bool = False
    """A field that can be removed, and written inside another one (`b.c` for `{"b": {"c": …}}`)."""


@dataclass(eq=False)
class Site:
    """One place where a vLLM process is started or configured.

    entry_point: "serve", "api_server", "LLM", "EngineArgs", "AsyncEngineArgs", "config" (a file for
    `--config`), "bench" …; host: the format's name.
    words: what follows the entry point, in order (command lines). entries: mapping or keyword form.
    variables: everything the file sets in its reach. pins: pins of the same container or command.
    owner: scope key for finding pins ("" = the file). model: literal model name where it is read from
    the form itself. open: arguments exist that the file does not show (an expansion, a splat).
    wrapper: what passes the arguments on to vLLM, "" where nothing stands between. ignores: it drops
    what its vLLM does not take.
    """

    entry_point: str
    host: str
    region: Region
    span: Span
    words: list[Word] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    pins: list[Pin] = field(default_factory=list)
    owner: str = ""
    open: bool = False
    wrapper: str = ""
    ignores: bool = False
    by_image: bool = False
    """No word names the program: the image's own entry point runs it."""
    word_home: Container | None = None
    """Container that takes an added word when the site has none of its own."""
    entry_home: Container | None = None
    variable_home: Container | None = None
    shown: bool = False
    """An example in a document that a file of another kind holds: reported, and fixed only where documents are."""
    hollow: bool = False
    """The site is made of its arguments alone: when all of them go, it goes."""

    @property
    def place(self) -> Span:
        return self.region.nearest_span(self.span.start, self.span.end)


@dataclass(frozen=True)
class Problem:
    """Something about the file itself: it does not parse, is generated, cannot be decoded.

    kind: "syntax", "generated", "note", "doubt" (it parses, but programs may not take it as it stands).
    """

    kind: str
    message: str
    offset: int = 0
    end: int = 0


@dataclass
class Reading:
    """All a host found in one file or guest."""

    sites: list[Site] = field(default_factory=list)
    pins: list[Pin] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    """Variables set here that reach no site of this file (an image's ENV, an .env file)."""
    mentions: list[Mention] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tolerant: bool = False
    """The format's parser recovers from what it does not know, so a syntax problem is only a note."""
    links: list[str] = field(default_factory=list)
    """Files this one refers to, relative to it (`-r`, `--config`, a chart's values)."""
    telling: tuple[object, list[Pin]] | None = field(default=None, repr=False, compare=False)
    """The pins that name a release, kept by those who look for evidence, and the settings they hold for."""
    sorted_pins: object = field(default=None, repr=False, compare=False)
    """The pins by what they belong to, kept by the rules."""
    documentation: bool = False
    """The file shows examples to people: it says nothing of what the launches beside it run on."""
    counts: list[tuple[str, int]] = field(default_factory=list)
    """Lists of other files ("args", "env") and the number of an item in them that this one relies on."""

    def extend(self, other: Reading) -> None:
        self.sites += other.sites
        self.pins += other.pins
        self.variables += other.variables
        self.mentions += other.mentions
        self.problems += other.problems
        self.links += other.links
        self.counts += other.counts


@dataclass(frozen=True, eq=False)
class Remove:
    """Take an item away, with its line, comma, continuation or list marker."""

    item: Item


@dataclass(frozen=True, eq=False)
class Replace:
    """Give an item a new value: a word's text, an entry's or variable's value, a pin's or mention's text.

    New text of words and variables may hold hole letters of `holes`.
    """

    item: Item
    value: Any
    holes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rename:
    """Give an entry or a variable a new key; the value stays."""

    item: Item
    name: str


@dataclass(frozen=True, eq=False)
class InsertWords:
    """Add words to a container, after `after` (or before `before`, or last)."""

    container: Container
    words: Sequence[str]
    holes: tuple[str, ...] = ()
    after: Word | None = None
    before: Word | None = None


@dataclass(frozen=True, eq=False)
class InsertEntry:
    """Add a key with a Python value to a mapping, after `after` or last."""

    container: Container
    key: str
    value: Any
    after: Entry | None = None


@dataclass(frozen=True, eq=False)
class InsertVariable:
    """Add an environment variable, after `after` or where the container puts one."""

    container: Container
    name: str
    value: str
    after: Variable | None = None


@dataclass(frozen=True, eq=False)
class InsertText:
    """Add a requirement after a requirement pin (`kind="requirement"`) or a build step after a base
    image or the stage's first step (`kind="step"`): the host writes it as its format wants."""

    item: Pin
    kind: str
    text: str


Change = Remove | Replace | Rename | InsertWords | InsertEntry | InsertVariable | InsertText


def container_of(change: Change) -> Container:
    """Return the container that renders a change."""
    if isinstance(change, (Remove, Replace, Rename, InsertText)):
        return change.item.container
    return change.container


def fill(text: str, holes: Sequence[str]) -> str:
    """Return text with every hole letter replaced by its spelling."""
    if not holes:
        return text
    return "".join(holes[ord(c) - 0xE000] if is_hole(c) and ord(c) - 0xE000 < len(holes) else c for c in text)
