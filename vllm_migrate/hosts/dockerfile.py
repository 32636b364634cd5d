"""Dockerfiles: base images, environment, build steps, and what the image starts.

A stage is the scope: its base image, its pins and its launches share the owner `stage:N`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from vllm_migrate.hosts import Context, host_for, read_python, read_shell
from vllm_migrate.hosts.bearing import holds
from vllm_migrate.hosts.dockerfile_launch import NewEnv, sites_of_stage
from vllm_migrate.hosts.dockerfile_lines import Instruction, read_instructions
from vllm_migrate.hosts.dockerfile_stage import (
    COMPILERS,
    INDEXES,
    KEYWORDS,
    STANDARDS,
    Stage,
    may_use_environment,
    plain_heredoc,
)
from vllm_migrate.hosts.dockerfile_values import (
    Written,
    choose,
    expand,
    inner_span,
    json_strings,
    lex_value,
    quote_value,
    split_words,
)
from vllm_migrate.hosts.listed import ListContainer, SpotContainer, mapped, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.hosts.moved import move_pin, write_bare
from vllm_migrate.hosts.shell_bearing import speaking
from vllm_migrate.launch import is_server_image, split_image
from vllm_migrate.model import (
    CannotRender,
    InsertText,
    InsertVariable,
    Pin,
    Problem,
    Reading,
    Variable,
    fill,
)
from vllm_migrate.text import Edit, Piece, Region, Span
from vllm_migrate.wrapped import carried_site

NAME = "dockerfile"


def read(region: Region, context: Context) -> Reading:
    """Return what a Dockerfile pins, sets and starts.

    Unknown instructions are one `syntax` problem each and are passed over.
    """
    return _Reader(region, context).run()


class _Reader:
    def __init__(self, region: Region, context: Context) -> None:
        self.region = region
        self.text = region.text
        self.context = context
        self.newline = region.source.newline
        self.out = Reading()
        self.globals: dict[str, Written] = {}
        self.stages: list[Stage] = []
        self.uses: list[tuple[Pin, Span]] = []
        self.speaking = speaking(self.text)

    def run(self) -> Reading:
        for instruction in read_instructions(self.text):
            if instruction.keyword not in KEYWORDS:
                message = f"not a Dockerfile instruction: {instruction.keyword[:40]}"
                self.out.problems.append(
                    Problem("syntax", message, *self._place(instruction.start, instruction.line_end))
                )
                continue
            handler = getattr(self, "_" + instruction.keyword.lower(), None)
            if handler is not None:
                handler(instruction)
        for stage in self.stages:
            reading, stage.sites = sites_of_stage(self.region, self.context, stage, self._remapped)
            self.out.extend(reading)
            self._adopt(stage, reading)
        self._environment()
        for stage in self.stages:
            # What edits pins keeps this reader; it needs no steps any more, and there can be hundreds.
            stage.runs.clear()
        self._lock_shared()
        return self.out

    def _place(self, start: int, end: int) -> tuple[int, int]:
        span = self.region.nearest_span(start, end)
        return span.start, span.end

    def _stage(self) -> Stage:
        if not self.stages:
            self.stages.append(Stage(0, self._owner(0)))
        return self.stages[-1]

    def _owner(self, index: int) -> str:
        return f"{self.context.owner}/stage:{index}".lstrip("/")

    # FROM, COPY

    def _from(self, instruction: Instruction) -> None:
        logical = instruction.logical(self.region)
        words = [w for w in split_words(logical.text) if not logical.text[w.start :].startswith("--")]
        if not words:
            return
        before = [s for s in self.stages if s.begin is not None]
        stage = Stage(len(before), self._owner(len(before)), instruction)
        texts = [logical.text[slice(w.start, w.end)] for w in words]
        if len(texts) >= 3 and texts[1].lower() == "as":
            stage.name = texts[2].lower()
        span = logical.to_parent(words[0].start, words[0].end)
        assert span is not None
        parts = expand(texts[0], span, self.globals)
        stage.image = "".join(p.text for p in parts)
        stage.parent = next((s for s in before if s.name and s.name == stage.image.lower()), None)
        if stage.parent is not None:
            stage.image = stage.parent.image
            stage.env = dict(stage.parent.env)
            stage.scope = dict(stage.parent.env)
        elif stage.image.lower() != "scratch":
            stage.pins.append(self._image_pin(texts[0], span, self.globals, stage.owner, instruction))
            self.out.pins += stage.pins
        self.stages.append(stage)

    def _image_pin(
        self, word: str, span: Span, scope: dict[str, Written], owner: str, step: Instruction | None
    ) -> Pin:
        def insert(change: InsertText) -> list[Edit]:
            if change.kind != "step" or step is None:
                raise CannotRender("only a build step can be added after a base image")
            return mapped(self.region, [self._step(step, change.text)])

        home = SpotContainer(NAME, self.region, write_bare, insert)
        parts = expand(word, span, scope)
        found = choose(parts, "base")
        if found is None or any(p.hole for p in parts):
            text, holes = lex_value(word)
            return Pin(self.region, span, home, kind="base", text=text, holes=holes, owner=owner)
        part = parts[found]
        if part.source is None and len(parts) == 1:
            found_span = span
        else:
            assert part.span is not None
            found_span = part.span
        pin = Pin(
            self.region,
            found_span,
            home,
            kind="base",
            text=part.text,
            name=part.source.name if part.source else "",
            prefix="".join(p.text for p in parts[:found]),
            suffix="".join(p.text for p in parts[found + 1 :]),
            owner=owner,
        )
        if "@sha256:" in pin.whole:
            pin.locked = "has a digest"
        if sum(p.span == part.span for p in parts) > 1:
            pin.locked = "used more than once in one reference"
        self.uses.append((pin, found_span))
        return pin

    def _step(self, instruction: Instruction, text: str) -> Edit:
        line = text if text.split(" ", 1)[0] in KEYWORDS else f"RUN {text}"
        place = instruction.end
        probe = Listing(self.text, (), 0)
        after = probe.next_line(place)
        gap = after < len(self.text) and not self.text[after : probe.line_end(after)].strip()
        return Edit(place, place, self.newline * (2 if gap else 1) + line)

    def _copy(self, instruction: Instruction) -> None:
        logical = instruction.logical(self.region)
        match = re.search(r"(?:^|\s)--from=(\S+)", logical.text)
        stage = self._stage()
        if match is not None:
            name = match[1]
            span = logical.to_parent(*match.span(1))
            # The name of a stage holds none of these.
            if span is not None and re.search(r"[:/$]", name):
                scope = {**self.globals, **stage.scope}
                self.out.pins.append(self._image_pin(name, span, scope, stage.owner, None))
        for heredoc in instruction.heredocs:
            target = split_words(logical.text)[-1]
            path = logical.text[slice(target.start, target.end)]
            if path.endswith("/"):
                path += heredoc.name
            body = self.region.slice(heredoc.body.start, heredoc.body.end)
            guest = host_for(path, body.text.split("\n", 1)[0])
            if guest is not None:
                reading = guest.read(body, self.context.inside(stage.owner, stage.image))
                self.out.extend(reading)
                self._adopt(stage, reading)

    _add = _copy

    # ARG, ENV

    def _arg(self, instruction: Instruction) -> None:
        logical = instruction.logical(self.region)
        for word in split_words(logical.text, instruction.escape):
            raw = logical.text[word.start : word.end]
            name, equals, value = raw.partition("=")
            if not equals:
                if self.stages and name in self.globals:
                    self.stages[-1].scope.setdefault(name, self.globals[name])
                continue
            span = logical.to_parent(word.start + len(name) + 1, word.end)
            if span is None:
                continue
            written = self._written(value, span, "ARG", name)
            if self.stages:
                if name not in self.stages[-1].env:
                    self.stages[-1].scope[name] = written
            else:
                self.globals[name] = written
            self._value_pin(name, written)

    def _written(self, raw: str, span: Span, origin: str, name: str) -> Written:
        inner, exact = inner_span(raw, span)
        exact = exact and self.text[inner.start : inner.end] == raw.strip("\"'")
        text = self.text[inner.start : inner.end] if exact else "".join(lex_value(raw)[0])
        return Written(text, inner, exact, origin, name)

    def _env(self, instruction: Instruction) -> None:
        stage = self._stage()
        logical = instruction.logical(self.region)
        words = split_words(logical.text, instruction.escape)
        if not words:
            return
        legacy = "=" not in logical.text[words[0].start : words[0].end]
        if legacy:
            if len(words) < 2:
                return
            words = [Span(words[0].start, len(logical.text.rstrip()))]
        spans = [logical.to_parent(w.start, w.end) for w in words]
        items = [s for s in spans if s is not None]
        listing = Listing(self.text, items, instruction.args, "", instruction.escape, newline=self.newline)
        mark = " " if legacy else "="

        def quote(text: str, holes: Sequence[str], old: str) -> str | None:
            name, _, value = text.partition("=")
            old_value = re.sub(r"^[^\s=]*[\s=]?\s*", "", old)
            if legacy and "'" not in value and '"' not in value and "\\" not in value:
                old_value = ""
                if value.strip() == value and value:
                    return name + mark + fill(value.replace("$", "\\$"), holes)
            written = quote_value(value, holes, old_value, instruction.escape)
            if legacy:
                # Without any value the instruction is refused.
                written = '""' if written == "" else written
            return None if written is None else name + mark + written

        home = ListContainer(
            NAME,
            self.region,
            listing,
            quote,
            empty=lambda: [whole_lines(self.text, instruction.start, instruction.line_end)],
            elsewhere=self._env_after(instruction) if legacy else None,
        )
        for i, (word, span) in enumerate(zip(words, spans, strict=True)):
            if span is None:
                continue
            raw = logical.text[word.start : word.end]
            head = re.match(r"([^\s=]+)[ \t]*[\s=]?[ \t]*" if legacy else r"([^\s=]+)=?", raw)
            if head is None:
                continue
            name, value = head[1], raw[head.end() :]
            value_span = logical.to_parent(word.start + head.end(), word.end)
            if value_span is None:
                continue
            text, holes = lex_value(value, instruction.escape)
            variable = Variable(
                self.region,
                span,
                home,
                name=name,
                value=text,
                holes=holes,
                scope="file",
                value_span=value_span,
            )
            home.add(variable, i)
            stage.variables.append((instruction.start, variable))
            written = self._written(value, value_span, "ENV", name)
            stage.env[name] = stage.scope[name] = written
            self._value_pin(name, written)
        stage.env_home = home

    def _env_after(self, instruction: Instruction) -> Callable[[InsertVariable], Edit]:
        def render(change: InsertVariable) -> Edit:
            value = quote_value(change.value, (), "", instruction.escape)
            if value is None:
                raise CannotRender("the value cannot be written in this format")
            return Edit(instruction.end, instruction.end, f"{self.newline}ENV {change.name}={value}")

        return render

    def _value_pin(self, name: str, written: Written) -> None:
        """A compiler or a package index that is given as an environment variable or a build argument."""
        kind = "compiler" if name in COMPILERS else "index" if name in INDEXES else ""
        stage = self.stages[-1] if self.stages else None
        for found in STANDARDS.finditer(written.text) if written.exact and not kind else ():
            at = written.span.start
            span = Span(at + found.start(1), at + found.end(1))
            pin = Pin(self.region, span, SpotContainer(NAME, self.region, write_bare), kind="compiler", text=found[1])
            pin.owner = stage.owner if stage else ""
            self.out.pins.append(pin)
        if not kind or not written.exact or not written.text:
            return
        scope = stage.scope if stage else self.globals
        others = {k: v for k, v in scope.items() if v is not written}
        parts = expand(written.text, written.span, others, written)
        home = SpotContainer(NAME, self.region, write_bare)
        owner = stage.owner if stage else ""
        chosen = choose(parts, kind)
        if len(parts) == 1 or chosen is None or any(p.hole for p in parts):
            text, holes = lex_value(written.text)
            pin = Pin(
                self.region, written.span, home, kind=kind, text=text, holes=holes, name=name, owner=owner
            )
        else:
            part = parts[chosen]
            assert part.span is not None
            before, after = ("".join(p.text for p in s) for s in (parts[:chosen], parts[chosen + 1 :]))
            pin = Pin(
                self.region,
                part.span,
                home,
                kind=kind,
                text=part.text,
                name=name,
                owner=owner,
                prefix=before,
                suffix=after,
            )
        self.out.pins.append(pin)
        if stage:
            stage.pins.append(pin)

    # RUN

    def _run(self, instruction: Instruction) -> None:
        stage = self._stage()
        stage.runs.append(instruction)
        if not holds(self.speaking, instruction.start, instruction.end):
            return
        script = self._after_flags(instruction.script(self.region))
        if script is None or json_strings(instruction.logical(self.region).text) is not None:
            return
        context = self.context.inside(stage.owner, stage.image)
        line = self.text[instruction.args : instruction.line_end]
        command = re.sub(r"\d{0,9}<<-?([\"']?)\w+\1", "", line).split()
        if instruction.heredocs and len(instruction.heredocs) == 1 and plain_heredoc(command):
            body = self._heredoc_body(instruction)
            head = body.text.split("\n", 1)[0]
            program = command[-1] if command else ""
            if "python" in program or (head.startswith("#!") and "python" in head):
                reading = read_python(body, context)
            else:
                reading = read_shell(body, context)
        else:
            reading = read_shell(script, context)
        reading.pins = [self._remapped(pin, stage) for pin in reading.pins]
        self.out.extend(reading)
        self._adopt(stage, reading)

    def _heredoc_body(self, instruction: Instruction) -> Region:
        heredoc = instruction.heredocs[0]
        if not heredoc.strip_tabs:
            return self.region.slice(heredoc.body.start, heredoc.body.end)
        pieces, out, at = [], [], 0
        for match in re.finditer(r"(?m)^\t*(.*\n?)", self.text[heredoc.body.start : heredoc.body.end]):
            if match[1]:
                start = heredoc.body.start + match.start(1)
                pieces.append(Piece(at, at + len(match[1]), start, start + len(match[1])))
                out.append(match[1])
                at += len(match[1])
        return self.region.child("".join(out), pieces)

    @staticmethod
    def _after_flags(script: Region) -> Region | None:
        match = re.match(r"(?:--[a-z]+(?:=(?:[^\s\\]|\\(?!\r?\n))+)?(?:\s|\\\r?\n)+)+", script.text)
        return script if match is None else script.slice(match.end(), len(script.text))

    def _healthcheck(self, instruction: Instruction) -> None:
        logical = instruction.logical(self.region)
        match = re.search(r"(?:^|\s)CMD\s+", logical.text)
        if match is None or json_strings(logical.text[match.end() :]) is not None:
            return
        reading = read_shell(logical.slice(match.end(), len(logical.text)), self.context)
        self.out.mentions += reading.mentions

    def _cmd(self, instruction: Instruction) -> None:
        self._stage().command = instruction

    def _entrypoint(self, instruction: Instruction) -> None:
        stage = self._stage()
        stage.entry = instruction

    # afterwards

    def _remapped(self, pin: Pin, stage: Stage) -> Pin:
        """Move a pin whose version is written as `$NAME` to where the value of NAME is written."""
        moved = move_pin(pin, stage.scope, self.region, NAME)
        if moved is not pin:
            moved.owner = moved.owner or stage.owner
            self.uses.append((moved, moved.span))
        return moved

    def _adopt(self, stage: Stage, reading: Reading) -> None:
        """Give what a guest found the stage's scope."""
        for pin in reading.pins:
            pin.owner = pin.owner or stage.owner
            if not any(pin is p for p in stage.pins):
                stage.pins.append(pin)
        for site in reading.sites:
            site.owner = site.owner or stage.owner
            if not any(site is s for s in stage.sites):
                stage.sites.append(site)

    def _environment(self) -> None:
        """Hand every variable to the sites that see it, or to the file."""
        for stage in (s for s in self.stages if s.variables):
            heirs = [s for s in self.stages if any(p is stage for p in s.line())]
            seen = list({id(site): site for s in heirs for site in s.launches()}.values())
            for place, variable in stage.variables:
                runs = [r for s in heirs for r in s.runs if s is not stage or r.start > place]
                variable.only = len(seen) == 1 and not any(may_use_environment(self.region, r) for r in runs)
                for site in seen:
                    site.variables.append(variable)
                if not seen:
                    self.out.variables.append(variable)
        for stage in self.stages:
            mine = [v for _, v in stage.variables]
            carried = carried_site(mine, split_image(stage.image)[0], NAME, stage.owner)
            if carried is not None:
                stage.sites.append(carried)
                self.out.sites.append(carried)
        for stage in self.stages:
            for site in stage.sites:
                held = {id(p) for p in site.pins}
                site.pins += [p for s in stage.line() for p in s.pins if id(p) not in held]
                if site.variable_home is None:
                    site.variable_home = stage.env_home or NewEnv(
                        NAME, self.region, stage.entry or stage.command, self.newline
                    )

    def _lock_shared(self) -> None:
        """Lock a default that names the version of two different things."""
        at: dict[Span, list[Pin]] = {}
        for pin, span in self.uses:
            at.setdefault(span, []).append(pin)
        for pin, span in self.uses:
            for other in at[span]:
                if other is pin or pin.locked:
                    continue
                if pin.kind in ("base", "image") and other.kind == pin.kind:
                    mine, theirs = split_image(pin.whole)[0], split_image(other.whole)[0]
                    if mine != theirs and is_server_image(pin.whole) != is_server_image(other.whole):
                        pin.locked = f"also used by {theirs}"
