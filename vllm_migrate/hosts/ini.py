"""Section files: systemd units, Podman quadlets, supervisor programs, and `setup.cfg`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import Context, read_shell
from vllm_migrate.hosts.dockerfile_lines import Instruction
from vllm_migrate.hosts.listed import ListContainer, SpotContainer, mapped, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.hosts.requirements import Lines
from vllm_migrate.hosts.requirements import read as read_requirements
from vllm_migrate.hosts.unit_words import (
    UnitWord,
    quote_assignment,
    quote_supervised,
    quote_word,
    script_region,
    split_unit_words,
)
from vllm_migrate.launch import basename, container_launch, find_launch, launchers, script_of
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertVariable,
    Pin,
    Reading,
    Site,
    Variable,
    Word,
    fill,
)
from vllm_migrate.text import Edit, Region, Span

NAME = "ini"

_HEADER = regex(r"\[([^\]\r\n]+)\][ \t]*$")
_KEY = regex(r"(?P<key>[A-Za-z][\w.-]*)[ \t]*=[ \t]*")
_EXEC = ("ExecStart", "ExecStartPre", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost")


@dataclass
class Setting:
    """A `Key=value` line with those that continue it; offsets of the file's text."""

    section: str
    key: str
    start: int
    value: int
    end: int
    joined: list[Span]

    def logical(self, region: Region) -> Region:
        return Instruction("", 0, 0, 0, 0, 0, "\\", self.joined).logical(region)


@dataclass
class Unit:
    """What one section sets, until its launches are known."""

    variables: list[Variable] = field(default_factory=list)
    env_home: ListContainer | None = None
    image: str = ""
    pins: list[Pin] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    processes: int = 0
    exec: Setting | None = None


@dataclass
class NewSetting:
    """Adds `Environment=` before the command of a unit that sets none."""

    host: str
    region: Region
    before: Setting
    newline: str

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        out = []
        for change in changes:
            if not isinstance(change, InsertVariable):
                raise CannotRender("only a variable can be added here")
            written = quote_assignment(f"{change.name}={change.value}", (), "")
            if written is None:
                raise CannotRender("the value cannot be written on one line")
            out.append(Edit(self.before.start, self.before.start, f"Environment={written}{self.newline}"))
        return mapped(self.region, out)


def settings(text: str) -> Iterator[Setting]:
    """Yield the settings of a unit file; comment lines inside a continued value are passed over."""
    section = ""
    lines = [
        (m.start(), m.end()) for m in re.finditer(r"[^\r\n]*(?=\r\n|\r|\n|\Z)", text) if _starts(text, m)
    ]
    i = 0
    while i < len(lines):
        start, end = lines[i]
        i += 1
        line = text[start:end]
        header = _HEADER.match(line.strip())
        if header is not None:
            section = header[1]
            continue
        match = _KEY.match(line)
        if match is None:
            continue
        joined = [Span(start + match.end(), end)]
        while text[joined[-1].start : joined[-1].end].endswith("\\"):
            last = joined[-1]
            joined[-1] = Span(last.start, last.end - 1)
            while i < len(lines) and text[slice(*lines[i])].lstrip().startswith(("#", ";")):
                i += 1
            if i >= len(lines):
                break
            joined.append(Span(*lines[i]))
            end = lines[i][1]
            i += 1
        yield Setting(section, match["key"], start, start + match.end(), end, joined)


def _starts(text: str, match: re.Match[str]) -> bool:
    at = match.start()
    return at == 0 or text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n")


def read(region: Region, context: Context) -> Reading:
    """Return what a unit starts and sets, and what `setup.cfg` requires."""
    if context.path.rsplit("/", 1)[-1] == "setup.cfg":
        return _setup_cfg(region, context)
    out = Reading()
    units: dict[str, Unit] = {}
    for setting in settings(region.text):
        unit = units.setdefault(setting.section, Unit())
        owner = f"{context.owner}/{setting.section}".lstrip("/")
        supervised = setting.section.startswith("program:")
        if setting.key == "Environment":
            _environment(region, setting, unit)
        elif setting.key == "EnvironmentFile":
            link = region.text[setting.value : setting.end].strip().lstrip("-").strip("\"'")
            if link:
                out.links.append(link)
        elif setting.key == "Image" and setting.section == "Container":
            _image(region, setting, unit, owner)
        elif setting.key in _EXEC:
            unit.processes += 1
            _exec(region, setting, unit, context.inside(owner), out)
        elif setting.key == "Exec" and setting.section == "Container":
            unit.processes += 1
            unit.exec = setting
        elif setting.key == "environment" and supervised:
            _supervised_environment(region, setting, unit)
        elif setting.key == "command" and supervised:
            unit.processes += 1
            _exec(region, setting, unit, context.inside(owner), out)
    for section, unit in units.items():
        owner = f"{context.owner}/{section}".lstrip("/")
        if unit.exec is not None:
            _exec(region, unit.exec, unit, context.inside(owner, unit.image), out)
        _finish(region, unit, out)
    return out


def _finish(region: Region, unit: Unit, out: Reading) -> None:
    out.sites += unit.sites
    out.pins += unit.pins
    for variable in unit.variables:
        variable.only = unit.processes == 1 and len(unit.sites) == 1
        for site in unit.sites:
            site.variables.append(variable)
        if not unit.sites:
            out.variables.append(variable)
    for site in unit.sites:
        site.pins += [p for p in unit.pins if not any(p is q for q in site.pins)]
        if unit.env_home is not None:
            site.variable_home = unit.env_home


def _listing(region: Region, setting: Setting, words: Sequence[UnitWord]) -> Listing:
    return Listing(
        region.text, [w.span for w in words], setting.value, "", "\\", newline=region.source.newline
    )


def _words(
    region: Region, setting: Setting, *, dollars: bool = True, supervised: bool = False
) -> list[UnitWord]:
    logical = setting.logical(region)
    found = []
    for word in split_unit_words(logical.text, dollars=dollars, supervised=supervised):
        span = logical.to_parent(word.span.start, word.span.end)
        if span is not None:
            found.append(UnitWord(span, word.text, word.holes, word.splits, word.quoted))
    return found


def _environment(region: Region, setting: Setting, unit: Unit) -> None:
    words = _words(region, setting, dollars=False)
    home = ListContainer(NAME, region, _listing(region, setting, words), quote_assignment)
    home.empty = lambda: [whole_lines(region.text, setting.start, setting.end)]
    for i, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            continue
        cut = word.span.start + len(name) + 1 + (1 if word.quoted else 0)
        variable = Variable(region, word.span, home, name=name, value=value, holes=word.holes)
        variable.value_span = Span(min(cut, word.span.end), word.span.end - (1 if word.quoted else 0))
        home.add(variable, i)
        unit.variables.append(variable)
    if words:
        unit.env_home = home


def _supervised_environment(region: Region, setting: Setting, unit: Unit) -> None:
    """Read `environment=A="1",B="2"` of a supervisor program."""
    pattern = re.compile(r"(?<!\w)(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|[^,\s]*)")
    found = list(pattern.finditer(region.text, setting.value, setting.end))
    spans = [Span(m.start(), m.end()) for m in found]
    listing = Listing(region.text, spans, setting.value, newline=region.source.newline, blanks="")

    def quote(text: str, holes: Sequence[str], old: str) -> str | None:
        name, _, value = text.partition("=")
        return None if '"' in value or "\n" in value else f'{name}="{fill(value, holes)}"'

    home = ListContainer(NAME, region, listing, quote)
    home.empty = lambda: [whole_lines(region.text, setting.start, setting.end)]
    for i, match in enumerate(found):
        raw = match["value"]
        quoted = 1 if raw[:1] in ("'", '"') else 0
        variable = Variable(region, spans[i], home, name=match["name"], value=raw.strip("\"'"))
        variable.value_span = Span(match.start("value") + quoted, match.end("value") - quoted)
        home.add(variable, i)
        unit.variables.append(variable)
    unit.env_home = home


def _image(region: Region, setting: Setting, unit: Unit, owner: str) -> None:
    text = region.text[setting.value : setting.end].rstrip()
    pin = Pin(region, Span(setting.value, setting.value + len(text)), SpotContainer(NAME, region))
    pin.kind, pin.text, pin.owner = "image", text, owner
    pin.locked = "has a digest" if "@sha256:" in text else ""
    unit.image = text
    unit.pins.append(pin)


def _exec(region: Region, setting: Setting, unit: Unit, context: Context, out: Reading) -> None:
    supervised = setting.key == "command"
    words = _words(region, setting, supervised=supervised)
    if not words:
        return
    quote = quote_supervised if supervised else quote_word
    home = ListContainer(NAME, region, _listing(region, setting, words), quote)
    texts = [w.text for w in words]
    if setting.key in _EXEC:
        texts[0] = texts[0].lstrip("@-:+!|")
    script = script_of(texts)
    if script is not None and words[script].quoted:
        word = words[script]
        if any(t in texts[script] for t in launchers()["triggers"]):
            reading = read_shell(script_region(region, word.span, supervised=supervised), context)
            unit.sites += reading.sites
            reading.sites = []
            out.extend(reading)
        return
    launch = container_launch(texts, context.image, 0) if context.image else find_launch(texts)
    if launch is None:
        _pulled(region, words, texts, context, out)
        return
    items: list[Word] = []
    for i, word in enumerate(words):
        item = Word(region, word.span, home, text=texts[i], holes=word.holes, splits=word.splits)
        home.add(item, i)
        items.append(item)
    if launch.first == 0:
        home.empty = lambda: [whole_lines(region.text, setting.start, setting.end)]
    site = Site(launch.entry_point, NAME, region, Span(setting.start, setting.end), launch.passed(items, texts))
    launch.mark(site)
    site.owner, site.word_home = context.owner, home
    site.open = any(w.splits for w in site.words)
    site.variable_home = NewSetting(NAME, region, setting, region.source.newline)
    for i in sorted((*launch.assignments, *launch.glued)):
        option = re.match(r"(?:--env|-e)=", texts[i]) if i in launch.glued else None
        lead = option[0] if option is not None else ""
        name, equals, value = texts[i][len(lead) :].partition("=")
        if not equals:
            continue
        variable = Variable(
            region, words[i].span, home, name=name, value=value, holes=words[i].holes, only=True
        )
        home.members.insert(0, (variable, i))
        if lead:
            home.prefixes[i] = lead
        elif i and texts[i - 1] in ("-e", "--env"):
            home.leads[i] = i - 1
        site.variables.append(variable)
    if launch.image is not None:
        word = words[launch.image]
        pin = Pin(region, word.span, SpotContainer(NAME, region), kind="image", text=word.text)
        pin.holes, pin.owner = word.holes, context.owner
        pin.locked = "has a digest" if "@sha256:" in word.text else ""
        site.pins.append(pin)
        out.pins.append(pin)
    unit.sites.append(site)


def _pulled(region: Region, words: Sequence[UnitWord], texts: Sequence[str], context: Context, out: Reading) -> None:
    """Note the image that a unit fetches before it starts."""
    if basename(texts[0]) not in launchers()["container_tools"] or "pull" not in texts[1:-1]:
        return
    word = words[-1]
    pin = Pin(region, word.span, SpotContainer(NAME, region), kind="image", text=word.text, holes=word.holes)
    pin.owner = context.owner
    pin.locked = "has a digest" if "@sha256:" in word.text else ""
    out.pins.append(pin)


def _setup_cfg(region: Region, context: Context) -> Reading:
    """Read the requirement lists of `[options]` and `[options.extras_require]`."""
    out = Reading()
    pattern = re.compile(
        r"^(?P<key>[\w-]+)[ \t]*=[ \t]*(?![ \t])(?:\r?\n)?(?P<body>[^\r\n]*(?:\r?\n(?=[ \t]+\S)[^\r\n]*)*)", re.M
    )
    section = ""
    for match in re.finditer(r"^\[(?P<name>[^\]\r\n]+)\]|" + pattern.pattern, region.text, re.M):
        if match["name"]:
            section = match["name"]
            continue
        wanted = section == "options.extras_require" or (
            section == "options" and match["key"] in ("install_requires", "setup_requires", "tests_require")
        )
        if wanted:
            guest = region.slice(match.start("body"), match.end("body"))
            reading = read_requirements(guest, context)
            if region.text[match.start("body") - 1] != "\n":
                for pin in reading.pins:
                    if isinstance(pin.container, Lines):
                        pin.container.lead = "    "
            out.extend(reading)
        elif section == "options" and match["key"] == "python_requires":
            text = match["body"].strip()
            start = match.start("body") + match["body"].index(text)
            pin = Pin(
                region, Span(start, start + len(text)), SpotContainer(NAME, region), kind="python", text=text
            )
            pin.name = "python"
            out.pins.append(pin)
    return out
