"""Finds the release a launch runs on now: the nearest pin, as the design orders them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from vllm_migrate.config import Config
from vllm_migrate.distribution import distribution
from vllm_migrate.launch import split_image
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Pin, Reading, Site
from vllm_migrate.versions import PinVersion, held_version, own_versions, pin_version, read_image


@dataclass
class Origin:
    """Where a launch stands now.

    version: None where unknown. pins: (path, pin) that say so. device: "cuda", "rocm" … or "".
    conflict: versions named at the same distance, when they differ. how: for the verbose report.
    """

    version: str | None = None
    pins: list[tuple[str, Pin]] = field(default_factory=list)
    device: str = ""
    conflict: tuple[str, ...] = ()
    how: str = ""


def version_of(pin: Pin, config: Config) -> PinVersion | None:
    """Return what a pin says about vLLM, the configuration's word on private images first."""
    if pin.kind in ("image", "base"):
        fact = config.image(pin.effective or pin.whole)
        if fact is not None:
            return PinVersion(fact.version, "", fact.device)
    return pin_version(pin)


def moving(pin: Pin) -> bool:
    """Tell whether an image of vLLM carries a tag that moves (`latest`)."""
    if pin.kind not in ("image", "base") or pin.holes:
        return False
    image = read_image(pin.whole)
    return image is not None and not image.version


def speechless(pin: Pin) -> bool:
    """Tell whether an image is known to hold some vLLM whose version nothing here says."""
    if pin.kind not in ("image", "base") or pin.holes:
        return False
    return own_versions(pin.effective or pin.whole) and not held_version(pin.effective or pin.whole)


def unread(pin: Pin) -> bool:
    """Tell whether an image is vLLM's own and its tag, moving or not, gives no version away."""
    if pin.kind not in ("image", "base") or pin.holes:
        return False
    published = distribution().image_row(split_image(pin.whole.removeprefix("docker://"))[0])
    return moving(pin) or (published is not None and read_image(pin.whole) is None)


def private(pin: Pin) -> bool:
    """Tell whether a container runs an image that is named in full: another container's says nothing of it."""
    return pin.kind == "image" and bool(pin.text) and not pin.holes


Readings = Callable[[str], Iterable[tuple[str, Reading]]]
"""Gives the readings of the files directly in a folder ("" is the root)."""


class Beside:
    """The readings around one file, for as long as that file is judged: what they say is asked once.

    readings: gives those of the files directly in a folder.
    """

    def __init__(self, reading: Reading, readings: Readings) -> None:
        self._readings = readings
        self._said: dict[tuple[bool, str], tuple[Origin | None, list[tuple[str, Pin]]]] = {}
        self._owned: dict[str, list[Pin]] = {}
        for pin in reading.pins:
            self._owned.setdefault(pin.owner, []).append(pin)

    def __call__(self, folder: str) -> Iterable[tuple[str, Reading]]:
        return self._readings(folder)

    def owned(self, owner: str) -> list[Pin]:
        """Return the pins of the file that belong to an owner."""
        return self._owned.get(owner, []) if owner else []

    def said(
        self, path: str, here: str, config: Config, *, images: bool
    ) -> tuple[Origin | None, list[tuple[str, Pin]]]:
        """Return what the other files of a folder agree on, and their pins. images: whether images count."""
        key = (images, here)
        if key not in self._said:
            pins = [
                (p, pin)
                for p, r in self(here)
                if p != path
                for pin in _telling(r, config)
                if (images or pin.kind != "image") and not _of_one_deployment(p, pin)
            ]
            self._said[key] = _agreed(pins, config), pins
        found, pins = self._said[key]
        return (replace(found) if found is not None else None), pins


def origin_of(site: Site, path: str, reading: Reading, config: Config, folder: Beside) -> Origin:
    """Return the origin of a launch: same container, same file, same folder, then upwards to the root.

    The examples of a document are each their own: a pin in one says nothing of the next. What a program
    names under a condition counts only where nothing else says anything. Of a container whose own image is
    named, other images say nothing; what builds one may.
    """
    levels: list[Callable[[], list[tuple[str, Pin]]]] = [
        lambda: _standing(path, site.pins),
        lambda: _standing(path, folder.owned(site.owner)),
        lambda: [] if reading.documentation or site.shown else _standing(path, reading.pins),
    ]
    return _nearest(levels, path, config, folder)


def origin_of_file(path: str, reading: Reading, config: Config, folder: Beside) -> Origin:
    """Return the release that holds for what belongs to no launch (a dependency, an import)."""
    return _nearest([lambda: _standing(path, reading.pins)], path, config, folder)


def _standing(path: str, pins: Iterable[Pin]) -> list[tuple[str, Pin]]:
    """Return pins with where they are: for one that another file decides, those that decide."""
    return [placed for p in pins for placed in (p.set_by or [(path, p)])]


def _nearest(
    levels: Sequence[Callable[[], list[tuple[str, Pin]]]], path: str, config: Config, folder: Beside
) -> Origin:
    device = ""
    named = False
    spare: Origin | None = None
    for i, level in enumerate(levels):
        pins = [(p, pin) for p, pin in level() if not (named and pin.kind == "image")]
        how = ("the same container", "the same scope", "the same file")[i if len(levels) > 1 else 2]
        found = _agreed([(p, pin) for p, pin in pins if not pin.conditional], config)
        if found is not None:
            found.how = how
            return found
        if spare is None:
            spare = _agreed(pins, config)
            if spare is not None:
                spare.how = how
        device = device or _device(pins, config)
        if len(levels) > 1 and any(unread(p) for _, p in pins):
            return Origin(device=device, how="an image with a tag that moves or names no release")
        if i == 0 and len(levels) > 1 and any(speechless(p) and config.image(p.whole) is None for _, p in pins):
            return Origin(device=device, how="an image whose tag is no version of vLLM")
        named = named or (i == 0 and len(levels) > 1 and any(private(p) for _, p in pins))
    here = posixpath.dirname(path)
    while True:
        found, said = folder.said(path, here, config, images=not named)
        default = posixpath.join(here, "values.yaml")
        if found is not None and found.conflict and (here != posixpath.dirname(path) or "values" in path):
            # What a chart is installed with unless somebody says otherwise.
            found = _agreed([(p, pin) for p, pin in said if p == default], config) or found
        if found is not None:
            found.how = f"the folder {here or '.'}"
            found.device = found.device or device
            return found
        if not here:
            return spare or Origin(device=device)
        here = posixpath.dirname(here)


def _of_one_deployment(path: str, pin: Pin) -> bool:
    """Tell whether a pin is in a command of a manifest: what that installs is for one deployment alone."""
    inside = pin.container.host == "shell" and path.endswith((".yaml", ".yml"))
    return inside and pin.kind in ("requirement", "url", "index", "git")


def _telling(reading: Reading, config: Config) -> list[Pin]:
    """Return the pins of a file that name a release, found once: every launch below its folder asks."""
    known = reading.telling
    if known is None or known[0] is not config:
        pins = [p for p in reading.pins if (said := version_of(p, config)) is not None and said.version]
        known = reading.telling = (config, pins)
    return known[1]


def _device(pins: Sequence[tuple[str, Pin]], config: Config) -> str:
    for _, pin in pins:
        said = version_of(pin, config)
        if said is not None and said.device:
            return said.device
        if pin.kind in ("image", "base") and not pin.holes:
            image = read_image(pin.whole)
            if image is not None and image.device:
                return image.device
    return ""


def _agreed(pins: Sequence[tuple[str, Pin]], config: Config) -> Origin | None:
    named: dict[str, list[tuple[str, Pin]]] = {}
    device = ""
    for path, pin in pins:
        said = version_of(pin, config)
        if said is not None and said.version:
            named.setdefault(said.version, []).append((path, pin))
            device = device or said.device
    if not named:
        return None
    if len(named) > 1:
        return Origin(None, [], device, tuple(sorted(named)))
    ((version, where),) = named.items()
    return Origin(version, where, device)


def readings_beside(path: str, reading: Reading, folder: Readings) -> Iterable[tuple[str, Reading]]:
    """Give a file's own reading, those of the files of its folder, then of every folder up to the root."""
    yield path, reading
    here = posixpath.dirname(path)
    while True:
        yield from ((p, r) for p, r in folder(here) if p != path)
        if not here:
            return
        here = posixpath.dirname(here)
