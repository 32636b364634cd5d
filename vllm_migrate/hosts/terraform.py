"""HCL: containers, images, scripts and manifests of Terraform, Packer and Nomad files, and of their templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.hosts import Context, host_for, read_guest, read_python, read_shell
from vllm_migrate.hosts.filled import finish
from vllm_migrate.hosts.hcl_env import Settings, Slot
from vllm_migrate.hosts.hcl_options import read_options
from vllm_migrate.hosts.hcl_scan import Node, Pair, ScanError, scan
from vllm_migrate.hosts.hcl_text import Letters, guest, inner, inside, quoted, template, word_of
from vllm_migrate.hosts.listed import ListContainer, SpotContainer, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.hosts.shown import Names
from vllm_migrate.launch import container_launch, find_launch, is_server_image, launchers, script_of, split_image
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Pin, Problem, Reading, Site, Variable, Word
from vllm_migrate.text import Edit, Region, Span
from vllm_migrate.wrapped import carried_site

NAME = "terraform"

_TEMPLATE = ".tftpl"
_ANY_TEMPLATE = ".tpl"
"""Older name of the same; other programs' templates have it too, so what does not parse is no problem of the file."""
_ENTRY = ("entryPoint", "entrypoint", "entry_point")
_COMMAND = ("command", "commands", "Cmd", "cmd")
_ARGS = ("args", "arguments")
_ENV = ("env", "environment", "environment_variables", "env_vars", "environment_vars", "env_variables")
_PROSE = regex(r"(?i)descr|comment|message|label|title|help|annotation")
_LINES = ("inline", "runcmd", "commands", "script")
_YAML = regex(r"[ \t]*(?:---|#cloud-config|(?:- )?[\w./\"-]+:(?:[ \t]|$)|- \S)")


def read(region: Region, context: Context) -> Reading:
    """Return what a file's resources start, set and pin; one that is not HCL is a `syntax` problem."""
    if context.path.lower().endswith((_TEMPLATE, _ANY_TEMPLATE)):
        return _template(region, context)
    out = Reading()
    try:
        root = scan(region.text)
    except ScanError as error:
        place = region.nearest_span(error.offset, error.offset)
        out.problems.append(Problem("syntax", f"not valid HCL: {error.message}", place.start, place.start))
        return out
    Reader(region, context, root, out).body(root, None, "")
    return out


def _template(region: Region, context: Context) -> Reading:
    plain = context.path.lower().endswith(_ANY_TEMPLATE)
    name = context.path[: -len(_ANY_TEMPLATE if plain else _TEMPLATE)]
    head = region.text.partition("\n")[0]
    module = host_for(name, head)
    if module is None and _looks_like_yaml(region.text):
        module = host_for(name + ".yaml", head)
    shell = module is None or module.NAME == "shell"
    names = Names() if shell else Letters()
    text = template(region, 0, len(region.text), names)
    if module is None or shell:
        return read_shell(text, context) if module is not None or not plain else Reading()
    reading = module.read(text, context)
    finish(reading)
    if plain:
        reading.problems = [p for p in reading.problems if p.kind != "syntax"]
    return reading


def _looks_like_yaml(text: str) -> bool:
    lines = [t for t in text.splitlines() if t.strip() and not re.match(r"\s*#(?!cloud-config)", t)]
    return bool(lines) and _YAML.match(lines[0]) is not None and not lines[0].startswith("#!")


@dataclass
class _Words:
    """The words of one list: its home, and the nodes they come from."""

    words: list[Word] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    home: ListContainer | None = None


class Reader:
    def __init__(self, region: Region, context: Context, root: Node, out: Reading) -> None:
        self.region = region
        self.text = region.text
        self.context = context
        self.out = out
        self.seen: set[int] = set()
        self.count = 0
        self.named = dict(_named(root))
        self.keys: list[str] = []
        """What the values around the one that is read are called, labels of blocks among them."""
        self.pinned: set[int] = set()

    # what a body holds

    def body(self, node: Node, outer: Node | None, key: str) -> None:
        """Read a body or object and all below it. outer: what holds it, for variables a task gives its `config`."""
        self._container(node, outer if key == "config" else None)
        for pair in node.pairs:
            self._value(pair, node)
        for item in node.items:
            self._deeper(item, key, node)

    def _worth(self, node: Node) -> bool:
        return any(t in self.text[node.start : node.end] for t in launchers()["triggers"])

    def _value(self, pair: Pair, holder: Node) -> None:
        node = pair.value
        depth = len(self.keys)
        self.keys += [pair.key, *node.labels]
        if node.kind in ("body", "object"):
            self.body(node, holder, pair.key)
        elif not read_options(self, node, holder):
            self._deeper(node, pair.key, holder)
        del self.keys[depth:]

    def _deeper(self, node: Node, key: str, holder: Node) -> None:
        if id(node) in self.seen:
            return
        if node.kind in ("string", "heredoc"):
            self._text(node, key, holder)
        elif node.kind in ("body", "object"):
            self.body(node, holder, key)
        elif node.kind == "list" and key in _LINES and node.items and all(i.kind == "string" for i in node.items):
            self._script_lines(node)
        else:
            if node.kind == "list":
                self._command_list(node, key)
            for item in node.items:
                self._deeper(item, key, holder)

    # containers

    def _container(self, node: Node, task: Node | None) -> None:
        image_node = node.get("image")
        lists = [(n, node.get(*n)) for n in (_ENTRY, _COMMAND, _ARGS)]
        entry, command, args = (value for _, value in lists)
        if image_node is None and args is None and command is None:
            return
        self.count += 1
        owner = f"{self.context.owner}container{self.count}"
        image, pin = self._image(image_node, owner)
        held = [n for n in (entry, command, args) if n is not None]
        parts = [p for p in (self._words(n) for n in held) if p is not None]
        variables, home = self._variables(node, task)
        if len(parts) != len(held) or not (parts or image):
            self._loose(variables)
            return
        words = [w for p in parts for w in p.words]
        nodes = [n for p in parts for n in p.nodes]
        texts = [w.text for w in words]
        count = len(parts[0].words) if entry is not None or (command is not None and args is not None) else 0
        sites: list[Site] = []
        script = script_of(texts)
        if script is not None:
            sites = self._scripted(nodes[script], image, owner)
        else:
            launch = container_launch(texts, image, count) if texts else None
            if launch is not None:
                site = Site(launch.entry_point, NAME, self.region, Span(node.start, node.end))
                site.words = launch.passed(words, texts)
                launch.mark(site)
                site.owner, site.word_home = owner, parts[-1].home
                site.open = any(w.splits for w in site.words)
                sites = [site]
                self.out.sites.append(site)
                self.seen.update(id(n) for n in held)
        for site in sites:
            site.variables += variables
            site.variable_home = site.variable_home or home
            if pin is not None:
                site.pins.append(pin)
        for variable in variables:
            variable.only = len(sites) == 1
        carried = carried_site(variables, split_image(image)[0], NAME, owner)
        if carried is not None:
            carried.pins = [pin] if pin is not None else []
            self.out.sites.append(carried)
        elif not sites:
            self._loose(variables)

    def _loose(self, variables: list[Variable]) -> None:
        self.out.variables += variables

    def _scripted(self, node: Node, image: str, owner: str) -> list[Site]:
        self.seen.add(id(node))
        if node.kind not in ("string", "heredoc"):
            return []
        reading = read_shell(guest(self.region, node, Names()), self.context.inside(owner, image))
        self._adopt(reading)
        return reading.sites

    def _image(self, node: Node | None, owner: str) -> tuple[str, Pin | None]:
        if node is None or node.kind not in ("string", "other"):
            return "", None
        if node.kind == "other":
            said = self.named.get(self.text[node.start : node.end])
            if said is None:
                return "", None
            text, holes = word_of(self.text, said)
            return text, self._pin(said, owner) if not holes else None
        text, holes = word_of(self.text, node)
        return text, self._pin(node, owner)

    def _pin(self, node: Node, owner: str) -> Pin | None:
        """Return the pin of an image; where one variable of the file gives a part of it, that is what moves."""
        if id(node) in self.pinned:
            return next((p for p in self.out.pins if p.span == inside(node)), None)
        self.pinned.add(id(node))
        text, holes = word_of(self.text, node)
        place, prefix, suffix = node, "", ""
        if len(holes) == 1 and (match := re.fullmatch(r"\$\{\s*([\w.]+)\s*\}", holes[0])):
            said = self.named.get(match[1])
            if said is not None and not word_of(self.text, said)[1]:
                prefix, _, suffix = text.partition(chr(0xE000))
                place, holes = said, ()
                text = word_of(self.text, said)[0]
        pin = Pin(self.region, inside(place), SpotContainer(NAME, self.region, inner), kind="image")
        pin.text, pin.holes, pin.owner, pin.prefix, pin.suffix = text, holes, owner, prefix, suffix
        if self.text[place.inner_start : place.inner_end] != text and not holes:
            pin.locked = "written with escapes"
        elif "@sha256:" in pin.whole:
            pin.locked = "has a digest"
        self.out.pins.append(pin)
        return pin

    def _words(self, node: Node) -> _Words | None:
        """Return the words of a list, or of what `concat` puts together; None for any other expression."""
        if node.kind == "list":
            return self.list_words(node)
        if node.kind in ("string", "heredoc"):
            found = _Words([], [node])
            spot = ListContainer(
                NAME, self.region, Listing(self.text, [Span(node.start, node.end)], node.start), quoted
            )
            text, holes = word_of(self.text, node)
            word = Word(self.region, inside(node), spot, text=text, holes=holes)
            spot.add(word, 0)
            if node.kind == "heredoc":
                word.locked = "a here-document"
            found.words, found.home = [word], spot
            return found
        if node.kind == "call" and node.name in ("concat", "flatten", "compact", "tolist"):
            joined = _Words()
            for item in node.items:
                part = self._words(item) if item.kind != "string" else None
                if part is None:
                    joined.words.append(self._unknown(item, True))
                    joined.nodes.append(item)
                    continue
                joined.words += part.words
                joined.nodes += part.nodes
                joined.home = joined.home or part.home
            return joined if joined.home is not None else None
        return None

    def _unknown(self, node: Node, splits: bool) -> Word:
        holder = SpotContainer(NAME, self.region)
        word = Word(self.region, Span(node.start, node.end), holder, text=chr(0xE000), splits=splits)
        word.holes = (self.text[node.start : node.end],)
        word.locked = "given elsewhere"
        return word

    def list_words(self, node: Node) -> _Words:
        items = [Span(i.start, i.end) for i in node.items]
        newline = self.region.source.newline
        listing = Listing(self.text, items, node.inner_start, comment="#", newline=newline)
        home = ListContainer(NAME, self.region, listing, quoted, inner)
        home.empty = lambda: [Edit(node.inner_start, node.inner_end, "")]
        found = _Words(home=home)
        for i, item in enumerate(node.items):
            raw = self.text[item.start : item.end]
            if item.kind == "string":
                text, holes = word_of(self.text, item)
                word = Word(self.region, inside(item), home, text=text, holes=holes)
            elif re.fullmatch(r"-?\d+(?:\.\d+)?|true|false", raw):
                word = Word(self.region, Span(item.start, item.end), home, text=raw)
            else:
                word = Word(self.region, Span(item.start, item.end), home, text=chr(0xE000), holes=(raw,))
                word.locked = "given elsewhere"
            home.add(word, i)
            found.words.append(word)
            found.nodes.append(item)
        return found

    def _command_list(self, node: Node, key: str) -> None:
        """Read a list that is a whole command, wherever it stands."""
        if not node.items or not self._worth(node) or any(i.kind not in ("string", "other") for i in node.items):
            return
        part = self.list_words(node)
        texts = [w.text for w in part.words]
        launch = find_launch(texts)
        if launch is None or launch.program != 0 or len(texts) <= launch.first:
            return
        site = Site(launch.entry_point, NAME, self.region, Span(node.start, node.end))
        site.words = launch.passed(part.words, texts)
        launch.mark(site)
        site.owner, site.word_home = self.context.owner, part.home
        self.out.sites.append(site)
        self.seen.update(id(i) for i in node.items)

    # environment

    def _variables(self, node: Node, task: Node | None) -> tuple[list[Variable], Settings | None]:
        variables: list[Variable] = []
        home: Settings | None = None
        for holder in (node, task):
            for pair in holder.pairs if holder is not None else ():
                if pair.key not in _ENV or id(pair.value) in self.seen:
                    continue
                self.seen.add(id(pair.value))
                if pair.value.kind == "body" and pair.value.get("name") is not None:
                    home = home or Settings(NAME, self.region)
                    self._named_variable(pair.value, Span(pair.start, pair.end), home, variables)
                elif pair.value.kind in ("body", "object"):
                    home = self._members(pair, variables)
                elif pair.value.kind == "list":
                    home = self._listed(pair, variables) or home
        return variables, home

    def _named_variable(self, node: Node, whole: Span, home: Settings, variables: list[Variable]) -> None:
        name, value = node.get("name", "key"), node.get("value")
        if name is None or name.kind != "string":
            return
        text = self.text[name.inner_start : name.inner_end]
        variable = Variable(self.region, whole, home, name=text)
        if value is not None and value.kind == "string":
            variable.value, variable.holes = word_of(self.text, value)
            variable.value_span = inside(value)
        elif value is not None:
            variable.value, variable.holes = chr(0xE000), (self.text[value.start : value.end],)
        place = inside(value) if value is not None and value.kind == "string" else Span(whole.end, whole.end)
        home.add(variable, Slot(whole, inside(name), place))
        variables.append(variable)

    def _members(self, pair: Pair, variables: list[Variable]) -> Settings:
        node = pair.value
        alone = "\n" in self.text[node.inner_start : node.inner_end]
        listing = None
        if not alone:
            spans = [Span(p.start, p.end) for p in node.pairs]
            listing = Listing(self.text, spans, node.inner_start, newline=self.region.source.newline)
        home = Settings(NAME, self.region, listing)
        home.empty = lambda: [whole_lines(self.text, pair.start, pair.end)]
        for member in node.pairs:
            value = member.value
            variable = Variable(self.region, Span(member.start, member.end), home, name=member.key)
            place = Span(value.start, value.end)
            if value.kind == "string":
                variable.value, variable.holes = word_of(self.text, value)
                place = variable.value_span = inside(value)
            elif re.fullmatch(r"-?\d+|true|false", self.text[value.start : value.end]):
                variable.value = self.text[value.start : value.end]
            else:
                variable.value, variable.holes = chr(0xE000), (self.text[value.start : value.end],)
            home.add(variable, Slot(variable.span, Span(member.key_start, member.key_end), place))
            variables.append(variable)
        return home

    def _listed(self, pair: Pair, variables: list[Variable]) -> Settings | None:
        node = pair.value
        spans = [Span(i.start, i.end) for i in node.items]
        listing = Listing(self.text, spans, node.inner_start, comment="#", newline=self.region.source.newline)
        if node.items and all(i.kind == "object" and i.get("name", "key") is not None for i in node.items):
            home = Settings(NAME, self.region, listing)
            home.empty = lambda: [whole_lines(self.text, pair.start, pair.end)]
            for item in node.items:
                self._named_variable(item, Span(item.start, item.end), home, variables)
            return home
        if not node.items or any(i.kind != "string" for i in node.items):
            return None
        strings = ListContainer(NAME, self.region, listing, quoted)
        strings.empty = lambda: [whole_lines(self.text, pair.start, pair.end)]
        for i, item in enumerate(node.items):
            text, holes = word_of(self.text, item)
            name, equals, value = text.partition("=")
            if not equals:
                continue
            cut = item.inner_start + len(name) + 1
            variable = Variable(self.region, inside(item), strings, name=name, value=value, holes=holes)
            variable.value_span = Span(min(cut, item.inner_end), item.inner_end)
            strings.add(variable, i)
            variables.append(variable)
        return None

    # texts

    def _text(self, node: Node, key: str, holder: Node) -> None:
        raw = self.text[node.inner_start : node.inner_end]
        if not any(t in raw for t in launchers()["triggers"]) or _PROSE.search(key):
            return
        if node.kind == "string" and not re.search(r"\s", raw):
            name = raw.partition(":")[0]
            if ":" in raw and "://" not in raw and is_server_image(re.sub(r"\$\{[^}]{0,500}\}", "x", name)):
                self._pin(node, self.context.owner)
            return
        context = self.context
        shell = guest(self.region, node, Names())
        head = shell.text.lstrip("\n").partition("\n")[0]
        if head.startswith("#!") and "python" in head:
            self._adopt(read_python(shell, context))
        elif node.kind == "heredoc" and not head.startswith("#!") and re.match(r"\s*[\[{]", shell.text):
            self._filled("json", node)
        elif node.kind == "heredoc" and _looks_like_yaml(shell.text):
            self._filled("yaml", node)
        else:
            reading = read_shell(shell, context)
            if node.kind == "heredoc" or reading.sites or reading.pins:
                self._adopt(reading)

    def _filled(self, host: str, node: Node) -> None:
        reading = read_guest(host, guest(self.region, node, Letters()), self.context)
        finish(reading)
        self._adopt(reading)

    def _adopt(self, reading: Reading) -> None:
        reading.problems, reading.links = [], []
        self.out.extend(reading)

    def _script_lines(self, node: Node) -> None:
        """Read each line of a list of command lines; what one exports the next does not see here."""
        for item in node.items:
            raw = self.text[item.inner_start : item.inner_end]
            if any(t in raw for t in launchers()["triggers"]):
                self._adopt(read_shell(guest(self.region, item, Names()), self.context))


def _named(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield what `var.NAME` and `local.NAME` are in this file, where a plain string says so."""
    for pair in root.pairs:
        if pair.value.kind == "body":
            if pair.key == "variable" and len(pair.value.labels) == 1:
                default = pair.value.get("default")
                if default is not None and default.kind == "string":
                    yield f"var.{pair.value.labels[0]}", default
            elif pair.key == "locals":
                for member in pair.value.pairs:
                    if member.value.kind == "string":
                        yield f"local.{member.key}", member.value
