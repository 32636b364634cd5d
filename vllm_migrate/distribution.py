"""How vLLM is published: which CUDA or ROCm a tag or wheel means in a release, and which suffixes exist.

The facts are `schemas/distribution.json` (channels, images, plugins) and `schemas/images.json` (which
images carry a vLLM version in their tag).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from vllm_migrate.datafile import read_json
from vllm_migrate.lazy import dataclass
from vllm_migrate.paths import schemas_dir
from vllm_migrate.versions_key import key

FORMAT = 1


class DistributionError(ValueError):
    """The data about publishing is missing or of another format; the message names the file."""


@dataclass(frozen=True)
class Channel:
    """What the releases of an interval are built for.

    wheel: channel of the wheel without a local version (`cu130`). image: channel of the image tag without
    a suffix. wheel_others, image_others: what exists besides. driver: lowest driver branch of the default.
    """

    from_: str
    until: str | None
    wheel: str
    image: str
    wheel_others: tuple[str, ...]
    image_others: tuple[str, ...]
    cuda: str
    driver: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Rocm:
    """The ROCm side of an interval: image and the suffix it has there, version, wheel channel, what else exists."""

    from_: str
    until: str | None
    image: str
    image_suffix: str
    rocm: str
    wheel: str
    suffixes: tuple[str, ...]
    wheels: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class ImageRow:
    """A published image. versions: "" when its tags are vLLM versions, "own" when they are not."""

    name: str
    device: str
    from_: str
    until: str | None
    replacement: str
    deprecated_in: str | None
    versions: str


@dataclass(frozen=True)
class Suffix:
    """A suffix of a tag and the releases that publish it. replacement: what to write instead, None if unknown."""

    suffix: str
    images: tuple[str, ...]
    from_: str
    until: str | None
    replacement: str | None
    image: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Plugin:
    """A feature that became a package of its own."""

    name: str
    requirement: str
    since: str
    evidence: tuple[str, ...]


def _in(row: Any, version: str) -> bool:
    here = key(version)
    return key(row.from_) <= here and (row.until is None or here < key(row.until))


class Distribution:
    """Answers questions about how a release is published; versions are catalog spellings."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.channels = tuple(_channel(r) for r in data["channels"])
        self.rocm = tuple(
            Rocm(
                r["from"],
                r["until"],
                r["image"],
                r["image_suffix"],
                r["rocm"],
                r["wheel"],
                tuple(r.get("suffixes", ())),
                tuple(r.get("wheels", (r["wheel"],))),
                tuple(r.get("evidence", ())),
            )
            for r in data["rocm"]
        )
        self.images = tuple(
            ImageRow(
                r["name"],
                r["device"],
                r["from"],
                r["until"],
                r.get("replacement", ""),
                r.get("deprecated_in"),
                r.get("versions", ""),
            )
            for r in data["images"]
        )
        self.suffixes = tuple(
            Suffix(
                r["suffix"],
                tuple(r["images"]),
                r["from"],
                r["until"],
                r.get("replacement"),
                r.get("image", ""),
                tuple(r.get("evidence", ())),
            )
            for r in data["tag_suffixes"]
        )
        self.nightly = tuple(data["nightly"])
        self.drivers: dict[str, str] = dict(data["drivers"])
        self.order: tuple[str, ...] = tuple(data["suffix_order"])
        self.plugins = {
            name: Plugin(name, r["requirement"], r["since"], tuple(r.get("evidence", ())))
            for name, r in data["plugins"].items()
        }

    def channel_at(self, version: str) -> Channel | None:
        """Return the CUDA channels of a release, None where the data does not reach back to it."""
        return next((c for c in self.channels if _in(c, version)), None)

    def rocm_at(self, version: str) -> Rocm | None:
        return next((r for r in self.rocm if _in(r, version)), None)

    def image_row(self, name: str) -> ImageRow | None:
        """Return the published image a repository name means; a pull-through prefix does not matter."""
        for row in self.images:
            if name == row.name or name.endswith("/" + row.name):
                return row
        return None

    def suffix_row(self, image: str, suffix: str) -> Suffix | None:
        """Return what is known of a suffix (channels apart) at an image, None where nothing is."""
        return next((s for s in self.suffixes if s.suffix == suffix and image in s.images), None)

    def has_suffix(self, image: str, suffix: str, version: str) -> bool:
        """Tell whether a release publishes the suffix at an image (channels apart)."""
        return any(s.suffix == suffix and image in s.images and _in(s, version) for s in self.suffixes)

    def nightly_tags(self, version: str) -> tuple[str, ...]:
        """Return the nightly tags there were around a release."""
        here = key(version)
        for row in self.nightly:
            if key(row["from"]) <= here and (row["until"] is None or here < key(row["until"])):
                return tuple(row["tags"])
        return ()

    def driver(self, channel: str) -> str:
        """Return the lowest driver branch of a CUDA channel, "" where unknown."""
        return self.drivers.get(channel, "")

    def gone_channel(self, channel: str, version: str, *, image: bool) -> str | None:
        """Return the first release that no longer publishes a channel it once had, None if that is not known."""
        gone: str | None = None
        seen = False
        for row in self.channels:
            if key(row.from_) > key(version):
                break
            has = channel in (row.image_others if image else row.wheel_others)
            if has:
                seen, gone = True, None
            elif seen and gone is None:
                gone = row.from_
        return gone


def _channel(row: dict[str, Any]) -> Channel:
    image = row.get("image", {})
    cuda = str(image.get("cuda", row["cuda"]))
    return Channel(
        row["from"],
        row["until"],
        row["default"],
        "cu" + cuda.replace(".", ""),
        tuple(row.get("wheel_local", ())),
        tuple(image.get("suffixes", row.get("suffixes", ()))),
        str(row["cuda"]),
        str(row["driver"]),
        tuple(row.get("evidence", ())),
    )


def major(channel: str) -> str:
    """Return the CUDA or ROCm major of a channel word: `cu129` → `12`, `rocm72` → `7`, `rocm100` → `10`.

    ROCm words come with two or three digits (`rocm72`, `rocm721`) before 10 and with three from it.
    """
    match = re.fullmatch(r"(cu|rocm)(\d+)", channel)
    if match is None:
        return ""
    digits = match[2]
    if match[1] == "cu":
        return digits[:-1]
    return digits[:2] if digits.startswith("1") else digits[:1]


@lru_cache(maxsize=1)
def distribution() -> Distribution:
    """Return the shipped facts, read once. Raises DistributionError where they cannot be used."""
    return Distribution(read("distribution.json"))


@lru_cache(maxsize=1)
def image_names() -> dict[str, Any]:
    """Return which images carry a vLLM version, and which only look so; patterns are compiled."""
    data = read("images.json")
    data["names"] = tuple(data["names"])
    data["not"] = tuple(data["not"])
    data["inside"] = re.compile(data["inside"], re.I)
    return data


def read(name: str) -> dict[str, Any]:
    """Return a shipped data file. Raises DistributionError where it is missing or of another format."""
    path = schemas_dir() / name
    data = read_json(path, DistributionError)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DistributionError(f"{path}: not a data file of format {FORMAT}")
    return data
