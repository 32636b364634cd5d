"""Reads the vLLM version and the build channel out of texts: image references, requirements, URLs, refs.

Nothing here judges; what a version means for a channel is `distribution`. A text that names no vLLM
version gives None, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from vllm_migrate.distribution import distribution, image_names
from vllm_migrate.globs import name_matches
from vllm_migrate.launch import split_image
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Pin, is_hole
from vllm_migrate.versions_key import is_version

_NUMBER = r"\d{1,4}\.\d{1,4}\.\d{1,4}(?:\.\d{1,4})?(?:\.?post\d{1,4}|\.?rc\d{1,4}(?:\.dev\d{1,9})?|\.dev\d{1,9})?"
_TAG = regex(rf"v?(?P<version>{_NUMBER})(?=$|[-_+])", re.ASCII)
_ANY = regex(rf"v?(?P<version>{_NUMBER})$", re.ASCII)
_DIGITS = "0123456789"
_MOVING = regex(
    r"(?:(?P<front>cu\d{3})-)?(?P<word>latest|nightly)(?:-(?P<sha>[0-9a-f]{7,40}))?(?P<rest>(?:-.*)?)$"
)
_CHANNEL = regex(r"(?:cu\d{3}|rocm\d{2,3})")
_CLAUSE = regex(r"(?P<op>===|==|~=|!=|<=|>=|<|>|=|\^|~)?\s*v?(?P<version>\d[\w!+-]*(?:\.[\w!+-]+)*(?:\.\*)?|\*)")
_WHEEL = regex(
    r"(?<![A-Za-z0-9_.])(?P<name>[A-Za-z0-9_.]+)-(?P<version>\d[A-Za-z0-9.]*)(?:(?:\+|%2[Bb])(?P<local>[A-Za-z0-9.]+))?"
    r"-(?P<python>\w+)-(?P<abi>\w+)-(?P<platform>[\w.]+)\.whl"
)
_SDIST = regex(r"(?P<name>vllm)-(?P<version>\d[A-Za-z0-9.]*)\.tar\.gz")
_OWN_INDEX = (
    r"(?P<rocm>/rocm)?(?:/(?P<what>[0-9a-f]{40}|nightly|v?\d+\.\d[\w.]*))?"
    r"(?:/(?P<channel>cu\d{3}|rocm\d{2,3}|cpu))?(?=/|$|\s)"
)
_COMMAND_END = regex(r"&&|;|\|\||(?<!\\)(?<!\\\r)\n")
_REF = regex(rf"(?:refs/tags/)?(?:releases/)?(?P<prefix>v?)(?P<version>{_NUMBER})$", re.ASCII)


@dataclass(frozen=True)
class ImageVersion:
    """An image of vLLM and what its tag says.

    name: repository. version: as PEP 440 spells it, "" for a moving tag. start, end: where the version
    stands in the reference. channel: `cu129`, `rocm72` … where the tag names one. suffixes: the other
    parts of the tag after the version, in order. moving: "latest" or "nightly", or "". row: name of the
    published image this is, "" for somebody else's. device: "cuda", "rocm", "cpu", "xpu" …
    inside: the version stands within a tag of somebody else's pattern.
    """

    name: str
    tag: str
    version: str
    start: int
    end: int
    channel: str
    device: str
    suffixes: tuple[str, ...]
    digest: str
    row: str = ""
    moving: str = ""
    inside: bool = False


@dataclass(frozen=True)
class Clause:
    """One clause of a specifier; start, end: of its version in the text. op is "" where none is written."""

    op: str
    version: str
    start: int
    end: int


@dataclass(frozen=True)
class RequirementVersion:
    """A requirement and the versions it allows.

    name: normalized. start, end: of the specifier within the text (equal where there is none).
    version: what `==` (or a compatible release clause) names, "" for a range. local: after `+`.
    channel: a CUDA or ROCm channel in it.
    """

    name: str
    extras: tuple[str, ...]
    start: int
    end: int
    clauses: tuple[Clause, ...]
    version: str
    local: str
    channel: str


@dataclass(frozen=True)
class WheelVersion:
    """A wheel of vLLM; start, end: of its file name in the text. channel: from its local version."""

    version: str
    local: str
    channel: str
    tags: tuple[str, str, str]
    start: int
    end: int


@dataclass(frozen=True)
class IndexVersion:
    """A package index or channel word.

    channel: `cu129`, `rocm72`, "cpu", or "". version: a release named in the URL, "" without; `moving`:
    "nightly" or a commit. own: the index is vLLM's. start, end: of the channel; (0, 0) without one.
    """

    channel: str
    version: str
    own: bool
    device: str
    moving: str = ""
    start: int = 0
    end: int = 0
    version_start: int = 0
    version_end: int = 0


@dataclass(frozen=True)
class PinVersion:
    """What a pin says about vLLM: an exact version or "", a channel or "", a device or ""."""

    version: str
    channel: str
    device: str


def normalize_name(name: str) -> str:
    """Return a package name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def spelled_version(text: str) -> str:
    """Return a version in the catalog's spelling: `0.5.3post1` → `0.5.3.post1`, no leading `v`."""
    return re.sub(r"(?<=\d)\.?post", ".post", text.removeprefix("v"))


@lru_cache(maxsize=4096)
def carries_version(name: str) -> bool:
    """Tell whether the tag of a repository begins with a vLLM version."""
    last = name.rsplit("/", 1)[-1].lower()
    return not own_versions(name) and any(name_matches(known, last) for known in image_names()["names"])


@lru_cache(maxsize=4096)
def own_versions(reference: str) -> bool:
    """Tell whether an image's tags are versions of something else than vLLM."""
    name = split_image(reference.strip().removeprefix("docker://"))[0]
    return any(name_matches(pattern, name) for pattern in image_names()["not"])


@lru_cache(maxsize=4096)
def device_of(name: str, tag: str) -> str:
    """Return the device an image is for, by the published names, else by words of its name and tag."""
    row = distribution().image_row(name)
    words = re.split(r"[-_.:/]", f"{name.rsplit('/', 1)[-1]}-{tag}".lower())
    if row is not None and row.device != "cuda":
        return row.device
    for device, marks in image_names()["devices"].items():
        if any(word.startswith(m) and not word[len(m) :].strip(_DIGITS) for m in marks for word in words):
            return str(device)
    return "cuda"


@lru_cache(maxsize=4096)
def read_image(reference: str) -> ImageVersion | None:
    """Return what an image reference says of vLLM, moving tags included; None where it is not vLLM's."""
    reference = reference.strip()
    lead = len("docker://") if reference.startswith("docker://") else 0
    name, tag, digest = split_image(reference[lead:])
    if own_versions(name):
        return None
    device = device_of(name, tag)
    row = distribution().image_row(name)
    at = lead + len(name) + 1
    if carries_version(name) and not (row is not None and row.versions == "own"):
        found = _TAG.match(tag)
        if found is not None:
            channel, rest = _suffixes(tag[found.end() :])
            span = (at + found.start("version"), at + found.end("version"))
            version = spelled_version(found["version"])
            return ImageVersion(name, tag, version, *span, channel, device, rest, digest, row.name if row else "")
        moving = _MOVING.match(tag or "latest")
        if moving is not None:
            channel, rest = _suffixes(moving["rest"])
            sha = (moving["sha"],) if moving["sha"] else ()
            channel = moving["front"] or channel
            own = row.name if row else ""
            return ImageVersion(
                name, tag, "", at, at, channel, device, (*sha, *rest), digest, own, moving["word"]
            )
        if row is not None:
            return None
    text = tag or name.rsplit("/", 1)[-1]
    base = at if tag else lead + len(name) - len(text)
    for match in re.finditer(rf"(?<![A-Za-z]){image_names()['inside'].pattern}(?P<v>{_NUMBER})", text, re.I):
        channel = next(iter(_CHANNEL.findall(text)), "")
        span = (base + match.start("v"), base + match.end("v"))
        own = row.name if row else ""
        version = spelled_version(match["v"])
        return ImageVersion(name, tag, version, *span, channel, device, (), digest, own, inside=True)
    return None


def held_version(reference: str) -> str:
    """Return the vLLM version inside an image whose tag is a version of something else, "" where not known."""
    name, tag, _ = split_image(reference.strip().removeprefix("docker://"))
    for row in image_names()["holds"]:
        if name_matches(row["image"], name):
            for start, version in row["tags"].items():
                if tag == start or tag.startswith((start + "-", start + "_", start + ".")):
                    return str(version)
    return ""


def image_version(reference: str) -> ImageVersion | None:
    """Return the vLLM version an image reference names, or None: not vLLM's, or a tag that moves."""
    found = read_image(reference)
    return found if found is not None and found.version else None


def _suffixes(rest: str) -> tuple[str, tuple[str, ...]]:
    """Split what follows the version in a tag into its channel and its other suffixes."""
    known = sorted({s.suffix for s in distribution().suffixes}, key=len, reverse=True)
    text = rest.lstrip("-_")
    channel = ""
    parts: list[str] = []
    while text:
        word = next((k for k in known if re.match(rf"{re.escape(k)}(?=-|$)", text)), text.split("-", 1)[0])
        text = text[len(word) :].lstrip("-")
        if _CHANNEL.fullmatch(word) and not channel:
            channel = word
        elif word:
            parts.append(word)
    return channel, tuple(parts)


def clauses_of(text: str, at: int = 0) -> tuple[Clause, ...] | None:
    """Return the clauses of a specifier in any packager's spelling, None where it is something else.

    Args: at: added to the offsets. Knows PEP 440, poetry's `^` and `~`, conda's single `=`.
    """
    out: list[Clause] = []
    here = 0
    body = text.rstrip()
    while here < len(body):
        lead = re.compile(r"[\s,()]*").match(body, here)
        here = lead.end() if lead else here
        if here >= len(body):
            break
        found = _CLAUSE.match(body, here)
        if found is None:
            return None
        out.append(Clause(found["op"] or "", found["version"], at + found.start("version"), at + found.end("version")))
        here = found.end()
        if here < len(body) and not re.match(r"[\s,()]", body[here]):
            return None
    return tuple(out)


@lru_cache(maxsize=8192)
def requirement_version(text: str, name: str = "") -> RequirementVersion | None:
    """Return what a requirement asks for; None where the text is no requirement.

    Args: name: the package, where the text is a bare specifier (`^0.11.0` under a key).
    """
    extras: tuple[str, ...] = ()
    begin = 0
    head = re.match(r"\s*(?P<name>[A-Za-z][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*", text)
    if head is not None:
        name = head["name"]
        extras = tuple(e.strip() for e in (head["extras"] or "").split(",") if e.strip())
        begin = head.end()
    elif not name:
        return None
    end = _specifier_end(text, begin)
    clauses = clauses_of(text[begin:end], begin)
    if clauses is None:
        return None
    start = begin
    version = local = channel = ""
    exact = [c for c in clauses if c.op in ("==", "===", "=", "~=", "") and not c.version.endswith("*")]
    if len(clauses) == 1 and exact:
        version, _, local = exact[0].version.partition("+")
        version = spelled_version(version)
        found = _CHANNEL.search(local)
        channel = found[0] if found else ""
        if exact[0].op == "~=" and version.count(".") < 2:
            version = ""
    return RequirementVersion(normalize_name(name), extras, start, end, clauses, version, local, channel)


def requirement_of(pin: Pin) -> tuple[RequirementVersion, str] | None:
    """Return what a requirement pin asks for and the text its offsets count in: its whole text or its own.

    The own text is a bare specifier where the format keeps the name elsewhere (a key, a lock's entry).
    """
    named = re.match(r"\s*[A-Za-z]", pin.text) or re.search(r"[=<>~!^]\s*$", pin.prefix)
    text = pin.whole if named else pin.text
    found = requirement_version(text, pin.name)
    return None if found is None else (found, text)


def _specifier_end(text: str, begin: int) -> int:
    """Return where a specifier ends: before a marker, a hash, an option, a comment."""
    found = re.compile(r";|(?<=\s)--?[a-z]|(?<=\s)#|$").search(text, begin)
    end = found.start() if found is not None else len(text)
    return begin + len(text[begin:end].rstrip())


def wheel_version(text: str) -> WheelVersion | None:
    """Return the vLLM wheel (or source archive) a URL or path names, or None."""
    for match in _WHEEL.finditer(text.rsplit("/", 1)[-1]):
        if normalize_name(match["name"]) != "vllm":
            continue
        at = len(text) - len(text.rsplit("/", 1)[-1])
        local = match["local"] or ""
        found = _CHANNEL.search(local)
        tags = (match["python"], match["abi"], match["platform"])
        span = (at + match.start(), at + match.end())
        return WheelVersion(spelled_version(match["version"]), local, found[0] if found else "", tags, *span)
    source = _SDIST.search(text)
    if source is not None:
        return WheelVersion(spelled_version(source["version"]), "", "", ("", "", ""), *source.span())
    return None


def index_version(text: str) -> IndexVersion | None:
    """Return what a package index URL or a channel word (`cu129`, `auto`) says, None where nothing."""
    own = re.search(image_names()["index"] + _OWN_INDEX, text)
    if own is not None:
        what = own["what"] or ""
        version = spelled_version(what) if re.match(r"v?\d+\.", what) and is_version(what) else ""
        channel = own["channel"] or ""
        device = "rocm" if own["rocm"] or channel.startswith("rocm") else "cpu" if channel == "cpu" else "cuda"
        span = own.span("channel") if own["channel"] else (0, 0)
        where = own.span("what") if version else (0, 0)
        moving = "" if version else what
        return IndexVersion(channel, version, True, device, moving, *span, *where)
    found = re.search(r"(?:(?<=/)|(?<==)|^)(?P<channel>cu\d{3}|rocm\d+(?:\.\d+)*|cpu)(?=/|$|\s)", text)
    if found is None:
        return None
    channel = found["channel"].replace(".", "")
    device = "rocm" if channel.startswith("rocm") else "cpu" if channel == "cpu" else "cuda"
    nightly = "nightly" if "/nightly/" in text else ""
    return IndexVersion(channel, "", False, device, nightly, *found.span("channel"))


def git_version(ref: str) -> str:
    """Return the release a git ref of vLLM's repository names, "" for a branch or commit."""
    found = _REF.match(ref.strip())
    return spelled_version(found["version"]) if found is not None else ""


def archive_version(url: str) -> tuple[str, int, int] | None:
    """Return version, start and end of a source archive of vLLM's repository, or None."""
    found = re.search(rf"/vllm/archive/(?:refs/tags/)?v?(?P<version>{_NUMBER})\.(?:tar\.gz|zip)", url)
    return None if found is None else (spelled_version(found["version"]), *found.span("version"))


def _git_of_vllm(pin: Pin) -> bool:
    """Tell whether a checkout is of vLLM's repository, by the address or by what the ref is called."""
    address = f"{pin.prefix} {pin.name} {pin.suffix}"
    if re.search(r"(?:^|[/:@\s])vllm(?:\.git)?(?=[@#\s/\[]|$)", address):
        return True
    named = normalize_name(pin.name)
    if re.fullmatch(r"vllm-(?:git-)?(?:ref|version|commit|branch|tag|sha|release)", named):
        return True
    if pin.name or pin.prefix or pin.suffix:
        return False
    # `git clone -b REF URL`: the address is another word of the same command.
    before = _COMMAND_END.split(pin.region.text[max(0, pin.span.start - 200) : pin.span.start])[-1]
    near = before + _COMMAND_END.split(pin.region.text[pin.span.start : pin.span.end + 200])[0]
    return re.search(r"/vllm(?:\.git)?(?=[\s\"'/]|$)", near) is not None or "/vllm-" not in near


def about_vllm(pin: Pin) -> bool:
    """Tell whether a requirement, URL or git pin is about vLLM itself."""
    if pin.kind == "requirement":
        if "vllm" not in f"{pin.name} {pin.whole}".lower():
            return False  # a lock file has hundreds of others
        name = normalize_name(pin.name) if pin.name else ""
        found = requirement_of(pin)
        return (found[0].name if found is not None else name) == "vllm"
    if pin.kind == "url":
        return wheel_version(pin.whole) is not None or archive_version(pin.whole) is not None
    if pin.kind == "git":
        return _git_of_vllm(pin)
    return pin.kind in ("image", "base") and read_image(pin.whole) is not None


def pin_version(pin: Pin) -> PinVersion | None:
    """Return what a pin says about vLLM; None where it says nothing (another package, a hole).

    A version that cannot be put in order (`vllm==0.x`) is none.
    """
    found = _pin_version(pin)
    if found is None or not found.version or is_version(found.version):
        return found
    return PinVersion("", found.channel, found.device)


def _pin_version(pin: Pin) -> PinVersion | None:
    if pin.kind in ("image", "base"):
        whole = pin.effective or pin.whole
        image = read_image(whole)
        if image is None:
            held = held_version(whole) if pin.effective or not pin.holes else ""
            if held:
                return PinVersion(held, "", device_of(*split_image(whole)[:2]))
            return _bare(pin)
        return PinVersion(image.version, image.channel, image.device)
    if any(is_hole(c) for c in pin.text):
        return None
    if pin.kind == "build-arg":
        return _argument(pin)
    if pin.kind == "index":
        index = index_version(pin.whole)
        return PinVersion(index.version, index.channel, index.device) if index is not None else None
    if not about_vllm(pin):
        return None
    if pin.kind == "requirement":
        found = requirement_of(pin)
        if found is None:
            return None
        requirement = found[0]
        device = "rocm" if requirement.channel.startswith("rocm") else "cuda" if requirement.channel else ""
        device = device or ("cpu" if requirement.local == "cpu" else "")
        return PinVersion(requirement.version, requirement.channel, device)
    if pin.kind == "url":
        wheel = wheel_version(pin.whole)
        if wheel is None:
            source = archive_version(pin.whole)
            return PinVersion(source[0], "", "") if source is not None else None
        device = "rocm" if wheel.channel.startswith("rocm") else "cpu" if wheel.local == "cpu" else ""
        return PinVersion(wheel.version, wheel.channel, device)
    if pin.kind == "git":
        return PinVersion(git_version(pin.text), "", "")
    return None


def _bare(pin: Pin) -> PinVersion | None:
    """A version without a repository (a chart's `appVersion`, a `tag` on its own)."""
    if pin.prefix or not _ANY.match(pin.text):
        return None
    named = pin.name.lower()
    if named == "appversion" or "vllm" in named:
        return PinVersion(spelled_version(pin.text), "", "")
    return None


def _argument(pin: Pin) -> PinVersion | None:
    """A release given to an image build by name (`VLLM_VERSION=0.11.0`)."""
    text = pin.text.removeprefix(pin.name + "=")
    if re.fullmatch(r"VLLM_(?:\w+_)?(?:VERSION|TAG|REF|BRANCH|RELEASE)", pin.name) and _ANY.match(text):
        return PinVersion(spelled_version(text), "", "")
    return None


def pins_of_vllm(pins: Sequence[Pin]) -> list[Pin]:
    """Return the pins that are about vLLM itself, in order."""
    return [p for p in pins if about_vllm(p) or (p.kind in ("image", "base") and _bare(p) is not None)]
