"""What a values file of a chart stands over: the chart's own values, which hold where it says nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.yaml_names import normal
from vllm_migrate.hosts.yaml_tree import Node, parse
from vllm_migrate.lazy import dataclass, regex

_PLACES = ("", "../", "../../", "../../../")
_NAMED = regex(r"(?:^|/)(?:(?=[^/]*values)|(?:environments?|envs?|values|ci)/(?:[^/]+/)?)[^/]+\.ya?ml$", re.I)


class Defaults:
    """The values of the chart that a values file stands over. text: its `values.yaml`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def mentions_vllm(self) -> bool:
        return "vllm" in self.text.lower()

    @cached_property
    def root(self) -> Node | None:
        tree = parse(self.text) if "{{" not in self.text else None
        return tree.roots[0] if tree is not None and len(tree.roots) == 1 and not tree.errors else None

    def same(self, node: Node) -> Node | None:
        """Return the mapping of the defaults that stands where a mapping of the values file does."""
        keys: list[str] = []
        here = node
        while here.holder is not None:
            holder = here.holder
            if holder.kind != "mapping":
                return None
            key = next((p.name for p in holder.pairs if p.node is here), None)
            if key is None:
                return None
            keys.append(key)
            here = holder
        found = self.root
        for name in reversed(keys):
            found = found.get(name) if found is not None and found.kind == "mapping" else None
        return found if found is not None and found.kind == "mapping" else None


def chart_mentions_vllm(context: Context) -> bool:
    """Tell whether the values of the chart that a template belongs to speak of vLLM."""
    reader = context.sibling_reader
    up = "../" * (context.path.split("templates/")[-1].count("/") + 1)
    return reader is not None and "vllm" in (reader(up + "values.yaml") or "").lower()


@dataclass(frozen=True)
class Printed:
    """What the templates of a chart print. options: the options they spell, as keys would be called in lower
    case without separators; composed: those in texts that an action puts together, which no reading of a template
    sees. keys: the names by which they take values. guards: those that decide by what they hold whether
    something is printed.
    """

    options: frozenset[str]
    composed: frozenset[str]
    keys: frozenset[str]
    guards: frozenset[str]
    beside: bool
    """The values stand in another folder: what becomes of them is not told with the templates."""

    def prints(self, key: str) -> bool:
        """Tell whether a value of this name is printed as the option of the same name."""
        return key in self.keys and normal(key) in self.options

    def composes(self, key: str) -> bool:
        """Tell whether a value of this name is put into a text as the option of the same name."""
        return key in self.keys and normal(key) in self.composed

    def silent(self, key: str) -> bool:
        """Tell whether nothing is printed for a value of this name that is empty or false."""
        return key in self.guards and "no" + normal(key) not in self.options


_SPELLED = regex(r"(?<![\w-])--([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_TAKEN = regex(r"\.([A-Za-z_]\w*)")
_COMPOSED = regex(r"\bprintf\s+(\"(?:[^\"\\\n]|\\.)*\")")
_GUARD = regex(r"\{\{-?\s*(?:else\s+)?(?:if|with)\s([^{}]*?)-?\}\}")
_COMPARES = regex(r"\b(?:eq|ne|gt|lt|ge|le|not|or|hasKey|kindIs|typeIs|empty|contains|default)\b")
_GUARDED = regex(r"[.$]([A-Za-z_]\w*)(?![\w.])")
_MOST = 60


def printed(context: Context, key: str = "") -> Printed | None:
    """Return what the templates print of the chart that a values file belongs to; None where none speaks of vLLM.

    key: a key at the top of the values: what stands below it may be the values of a chart this one depends on.
    """
    reader, names = context.sibling_reader, context.sibling_names
    if reader is None or names is None or _NAMED.search(context.path) is None:
        return None
    up = inside = _chart(context)
    if up is None:
        up = _chart_beside(context)
    if up is None:
        return None
    if key:
        local = _depends(reader(up + "Chart.yaml") or "").get(key)
        if local is None:
            return None
        up = posixpath.normpath(up + local) + "/"
    folder = up + "templates"
    files = [f"{folder}/{n}" for n in names(folder)[:_MOST]]
    files += [f"{f}/{n}" for f in files if "." not in f.rpartition("/")[2] for n in names(f)[:_MOST]]
    options: set[str] = set()
    composed: set[str] = set()
    keys: set[str] = set()
    guards: set[str] = set()
    ours = False
    for name in files[: 2 * _MOST]:
        text = (reader(name) or "") if name.endswith((".yaml", ".yml", ".tpl")) else ""
        ours = ours or "vllm" in text.lower()
        options |= {normal(m[1]) for m in _SPELLED.finditer(text)}
        composed |= {normal(o[1]) for m in _COMPOSED.finditer(text) for o in _SPELLED.finditer(m[1])}
        keys |= {m[1] for m in _TAKEN.finditer(text)}
        said = (m[1] for m in _GUARD.finditer(text) if _COMPARES.search(m[1]) is None)
        guards |= {n[1] for raw in said for n in _GUARDED.finditer(raw)}
    if not ours or not options:
        return None
    beside = inside is None or bool(key)
    return Printed(frozenset(options), frozenset(composed), frozenset(keys), frozenset(guards), beside)


def _depends(text: str) -> dict[str, str]:
    """Return where the charts lie that a `Chart.yaml` depends on, by the keys their values stand under."""
    out: dict[str, str] = {}
    for root in parse(text).roots if "file://" in text else ():
        listed = root.get("dependencies")
        for use in listed.items if listed is not None else ():
            place = use.node.scalar("repository") if use.node.kind == "mapping" else ""
            if place.startswith("file://"):
                out[use.node.scalar("alias") or use.node.scalar("name")] = place[7:]
    return out


def _chart_beside(context: Context) -> str | None:
    """Return the way to the only chart of a `charts` folder that values of another folder can be meant for."""
    reader, names = context.sibling_reader, context.sibling_names
    for up in _PLACES[: context.path.count("/") + 1] if reader is not None and names is not None else ():
        assert reader is not None and names is not None
        found = [n for n in names(up + "charts") if reader(f"{up}charts/{n}/Chart.yaml") is not None]
        if found:
            return f"{up}charts/{found[0]}/" if len(found) == 1 else None
    return None


def application_image(context: Context) -> str | None:
    """Return what stands before a chart's `appVersion` in an image of vLLM, or None.

    Only a template says that the version is the tag where the values give none: `tag | default .Chart.AppVersion`,
    perhaps with a `v` before it. A tag in the values counts, and so keeps `appVersion` from saying anything.
    """
    reader, names = context.sibling_reader, context.sibling_names
    root = Defaults(reader("values.yaml") or "").root if reader is not None else None
    images = dict(_untagged(root)) if root is not None else {}
    if reader is None or names is None or not images:
        return None
    for name in names("templates")[:100]:
        text = (reader(f"templates/{name}") or "") if name.endswith((".yaml", ".yml", ".tpl")) else ""
        for match in _DEFAULTED.finditer(text) if "Chart.AppVersion" in text else ():
            path = tuple((match["before"] or match["after"]).split(".")[:-1])
            if path in images:
                return f"{images[path]}:v" if match["letter"] or match["glued"] else f"{images[path]}:"
    return None


_DEFAULTED = regex(
    r"(?P<glued>:v)?\{\{-?\s*(?:\$\w+\s*:=\s*)?(?:\$?\.Values\.(?P<before>[\w.]+)\s*\|\s*default\s+"
    r"(?P<letter>\(\s*printf\s+\"v%s\"\s+)?\$?\.Chart\.AppVersion\s*\)?"
    r"|default\s+\$?\.Chart\.AppVersion\s+\$?\.Values\.(?P<after>[\w.]+))"
)


def _untagged(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the images of vLLM in a chart's values that are given no tag, by their keys."""
    repository = node.scalar("repository")
    if "vllm" in repository and not node.scalar("tag") and not node.scalar("digest"):
        registry = node.scalar("registry")
        yield path, f"{registry.rstrip('/')}/{repository}" if registry else repository
    for pair in node.pairs:
        if pair.node.kind == "mapping" and len(path) < 8:
            yield from _untagged(pair.node, (*path, pair.name))


def is_values(context: Context) -> bool:
    """Tell whether a file is called like the values of a chart, or of one environment, and stands in a chart."""
    if _NAMED.search(context.path) is None or "/templates/" in f"/{context.path}":
        return False
    return _chart(context) is not None


def _chart(context: Context) -> str | None:
    """Return the way up from a file to its chart."""
    reader = context.sibling_reader
    places = _PLACES[: context.path.count("/") + 1] if reader is not None else ()
    return next((p for p in places if reader is not None and reader(p + "Chart.yaml") is not None), None)


def defaults(context: Context) -> Defaults | None:
    """Return what a values file stands over, or None for any other file and for the chart's own values."""
    reader = context.sibling_reader
    place = _chart(context) if is_values(context) else None
    if reader is None or place is None or (not place and context.path.rsplit("/", 1)[-1] == "values.yaml"):
        return None
    text = reader(place + "values.yaml")
    return Defaults(text) if text else None
