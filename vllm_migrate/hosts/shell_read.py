"""Reads the sites, pins and variables of one script and of the scripts inside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.shell_choice import alternatives, values
from vllm_migrate.hosts.shell_env import QUIET, Environment, Setting, given
from vllm_migrate.hosts.shell_lex import Hole
from vllm_migrate.hosts.shell_list import WordList
from vllm_migrate.hosts.shell_mentions import mentions
from vllm_migrate.hosts.shell_parse import MOST_WORDS, TooManyWords
from vllm_migrate.hosts.shell_pins import Pins, cloned, command_pins, value_pins
from vllm_migrate.hosts.shell_region import guest_region
from vllm_migrate.hosts.shell_script import LIMIT, Binding, Flat, Outer, Script
from vllm_migrate.hosts.shell_tree import DECLARERS, Node, dominates, reaches
from vllm_migrate.hosts.spread import holds_line
from vllm_migrate.launch import Launch, basename, container_run, find_launch, launchers, script_of, split_image, talks
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Pin, Problem, Reading, Site, Variable, Word, is_hole
from vllm_migrate.text import Region, Span
from vllm_migrate.wrapped import carried_site, overridden

RUNNERS = frozenset(
    (
        "eval", "ssh", "sshpass", "tmux", "screen", "su", "runuser", "sudo", "flock", "script", "watch", "xterm",
        "parallel", "gcloud", "pdsh", "clush", "setsid", "systemd-run", "byobu", "pm2", "sbatch", "dtach", "abduco",
        "gnome-terminal", "kitty", "runpodctl",
    )
)  # fmt: skip
"""Programs that run a word given to them as a command line."""
_AGAIN = RUNNERS - {"sudo", "runuser", "setsid", "flock", "systemd-run"}
"""Those that have a shell read the words they are given once more, so that quotes among them count."""
_ELSEWHERE = frozenset(["ssh", "sshpass", "gcloud", "pdsh", "clush", "kubectl", "oc"])
_MARKS = (":::", "::::", ":::+")
"""Behind them GNU parallel takes what it fills in."""
_FILLERS = ("parallel", "xargs", "find")
_PLACE = regex(r"\{(?:\d+)?[.#%/]{0,2}\}")
_UNSPLIT = "quotes inside a variable that the shell only splits at blanks"
_LAUNCHY = regex(r"vllm")
_FROM = regex(r"\$\{[@*]:[ ]?(\d+)\}")
_OPTION = regex(r"--[a-z][\w-]*=")
_TYPED = regex(r"\s{0,20}(?:\\[nr]|\\015|\^M|[\r\n]){1,20}$")
"""The return key, as `screen -X stuff` is given it."""


@dataclass
class Around:
    """What a guest script finds set around it."""

    variables: list[Variable] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    pins: list[Pin] = field(default_factory=list)
    owner: str = ""
_MOST_TOLD = 20
"""Places of one script that are no shell, each of which is told of by itself."""


class Reader:
    """Reads one script. The sites, pins and problems end up in `reading`."""

    def __init__(self, script: Script, around: Around | None = None, pins: Pins | None = None) -> None:
        self.script = script
        self.around = around or Around(owner=script.context.owner)
        self.pins = pins or Pins()
        self.reading = Reading()
        self.environment = Environment(script)
        self.launching: dict[int, int] = {}
        """Commands that start a site, with how many other programs run inside them."""
        self.used: set[int] = set()
        self.tree = ""
        self.others: list[Node] = []
        self._prefix_sites: dict[int, list[Site]] = {}
        self._runs = 0

    def read(self) -> Reading:
        script = self.script
        errors = script.errors[:_MOST_TOLD]
        if len(script.errors) > _MOST_TOLD:
            errors.append((f"{len(script.errors) - _MOST_TOLD} more places like those above", errors[-1][1]))
        for message, offset in errors:
            span = script.region.nearest_span(offset, min(offset + 1, len(script.text)))
            self.reading.problems.append(Problem("syntax", message, span.start, span.end))
        value_pins(self.pins, script, self.around.owner)
        for node in script.commands:
            self._command(node)
        self._unused_launches()
        self._share()
        self.environment.lock_read()
        self._count()
        return self.reading

    # -- commands

    def _command(self, node: Node) -> None:
        script = self.script
        if not node.words:
            self._heredocs(node, [])
            return
        words = script.lists[id(node)]
        first = next((i for i, t in enumerate(words.tokens) if t.lexeme is node.words[0]), 0)
        flats = script.flatten(words, first, node)
        texts = [flat.script.shown(flat, node) for flat in flats]
        if not texts:
            return
        self.tree = cloned(texts, self.tree)
        self.reading.links += command_pins(self.pins, flats, texts, node, self._owner(texts), self.tree)
        self.reading.mentions += mentions(flats, texts)
        head = basename(texts[0])
        if head in DECLARERS:
            return
        if head in (".", "source") and len(texts) > 1 and not any(is_hole(c) for c in texts[1]):
            self.reading.links.append(texts[1])
        self._heredocs(node, texts)
        if talks(texts):
            return
        if self._launch(node, flats, texts):
            return
        if self._inner_scripts(node, flats, texts):
            return
        self._run_image(node, flats, texts)
        if head not in QUIET and head not in script.functions:
            self.others.append(node)
        for variable in self.environment.prefixes.get(id(node), ()):
            self.reading.variables.append(variable)

    def _owner(self, texts: Sequence[str]) -> str:
        return self.around.owner

    def _launch(self, node: Node, flats: list[Flat], texts: list[str]) -> bool:
        others = alternatives(flats, texts)
        if others:
            self._alternatives(node, others)
            return True
        launch = find_launch(texts)
        if launch is None:
            return self._overrides(node, flats)
        calls = self._calls(node, flats)
        if calls is None:
            self._site(node, flats, texts, launch)
            return True
        for call, given_words in calls:
            merged = [one for flat in flats for one in _passed_on(flat, given_words)]
            shown = [flat.script.shown(flat, node) for flat in merged]
            found = find_launch(shown)
            if found is not None:
                self._site(node, merged, shown, found)
                self.launching.setdefault(id(call), 0)
        return True

    def _alternatives(self, node: Node, others: Sequence[tuple[Script, Binding]]) -> None:
        """Read a command once for each of the commands that a variable may hold."""
        words = self.script.lists[id(node)]
        first = next((i for i, t in enumerate(words.tokens) if t.lexeme is node.words[0]), 0)
        for script, binding in others:
            script.chosen[binding.name] = binding
            flats = self.script.flatten(words, first, node)
            texts = [flat.script.shown(flat, node) for flat in flats]
            del script.chosen[binding.name]
            launch = find_launch(texts)
            if launch is not None:
                self._site(node, flats, texts, launch)

    def _only_split(self, flats: Sequence[Flat]) -> None:
        """Read words of unquoted expansions as the shell gives them: split at blanks, quotes being letters."""
        for flat in flats:
            words, lexeme = flat.words, flat.lexeme
            if flat.script is not self.script or words.kind not in ("string", "raw"):
                continue
            words.kind = "raw"
            if lexeme.quoted:
                word = flat.word
                word.locked = _UNSPLIT
                raw = words.region.text[lexeme.start : lexeme.end]
                if not lexeme.holes and not any(c.isspace() for c in raw):
                    word.text = raw

    def _overrides(self, node: Node, flats: list[Flat]) -> bool:
        """Read words that set keywords of the vLLM another program starts (`a.b.name=value`)."""
        found = overridden([f.word for f in flats], "shell")
        if found is None:
            return False
        wrapper, entries = found
        first = flats[0].words.tokens[flats[0].index]
        span = Span(first.start, max(t.end for t in flats[0].words.tokens if t.lexeme is not None))
        site = wrapper.mark(Site(wrapper.entry_point, "shell", flats[0].words.region, span, owner=self.around.owner))
        site.entries, site.entry_home, site.open, site.hollow = entries, entries[0].container, True, True
        site.pins = list(self.around.pins)
        for flat in flats:
            self.used.add(id(flat.words))
        self.launching.setdefault(id(node), 0)
        self._attach(site, node, [], elsewhere=False)
        self.reading.sites.append(site)
        return True

    def _calls(self, node: Node, flats: list[Flat]) -> list[tuple[Node, list[Flat]]] | None:
        """Return the calls of the function whose `"$@"` or `$1` a command passes on, with their words.

        The words that `shift` takes away before are left out.
        """
        holes = [f.lexeme.lone_hole for f in flats if f.script is self.script]
        if not any(h is not None and _is_passed(h) for h in holes):
            return None
        function = next((a for a in node.ancestors() if a.kind == "function"), None)
        if function is None:
            return None
        shifted = 0
        for command in function.walk():
            if not command.words or command.words[0].text != "shift":
                continue
            count = command.words[1].text if len(command.words) > 1 else "1"
            if not (dominates(command, node) and count.isdecimal()):
                return None
            shifted += int(count)
        out = []
        for call in self.script.commands:
            if call.words and call.words[0].text == function.name and not call.words[0].holes:
                words = self.script.lists[id(call)]
                first = next(i for i, t in enumerate(words.tokens) if t.lexeme is call.words[0])
                given = self.script.flatten(words, first + 1, call)
                self._keep_passed(function, node, given)
                out.append((call, given[shifted:]))
        return out or None

    def _keep_passed(self, function: Node, node: Node, given: list[Flat]) -> None:
        """Lock the words given to a function that it uses for something else too, or counts beyond."""
        talkers = launchers()["talkers"]
        for other, hole in self.script.uses():
            if other is node or not _is_passed(hole) or not any(a is function for a in other.ancestors()):
                continue
            head = basename(other.words[0].text) if other.words else ""
            if hole.name.isdecimal():
                known = given[: int(hole.name)]
            else:
                known = [] if not head or head in talkers or head in DECLARERS else given
            for flat in known:
                flat.word.locked = flat.word.locked or f"{function.name} uses it for something else too"

    def _site(
        self, node: Node, flats: list[Flat], texts: list[str], launch: Launch, *, again: bool = False
    ) -> Site:
        """Make the site of a launch. again: another shell reads the words once more."""
        program = flats[launch.program]
        tokens = program.words.tokens
        last = max(t.end for t in tokens if t.lexeme is not None)
        site = Site(
            launch.entry_point,
            "shell",
            program.words.region,
            Span(tokens[program.index].start, max(last, tokens[program.index].end)),
        )
        fills = self._fills(texts[: launch.program])
        if not again and not any(basename(text) in _AGAIN for text in texts[: launch.program]):
            self._only_split(flats)
        end = next((i for i in range(launch.first, len(texts)) if fills and texts[i] in _MARKS), len(texts))
        site.words = [flat.word for flat in launch.passed(flats[:end], texts[:end])]
        launch.mark(site)
        if fills:
            for word in site.words:
                _note_places(word)
        for flat in flats:
            self.used.add(id(flat.words))
        # What is there only where a variable is set is not all that may be there.
        site.open = any(w.splits for w in site.words) or any(f.script.is_where_set(f.words) for f in flats)
        homes = [f.words for f in flats[max(launch.first - 1, 0) :]]
        own = self.script.lists[id(node)]
        fixed = [h for h in homes if h.parent is None]
        site.word_home = own if any(h is own for h in homes) else (fixed or homes)[-1]
        for home in homes:
            if home.node is not None and home.script is self.script and not dominates(home.node, node):
                home.branch = True
        site.variable_home = own
        site.owner = self.around.owner
        site.pins = list(self.around.pins)
        self.launching.setdefault(id(node), 0)
        passed = self._given(flats, launch)
        if launch.image is not None:
            self._runs += 1
            site.owner = (
                f"{self.around.owner}run{self._runs}@{self.script.region.nearest_span(node.start, node.start).start}"
            )
            own.image = flats[launch.image].index if flats[launch.image].words is own else None
            site.pins += self.pins.part(flats[launch.image], "image", node, owner=site.owner)
        before = [basename(t) for t in texts[: launch.program]]
        elsewhere = launch.image is not None or any(
            name in _ELSEWHERE or name in launchers()["container_tools"] for name in before
        )
        self._attach(site, node, passed, elsewhere=elsewhere)
        self.reading.sites.append(site)
        return site

    def _fills(self, before: Sequence[str]) -> bool:
        """Tell whether something that runs the command fills in its `{}`."""
        if any(basename(t) in _FILLERS for t in before):
            return True
        outer = self.script.outer
        while outer is not None:
            if any(basename(w.text) in _FILLERS for w in outer.node.words):
                return True
            outer = outer.script.outer
        return False

    def _given(self, flats: list[Flat], launch: Launch) -> list[Variable]:
        found = [given(flats, i, False) for i in launch.assignments]
        found += [given(flats, i, True) for i in launch.glued]
        return [v for v in found if v is not None]

    def _attach(self, site: Site, node: Node, passed: list[Variable], *, elsewhere: bool) -> None:
        """Give a site the variables in its reach."""
        variables = list(passed)
        for variable in passed:
            self._prefix_sites.setdefault(id(variable), []).append(site)
        named = {v.name for v in passed if v.value is not None}
        wanted = {v.name for v in passed if v.value is None}
        prefixes = self.environment.prefixes.get(id(node), [])
        settings = self.environment.seen_by(node)
        if elsewhere:
            prefixes = [v for v in prefixes if v.name in wanted]
            settings = [s for s in settings if s.variable.name in wanted]
        for variable in prefixes:
            if variable.name not in named:
                variables.append(variable)
                self._prefix_sites.setdefault(id(variable), []).append(site)
                named.add(variable.name)
        for setting in settings:
            if setting.variable.name not in named:
                variables.append(setting.variable)
                setting.sites.append(site)
        if not elsewhere:
            seen = {v.name for v in variables}
            for variable in self.around.variables:
                if variable.name not in seen:
                    variables.append(variable)
            for setting in self.around.settings:
                if setting.variable.name not in seen:
                    variables.append(setting.variable)
                    setting.sites.append(site)
        site.variables = variables

    def _run_image(self, node: Node, flats: list[Flat], texts: list[str]) -> Launch | None:
        """Report the image of a container run that starts no vLLM process by itself."""
        run = container_run(texts)
        if run is not None and run.image is not None and "exec" not in texts[: run.image]:
            self.pins.part(flats[run.image], "image", node, owner=self.around.owner)
            given = self._given(flats, run)
            self.reading.variables += [v for v in given if holds_line(v)]
            carried = carried_site(given, split_image(texts[run.image])[0], "shell", self.around.owner)
            if carried is not None:
                carried.variables = given
                for variable in given:
                    self._prefix_sites.setdefault(id(variable), []).append(carried)
                self.reading.sites.append(carried)
        return run

    # -- scripts inside words

    def _inner_scripts(self, node: Node, flats: list[Flat], texts: list[str]) -> bool:
        index = script_of(texts)
        found = False
        if index is not None:
            found = self._inner(node, flats, texts, index)
        elif not any(basename(t) in launchers()["interpreters"] for t in texts) and any(
            basename(t) in RUNNERS or t in ("-c", "--command") for t in texts
        ):
            for i in range(1, len(texts)):
                text = flats[i].lexeme.text
                if (" " in text.strip() or flats[i].lexeme.lone_hole) and self._inner(node, flats, texts, i):
                    found = True
        if not found and len(texts) > 2 and basename(texts[0]) in launchers()["interpreters"] and "-c" in texts[1:-1]:
            self._python(flats[texts.index("-c") + 1])
        return found

    def _python(self, flat: Flat) -> None:
        from vllm_migrate.hosts import read_python

        if "vllm" in flat.lexeme.text and flat.words.region is flat.script.region:
            self._guest(
                read_python(guest_region(flat.script.region, flat.lexeme), self.script.context), flat.lexeme.text
            )

    def _guest(self, reading: Reading, text: str) -> None:
        from vllm_migrate.hosts.filled import finish

        finish(reading)
        if any(is_hole(c) for c in text):
            # What an expansion stands for may be what the guest's format misses.
            reading.problems = [p for p in reading.problems if p.kind != "syntax"]
        self.reading.extend(reading)

    def _inner(self, node: Node, flats: list[Flat], texts: list[str], index: int) -> bool:
        """Read a word, or the value of an option it gives, as a script; tell whether it starts a site."""
        if self.script.depth > LIMIT:
            return False
        flat = flats[index]
        hole = flat.lexeme.lone_hole
        made: list[Script] = []
        if hole is not None:
            made = self._scripts_of_variable(flat, node)
            if not made:
                return self._grown(flat, node)
        elif flat.words.region is flat.script.region and _LAUNCHY.search(texts[index]):
            option = _OPTION.match(flat.lexeme.text)
            typed = _TYPED.search(flat.lexeme.text) if "stuff" in texts[:index] else None
            region = guest_region(
                flat.script.region,
                flat.lexeme,
                option.end() if option is not None else 0,
                typed.start() if typed is not None else None,
            )
            outer = Outer(flat.script, node, flat.lexeme)
            made = [Script.of(region, self.script.context, outer, self.script.depth + 1)]
        found = False
        for script in made:
            elsewhere = any(
                basename(t) in _ELSEWHERE or basename(t) in launchers()["container_tools"] for t in texts[:index]
            )
            found = self._read_inner(node, flats, texts, script, elsewhere) or found
        return found

    def _read_inner(self, node: Node, flats: list[Flat], texts: list[str], script: Script, elsewhere: bool) -> bool:
        run = container_run(texts)
        around = Around(owner=self.around.owner, pins=list(self.around.pins))
        passed: list[Variable] = []
        if run is not None and run.image is not None:
            passed = self._given(flats, run)
            if "exec" not in texts[: run.image]:
                self._runs += 1
                at = self.script.region.nearest_span(node.start, node.start).start
                around.owner = f"{self.around.owner}run{self._runs}@{at}"
                around.pins += self.pins.part(flats[run.image], "image", node, owner=around.owner)
        probe = Site("", "shell", script.region, Span(0, 0))
        self._attach(probe, node, passed, elsewhere=elsewhere)
        settings = [s for s in [*self.environment.settings, *self.around.settings] if probe in s.sites]
        for setting in settings:
            setting.sites.remove(probe)
        own = {id(s.variable) for s in settings}
        around.settings = settings
        around.variables = [v for v in probe.variables if id(v) not in own]
        for variable in around.variables:
            self._prefix_sites[id(variable)] = [s for s in self._prefix_sites.get(id(variable), []) if s is not probe]
        reader = Reader(script, around, self.pins)
        inner = reader.read()
        if not inner.sites:
            inner.problems = []  # perhaps it is no script at all
        self.reading.extend(inner)
        for site in inner.sites:
            for variable in site.variables:
                if variable in around.variables:
                    self._prefix_sites.setdefault(id(variable), []).append(site)
        if inner.sites:
            extra = sum(1 for other in reader.others)
            self.launching[id(node)] = self.launching.get(id(node), 0) + extra
        else:
            self.reading.variables += [v for v in around.variables if v not in self.around.variables]
        return bool(inner.sites)

    def _scripts_of_variable(self, flat: Flat, node: Node) -> list[Script]:
        hole = flat.lexeme.lone_hole
        assert hole is not None
        script, use, origin = flat.script, node, flat.script.origin(flat.words, hole)
        while origin is not None and origin.form == "outer":
            found = script.outer_hole(origin)
            if found is None:
                return []
            script, use, origin = found
        if origin is None or not origin.name:
            return []
        bindings = script.before(origin.name, use)
        if len(bindings) > 1 and any(b.appends for b in bindings):
            return []
        out: list[Script] = []
        for binding in bindings:
            if binding.value is not None and _LAUNCHY.search(binding.value.text):
                lexeme = binding.home.tokens[binding.index].lexeme
                assert lexeme is not None
                self.used.add(id(binding.words))
                outer = Outer(script, binding.node, lexeme)
                out.append(Script.of(binding.value, self.script.context, outer, self.script.depth + 1))
        return out

    def _grown(self, flat: Flat, node: Node) -> bool:
        """Read a command that a variable was given piece by piece (`CMD+=" --x"`)."""
        hole = flat.lexeme.lone_hole
        origin = flat.script.origin(flat.words, hole) if hole is not None else None
        if origin is None or not origin.name or flat.script is not self.script:
            return False
        found = False
        for words in values(self.script, origin.name, node):
            texts = [f.script.shown(f, node) for f in words]
            launch = find_launch(texts)
            if launch is None:
                continue
            found = True
            self._site(node, words, texts, launch, again=True)
        return found

    def _heredocs(self, node: Node, texts: list[str]) -> None:
        from vllm_migrate.hosts import shell_guest

        held = [redirect for redirect in node.redirects if redirect.heredoc is not None]
        goes_to = shell_guest.destination(node, texts) if held else ("", "")
        for redirect in held:
            shell_guest.read_heredoc(self, node, texts, redirect, goes_to)

    # -- launches a variable holds and nothing here runs

    def _unused_launches(self) -> None:
        """Report commands kept in a variable that is handed to something else (`ssh host "$CMD"`)."""
        script = self.script
        for name, bindings in script.bindings.items():
            if any(id(b.words) in self.used for b in bindings) or not any(_holds_launch(b) for b in bindings):
                continue
            use = self._handed_on(name)
            if use is None:
                continue
            for flats in values(script, name, use):
                texts = [flat.script.shown(flat, use) for flat in flats]
                launch = find_launch(texts)
                if launch is not None:
                    self._site(use, flats, texts, launch, again=True).word_home = flats[-1].words

    def _handed_on(self, name: str) -> Node | None:
        for node, hole in self.script.uses():
            if hole.name != name or node.kind != "command" or not node.words:
                continue
            head = basename(node.words[0].text)
            if head not in launchers()["talkers"] and head not in DECLARERS:
                return node
        return None

    # -- who else

    def _share(self) -> None:
        """Lock words of variables that commands other than the sites use too."""
        script = self.script
        talkers = launchers()["talkers"]
        for node, hole in script.uses():
            if node.kind != "command" or not node.words or id(node) in self.launching:
                continue
            head = basename(node.words[0].text)
            if head in talkers or head in DECLARERS or not hole.name or head in ("eval", *launchers()["shells"]):
                continue
            if hole.form not in ("plain", "list", "default"):
                continue
            for binding in script.bindings.get(hole.name, ()):
                if id(binding.words) in self.used and script.scopes.sees(hole.name, binding.node, node):
                    for word in binding.words.words.values():
                        word.locked = word.locked or f"also used by {head}"

    def _count(self) -> None:
        """Decide which variables nothing but their sites can see."""
        exported = [s for s in self.environment.settings if not s.sites]
        carried = carried_site([s.variable for s in exported], "", "shell", self.around.owner)
        if carried is not None:
            self.reading.sites.append(carried)
        for setting in self.environment.settings:
            if not setting.sites:
                self.reading.variables.append(setting.variable)
                continue
            others = [n for n in self.others if reaches(setting.node, n) and id(n) not in self.launching]
            inside = [n for n in self.script.commands if self.launching.get(id(n), 0) and reaches(setting.node, n)]
            setting.variable.only = len({id(s) for s in setting.sites}) == 1 and not others and not inside
        for site in self.reading.sites:
            for variable in site.variables:
                sites = self._prefix_sites.get(id(variable))
                if sites:
                    variable.only = len({id(s) for s in sites}) == 1


def _is_passed(hole: Hole) -> bool:
    """Tell whether a run-time part is of the words given to a function: `$1`, `"$@"`, `"${@:2}"`."""
    numbered = hole.name.isdecimal() and int(hole.name) > 0
    return numbered or hole.name in ("@", "*") or _FROM.fullmatch(hole.spelled) is not None


def _passed_on(flat: Flat, given: list[Flat]) -> list[Flat]:
    """Return the words that `"$@"`, `"${@:2}"` or `$1` of a function stands for; other words stay."""
    hole = flat.lexeme.lone_hole
    if hole is None:
        return [flat]
    part = _FROM.fullmatch(hole.spelled)
    if part is not None:
        return given[int(part[1]) - 1 :] if int(part[1]) else [flat]
    if hole.name in ("@", "*"):
        return given if hole.form == "list" else [flat]
    if hole.name.isdecimal() and int(hole.name) and hole.form in ("plain", "default"):
        i = int(hole.name) - 1
        one = given[i] if i < len(given) else None
        if one is not None and (hole.quoted or not re.search(r"\s", one.lexeme.text)):
            return [one]
    return [flat]


def _holds_launch(binding: Binding) -> bool:
    words: WordList = binding.words
    texts = [t.lexeme.text for t in words.tokens if t.lexeme is not None]
    launch = find_launch(texts) if texts else None
    return launch is not None and launch.program < 4


def read_script(region: Region, context: Context) -> Reading:
    """Read a region as a shell script."""
    try:
        reader = Reader(Script.of(region, context))
        reading = reader.read()
    except RecursionError:
        return Reading(problems=[Problem("syntax", "the script is nested too deeply to be read")])
    except TooManyWords:
        message = f"a command of more than {MOST_WORDS:,} words: the script is not read"
        return Reading(problems=[Problem("syntax", message)])
    held = {id(pin) for pin in reading.pins}
    reading.pins += [pin for pin in reader.pins.found if id(pin) not in held]
    return reading


def _note_places(word: Word) -> None:
    """Make each `{}` of a word a run-time part."""
    if word.holes or not _PLACE.search(word.text):
        return
    spelled = tuple(m[0] for m in _PLACE.finditer(word.text))
    letters = iter(range(len(spelled)))
    word.text = _PLACE.sub(lambda m: chr(0xE000 + next(letters)), word.text)
    word.holes = spelled
