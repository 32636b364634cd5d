"""How vLLM is distributed: image tags, wheels, indexes, git refs and base images (VM50x)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import replace

from vllm_migrate.distribution import distribution, major
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.model import Pin, Replace, is_hole
from vllm_migrate.rules.base_images import judge_base
from vllm_migrate.rules.context import Context, PinContext
from vllm_migrate.rules.image_moves import judge_image, why_new_cuda
from vllm_migrate.rules.pin_tools import Verdict, editable, finding, kept, new_text, replacing, scope, sharing
from vllm_migrate.rules.registry import Rule
from vllm_migrate.rules.source_build import plugin_beside
from vllm_migrate.rules.wheel_moves import (
    judge_archive,
    judge_own_index,
    judge_ref,
    judge_requirement,
    judge_torch_index,
    judge_wheel,
    move_local,
)
from vllm_migrate.versions import (
    about_vllm,
    held_version,
    index_version,
    pin_version,
    read_image,
    requirement_of,
    wheel_version,
)
from vllm_migrate.versions_key import key

RULES = (
    Rule(
        "VM501",
        "image-channel",
        "warning",
        "An image tag that means another CUDA in the target, or whose CUDA is spelled otherwise.",
        """What it does
Compares the CUDA an image tag stands for in the release it names with what the tag of the target would be.
Why it matters
Before 0.20.0 the tag without suffix is CUDA 12 and `-cu130` is the variant; from 0.20.0 the plain tag is CUDA 13
and `-cu129` the variant. Changing the number alone may move a cluster to another driver floor.
Example
`vllm/vllm-openai:v0.19.0`, target 0.32.0
Use instead
`vllm/vllm-openai:v0.32.0-cu129`, which stays on CUDA 12
Fix safety
Safe where the rewritten tag stays on its CUDA major. Unsafe where the target has no image for it: the hosts'
driver has to be checked.""",
    ),
    Rule(
        "VM502",
        "wheel-channel",
        "warning",
        "A wheel, an index or a torch backend for another CUDA than vLLM's wheel of the target.",
        """What it does
Follows `+cu129` versions, wheel URLs, `wheels.vllm.ai` and torch indexes and `--torch-backend` words beside vLLM.
Why it matters
A vLLM wheel for CUDA 13 does not load with torch for CUDA 12.
Example
`vllm==0.11.0` with `--extra-index-url https://download.pytorch.org/whl/cu128`, target 0.33.0
Use instead
`vllm==0.33.0` with `https://download.pytorch.org/whl/cu130`
Fix safety
Safe where the CUDA major stays; unsafe where it changes, since the driver has to be checked.""",
    ),
    Rule(
        "VM503",
        "base-image",
        "warning",
        "A base image that vLLM of the target cannot be built or installed on.",
        """What it does
Looks at `nvidia/cuda` and `pytorch/pytorch` bases of files that install or build vLLM, and at distributions whose
C library is older than the wheel needs.
Why it matters
A toolkit of another CUDA major cannot compile kernels for the torch that the target requires; on a C library that
is too old the wheel is passed over and a source build begins.
Example
`FROM nvidia/cuda:12.8.1-devel-ubuntu22.04`, target 0.33.0
Use instead
`FROM nvidia/cuda:13.0.3-devel-ubuntu22.04` (24.04 where vLLM is compiled)
Fix safety
Unsafe: another CUDA needs another driver, and another distribution has other packages.""",
    ),
    Rule(
        "VM505",
        "version-pin",
        "info",
        "A pin that names an older release than the target.",
        """What it does
Reports image tags, requirements, ranges, wheel and index URLs and git refs behind the target.
Why it matters
The old release keeps running what was rewritten for the new one.
Example
`vllm==0.24.0`, target 0.33.0
Use instead
`vllm==0.33.0`
Fix safety
Safe while the launches the pin governs are free of errors for the target; pins beyond the target, with a digest or
with a hash are never moved.""",
    ),
    Rule(
        "VM506",
        "rocm-channel",
        "warning",
        "A ROCm image or wheel that means another ROCm in the target.",
        """What it does
Compares the ROCm a tag, wheel or index stands for in both releases.
Why it matters
From 0.33.0 the plain ROCm tags and wheels are ROCm 10.0; up to 0.32.0 they are 7.2.
Example
`vllm/vllm-openai-rocm:v0.32.0`, target 0.33.0
Use instead
`vllm/vllm-openai-rocm:v0.33.0-rocm72`
Fix safety
Safe: the rewritten tag stays on its ROCm major.""",
    ),
    Rule(
        "VM507",
        "missing-image",
        "error",
        "An image tag, wheel or index that does not exist for the target.",
        """What it does
Checks the suffix or channel a pin names against what the target publishes.
Why it matters
The pull or the install fails.
Example
`vllm/vllm-openai:v0.32.0-cu129`, target 0.33.0
Use instead
`vllm/vllm-openai:v0.33.0`, which is CUDA 13 and needs its driver
Fix safety
Safe where the target publishes the same build under another name, else unsafe.""",
    ),
)


def judge_pin(ctx: PinContext) -> Iterator[Finding]:
    """Judge a pin that names a vLLM build or the base vLLM is installed on."""
    verdict = verdict_of(ctx)
    if verdict is None:
        return
    found = finding(ctx, ctx.pin, verdict, lambda other, text: _suits(ctx, other, text))
    if found.fix is not None:
        _with_indexes(ctx, found.fix)
        if ctx.pin.kind == "index" or verdict.code == "VM503":
            join_moves(ctx, found)
    yield found


def _suits(ctx: Context, other: Pin, text: str) -> bool:
    """Tell whether a new text also suits another pin of vLLM that the same letters write."""
    said = pin_version(other)
    verdict = verdict_of(at_pin(ctx, other, said.version if said is not None else ""))
    if verdict is None:
        return other.text == text
    return verdict.text is not None and not verdict.withheld and new_text(other, verdict.text) == text


def _with_indexes(ctx: PinContext, fix: Fix) -> None:
    """Let torch's index change with vLLM's wheel: one without the other does not install."""
    if ctx.pin.kind not in ("requirement", "url") or not about_vllm(ctx.pin):
        return
    for other in scope(ctx, ctx.pin).pins:
        if other.kind != "index" or index_version(other.whole) is None:
            continue
        verdict = _index(replace(ctx, pin=other), other)
        change = replacing(other, verdict.text) if verdict is not None and verdict.text else None
        if verdict is None or change is None or editable(ctx, [other]):
            continue
        fix.changes.append(change)
        if verdict.safety == "unsafe":
            fix.safety, fix.why = "unsafe", fix.why or verdict.why


def join_moves(ctx: Context, found: Finding) -> None:
    """Tie a finding's fix to the moves of the vLLM pins beside it; a pin that stays holds it back."""
    fix = found.fix
    item = next((c.item for c in fix.changes if isinstance(c, Replace)), None) if fix is not None else None
    if fix is None or not isinstance(item, Pin):
        return
    why_not = join(ctx, fix, item)
    if why_not:
        found.fix, found.withheld = None, why_not


def join(ctx: Context, fix: Fix, item: Pin, *, itself: bool = False) -> str:
    """Add to a fix the moves of the vLLM pins it acts together with; return why it must not be made, or "".

    What only the target needs must not be written beside a pin that still names the old release.
    itself: whether the pin at hand moves too.
    """
    for other in scope(ctx, item).vllm:
        if (other is item and not itself) or other.kind == "index":
            continue
        said = pin_version(other)
        if said is None or not said.version:
            continue
        verdict = verdict_of(at_pin(ctx, other, said.version))
        if verdict is None:
            continue
        why_not = verdict.withheld or editable(ctx, [other]) or kept(ctx)
        if verdict.text is None and not verdict.withheld:
            continue
        text = new_text(other, verdict.text) if verdict.text is not None else None
        change = replacing(other, verdict.text) if verdict.text is not None else None
        if text is not None and not all(o.whole == other.whole or _suits(ctx, o, text) for o in sharing(ctx, other)):
            change = None
        if change is None or why_not:
            return f"vLLM beside it stays at {said.version}: {why_not or 'its pin cannot be rewritten'}"
        fix.changes.append(change)
        if verdict.safety == "unsafe" and fix.safety == "safe":
            fix.safety, fix.why = "unsafe", verdict.why
    return ""


def at_pin(ctx: Context, pin: Pin, version: str) -> PinContext:
    """Return the context of another pin of the same file."""
    fields = {f.name: getattr(ctx, f.name) for f in dataclass_fields(Context)}
    if version:
        fields["origin"] = version
    return PinContext(**fields, pin=pin)


def verdict_of(ctx: PinContext) -> Verdict | None:
    pin, target = ctx.pin, ctx.target.version
    if pin.kind in ("image", "base"):
        image = read_image(pin.whole)
        if image is not None:
            return judge_image(image, pin.whole, ctx.origin, target)
        held = held_version(pin.whole) if not pin.holes else ""
        if held:
            return _held(pin.whole, held, target)
        if pin.kind == "base":
            return judge_base(ctx, pin, wanted_channel(ctx, pin) or _default(ctx))
        return _bare(ctx, pin)
    if any(is_hole(c) for c in pin.text):
        return None
    if pin.kind == "index":
        return _index(ctx, pin)
    if pin.kind == "build-arg":
        return _bare(ctx, pin)
    if not about_vllm(pin):
        return None
    if pin.kind == "requirement":
        found = requirement_of(pin)
        if found is None:
            return None
        device = ctx.device or _device(ctx, pin)
        verdict = judge_requirement(*found, target, device, wider=pin.conditional)
        if verdict is not None and verdict.text is not None and found[1] != pin.whole:
            verdict.text = pin.prefix + verdict.text + pin.suffix
        if verdict is not None and verdict.safety == "safe" and pin.conditional:
            verdict.safety, verdict.why = "unsafe", "whether the code that asks for this extra goes with it"
        return verdict
    if pin.kind == "url":
        wheel = wheel_version(pin.whole)
        return judge_wheel(wheel, pin.whole, target) if wheel is not None else judge_archive(pin.whole, target)
    verdict = judge_ref(pin.text, target) if pin.kind == "git" else None
    if verdict is not None and verdict.text is not None:
        verdict.text = pin.prefix + verdict.text + pin.suffix
        if verdict.safety == "safe" and plugin_beside(ctx):
            verdict.safety, verdict.why = "unsafe", "what else is installed for that device has to go with it"
    return verdict


def _held(reference: str, version: str, target: str) -> Verdict | None:
    """An image of another product with vLLM in it, whose tag is a version of that product."""
    if key(version) >= key(target):
        return None
    verdict = Verdict("VM505", "info", reference, f"{reference} holds vLLM {version}, older than {target}")
    verdict.withheld = "its tag is a version of the image's own; choose by hand the one that holds the release"
    return verdict


def _bare(ctx: PinContext, pin: Pin) -> Verdict | None:
    """A version that stands for the image's tag without naming the image."""
    said = pin_version(pin)
    if said is None or not said.version or key(said.version) == key(ctx.target.version):
        return None
    if key(said.version) > key(ctx.target.version):
        text = f"{pin.text} is beyond {ctx.target.version}; it is left as it is"
        return Verdict("VM505", "info", pin.text, text)
    message = f"{pin.name or 'the version'} {pin.text} is older than {ctx.target.version}"
    verdict = Verdict("VM505", "info", pin.text, message)
    head, equals, value = pin.text.rpartition("=")
    new = head + equals + "v" * value.startswith("v") + ctx.target.version
    platform = "backend" in pin.name  # which then picks the image that fits the machine
    old = None if platform else distribution().channel_at(said.version)
    now = distribution().channel_at(ctx.target.version)
    verdict.text = pin.prefix + new + pin.suffix
    verdict.replacement, verdict.description = new, f"move {pin.text} to {new}"
    if old is not None and now is not None and major(old.image) != major(now.image):
        verdict.code, verdict.severity = "VM501", "warning"
        verdict.safety, verdict.why = "unsafe", why_new_cuda(now.image)
    return verdict


def _device(ctx: Context, pin: Pin) -> str:
    """Return what the wheel beside this pin is for, by the indexes it is taken from."""
    for other in scope(ctx, pin).indexes:
        index = index_version(other.whole)
        if index is not None and index.device != "cuda":
            return index.device
    return ""


def wanted_channel(ctx: Context, pin: Pin) -> str:
    """Return the CUDA channel of the vLLM build of the target that stands beside a pin, "" where none does.

    A build that names its channel keeps it where the target has it.
    """
    data, target = distribution(), ctx.target.version
    new = data.channel_at(target)
    if new is None or ctx.device not in ("", "cuda"):
        return ""
    wanted = ""
    for other in scope(ctx, pin).vllm:
        said = pin_version(other)
        if said is None or said.device not in ("", "cuda"):
            continue
        if other.kind in ("image", "base"):
            image = read_image(other.whole)
            verdict = judge_image(image, other.whole, ctx.origin, target) if image is not None else None
            after = read_image(verdict.text) if verdict is not None and verdict.text else image
            wanted = (after.channel if after is not None else "") or new.image
            continue
        moved = move_local(said.version or target, said.channel, said.channel, target).text
        return moved if moved.startswith("cu") else wanted or new.wheel
    for other in scope(ctx, pin).indexes:
        index = index_version(other.whole)
        if index is not None and index.own and index.channel in new.wheel_others:
            return index.channel
    return wanted


def _index(ctx: PinContext, pin: Pin) -> Verdict | None:
    index = index_version(pin.whole)
    if index is None:
        return None
    if index.own:
        return judge_own_index(index, pin.whole, ctx.origin, ctx.target.version)
    wanted = wanted_channel(ctx, pin)
    if not wanted or not index.channel.startswith("cu"):
        return None
    return judge_torch_index(index, pin.whole, wanted, ctx.target.version)


def _default(ctx: Context) -> str:
    new = distribution().channel_at(ctx.target.version)
    return new.wheel if new is not None else ""
