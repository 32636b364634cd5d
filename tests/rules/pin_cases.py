"""Reads a small file with its real host, judges its pins with the rules of this folder, and applies fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from vllm_migrate.catalog.query import Catalog
from vllm_migrate.config import Config
from vllm_migrate.evidence import Beside, origin_of_file
from vllm_migrate.findings import Finding
from vllm_migrate.hosts import Context as HostContext
from vllm_migrate.hosts import host_for
from vllm_migrate.migrations import Migrations
from vllm_migrate.model import Change, Reading
from vllm_migrate.proof import render, unique
from vllm_migrate.rules import build, dependencies, distribution
from vllm_migrate.rules.context import Context, PinContext
from vllm_migrate.text import Region, Source
from vllm_migrate.versions import pin_version

RELEASES: list[dict[str, Any]] = [
    {"version": "0.10.0", "python": ">=3.9,<3.13", "cuda": "12.8.1", "requires": {"torch": "==2.7.1"}},
    {"version": "0.11.0", "python": ">=3.9,<3.14", "cuda": "12.8.1", "requires": {"torch": "==2.8.0"}},
    {"version": "0.19.0", "python": ">=3.10,<3.14", "cuda": "12.9.1", "requires": {"torch": "==2.10.0"}},
    {"version": "0.20.0", "python": ">=3.10,<3.15", "cuda": "13.0.2", "requires": {"torch": "==2.11.0"}},
    {
        "version": "0.24.0",
        "python": ">=3.10,<3.15",
        "cuda": "13.0.2",
        "requires": {"torch": "==2.11.0", "transformers": ">=5.5.3", "triton": "==3.6.0"},
        "compiler": {"gcc": "11.3", "gcc_cuda": None},
        "cxx_standard": 20,
        "build_args": ["CUDA_VERSION", "FLASHINFER_VERSION"],
    },
    {
        "version": "0.32.0",
        "python": ">=3.11,<3.15",
        "cuda": "13.0.3",
        "requires": {"torch": "==2.13.0", "transformers": "<5.20.0,>=5.16.1", "triton": "==3.7.1"},
        "compiler": {"gcc": "11.3", "gcc_cuda": "13"},
        "cxx_standard": 20,
        "build_args": ["CUDA_VERSION"],
    },
    {
        "version": "0.33.0",
        "python": ">=3.11,<3.15",
        "cuda": "13.0.3",
        "requires": {
            "torch": "==2.14.0",
            "transformers": "<5.21.0,>=5.16.1",
            "triton": "~=3.8.0",
            "openai": ">=2.25.0",
            "numpy": "",
        },
        "compiler": {"gcc": "11.3", "gcc_cuda": "13"},
        "cxx_standard": 20,
        "build_args": ["CUDA_VERSION"],
        "dockerfiles": ["docker/Dockerfile", "docker/Dockerfile.cpu", "docker/Dockerfile.rocm_72"],
    },
]

_FOLDER = Path(mkdtemp())
(_FOLDER / "releases").mkdir()
(_FOLDER / "releases.json").write_text(json.dumps({"format": 1, "releases": [r["version"] for r in RELEASES]}))
for release in RELEASES:
    (_FOLDER / "releases" / f"{release['version']}.json").write_text(json.dumps({"format": 1, "release": release}))
CATALOG = Catalog(_FOLDER)


@dataclass
class Judged:
    source: Source
    reading: Reading
    findings: list[Finding]

    @property
    def codes(self) -> list[str]:
        return sorted(f.code for f in self.findings)

    def one(self, code: str) -> Finding:
        found = [f for f in self.findings if f.code == code]
        assert len(found) == 1, [(f.code, f.message) for f in self.findings]
        return found[0]

    def after(self, *, unsafe: bool = False, only: Sequence[str] = ()) -> str:
        """Return the text after the fixes, as `fix` chooses them: what shares an item goes together."""
        fixes = [f.fix for f in self.findings if f.fix is not None and (not only or f.code in only)]
        held = {id(c.item) for f in fixes for c in f.changes if f.safety == "unsafe" and not unsafe}  # type: ignore[union-attr]
        chosen: list[Change] = []
        for fix in fixes:
            if not any(id(c.item) in held for c in fix.changes):  # type: ignore[union-attr]
                chosen += fix.changes
        return self.source.with_edits(render(unique(chosen))).text if chosen else self.source.text


def read(path: str, text: str) -> tuple[Source, Reading]:
    source = Source.of(text, path)
    host = host_for(path, text.split("\n", 1)[0])
    assert host is not None
    return source, host.read(Region.whole(source), HostContext(path))


def context(source: Source, reading: Reading, target: str, *, keep_pins: bool = False) -> Context:
    config = Config(keep_pins=keep_pins)
    nearest = origin_of_file(source.path, reading, config, Beside(reading, lambda folder: []))
    return Context(
        source.path,
        source,
        reading,
        CATALOG,
        Migrations([]),
        config,
        CATALOG.release(target),
        nearest.version,
        None,
        nearest.device,
    )


def judge(path: str, text: str, target: str = "0.33.0", *, origin: str = "", keep_pins: bool = False) -> Judged:
    """Return what the rules about pins say of a file."""
    source, reading = read(path, text)
    common = context(source, reading, target, keep_pins=keep_pins)
    if origin:
        common.origin = origin
    findings = [*build.judge_file(common), *dependencies.judge_file(common)]
    for pin in reading.pins:
        said = pin_version(pin)
        ctx: PinContext = distribution.at_pin(common, pin, said.version if said else "")
        ctx.device = (said.device if said else "") or common.device
        for module in (distribution, build, dependencies):
            findings += module.judge_pin(ctx)
    return Judged(source, reading, findings)
