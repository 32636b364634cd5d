"""Decides what the tag of a vLLM image becomes for another release: version, channel, suffixes."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_migrate.distribution import Channel, Distribution, distribution, image_names, major
from vllm_migrate.findings import Safety, Severity
from vllm_migrate.lazy import dataclass
from vllm_migrate.rules.pin_tools import Verdict, version_key
from vllm_migrate.versions import ImageVersion
from vllm_migrate.versions_key import key

_ARCH = ("x86_64", "aarch64", "arm64", "x86_64-zstd")


def needs_of(channel: str) -> str:
    """Return what a host must have for builds of a channel, as a clause for a sentence."""
    driver = distribution().driver(channel)
    needs = image_names()["cuda"].get(major(channel), {})
    parts = [f"an NVIDIA driver of branch {driver} or newer"] if driver else []
    if needs.get("capability"):
        parts.append(f"GPUs of compute capability {needs['capability']} or newer")
    return " and ".join(parts)


def why_new_cuda(channel: str) -> str:
    """Return the question a person must answer before a move to another CUDA major."""
    text = f"CUDA {cuda_of(channel)} needs {needs_of(channel)}"
    extra = image_names()["cuda"].get(major(channel), {}).get("help", "")
    return f"{text}; {extra}" if extra else text


def cuda_of(channel: str) -> str:
    """Return the version of a CUDA channel word: `cu129` → `12.9`."""
    digits = channel.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1:]}"


@dataclass
class _Plan:
    """What is said of an image that is to move, and how sure the move is."""

    channel: str
    code: str
    severity: Severity
    message: str
    safety: Safety = "safe"
    why: str = ""
    help: str = ""
    evidence: Sequence[str] = ()
    plain: bool = False
    """The plain tag is the same image: only the spelling differs."""


def judge_image(image: ImageVersion, reference: str, origin: str | None, target: str) -> Verdict | None:
    """Return what is to be said of an image for a target release, None where it may stay.

    Args: reference: the whole text the image was read from. origin: the release it is on now where the
    tag does not say so. Images built by others are reported; their tags are theirs to choose.
    """
    data = distribution()
    if image.moving:
        return _moving(data, image, reference, origin, target)
    here, there = version_key(image.version), key(target)
    if here is None:
        return None
    subject = f"{image.name}:{image.tag}" if image.tag else image.name
    if here > there:
        message = f"{subject} is beyond {target}; it is left as it is"
        return Verdict("VM505", "info", subject, message)
    official = _official(data, image)
    if not official or image.inside:
        return _foreign(data, image, subject, here < there, target, reference)
    plan = _rocm(data, image, official, target) if image.device == "rocm" else _cuda(data, image, official, target)
    older = here < there
    suffixes, dropped, unknown = _suffixes(data, image, official, target)
    name = image.name
    moved = data.suffix_row(official, "rocm") if "rocm" in image.suffixes else None
    if moved is not None and moved.until is not None and key(moved.until) <= there:
        name = name[: len(name) - len(official)] + moved.image
        suffixes = [s for s in suffixes if s != "rocm"]
        says = f"from {moved.until} on ROCm images are {moved.image}, and {official} has no -rocm tags"
        plan = _Plan(plan.channel, "VM507", "error", says, evidence=moved.evidence)
    elif dropped and plan.code == "VM505":
        gone = f"-{dropped[0]} is not published for {target}; the plain tag is the same image"
        plan = _Plan(plan.channel, "VM501", "warning", gone)
    if not older:
        if plan.channel == image.channel and not dropped and name == image.name:
            return None
        if not plan.plain:
            plan.code, plan.severity = "VM507", "error"
    elif plan.code == "VM505" and not plan.message:
        plan.message = f"{subject} is older than {target}"
    if image.device == "rocm" and image.channel.startswith("cu"):
        unknown = [image.channel]
    if unknown:
        verdict = Verdict("VM505", "info", subject, f"{subject} is older than {target}")
        verdict.withheld = f"no release publishes a tag ending in -{unknown[0]}; choose the tag by hand"
        return verdict if older else None
    verdict = Verdict(plan.code, plan.severity, subject, plan.message, help=plan.help, evidence=plan.evidence)
    begin = reference[: image.start].replace(image.name, name, 1) if name != image.name else reference[: image.start]
    tail = reference[reference.index("@", image.end) :] if image.digest else ""
    written = begin + target + _joined(suffixes, plan.channel) + tail
    verdict.text, verdict.replacement = written, written.removeprefix("docker://")
    verdict.safety, verdict.why = plan.safety, plan.why
    if verdict.safety == "safe" and data.image_row(image.name) is None:
        verdict.safety, verdict.why = "unsafe", f"whether {image.name} has that tag"
    verdict.description = f"move {image.tag} to {written[begin.rindex(':') + 1 :]}"
    if image.digest:
        verdict.withheld = "a digest fixes the content; take the digest of the new tag"
        verdict.replacement = verdict.replacement.partition("@")[0]
    elif not image.row:
        verdict.safety = "unsafe"
        verdict.why = verdict.why or f"whether {image.name.rsplit('/', 1)[0]} holds that tag"
    return verdict


def _official(data: Distribution, image: ImageVersion) -> str:
    """Return the published image this is or mirrors (same last name, plain tag), "" for another."""
    row = data.image_row(image.name)
    if row is not None:
        return "" if row.versions == "own" else row.name
    if image.channel or image.suffixes:
        return ""  # which variants somebody else builds is not known
    last = image.name.rsplit("/", 1)[-1]
    return next((r.name for r in data.images if r.name.rsplit("/", 1)[-1] == last and last != "vllm"), "")


def _foreign(
    data: Distribution, image: ImageVersion, subject: str, older: bool, target: str, reference: str
) -> Verdict | None:
    """An image others build: only its age is known."""
    row = data.image_row(image.name)
    if row is not None and row.deprecated_in and key(row.deprecated_in) <= key(target):
        message = f"{image.name} is no longer where vLLM's {image.device} images are published"
        help_text = f"use {row.replacement}:v{target}; it starts the server by itself, this one starts a shell"
        return Verdict("VM506", "info", subject, message, help=help_text, replacement=f"{row.replacement}:v{target}")
    if not older:
        return None
    message = f"{subject} holds vLLM {image.version}, older than {target}"
    verdict = Verdict("VM505", "info", subject, message)
    if image.inside or image.suffixes or image.channel or image.digest:
        verdict.withheld = "the tag follows its builder's own pattern; choose the tag by hand"
        return verdict
    verdict.text = reference[: image.start] + target + reference[image.end :]
    verdict.replacement, verdict.safety = verdict.text, "unsafe"
    verdict.description = f"move {image.tag} to {verdict.text.rsplit(':', 1)[-1]}"
    verdict.why = f"whether {image.name} has that tag, and for which CUDA"
    return verdict


def _cuda(data: Distribution, image: ImageVersion, official: str, target: str) -> _Plan:
    new = data.channel_at(target)
    if image.device != "cuda" or new is None:
        return _Plan(image.channel, "VM505", "info", "")
    old = data.channel_at(image.version) or data.channels[0]
    if image.channel:
        return _named_channel(data, image.channel, old, new, image.version, target)
    if major(old.image) == major(new.image):
        return _Plan("", "VM505", "info", "")
    says = f"the plain tag is CUDA {cuda_of(old.image)} in {image.version} and CUDA {cuda_of(new.image)} in {target}"
    same = next((c for c in new.image_others if major(c) == major(old.image)), "")
    if same:
        help_text = f"the plain tag of {target} is CUDA {cuda_of(new.image)} and needs {needs_of(new.image)}"
        return _Plan(same, "VM501", "warning", f"{says}; -{same} stays on CUDA {major(same)}", help=help_text)
    gone = f"; {target} has no CUDA {major(old.image)} image"
    return _changed("", "VM501", "warning", says + gone, new)


def _named_channel(data: Distribution, channel: str, old: Channel, new: Channel, version: str, target: str) -> _Plan:
    """The tag names its CUDA: keep it, spell it as the target does, or say it is gone."""
    if channel in new.image_others:
        return _Plan(channel, "VM505", "info", "")
    if channel == new.image:
        if channel not in {c for row in data.channels for c in row.image_others if key(row.from_) <= key(target)}:
            return _Plan(channel, "VM505", "info", "")
        says = f"in {target} CUDA {cuda_of(channel)} is the plain tag; its release publishes no -{channel}"
        return _Plan("", "VM501", "warning", says, evidence=new.evidence, plain=True)
    same = next((c for c in new.image_others if major(c) == major(channel)), None)
    if same is not None:
        return _Plan(same, "VM501", "warning", f"{target} has no -{channel} image; -{same} stays on CUDA {major(same)}")
    if channel == old.image or major(channel) == major(new.image):
        return _Plan("", "VM501", "warning", f"{target} has no -{channel} image; the plain tag is the same CUDA major")
    if data.gone_channel(channel, target, image=True) is None and version == target:
        return _Plan(channel, "VM505", "info", "")
    says = f"{target} has no -{channel} image: only CUDA {cuda_of(new.image)} is published"
    return _changed("", "VM507", "error", says, new)


def _changed(channel: str, code: str, severity: Severity, says: str, new: Channel) -> _Plan:
    why = why_new_cuda(new.image)
    help_text = f"before moving make sure of {needs_of(new.image)}"
    return _Plan(channel, code, severity, says, "unsafe", why, help_text, new.evidence)


def _rocm(data: Distribution, image: ImageVersion, official: str, target: str) -> _Plan:
    new = data.rocm_at(target)
    if new is None:
        return _Plan(image.channel, "VM505", "info", "")
    if image.channel:
        if image.channel in new.suffixes or not data.rocm or (image.version != target and not new.suffixes):
            return _Plan(image.channel, "VM505", "info", "")
        same = next((s for s in new.suffixes if major(s) == major(image.channel)), "")
        return _Plan(same, "VM507", "error", f"{target} has no -{image.channel} image", evidence=new.evidence)
    if image.version == target:
        return _Plan("", "VM505", "info", "")
    old = data.rocm_at(image.version) or data.rocm[0]
    before, after = old.rocm.split(".", 1)[0], new.rocm.split(".", 1)[0]
    if before == after:
        return _Plan("", "VM505", "info", "")
    says = f"the plain tag is ROCm {old.rocm} in {image.version} and ROCm {new.rocm} in {target}"
    same = next((s for s in new.suffixes if major(s) == before), "")
    if same:
        return _Plan(same, "VM506", "warning", f"{says}; -{same} stays on ROCm {before}", evidence=new.evidence)
    why = f"ROCm {new.rocm} needs a driver that supports it"
    return _Plan("", "VM506", "warning", says, "unsafe", why, evidence=new.evidence)


def _suffixes(
    data: Distribution, image: ImageVersion, official: str, target: str
) -> tuple[list[str], list[str], list[str]]:
    """Return the suffixes the target publishes too, those it dropped for the plain tag, and unknown ones."""
    stay: list[str] = []
    dropped: list[str] = []
    unknown: list[str] = []
    rocm = data.rocm_at(target)
    if image.channel.startswith("rocm") and (
        rocm is None or not any(major(s) == major(image.channel) for s in rocm.suffixes)
    ):
        unknown.append(image.channel)
    for suffix in image.suffixes:
        row = data.suffix_row(official, suffix)
        if data.has_suffix(official, suffix, target):
            stay.append(suffix)
        elif row is None or row.replacement is None or key(row.from_) > key(target):
            unknown.append(suffix)
        elif suffix != "rocm":
            dropped.append(suffix)
    return stay, dropped, unknown


def _joined(suffixes: Sequence[str], channel: str) -> str:
    """Return the end of a tag: architecture, channel, the rest."""
    first = [s for s in suffixes if s in _ARCH]
    rest = [s for s in suffixes if s not in _ARCH]
    return "".join(f"-{part}" for part in (*first, *([channel] if channel else []), *rest))


def _moving(
    data: Distribution, image: ImageVersion, reference: str, origin: str | None, target: str
) -> Verdict | None:
    """`latest` and `nightly`: only their channel can be judged."""
    official = _official(data, image)
    new = data.channel_at(target)
    if not official or new is None or image.digest:
        return None
    subject = f"{image.name}:{image.tag or 'latest'}"
    if any(s for s in image.suffixes if len(s) >= 7 and all(c in "0123456789abcdef" for c in s)):
        return None
    start = reference.index(image.tag, image.start) if image.tag else -1
    if image.device == "cuda" and image.channel:
        return _moving_channel(data, image, reference, target, new, subject, start)
    here = version_key(origin) if origin else None
    if here is None or here >= key(target) or origin is None:
        return None
    if image.device == "rocm":
        rocm, before = data.rocm_at(target), data.rocm_at(origin)
        if rocm is None or before is None or image.channel:
            return None
        number = before.rocm.split(".")[0]
        if rocm.rocm.split(".")[0] == number:
            return None
        says = f"{subject} is ROCm {rocm.rocm} from {rocm.from_} on; it was {before.rocm} in {origin}"
        same = next((s for s in rocm.suffixes if major(s) == number), "")
        verdict = Verdict("VM506", "warning", subject, says, evidence=rocm.evidence)
        if same and start >= 0 and not image.suffixes:
            verdict.text = f"{reference[:start]}{image.tag}-{same}"
            verdict.description = f"stay on ROCm {number} with -{same}"
        return verdict
    old = data.channel_at(origin)
    if image.device != "cuda" or old is None or major(old.image) == major(new.image):
        return None
    since, was = _since(data, new), cuda_of(old.image)
    says = f"{subject} is CUDA {cuda_of(new.image)} from {since} on; it was CUDA {was} in {origin}"
    help_text = f"make sure of {needs_of(new.image)}, or name a release"
    return Verdict("VM501", "warning", subject, says, help=help_text, evidence=new.evidence)


def _since(data: Distribution, new: Channel) -> str:
    return next(c.from_ for c in data.channels if major(c.image) == major(new.image))


def _moving_channel(
    data: Distribution,
    image: ImageVersion,
    reference: str,
    target: str,
    new: Channel,
    subject: str,
    start: int,
) -> Verdict | None:
    if image.moving == "nightly":
        if image.tag in data.nightly_tags(target) or not any(image.tag in row["tags"] for row in data.nightly):
            return None
    elif image.channel in new.image_others or data.gone_channel(image.channel, target, image=True) is None:
        return None
    says = f"no {image.tag} image is published from {target} on"
    verdict = Verdict("VM507", "error", subject, says, evidence=new.evidence)
    tag = image.moving + _joined(image.suffixes, "")
    verdict.text = reference[:start] + tag
    verdict.description = f"use {tag}"
    verdict.replacement = tag
    if major(image.channel) != major(new.image):
        verdict.safety, verdict.why = "unsafe", why_new_cuda(new.image)
        verdict.help = f"before moving make sure of {needs_of(new.image)}"
    return verdict
