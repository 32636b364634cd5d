"""Patches as `git am` takes them: one message a step, with what changed, why, and what says so."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from vllm_migrate import __version__
from vllm_migrate.findings import Finding, Report, Step
from vllm_migrate.lazy import dataclass
from vllm_migrate.migrations import normal
from vllm_migrate.output._launches import launch_name
from vllm_migrate.output._located import repository_prefix
from vllm_migrate.output._paint import plain
from vllm_migrate.output._summary import number
from vllm_migrate.output._unified import file_diff, hunks

_WIDTH = 72
_SUBJECT = 68
_PLACES = 6


@dataclass(frozen=True)
class Author:
    """Who the messages are from, and their date as RFC 2822 writes it."""

    name: str
    email: str
    date: str


def messages(report: Report, author: Author) -> dict[str, bytes]:
    """Return file name → message for each step of a report, in the order they apply."""
    prefix = repository_prefix(report)
    out: dict[str, bytes] = {}
    for i, step in enumerate(report.steps, 1):
        subject = _subject(step)
        patch = b"".join(
            file_diff(prefix + path, before.raw, after.raw) for path, (before, after) in sorted(step.texts.items())
        )
        head = f"[PATCH {i}/{len(report.steps)}] {subject}"
        out[_file_name(i, step)] = _message(head, author, _body(step), _stat(step, prefix), patch)
    return out


def _message(subject: str, author: Author, body: str, stat: str, patch: bytes) -> bytes:
    from email.header import Header
    from email.utils import quote

    def encoded(text: str, lead: str) -> str:
        if text.isascii():
            return text
        return Header(text, "utf-8", header_name=lead).encode(linesep="\n")

    name = author.name
    if not name.isascii():
        name = encoded(name, "From")
    elif re.search(r'[()<>@,:;.\[\]"\\]', name):
        name = f'"{quote(name)}"'
    text = f"{body}---\n{stat}\n".encode() + patch + f"-- \nvllm-migrate {__version__}\n\n".encode()
    # What carries a message may end its lines anew: a carriage return that belongs to a line must be spelled.
    spelled = b"\r" in text
    head = [
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001",
        f"From: {name} <{author.email}>",
        f"Date: {author.date}",
        f"Subject: {encoded(subject, 'Subject')}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        f"Content-Transfer-Encoding: {'quoted-printable' if spelled else '8bit'}",
    ]
    return "\n".join([*head, "", ""]).encode() + (_quoted_printable(text) if spelled else text)


def _quoted_printable(raw: bytes) -> bytes:
    """Write bytes as quoted-printable, a carriage return as `=0D`."""
    out: list[bytes] = []
    for line in raw.split(b"\n"):
        pieces: list[bytes] = []
        for at, byte in enumerate(line):
            last = at == len(line) - 1
            if byte == 0x3D or byte > 0x7E or (byte < 0x20 and byte != 0x09) or (last and byte in b" \t"):
                pieces.append(b"=%02X" % byte)
            else:
                pieces.append(bytes((byte,)))
        lines, here = [], b""
        for piece in pieces:
            if len(here) + len(piece) > 75:
                lines.append(here + b"=")
                here = b""
            here += piece
        out.append(b"\n".join([*lines, here]))
    return b"\n".join(out)


def _subject(step: Step) -> str:
    targets = sorted({f.to for f in step.findings if f.to})
    target = f"vLLM {targets[0]}" if len(targets) == 1 else "vLLM"
    if _is_rule(step):
        lead = f"{target}: {_slug_of(step.key).replace('-', ' ')} ({step.key})"
        # The same option spelled for another surface is no other option.
        names = list({normal(f.subject): f.subject for f in reversed(step.findings)}.values())[::-1]
    else:
        names = list(dict.fromkeys(launch_name(f.site) for f in step.findings if f.site is not None))
        lead = f"{target}: {_path(step, names)}"
    if not names:
        return plain(lead)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    room = max(_SUBJECT - len(lead) - len(more), 40)
    return plain(f"{lead}: {_cut(names[0], room)}{more}")


def _is_rule(step: Step) -> bool:
    return re.fullmatch(r"VM\d+", step.key) is not None


def _path(step: Step, names: Sequence[str]) -> str:
    return step.key.rpartition(":")[0] if names else step.key


def _slug_of(code: str) -> str:
    from vllm_migrate.rules.registry import rules

    rule = rules().get(code)
    return rule.slug if rule is not None else code


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3].rstrip(" ,") + "..."


def _file_name(number: int, step: Step) -> str:
    """Return a name that sorts in order and is one on every system."""
    if _is_rule(step):
        words = f"{step.key} {_slug_of(step.key)}"
    else:
        names = [launch_name(f.site) for f in step.findings if f.site is not None]
        words = f"{_path(step, names)} {names[0] if names else ''}"
    return f"{number:04}-{re.sub(r'[^A-Za-z0-9]+', '-', words).strip('-')[:60].strip('-')}.patch"


def _body(step: Step) -> str:
    """Say for each thing that changes: what, where, why, since when, how, how sure, on what evidence."""
    out = _lead(step)
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in step.findings:
        why = finding.fix.why if finding.fix is not None else ""
        about = finding.migration or finding.subject
        groups.setdefault((finding.code, about, finding.message, why), []).append(finding)
    for same in groups.values():
        out += ["", *_group(step, same)]
    return "\n".join(out) + "\n"


def _lead(step: Step) -> list[str]:
    from vllm_migrate.rules.registry import rules

    known = rules()
    codes = sorted({f.code for f in step.findings} & known.keys())
    if not _is_rule(step):
        return ["What changes here, and why:"]
    lines = [_wrap(known[step.key].summary, "", "")] if step.key in known else []
    others = [code for code in codes if code != step.key]
    if others:
        lines += ["", "With it goes what is only right together with it:"]
        lines += [_wrap(f"- {code}: {known[code].summary}", "", "  ") for code in others]
    return lines


def _group(step: Step, same: Sequence[Finding]) -> list[str]:
    first = same[0]
    where = list(dict.fromkeys(f"{plain(f.path)}:{step.places.get(id(f), 1)}" for f in same))
    if len(where) > _PLACES:
        where = [*where[:_PLACES], f"{number(len(where) - _PLACES, 'place')} more"]
    origins = ", ".join(dict.fromkeys(f.origin for f in same if f.origin))
    targets = ", ".join(dict.fromkeys(f.to for f in same if f.to))
    ways = f"{origins} -> {targets}" if origins else targets
    since = f"; gone since {first.removed_in}" if first.removed_in else ""
    changes = dict.fromkeys(f"{f.fix.description} ({f.fix.safety})" for f in same if f.fix is not None)
    notes = [("At", ", ".join(where)), ("Why", first.reason), ("Release", ways + since)]
    notes += [("Change", text) for text in changes]
    notes += [("A person must agree", first.fix.why if first.fix is not None else "")]
    notes += [("Evidence", text) for text in first.evidence]
    lines = [_wrap(f"* {first.code}: {first.message}", "", "  ")]
    return lines + [_wrap(f"{label}: {text}", "  ", "    ") for label, text in notes if text]


def _wrap(text: str, first: str, rest: str) -> str:
    return textwrap.fill(
        plain(" ".join(text.split())),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _stat(step: Step, prefix: str) -> str:
    out = []
    for path, (before, after) in sorted(step.texts.items()):
        signs = [sign for _, body in hunks(before.raw, after.raw) for sign, _ in body]
        out.append(f" {plain(prefix + path)} | +{signs.count('+')} -{signs.count('-')}\n")
    return "".join(out)
