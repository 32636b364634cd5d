"""What a rule asks of the catalog: which releases there are, and what each of them accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vllm_migrate import datafile
from vllm_migrate.catalog.history import SECTIONS, Attrs, Entries, Facts, at, insert, lifetime
from vllm_migrate.catalog.options import NO_MATCH, OptionIndex, OptionMatch, normal, spellings
from vllm_migrate.versions_key import key

FORMAT = 1


class CatalogError(Exception):
    """A data file of the catalog is missing, damaged or of another format."""


class UnknownRelease(CatalogError):
    """A version the catalog cannot answer for; the text names its neighbours."""


class Release:
    """One vLLM version and the surface it accepts.

    version: as the catalog spells it. requested: as it was asked for. facts: what `releases/<version>.json` says of it.
    """

    def __init__(self, catalog: Catalog, version: str, requested: str) -> None:
        self._catalog = catalog
        self.version = version
        self.requested = requested
        self._sections: dict[str, Facts] = {}
        self._index: dict[str, OptionIndex] = {}
        self._surfaces: dict[str, Facts] = {}

    def __repr__(self) -> str:
        return f"Release({self.version!r})"

    @property
    def facts(self) -> Mapping[str, Any]:
        return self._catalog.release_facts(self.version)

    def section(self, name: str) -> Facts:
        """Return name -> attrs of a section (see `SECTIONS`). Raises CatalogError for another name."""
        if name not in self._sections:
            self._sections[name] = self._catalog.facts_at(name, self.version)
        return self._sections[name]

    def has(self, section: str, name: str) -> bool:
        return name in self.section(section)

    def option(self, spelling: str, surface: str = "") -> OptionMatch:
        """Return what this release's own parser would make of a spelling (its part before `=`).

        surface: "serve" or "api_server" to leave out what only the other of the two takes.
        """
        return self._option_index(surface).find(spelling)

    def surface_options(self, surface: str) -> Facts:
        """Return option -> attrs of one surface ("serve", "api_server"; "" for both)."""
        if surface not in self._surfaces:
            self._surfaces[surface] = {
                name: attrs
                for name, attrs in self.section("options").items()
                if not surface or attrs.get("only", surface) == surface
            }
        return self._surfaces[surface]

    def surface_spellings(self, surface: str) -> Mapping[str, str]:
        """Return spelling -> option of one surface, inverse spellings included."""
        return self._option_index(surface).by_spelling

    def spellings_starting(self, surface: str, prefix: str) -> list[tuple[str, str]]:
        """Return (spelling, option) of what an abbreviation on one surface could stand for."""
        return self._option_index(surface).starting(prefix)

    def _option_index(self, surface: str) -> OptionIndex:
        if surface not in self._index:
            options = self.surface_options(surface)
            self._index[surface] = OptionIndex(options, dotted=bool(self.facts.get("dotted", True)))
        return self._index[surface]

    def keyword(self, name: str, callee: str) -> Attrs | None:
        """Return the facts of a keyword of `LLM`, `EngineArgs` or `AsyncEngineArgs`, None if refused."""
        if callee == "LLM":
            own = self.section("llm")
            if name in own and name != "**":
                return own[name]
            if "**" not in own:
                return None
        attrs = self.section("engine_args").get(name)
        if attrs is None or (attrs.get("async_only") and callee != "AsyncEngineArgs"):
            return None
        return attrs

    def takes(self, option: str, path: Sequence[str] = (), surface: str = "") -> bool:
        """Tell whether this release takes an option and the keys below it inside its JSON object.

        option: `--name`. surface: the class whose keywords are meant, "serve" or "api_server" for what only
        one of the two takes, "" for any command line. Keys of what the catalog has no class for are taken.
        """
        match = self.option(option, surface if surface in ("serve", "api_server") else "")
        attrs: Mapping[str, Any] | None = match.attrs if match.option is not None and match.exact else None
        config = match.attrs.get("config") if match.option is not None else None
        if surface in ("LLM", "EngineArgs", "AsyncEngineArgs"):
            attrs = self.keyword(option.lstrip("-").replace("-", "_"), surface)
            config = (attrs or {}).get("config") or config
        if attrs is None:
            return False
        for part in path:
            fields = self.config_fields(config) if config else {}
            if not fields:
                return True
            if part not in fields:
                return False
            config = fields[part].get("config")
        return True

    def config_fields(self, class_name: str) -> Facts:
        """Return field -> attrs of a config class, empty where the release has no such class."""
        prefix = class_name + "."
        return {
            name[len(prefix) :]: attrs for name, attrs in self.section("configs").items() if name.startswith(prefix)
        }


class Snapshot(Release):
    """A release whose facts are all in memory, such as one that was just mined."""

    def __init__(self, version: str, sections: Mapping[str, Facts]) -> None:
        self.version = self.requested = version
        self._sections = dict(sections)
        self._index = {}

    @property
    def facts(self) -> Mapping[str, Any]:
        return {}

    def section(self, name: str) -> Facts:
        return self._sections.get(name, {})


class Catalog:
    """The history of all releases; sections are read from disk when first asked for."""

    def __init__(self, folder: Path, extra: Sequence[Path] = ()) -> None:
        """folder: holds releases.json, one file a release and one a section. extra: single-release files."""
        self._folder = folder
        releases = read_json(folder / "releases.json").get("releases")
        if not isinstance(releases, list):
            raise CatalogError(f"{folder / 'releases.json'}: no list of releases")
        self._shipped: tuple[str, ...] = tuple(releases)
        self._facts: dict[str, Attrs] = {}
        self._extra: list[tuple[str, dict[str, Facts]]] = []
        for path in extra:
            self._add(path)
        self.releases: tuple[str, ...] = tuple(sorted({*self._shipped, *self._facts}, key=key))
        self._order = {version: i for i, version in enumerate(self.releases)}
        self._entries: dict[str, Entries] = {}
        self._cache: dict[str, Release] = {}
        self._past: Callable[[str], OptionMatch] | None = None

    def _add(self, path: Path) -> None:
        data = read_json(path)
        version, sections = data.get("version"), data.get("sections")
        if not isinstance(version, str) or not isinstance(sections, dict):
            raise CatalogError(f"{path}: not a single-release catalog (it needs `version` and `sections`)")
        try:
            key(version)
        except ValueError as error:
            raise CatalogError(f"{path}: {error}") from error
        self._facts[version] = {**data.get("release", {}), "version": version}
        self._extra.append((version, sections))

    @property
    def latest(self) -> str:
        """The newest release."""
        if not self.releases:
            raise CatalogError("the catalog holds no release")
        return self.releases[-1]

    def release(self, version: str) -> Release:
        """Return the release a version stands for.

        `v0.33.0`, `0.33`, `0.5.3post1`, `0.20.0+cu129` are read as what they mean; a pre-release or a
        development version is read as the release it leads to or, where that is unknown, the nearest of
        its series; a version between two known ones as the nearest of its series, else the one before it.
        Raises UnknownRelease for what is no version or lies outside the catalog.
        """
        if version in self._order:
            return self._get(version, version)
        try:
            wanted = key(version)
        except ValueError:
            raise UnknownRelease(f"{version!r} is not a vLLM version{self._range()}") from None
        by_key = {key(v): v for v in self.releases}
        for candidate in (wanted, (*wanted[:4], 0, wanted[5])):
            if candidate in by_key:
                return self._get(by_key[candidate], version)
        below = [v for v in self.releases if key(v) < wanted]
        above = [v for v in self.releases if key(v) > wanted]
        series = [v for v in self.releases if key(v)[:2] == wanted[:2]]
        unreleased = wanted[4] < 0 and bool(series)
        if (below and above) or unreleased:
            near = [v for v in series if key(v) < wanted][-1:] or series[:1] or below[-1:]
            return self._get(near[0], version)
        neighbours = " and ".join([*below[-1:], *above[:1]])
        raise UnknownRelease(f"vLLM {version} is not in the catalog (nearest: {neighbours}){self._range()}")

    def _range(self) -> str:
        if not self.releases:
            return ""
        return f"; it knows {self.releases[0]} to {self.releases[-1]}"

    def _get(self, version: str, requested: str) -> Release:
        if requested == version:
            if version not in self._cache:
                self._cache[version] = Release(self, version, version)
            return self._cache[version]
        base = self._get(version, version)
        alias = Release(self, version, requested)
        alias._sections = base._sections
        return alias

    def release_facts(self, version: str) -> Attrs:
        """Return how a release is built and published. Raises CatalogError for a damaged catalog."""
        if version not in self._facts:
            self._facts[version] = read_json(release_file(self._folder, version)).get("release", {})
        return self._facts[version]

    def entries(self, section: str) -> Entries:
        """Return the history of a section: name -> list of [first, end or None, attrs]."""
        if section not in self._entries:
            if section not in SECTIONS:
                raise CatalogError(f"the catalog has no section {section!r}")
            path = self._folder / f"{section}.json"
            entries: Entries = read_json(path).get("entries", {})
            releases: Sequence[str] = self._shipped
            for version, sections in self._extra:
                entries, releases = insert(entries, releases, version, sections.get(section, {}))
            self._entries[section] = entries
        return self._entries[section]

    def facts_at(self, section: str, version: str) -> Facts:
        return at(self.entries(section), self._order, self._order[version])

    def lifetime(self, section: str, name: str) -> list[tuple[str, str | None]]:
        """Return the spans `(first release, first release without)` a name existed for; [] if never."""
        return lifetime(self.entries(section).get(name, []))

    def introduced_in(self, section: str, name: str) -> str | None:
        """Return the first release that has a name, None if none ever did."""
        spans = self.lifetime(section, name)
        return spans[0][0] if spans else None

    def removed_in(self, section: str, name: str) -> str | None:
        """Return the first release without a name for good; None while the newest has it, or if none had."""
        spans = self.lifetime(section, name)
        return spans[-1][1] if spans else None

    def past_option(self, spelling: str) -> OptionMatch | None:
        """Return what an exact spelling meant in the newest release that took it, None if none ever did."""
        if self._past is None:
            self._past = self._build_past()
        match = self._past(spelling)
        return match if match.option is not None and match.exact else None

    def _build_past(self) -> Callable[[str], OptionMatch]:
        # One index per option would be slow; one over each option's newest facts is what callers mean,
        # widened by spellings that only older facts had.
        newest: Facts = {}
        older: list[tuple[int, str, Attrs]] = []
        for name, intervals in self.entries("options").items():
            newest[name] = intervals[-1][2]
            for first, _, attrs in intervals[:-1]:
                older.append((self._order[first], name, attrs))
        # Where two options had the same spelling one after the other, the one that lived longer owns it.
        living = len(self._order)
        ends = {n: self._order.get(i[-1][1], living) for n, i in self.entries("options").items()}
        index = OptionIndex({n: newest[n] for n in sorted(newest, key=lambda n: -ends[n])})
        extra: dict[str, tuple[str, Attrs]] = {}
        for _, name, attrs in sorted(older, key=lambda o: o[0]):
            for spelling in spellings(name, attrs):
                extra[spelling] = (name, attrs)

        def find(spelling: str) -> OptionMatch:
            own = newest.get(normal(spelling))
            if own is not None:
                # An option's own name says more than another option's inverse spelling.
                return OptionMatch(normal(spelling), own, (normal(spelling),), True)
            match = index.find(spelling)
            if match.option is not None and match.exact:
                return match
            old = extra.get(spelling) or extra.get(spelling.replace("_", "-"))
            if old is None:
                return NO_MATCH
            name, attrs = old
            return OptionMatch(name, attrs, (name,), True, negated=spelling in attrs.get("negative", ()))

        return find

    @staticmethod
    def specifier_allows(specifier: str, version: str) -> bool:
        """Tell whether a PEP 440 specifier (`>=2.6,<3`) allows a version. Raises ValueError for nonsense."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
        from packaging.version import InvalidVersion

        try:
            return SpecifierSet(specifier).contains(version, prereleases=True)
        except (InvalidSpecifier, InvalidVersion) as error:
            raise ValueError(str(error)) from error


def release_file(folder: Path, version: str) -> Path:
    """Return the file of a history that says how a release is built and published."""
    return folder / "releases" / f"{version}.json"


def read_json(path: Path) -> dict[str, Any]:
    """Return a catalog file. Raises CatalogError for one that is missing, damaged or of another format."""
    data = datafile.read_json(path, CatalogError)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CatalogError(f"{path}: not a catalog file of format {FORMAT}")
    return data
