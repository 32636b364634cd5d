"""Decides what a requirement, a wheel URL, an index or a git ref of vLLM becomes for another release."""

from __future__ import annotations

import re

from vllm_migrate.distribution import Channel, Distribution, distribution, major, read
from vllm_migrate.findings import Safety, Severity
from vllm_migrate.lazy import dataclass
from vllm_migrate.rules.image_moves import cuda_of, needs_of, why_new_cuda
from vllm_migrate.rules.pin_tools import Verdict, version_key
from vllm_migrate.versions import (
    Clause,
    IndexVersion,
    RequirementVersion,
    WheelVersion,
    archive_version,
    git_version,
)
from vllm_migrate.versions_key import key, matches


@dataclass
class Local:
    """What the local part of a version becomes (`cu129`, "" for the plain wheel), and what there is to say."""

    text: str
    code: str = "VM505"
    severity: Severity = "info"
    message: str = ""
    safety: Safety = "safe"
    why: str = ""
    help: str = ""


def move_local(version: str, local: str, channel: str, target: str) -> Local:
    """Return the local version for the target that stays on the channel of an old wheel, where there is one.

    Args: version: the old release. local: its local part, "" for the plain wheel. channel: the CUDA or
    ROCm word in it.
    """
    data = distribution()
    if channel.startswith("rocm"):
        return _rocm_local(data, channel, target)
    if local == "cpu":
        return Local("cpu")
    new = data.channel_at(target)
    if new is None:
        return Local(local)
    if local and not channel:
        return Local("", safety="unsafe", why=f"what the +{local} build was made for")
    old = data.channel_at(version) or data.channels[0]
    extra: Safety = "unsafe" if local != channel else "safe"
    why = f"what the +{local} build was made for" if extra == "unsafe" else ""
    if not channel:
        return _plain(data, old, new, version, target)
    if channel in new.wheel_others:
        return Local(channel, safety=extra, why=why)
    if channel == new.wheel:
        says = f"the plain wheel of {target} is CUDA {cuda_of(channel)}; there is no +{channel}"
        return Local("", "VM502", "warning", says, extra, why)
    same = next((c for c in new.wheel_others if major(c) == major(channel)), None)
    if same is not None:
        says = f"{target} has no +{channel} wheel; +{same} stays on CUDA {major(same)}"
        return Local(same, "VM502", "warning", says, extra, why)
    if major(channel) == major(new.wheel):
        return Local("", "VM502", "warning", f"{target} has no +{channel} wheel; the plain one is CUDA {new.cuda}")
    says = f"{target} has no +{channel} wheel: only CUDA {new.cuda} is published"
    help_text = f"before moving make sure of {needs_of(new.wheel)}"
    return Local("", "VM507", "error", says, "unsafe", why_new_cuda(new.wheel), help_text)


def _plain(data: Distribution, old: Channel, new: Channel, version: str, target: str) -> Local:
    if major(old.wheel) == major(new.wheel):
        return Local("")
    says = f"the plain wheel is CUDA {old.cuda} in {version} and CUDA {new.cuda} in {target}"
    same = next((c for c in new.wheel_others if major(c) == major(old.wheel)), "")
    stay = f"; to stay on CUDA {major(old.wheel)} install the +{same} wheel from vLLM's own index" if same else ""
    help_text = f"before moving make sure of {needs_of(new.wheel)}{stay}"
    return Local("", "VM502", "warning", says, "unsafe", why_new_cuda(new.wheel), help_text)


def _rocm_local(data: Distribution, channel: str, target: str) -> Local:
    new = data.rocm_at(target)
    if new is None:
        return Local(channel)
    if channel in new.wheels:
        return Local(channel)
    same = next((w for w in new.wheels if major(w) == major(channel)), "")
    if not same:
        says = f"{target} has no ROCm {major(channel)} wheel"
        why = f"ROCm {new.rocm} needs a driver that supports it"
        return Local(new.wheel, "VM507", "error", says, "unsafe", why)
    says = f"the ROCm {major(channel)} wheel of {target} is called {same}, not {channel}"
    return Local(same, "VM506", "warning", says)


def judge_requirement(
    req: RequirementVersion, text: str, target: str, device: str = "", *, wider: bool = False
) -> Verdict | None:
    """Return what is to be said of a requirement on vLLM, None where it may stay.

    Args: text: what its offsets count in. device: what the wheel is for where an index beside it says so.
    wider: a range keeps its lower bound, for a project that promises to go with several releases.
    """
    clauses = [c for c in req.clauses if c.op != "!="]
    if not clauses or any(c.version == "*" for c in clauses):
        return None
    subject = "vllm" + re.sub(r"\s+", "", text[req.start : req.end])
    if req.version:
        return _exact(req, text, subject, target, device)
    return _range(req, clauses, text, subject, target, device, wider)


def _exact(req: RequirementVersion, text: str, subject: str, target: str, device: str) -> Verdict | None:
    clause = req.clauses[0]
    here, there = version_key(req.version), key(target)
    if here is None:
        return None
    if here > there:
        if clause.op == "~=" and _prefix_allows(clause.version, target):
            return None
        return Verdict("VM505", "info", subject, f"{subject} is beyond {target}; it is left as it is")
    if clause.op == "~=" and _prefix_allows(clause.version, target):
        return None
    known = req.local or device in ("", "cuda")
    local = move_local(req.version, req.local, req.channel, target) if known else Local("")
    if here == there:
        if local.text == req.local or (req.local and not req.channel):
            return None
        local.code = local.code if local.code == "VM506" else "VM507"
        local.severity = "error"
    verdict = _of(local, subject, f"{subject} is older than {target}")
    written = target + (f"+{local.text}" if local.text else "")
    verdict.text = text[: clause.start] + written + text[clause.end :]
    verdict.replacement = f"vllm{clause.op or '=='}{written}"
    verdict.description = f"move vllm {clause.version} to {written}"
    if "dev" in req.version and verdict.safety == "safe":
        verdict.safety, verdict.why = "unsafe", "what this development build has that the release may lack"
    return verdict


def _of(local: Local, subject: str, otherwise: str) -> Verdict:
    says = local.message or otherwise
    return Verdict(
        local.code, local.severity, subject, says, safety=local.safety, why=local.why, help=local.help
    )


def _prefix_allows(version: str, target: str) -> bool:
    """Tell whether `~=version` allows the target."""
    numbers = [int(n) for n in re.findall(r"\d+", version.partition("+")[0])][:4]
    wanted = list(key(target)[:4])
    series = numbers[:-1]
    return wanted[: len(series)] == series and key(target) >= key(version)


def _range(
    req: RequirementVersion, clauses: list[Clause], text: str, subject: str, target: str, device: str, wider: bool
) -> Verdict | None:
    """A range moves only when the target lies outside it: both bounds then, each in its own spelling."""
    allowed = [_allows(c, target) for c in clauses]
    if None in allowed or all(allowed):
        return None
    if any(c.op in (">", ">=") and not ok for c, ok in zip(clauses, allowed, strict=True)):
        return Verdict("VM505", "info", subject, f"{subject} is beyond {target}; it is left as it is")
    if any(_beyond(c, target) for c in clauses):
        return Verdict("VM505", "info", subject, f"{subject} is beyond {target}; it is left as it is")
    # What such a range installs today is the newest it allows, so its ceiling tells the channel.
    old = _newest(clauses)
    local = move_local(old, "", "", target) if old and device in ("", "cuda") else Local("")
    if local.message:
        new = distribution().channel_at(target)
        local.message = f"{subject} leaves {target} out, whose plain wheel is CUDA {new.cuda if new else '?'}"
    written = text
    for clause in sorted(clauses, key=lambda c: -c.start):
        low = wider and clause.op in (">", ">=")
        bound = clause.version if low else _bound(clause, target)
        if bound is None:
            says = f"{subject} leaves {target} out"
            return Verdict("VM505", "info", subject, says, withheld="write the range by hand")
        written = written[: clause.start] + bound + written[clause.end :]
    verdict = _of(local, subject, f"{subject} leaves {target} out")
    verdict.text = written
    verdict.replacement = "vllm" + written[req.start : req.end + len(written) - len(text)].strip()
    verdict.description = f"move vllm {text[req.start : req.end].strip()} to {verdict.replacement[4:]}"
    return verdict


def _newest(clauses: list[Clause]) -> str:
    """Return a release of the channel that the newest version a range allows belongs to, "" if unknown."""
    for clause in clauses:
        version = clause.version.removesuffix(".*").partition("+")[0]
        limit = version_key(version)
        if limit is None or clause.op in (">", ">="):
            continue
        if clause.op != "<":
            return version
        rows = [c.from_ for c in distribution().channels if key(c.from_) < limit]
        return rows[-1] if rows else ""
    return ""


def _allows(clause: Clause, target: str) -> bool | None:
    version = clause.version.partition("+")[0]
    try:
        if version.endswith(".*") or clause.op in ("^", "~", "~="):
            return _family_allows(clause, version.removesuffix(".*"), target)
        op = "==" if clause.op in ("", "=", "===") else clause.op
        return matches(f"{op}{version}", target)
    except ValueError:
        return None


def _family_allows(clause: Clause, version: str, target: str) -> bool:
    wanted = key(target)[:4]
    numbers = [int(n) for n in version.split(".") if n.isdigit()]
    if clause.op == "~=":
        return _prefix_allows(version, target)
    if clause.op == "^":
        lead = next((i for i, n in enumerate(numbers) if n), len(numbers) - 1) + 1
        return list(wanted[:lead]) == numbers[:lead] and key(target) >= key(version)
    if clause.op == "~":
        lead = min(2, len(numbers))
        return list(wanted[:lead]) == numbers[:lead] and key(target) >= key(version)
    return list(wanted[: len(numbers)]) == numbers


def _beyond(clause: Clause, target: str) -> bool:
    version = version_key(clause.version.removesuffix(".*").partition("+")[0])
    return clause.op not in ("<", "<=", ">", ">=") and version is not None and version > key(target)


def _bound(clause: Clause, target: str) -> str | None:
    """Return a clause's version for a range around the target, with as many numbers as it had."""
    if clause.op in ("<", "<=") and _allows(clause, target):
        return clause.version
    star = clause.version.endswith(".*")
    size = len(clause.version.removesuffix(".*").split("."))
    numbers = target.split(".")
    if clause.op == "<":
        after = [numbers[0], str(int(numbers[1]) + 1), *["0"] * 8]
        return ".".join(after[: max(size, 2)])
    if clause.op == "<=" or clause.op == ">":
        return target if clause.op == "<=" else None
    if star:
        return ".".join(numbers[:size]) + ".*" if size <= len(numbers) else None
    if size == 1 or clause.op in ("", "=", "==="):
        return target
    short = ".".join(numbers[:size])
    return short if key(short) == key(target) else target


def judge_wheel(wheel: WheelVersion, url: str, target: str) -> Verdict | None:
    """Return what is to be said of a wheel's URL, None where it may stay."""
    here, there = version_key(wheel.version), key(target)
    name = url[wheel.start : wheel.end]
    if here is None:
        return None
    if here > there:
        return Verdict("VM505", "info", name, f"{name} is beyond {target}; it is left as it is")
    local = move_local(wheel.version, wheel.local, wheel.channel, target)
    if here == there:
        if local.text == wheel.local or (wheel.local and not wheel.channel):
            return None
        local.code, local.severity = ("VM507" if local.code != "VM506" else "VM506"), "error"
    verdict = _of(local, name, f"{name} is older than {target}")
    platform = _platform(wheel, local.text, target)
    folder = url[: wheel.start]
    if re.search(r"/[0-9a-f]{40}/$", folder):
        verdict.withheld = "the URL names a commit; take the wheel of the release"
        return verdict
    if platform is None:
        verdict.withheld = f"the file name of the {target} wheel for this platform is not known; see its release page"
        return verdict
    plus = "%2B" if "%2" in name else "+"
    tail = f"{plus}{local.text}" if local.text else ""
    file = f"vllm-{target}.tar.gz"
    if wheel.tags[0]:
        file = f"vllm-{target}{tail}-{wheel.tags[0]}-{wheel.tags[1]}-{platform}.whl"
    moved = re.sub(rf"(?<=/)(v?){re.escape(wheel.version)}(?=/)", rf"\g<1>{target}", folder)
    if wheel.channel and local.text != wheel.channel:
        moved = re.sub(rf"/{wheel.channel}(?=/)", f"/{local.text}" if local.text else "", moved)
    verdict.text = moved + file + url[wheel.end :]
    verdict.replacement = file
    verdict.description = f"move {name} to {file}"
    if not local.text and verdict.safety == "safe":
        verdict.safety, verdict.why = "unsafe", "whether that page offers the plain wheel (the package index does)"
    return verdict


def _platform(wheel: WheelVersion, local: str, target: str) -> str | None:
    """Return the platform tag of the target's wheel for the same machine, None where it is not known."""
    if not wheel.tags[0]:
        return ""
    machine = re.search(r"(x86_64|aarch64)$", wheel.tags[2])
    if machine is None or not re.match(r"(?:many)?linux", wheel.tags[2]):
        return None
    for row in read("toolchains.json")["wheels"]:
        if matches(row["releases"], target):
            tag = row["others"] if local else row["plain"]
            return f"{tag}_{machine[1]}" if tag else None
    return None


def judge_own_index(index: IndexVersion, url: str, origin: str | None, target: str) -> Verdict | None:
    """Return what is to be said of vLLM's own package index, None where it may stay."""
    version = index.version
    here = version_key(version) if version else None
    there = key(target)
    if here is not None and here > there:
        return Verdict("VM505", "info", url, f"{url} is beyond {target}; it is left as it is")
    if not index.channel and index.device == "rocm" and not version:
        return _rocm_root(url, origin, target)
    old = version or origin or target
    local = move_local(old, index.channel, index.channel, target) if index.channel else Local("")
    if index.channel and index.moving and index.moving != "nightly":
        return None
    changed = local.text != index.channel
    if here == there and not changed:
        return None
    if not version and not changed:
        return None
    if not version and index.moving == "nightly" and local.code == "VM502" and not local.text:
        return None  # the nightly index keeps a folder of the default channel
    if here == there or (not version and local.code == "VM502"):
        local.code, local.severity = "VM507", "error"
    verdict = _of(local, url, f"{url} is older than {target}")
    text = url
    if index.channel and changed:
        begin = index.start if local.text else index.start - 1
        text = text[:begin] + local.text + text[index.end :]
    if version:
        text = text[: index.version_start] + _like(url, index, target) + text[index.version_end :]
    verdict.text, verdict.replacement = text, text
    verdict.description = f"move {url} to {text}"
    return verdict


def _like(url: str, index: IndexVersion, target: str) -> str:
    return ("v" if url[index.version_start : index.version_end].startswith("v") else "") + target


def _rocm_root(url: str, origin: str | None, target: str) -> Verdict | None:
    data = distribution()
    new, old = data.rocm_at(target), data.rocm_at(origin) if origin else None
    if new is None or old is None:
        return None
    before = old.rocm.split(".")[0]
    if before == new.rocm.split(".")[0]:
        return None
    same = next((w for w in new.wheels if major(w) == before), "")
    says = f"{url} serves ROCm {new.rocm} from {new.from_} on; it was ROCm {old.rocm} in {origin}"
    verdict = Verdict("VM506", "warning", url, says, evidence=new.evidence)
    if same:
        end = "/" if url.endswith("/") else ""
        verdict.text = f"{url.removesuffix('/')}/{target}/{same}{end}"
        verdict.replacement = verdict.text
        verdict.description = f"stay on ROCm {before} with {same}"
    return verdict


def judge_torch_index(index: IndexVersion, url: str, wanted: str, target: str) -> Verdict | None:
    """Return what is to be said of a torch index or channel word beside vLLM's wheel.

    Args: wanted: channel of the vLLM wheel that will be installed beside it.
    """
    if index.device != "cuda" or not wanted.startswith("cu") or int(major(index.channel)) >= int(major(wanted)):
        return None
    new = distribution().channel_at(target)
    severity: Severity = "warning"
    if new is not None and not any(major(c) == major(index.channel) for c in (new.wheel, *new.wheel_others)):
        severity = "error"
    what = "torch" if "pytorch" in url or index.end - index.start == len(url) else "packages"
    says = f"vLLM {target} is built for CUDA {cuda_of(wanted)}; {url} brings {what} for CUDA {cuda_of(index.channel)}"
    verdict = Verdict("VM502", severity, url, says)
    if re.search(r"/torch-?\d", url[index.end :]):
        # Such a folder exists for some pairs of the two only.
        verdict.withheld = f"which folder goes with CUDA {cuda_of(wanted)} and the torch of {target} is to be looked up"
        return verdict
    verdict.text = url[: index.start] + wanted + url[index.end :]
    verdict.replacement = verdict.text
    verdict.safety, verdict.why = "unsafe", why_new_cuda(wanted)
    verdict.help = f"before moving make sure of {needs_of(wanted)}"
    verdict.description = f"move {url} to {verdict.text}"
    return verdict


def judge_ref(ref: str, target: str) -> Verdict | None:
    """Return what is to be said of a git ref of vLLM's repository, None where it may stay."""
    version = git_version(ref)
    here = version_key(version) if version else None
    if here is None or here == key(target):
        return None
    if here > key(target):
        return Verdict("VM505", "info", ref, f"{ref} is beyond {target}; it is left as it is")
    verdict = Verdict("VM505", "info", ref, f"{ref} is older than {target}")
    at = re.search(r"\d", ref)
    assert at is not None
    verdict.text = ref[: at.start()] + target
    verdict.replacement = verdict.text
    verdict.description = f"move {ref} to {verdict.text}"
    return verdict


def judge_archive(url: str, target: str) -> Verdict | None:
    """Return what is to be said of a source archive of vLLM's repository, None where it may stay."""
    found = archive_version(url)
    if found is None:
        return None
    version, start, end = found
    verdict = judge_ref(version, target)
    if verdict is not None and verdict.text is not None:
        verdict.text = url[:start] + target + url[end:]
        verdict.replacement, verdict.description = verdict.text, f"move {url} to {verdict.text}"
    return verdict
