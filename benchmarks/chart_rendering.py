"""Renders the charts below a folder before and after `fix --unsafe-fixes`, and compares.

    python benchmarks/chart_rendering.py CORPUS [--to 0.33.0] [--only TEXT] [-v]

Needs the package `helm-python-sdk` (it renders without a Helm binary). CORPUS holds one repository a folder;
nothing is written to it. A chart is rendered with its default values, with each values file it has, and with
each values file elsewhere in its repository that sets nothing but keys of the chart. Each line in which the two
renderings differ must be one that fixing the first rendering changes too, or print what an edit of the chart took
away or put in. Prints what differs otherwise, and the figures: also how many of the options that the launches of all
renderings are given are seen in the files of the charts.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vllm_migrate.arguments import kebab
from vllm_migrate.charts import chart_of, values_files
from vllm_migrate.config import Config
from vllm_migrate.engine import File, read, run, run_text
from vllm_migrate.model import Reading

Rendered = dict[str, str]
_STAND_INS = {
    "common": '{{- define "common.tplvalues.render" -}}{{- $text := .value -}}{{- if not (kindIs "string" $text) -}}'
    '{{- $text = toYaml $text -}}{{- end -}}{{- if contains "{{" $text -}}{{- tpl $text .context -}}{{- else -}}'
    "{{- $text -}}{{- end -}}{{- end -}}"
}
"""What a named template of a chart that cannot be had here prints, as far as the charts at hand use it."""


@dataclass
class Figures:
    """What was done. odd: renderings that differ where they should not; broken: those that fail only afterwards.
    options: what the launches of the renderings are given, unseen: those of them that no file of the chart shows."""

    charts: int = 0
    changed: int = 0
    files: int = 0
    renderings: int = 0
    unrendered: list[str] = field(default_factory=list)
    differing: int = 0
    lines: int = 0
    odd: int = 0
    broken: int = 0
    options: int = 0
    unseen: int = 0


@dataclass
class Asked:
    """What the command line asks for, and the figures so far."""

    to: str
    only: str
    verbose: bool
    figures: Figures = field(default_factory=Figures)


def charts_of(repository: Path) -> Iterator[str]:
    """Yield the folders of charts that speak of vLLM, relative to the repository."""
    for about in sorted(repository.rglob("Chart.yaml")):
        folder = about.parent
        if not (folder / "templates").is_dir():
            continue
        texts = (p for p in folder.rglob("*") if p.is_file() and p.suffix in (".yaml", ".yml", ".tpl"))
        if any(b"vllm" in p.read_bytes().lower() for p in texts):
            yield folder.relative_to(repository).as_posix()


def put_dependencies(folder: Path, done: set[Path]) -> None:
    """Copy the charts that a chart names by `file://` into its `charts` folder."""
    import ruamel.yaml

    if folder in done or not (folder / "Chart.yaml").is_file():
        return
    done.add(folder)
    about = ruamel.yaml.YAML(typ="safe").load((folder / "Chart.yaml").read_text(encoding="utf-8"))
    for needed in about.get("dependencies") or ():
        place = str(needed.get("repository", ""))
        source = (folder / place.removeprefix("file://")).resolve()
        target = folder / "charts" / str(needed["name"])
        if place.startswith("file://") and source.is_dir() and not target.exists():
            put_dependencies(source, done)
            shutil.copytree(source, target, symlinks=True)
        elif needed["name"] in _STAND_INS and not target.exists():
            (target / "templates").mkdir(parents=True)
            (target / "Chart.yaml").write_text(
                f"apiVersion: v2\nname: {needed['name']}\nversion: {needed['version']}\n"
            )
            (target / "templates" / "_all.tpl").write_text(_STAND_INS[needed["name"]])


def given(repository: Path, chart: str, own: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of what a chart may be rendered with."""
    yield "", ""
    inside = values_files(repository, chart)
    for path in inside:
        if path != f"{chart}/values.yaml".lstrip("/"):
            yield path, (repository / path).read_text(encoding="utf-8")
    for found in sorted(repository.rglob("*values*.y*ml")):
        name = found.relative_to(repository).as_posix()
        if "/templates/" in name or chart_of(repository, name) is not None:
            continue
        text = found.read_text(encoding="utf-8")
        keys = {k for k in parsed(text) if k != "global"}
        if keys and keys <= set(own):
            yield name, text


def parsed(text: str) -> dict[str, Any]:
    import ruamel.yaml

    try:
        found = ruamel.yaml.YAML(typ="safe", pure=True).load(text)
    except ruamel.yaml.error.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def parsed_all(text: str) -> list[Any] | None:
    """Return the documents of a manifest, None where it is no YAML."""
    import ruamel.yaml

    try:
        return list(ruamel.yaml.YAML(typ="safe", pure=True).load_all(text))
    except ruamel.yaml.error.YAMLError:
        return None


def render(folder: Path, values: str) -> Rendered | str:
    """Return the manifests by their template, or why there are none."""
    import helm_python

    try:
        with helm_python.Chart.load(folder) as chart:
            held = helm_python.values_from_yaml(values) if values else None
            out: Rendered = chart.render(values=held, name="release", namespace="default")
            return out
    except helm_python.HelmError as error:
        return " ".join(str(error).split())


def changes(old: str, new: str) -> Counter[str]:
    """Return the lines that go (`-`) and come (`+`), blanks at both ends and empty lines left out."""
    out: Counter[str] = Counter()
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if line[0] in "-+" and line[2:].strip():
            out[line[0] + line[2:].strip()] += 1
    return out


def intended(name: str, text: str, to: str) -> str:
    """Return one manifest as fixing it makes it."""
    settings = Config(to=(to,), fix=True, unsafe_fixes=True)
    with tempfile.TemporaryDirectory() as root:
        report = run_text(name.rsplit("/", 1)[-1] + ".yaml", text.encode(), Path(root), settings)
    fixed = next((f.fixed for f in report.files if f.fixed is not None), None)
    return fixed.text if fixed is not None else text


def said(line: str) -> str:
    """Return what a line of a list or mapping says last: `4` for `- --swap-space=4` and `swapSpace: 4`."""
    return re.split(r":\s+|=|^-\s+", line[1:].strip())[-1].strip(" \"'")


def options_of(reading: Reading) -> Iterator[str]:
    """Yield the options that the launches of a text are given."""
    for site in reading.sites:
        yield from (w.text.partition("=")[0] for w in site.words if w.text.startswith("--"))
        yield from ("--" + kebab(e.key).lstrip("-") for e in site.entries)


def shown(repository: Path, paths: Iterable[Path]) -> set[str]:
    """Return the options that files show."""
    out: set[str] = set()
    for path in paths:
        found = read(path.relative_to(repository).as_posix(), path.read_bytes(), repository)
        out |= set(options_of(found.reading)) if isinstance(found, File) else set()
    return out


def count_options(where: str, rendered: Rendered, known: set[str], folder: Path, ask: Asked) -> None:
    for name, text in rendered.items():
        found = read(name.rsplit("/", 1)[-1] + ".yaml", text.encode(), folder)
        for option in options_of(found.reading) if isinstance(found, File) else ():
            ask.figures.options += 1
            if option not in known:
                ask.figures.unseen += 1
                print(f"UNSEEN {where}: {name}: {option}")


def compare(where: str, old: Rendered, new: Rendered, random: Rendered, edited: set[str], ask: Asked) -> None:
    differs = False
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name, ""), new.get(name, "")
        if one == other:
            continue
        actual = changes(one, other)
        made_up = {line.partition(":")[0] for line in changes(one, random.get(name, ""))}
        actual = Counter({k: n for k, n in actual.items() if k.partition(":")[0] not in made_up})
        if not actual:
            continue
        differs = True
        if parsed_all(one) is not None and parsed_all(other) is None:
            ask.figures.broken += 1
            print(f"BROKEN {where}: {name} is no YAML any more")
        wanted = changes(one, intended(name, one, ask.to))
        more = {k for k in actual - wanted if k[0] + said(k) not in edited}
        ask.figures.lines += actual.total()
        if ask.verbose:
            print(f"    {where}: {name}: {dict(actual)}")
        if more:
            ask.figures.odd += 1
            print(f"DIFFERS {where}: {name}\n    unexpected {sorted(more)}\n    not done {dict(wanted - actual)}")
    ask.figures.differing += differs


def one_repository(repository: Path, ask: Asked) -> None:
    charts = [c for c in charts_of(repository) if ask.only in f"{repository.name}/{c}"]
    if not charts:
        return
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before").resolve(), Path(folder, "after").resolve()
        shutil.copytree(repository, before, symlinks=True)
        shutil.copytree(repository, after, symlinks=True)
        paths = [before / c for c in charts]
        report = run(paths, before, Config(to=(ask.to,), fix=True, unsafe_fixes=True))
        fixed = [f for f in report.files if f.fixed is not None]
        edited: set[str] = set()
        for file in fixed:
            assert file.fixed is not None and file.source is not None
            (after / file.path).write_bytes(file.fixed.raw)
            for line in changes(file.source.text, file.fixed.text):
                edited |= {line[0] + said(line[0] + part) for part in (line[1:], *re.split(r"[\[\],]", line[1:]))}
        owners = {chart_of(before, f.path) for f in fixed}
        ask.figures.files += len(fixed)
        for chart in charts:
            ask.figures.charts += 1
            ask.figures.changed += chart in owners
            one_chart(before, after, chart, repository.name, edited, ask)


def one_chart(before: Path, after: Path, chart: str, repository: str, edited: set[str], ask: Asked) -> None:
    values = before / chart / "values.yaml"
    own = parsed(values.read_text(encoding="utf-8")) if values.is_file() else {}
    sets = [(n, text, (after / n).read_text(encoding="utf-8") if n else "") for n, text in given(before, chart, own)]
    put_dependencies(before / chart, set())
    put_dependencies(after / chart, set())
    files = [p for p in (before / chart).rglob("*") if p.is_file() and p.suffix in (".yaml", ".yml", ".tpl")]
    known = shown(before, [*files, *(before / n for n, _, _ in sets if n)])
    for name, was, now in sets:
        where = f"{repository}/{chart}" + (f" with {name}" if name else "")
        old, again = render(before / chart, was), render(before / chart, was)
        if isinstance(old, str) or isinstance(again, str):
            ask.figures.unrendered.append(f"{where}: {old}")
            continue
        ask.figures.renderings += 1
        count_options(where, old, known, before.parent, ask)
        new = render(after / chart, now)
        if isinstance(new, str):
            ask.figures.broken += 1
            print(f"BROKEN {where}: {new}")
            continue
        compare(where, old, new, again, edited, ask)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--to", default="0.33.0")
    parser.add_argument("--only", default="", help="charts whose path holds this")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    ask = Asked(options.to, options.only, options.verbose)
    figures = ask.figures
    for repository in sorted(p for p in options.corpus.resolve().iterdir() if p.is_dir()):
        one_repository(repository, ask)
    if options.verbose:
        for line in figures.unrendered:
            print(f"not rendered: {line[:300]}")
    print(
        f"{figures.charts} charts, {figures.changed} of them changed ({figures.files} files); "
        f"{figures.renderings} renderings compared, {len(figures.unrendered)} cannot be made before either\n"
        f"{figures.differing} renderings differ, in {figures.lines} lines; "
        f"{figures.odd} manifests differ where they should not, {figures.broken} renderings broken\n"
        f"{figures.options} options given to the launches of the renderings, "
        f"{figures.unseen} of them unseen in the charts"
    )
    return 1 if figures.odd or figures.broken else 0


if __name__ == "__main__":
    sys.exit(main())
