"""What one requirement names: a PEP 508 specifier, an archive URL, or the ref of a source checkout."""

from __future__ import annotations

import re

from vllm_migrate.lazy import dataclass, regex

_NAME = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_AT = regex(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\]\s*)?@\s*(?=[a-z+]+:|\.|/|\$)")
_GIT_REF = regex(r"(?<=[^/@])@(?P<ref>[^@#/\s][^@#\s]*?)(?=#|\s|$)")


@dataclass(frozen=True)
class Spec:
    """kind: of the pin. start, end: of its text within the requirement. name: the package, or ""."""

    kind: str
    start: int
    end: int
    name: str


def read_spec(text: str) -> Spec | None:
    """Return what a requirement pins, or None where it names no package or URL.

    A direct reference (`vllm @ https://…/vllm-0.11.0-….whl`) is a `url` pin whose text is the URL; a
    checkout (`git+https://…@v0.11.0`) is a `git` pin whose text is the ref, empty where none is given.
    """
    text = text.rstrip()
    direct = _AT.match(text)
    name = direct[1] if direct else ""
    at = direct.end() if direct else 0
    url = re.compile(r"\S+").match(text, at)
    if url is not None and "://" in url[0]:
        if re.match(r"(?:git|hg|svn|bzr)\+", url[0]):
            if not name:
                egg = re.search(r"(?:^|&)egg=([A-Za-z0-9._-]+)", url[0].partition("#")[2])
                name = egg[1] if egg else ""
            scheme = url[0].index("://") + 3
            slash = url[0].find("/", scheme)
            ref = _GIT_REF.search(url[0], max(slash, scheme))
            if ref is not None:
                return Spec("git", at + ref.start("ref"), at + ref.end("ref"), name)
            end = at + (url[0] + "#").index("#")
            return Spec("git", end, end, name)
        bare = url[0].split("#", 1)[0]
        if not name:
            file = bare.rsplit("/", 1)[-1]
            found = re.match(r"([A-Za-z0-9_.]+?)-\d", file)
            name = found[1] if found else ""
        return Spec("url", at, at + len(bare), name)
    found = _NAME.match(text)
    if found is None or direct is not None:
        return None
    rest = text[found.end() :].lstrip()
    if rest and rest[0] not in "[<>=!~;(@":
        return None
    return Spec("requirement", 0, len(text), found[0])
