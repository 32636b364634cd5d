"""Files of `NAME=value` lines: `.env` of compose, `EnvironmentFile=` of systemd, sysconfig files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.dockerfile_values import inner_span, lex_value, quote_value
from vllm_migrate.hosts.listed import mapped, whole_lines
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertVariable,
    Pin,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
)
from vllm_migrate.text import Edit, Region, Span
from vllm_migrate.wrapped import carried_site

NAME = "envfile"

_LINE = regex(
    r"^(?P<lead>[ \t]*(?:export[ \t]+)?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>[^\r\n]*)", re.M
)
_PROPERTY = regex(r"^(?P<lead>[ \t]*)(?P<name>[A-Za-z_][A-Za-z0-9_.]*)=(?P<value>[^\r\n]*)", re.M)
_VALUE = regex(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:(?!\s#)[^\r\n])*")
_TAG = regex(r"VLLM_(?:\w+_)?(?:VERSION|TAG)")
_REFERENCE = regex(
    r"(?:[a-z0-9.-]+(?::\d+)?/)?[a-z0-9._-]+(?:/[a-z0-9._-]+)*:[A-Za-z0-9_][\w.-]*(?:@sha256:[0-9a-f]+)?"
)


@dataclass
class EnvLines:
    """Renders changes of variables that have a line each."""

    host: str
    region: Region

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        out: list[Edit] = []
        text, newline = self.region.text, self.region.source.newline
        gone = {id(c.item) for c in changes if isinstance(c, Remove)}
        for change in changes:
            if isinstance(change, Remove):
                out.append(whole_lines(text, change.item.span.start, change.item.span.end))
            elif isinstance(change, Rename) and isinstance(change.item, Variable):
                start = change.item.span.start
                out.append(Edit(start, start + len(change.item.name), change.name))
            elif isinstance(change, Replace) and isinstance(change.item, Variable):
                out += self._value(change, change.item) if id(change.item) not in gone else []
            elif isinstance(change, Replace) and isinstance(change.item, Pin):
                span = change.item.span
                out.append(Edit(span.start, span.end, str(change.value)))
            elif isinstance(change, InsertVariable):
                written = quote_value(change.value, (), "")
                if written is None:
                    raise CannotRender("the value cannot be written on one line")
                line = f"{change.name}={written}"
                if change.after is not None:
                    place = change.after.span.end
                    place = text.find("\n", place) if "\n" in text[place:] else len(text)
                    place -= text[:place].endswith("\r")
                    out.append(Edit(place, place, newline + line))
                else:
                    glue = "" if not text or text.endswith("\n") else newline
                    out.append(Edit(len(text), len(text), glue + line + newline))
            else:
                raise CannotRender("this cannot be changed in a file of variables")
        return mapped(self.region, out)

    def _value(self, change: Replace, item: Variable) -> list[Edit]:
        if change.value == item.value or item.value_span is None:
            return []
        span = item.value_span
        old = self.region.text[span.start : span.end]
        written = quote_value(str(change.value), change.holes or item.holes, old)
        if written is None:
            raise CannotRender("the value cannot be written on one line")
        return [Edit(span.start, span.end, written)]


def read(region: Region, context: Context) -> Reading:
    """Return the variables of the file, and image references among their values as pins.

    A value counts as an image when it has the form `name:tag` and its variable's name ends in IMAGE.
    """
    out = Reading()
    home = EnvLines(NAME, region)
    lines = _PROPERTY if context.path.endswith(".properties") else _LINE
    for match in lines.finditer(region.text):
        value = _VALUE.match(match["value"])
        raw = value[0].rstrip() if value else ""
        start = match.start("value")
        span = Span(start, start + len(raw))
        text, holes = lex_value(raw)
        name = match["name"]
        variable = Variable(region, Span(match.start("name"), span.end), home, name=name, value=text)
        variable.holes, variable.scope, variable.value_span = holes, "file", span
        inside, exact = inner_span(raw, span)
        if exact and not holes and name.upper().endswith("IMAGE") and _REFERENCE.fullmatch(text):
            pin = Pin(region, inside, home, kind="image", text=text, name=name, owner=context.owner)
            pin.locked = "has a digest" if "@sha256:" in text else ""
            out.pins.append(pin)
        elif exact and not holes and _TAG.fullmatch(name) and re.fullmatch(r"v?\d+\.\d+\.\d[\w.-]*", text):
            out.pins.append(Pin(region, inside, home, kind="image", text=text, name=name, owner=context.owner))
        out.variables.append(variable)
    carried = carried_site(out.variables, "", NAME, context.owner)
    if carried is not None:
        out.sites.append(carried)
    return out
