"""What the rules about pins share: which pins belong together, and how a verdict becomes a finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from vllm_migrate.findings import Finding, Fix, Safety, Severity
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Change, Item, Pin, Reading, Replace, fill, is_hole
from vllm_migrate.rules.context import Context
from vllm_migrate.text import Span
from vllm_migrate.versions import about_vllm, pins_of_vllm
from vllm_migrate.versions_key import Key, key


@dataclass
class Verdict:
    """What is to be said of a pin and what its whole text becomes.

    text: the whole new text (`prefix` and `suffix` of the pin included), None where nothing is offered.
    withheld: why nothing is offered although something would be. safety, why: as in `Fix`.
    """

    code: str
    severity: Severity
    subject: str
    message: str
    text: str | None = None
    description: str = ""
    safety: Safety = "safe"
    why: str = ""
    help: str = ""
    reason: str = ""
    withheld: str = ""
    replacement: str | None = None
    removed_in: str | None = None
    evidence: Sequence[str] = ()


def version_key(version: str) -> Key | None:
    """Return the ordering key of a version, None for what is none."""
    try:
        return key(version)
    except ValueError:
        return None


@dataclass
class Scope:
    """Pins that act together. vllm: those about vLLM itself. indexes: those that say where packages come from."""

    pins: Sequence[Pin]
    vllm: Sequence[Pin]
    indexes: Sequence[Pin]


class Pins:
    """The pins of a file, sorted once for all that ask about each of them.

    by_owner: owner → all its pins. about: owner → those of them about vLLM. ours: as `pins_of_vllm` has them;
    owners: theirs. cloned: one is a checkout of vLLM.
    """

    def __init__(self, pins: Sequence[Pin]) -> None:
        self._pins = pins
        self.count = len(pins)
        self.by_owner: dict[str, list[Pin]] = {}
        self.about: dict[str, list[Pin]] = {}
        for pin in pins:
            self.by_owner.setdefault(pin.owner, []).append(pin)
            if about_vllm(pin):
                self.about.setdefault(pin.owner, []).append(pin)
        self.ours = pins_of_vllm(pins)
        self.owners = frozenset(p.owner for p in self.ours)
        self.cloned = any(p.kind == "git" and about_vllm(p) for p in pins)
        self._scopes: dict[str | None, Scope] = {}

    def scope(self, owner: str | None) -> Scope:
        """Return the pins of an owner; None: of the file."""
        if owner not in self._scopes:
            pins = self._pins if owner is None else self.by_owner[owner]
            self._scopes[owner] = Scope(pins, pins_of_vllm(pins), [p for p in pins if p.kind == "index"])
        return self._scopes[owner]

    @cached_property
    def by_place(self) -> dict[Span, list[Pin]]:
        """Letters of the file → the pins they write."""
        out: dict[Span, list[Pin]] = {}
        for pin in self._pins:
            out.setdefault(pin.place, []).append(pin)
        return out


def pins_of(reading: Reading) -> Pins:
    """Return the pins of a reading, sorted."""
    known = reading.sorted_pins
    if not isinstance(known, Pins) or known.count != len(reading.pins):
        known = reading.sorted_pins = Pins(reading.pins)
    return known


def scope(ctx: Context, pin: Pin) -> Scope:
    """Return the pins that act together with this one: of its owner if any of vLLM is there, else the file's."""
    pins = pins_of(ctx.reading)
    return pins.scope(pin.owner if pins.about.get(pin.owner) else None)


def editable(ctx: Context, items: Sequence[Item]) -> str:
    """Return why one of these items must not be edited, "" where all may."""
    for item in items:
        if item.locked or item.guarded:
            return item.locked or f"stands under a version test ({item.guarded})"
    return ""


def kept(ctx: Context) -> str:
    """Return why pins stay as they are in this run, ""."""
    return "pins are kept as they are (--keep-pins)" if ctx.config.keep_pins else ""


def new_text(pin: Pin, whole: str) -> str | None:
    """Return the pin's own part of a new whole text, None where the other parts would have to change too.

    A value written once and used twice in one reference changes at both places.
    """
    fits = len(whole) >= len(pin.prefix) + len(pin.suffix)
    if fits and whole.startswith(pin.prefix) and whole.endswith(pin.suffix):
        return whole[len(pin.prefix) : len(whole) - len(pin.suffix)] or None
    return _used_twice(pin, whole)


def _used_twice(pin: Pin, whole: str) -> str | None:
    old = pin.text
    if not old or old not in pin.prefix + "\n" + pin.suffix:
        return None
    end = whole.rfind(pin.suffix.rsplit(old, 1)[-1]) if old in pin.suffix else len(whole) - len(pin.suffix)
    start = len(pin.prefix.split(old, 1)[0]) if old in pin.prefix else len(pin.prefix)
    for stop in range(start + 1, end + 1):
        new = whole[start:stop]
        if pin.prefix.replace(old, new) + new + pin.suffix.replace(old, new) == whole:
            return new
    return None


def replacing(pin: Pin, whole: str) -> Change | None:
    """Return the change that gives a pin a new whole text, None where it cannot be written at this place."""
    text = new_text(pin, whole)
    return None if text is None else Replace(pin, text, pin.holes if any(is_hole(c) for c in text) else ())


def sharing(ctx: Context, pin: Pin) -> list[Pin]:
    """Return the other pins that are written by the same letters of the file (a variable used again)."""
    place = pin.place
    return [p for p in pins_of(ctx.reading).by_place.get(place, ()) if p is not pin and p.text == pin.text]


Agrees = Callable[[Pin, str], bool]


def _suits(other: Pin, pin: Pin, text: str, agrees: Agrees | None) -> bool:
    return other.whole == pin.whole or (agrees is not None and agrees(other, text))


def finding(ctx: Context, pin: Pin, verdict: Verdict, agrees: Agrees | None = None) -> Finding:
    """Return the finding of a verdict; the fix is left out, with the reason, where it cannot be written.

    agrees: tells of another pin that the same letters write whether the new text suits it too; without
    it they must be the same reference.
    """
    fix: Fix | None = None
    withheld = verdict.withheld
    if verdict.text is not None and not withheld:
        withheld = editable(ctx, [pin]) or kept(ctx)
        text = None if withheld else new_text(pin, verdict.text)
        other = next((o for o in sharing(ctx, pin) if text and not _suits(o, pin, text, agrees)), None)
        change = replacing(pin, verdict.text) if text is not None else None
        if other is not None:
            withheld = f"the same text is part of {fill(other.whole, other.holes)}, which it would not suit"
        elif change is not None:
            fix = Fix(verdict.safety, verdict.description, [change], verdict.why)
        elif not withheld:
            withheld = "the text is put together from several places, and more than one would have to change"
    return ctx.finding(
        verdict.code,
        verdict.severity,
        verdict.subject,
        verdict.message,
        pin,
        fix=fix,
        replacement=verdict.replacement,
        removed_in=verdict.removed_in,
        reason=verdict.reason,
        help=verdict.help,
        evidence=verdict.evidence,
        withheld=withheld,
    )
