"""Compares the launches that people marked in files of public repositories with the sites this tool reads there.

    python benchmarks/launch_recall.py CORPUS [LABELS] [--show] [--only PART]

CORPUS has one folder a repository, named `owner+name`, at the commits of `launches/commits.json`. LABELS holds a JSON
line for each launch: repo, path, the line its program (or the mapping that makes it) stands on, a kind, and the names
of the options given there; a file without launches has one line whose `line` is null. `--show` prints what was missed,
read otherwise, and read where no launch is marked.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vllm_migrate.arguments import kebab, read_arguments
from vllm_migrate.catalog import Catalog, Release
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.config import Config
from vllm_migrate.discover import Walk
from vllm_migrate.engine import File, read
from vllm_migrate.model import Site

HERE = Path(__file__).parent / "launches"
REACH = 40
"""How many lines a site may lie from the mark of its launch."""


@dataclass(frozen=True)
class Launch:
    """One marked launch. options: in normal form."""

    repo: str
    path: str
    line: int
    kind: str
    options: frozenset[str]


@dataclass(frozen=True)
class Seen:
    """One site as read. first, last: the lines it reaches over; start: the line it is reported on."""

    start: int
    first: int
    last: int
    options: frozenset[str]
    entry_point: str

    def distance(self, line: int) -> int:
        return 0 if self.first <= line <= self.last else min(abs(self.first - line), abs(self.last - line))


class Names:
    """Brings spellings of one option together: aliases, abbreviations, negations, keywords, keys after a dot."""

    def __init__(self) -> None:
        self.catalog: Catalog = load_catalog()
        self.release: Release = self.catalog.release(self.catalog.latest)
        self._known: dict[str, str] = {}

    def normal(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._normal(name)
        return self._known[name]

    def _normal(self, name: str) -> str:
        option = kebab(name) if name.startswith("--") or not name.startswith("-") else name
        for spelling in (option, option.partition(".")[0]):
            found = self.release.option(spelling)
            if found.option is not None and found.exact:
                return found.option
            old = self.catalog.past_option(spelling)
            if old is not None:
                return old.option or spelling
        found = self.release.option(option)
        base = found.option or option.partition(".")[0]
        return "--" + base[5:] if base.startswith("--no-") else base

    def of_site(self, site: Site) -> frozenset[str]:
        arguments = read_arguments(site, self.catalog, self.release, None)
        return frozenset(self.normal(a.option) for a in arguments if a.option and a.option != "model_tag")


def read_labels(path: Path, names: Names) -> dict[tuple[str, str], list[Launch]]:
    """Return the marked launches of each file; a file without launches has an empty list."""
    out: dict[tuple[str, str], list[Launch]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        launches = out.setdefault((row["repo"], row["path"]), [])
        if row["line"] is not None:
            options = frozenset(names.normal(o) for o in row["options"])
            launches.append(Launch(row["repo"], row["path"], row["line"], row["kind"], options))
    return out


def read_sites(root: Path, path: str, names: Names) -> list[Seen]:
    """Return the sites `check` would read in one file of a repository."""
    out: list[Seen] = []
    for name, raw in Walk(root, Config()).files([root / path]):
        file = read(name, raw, root)
        if not isinstance(file, File):
            continue
        for site in file.reading.sites:
            places = [site.place, *(i.place for i in (*site.words, *site.entries) if i.region.source is file.source)]
            lines = [file.source.position(offset)[0] for p in places for offset in (p.start, max(p.start, p.end - 1))]
            out.append(Seen(lines[0], min(lines), max(lines), names.of_site(site), site.entry_point))
    return out


def matched(launches: Sequence[Launch], sites: Sequence[Seen]) -> Iterator[tuple[Launch | None, Seen | None]]:
    """Pair launches with sites, the surest pairs first; what has no partner comes with None."""
    pairs = []
    for launch in launches:
        for site in sites:
            away = site.distance(launch.line)
            if away <= REACH:
                same = len(launch.options & site.options) / max(1, len(launch.options | site.options))
                key = (site.start != launch.line, away > 2, -same, away, abs(site.start - launch.line))
                pairs.append((key, id(launch), id(site), launch, site))
    left, free = {id(x): x for x in launches}, {id(x): x for x in sites}
    for _, _, _, launch, site in sorted(pairs, key=lambda p: p[:3]):
        if id(launch) in left and id(site) in free:
            del left[id(launch)], free[id(site)]
            yield launch, site
    yield from ((launch, None) for launch in left.values())
    yield from ((None, site) for site in free.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("labels", type=Path, nargs="?", default=HERE / "labels.jsonl")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--only", default="", help="only files with this in `repo/path`")
    options = parser.parse_args()
    names = Names()
    total: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    extra = 0
    files = 0
    for (repo, path), launches in read_labels(options.labels, names).items():
        if options.only not in f"{repo}/{path}":
            continue
        files += 1
        for launch, site in matched(launches, read_sites((options.corpus / repo).resolve(), path, names)):
            if launch is None:
                assert site is not None
                extra += 1
                if options.show:
                    print(f"extra  {repo}/{path}:{site.start} {site.entry_point} {' '.join(sorted(site.options))}")
                continue
            total[launch.kind] += 1
            if site is None:
                if options.show:
                    print(f"missed {repo}/{path}:{launch.line} {launch.kind} {' '.join(sorted(launch.options))}")
                continue
            found[launch.kind] += 1
            right[launch.kind] += launch.options == site.options
            if options.show and launch.options != site.options:
                less = " ".join(sorted(launch.options - site.options))
                more = " ".join(sorted(site.options - launch.options))
                where = f"{repo}/{path}:{launch.line} {launch.kind} read at {site.start}"
                print(f"other  {where}: without {less or '-'}; with {more or '-'}")
    print(f"{'kind':20} launches  sites  right")
    for kind in [*sorted(total), ""]:
        counts = [sum(c.values()) if not kind else c[kind] for c in (total, found, right)]
        print(f"{kind or 'all':20} {counts[0]:8} {counts[1]:6} {counts[2]:6}")
    launches_all = max(1, total.total())
    print(
        f"{files} files, {total.total()} launches: {100 * found.total() / launches_all:.1f} % are sites, "
        f"{100 * right.total() / launches_all:.1f} % with exactly the right options; {extra} sites at no launch"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
