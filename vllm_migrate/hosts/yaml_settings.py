"""Argument lists and engine settings outside containers: values of charts, custom resources, config files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vllm_migrate.hosts import read_shell
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_chart import chart_mentions_vllm
from vllm_migrate.hosts.kustomize import OPERATION, counted, is_operation
from vllm_migrate.hosts.yaml_edit import Home
from vllm_migrate.hosts.yaml_printed import ChartValues
from vllm_migrate.hosts.yaml_spots import NewKey
from vllm_migrate.hosts.yaml_tree import Node, Pair, Use
from vllm_migrate.launch import find_launch, holds_vllm, is_server_image, launchers, script_of
from vllm_migrate.lazy import regex
from vllm_migrate.model import Entry, Pin, Site, Variable, Word, is_hole
from vllm_migrate.text import Span
from vllm_migrate.wrapped import carried_site
from vllm_migrate.wrappers import Wrapper

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Path, Reader

_OPTION = regex(r"--[A-Za-z]")
_KEYWORDS = ("engine_kwargs", "engineKwargs")
_CONFIG_MARKS = frozenset((
    "model", "served-model-name", "tensor-parallel-size", "served_model_name", "tensor_parallel_size",
))  # fmt: skip
_NOT_CONFIG = frozenset((
    "apiVersion", "kind", "services", "jobs", "on", "stages", "image", "resources", "name", "type",
    "steps",
))  # fmt: skip
_ENGINE_KEYS = (
    "engine", "backend", "runtime", "backendName", "backend_name", "inferenceEngine", "framework", "modelFormat",
)  # fmt: skip
_CLIENT_KEY = regex(r"(?:api|base)[-_](?:base|url)$")
"""Where a client finds the server it asks."""
_ROLES = frozenset(("prefill", "decode", "aggregated", "agg", "default", "leader", "worker", "common", "shared"))

_WHOLE = ("apiVersion", "jobs", "steps", "stages", "tasks", "pipelines")


class Settings:
    """Reads mappings that are no containers."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.values = ChartValues(reader)

    def mapping(self, use: Use, path: Path) -> None:
        """Read the argument lists and engine settings of a mapping as one site."""
        reader, node = self.reader, use.node
        if any(p in names.NOT_PROGRAMS for p in path) or reader.kind in ("CustomResourceDefinition",):
            return
        if not path and self._config(node):
            return
        if not path and self.values.composed(node):
            self._top(node)
        if is_operation(node):
            number = counted(node)
            reader.out.counts += [number] if number is not None else []
        lists = [p for p in node.merged() if self._is_list(p) and self._plausible(node, path, p)]
        strings = [p for p in node.merged() if self._is_string(p) and self._plausible(node, path, p)]
        maps = [p for p in node.merged() if self._is_settings(node, p, path)]
        maps = [q for p in maps for q in self._by_role(p)]
        commands = [p for p in node.merged() if self._is_command(p)]
        for pair in maps:
            nested = [p for p in pair.node.merged() if self._is_list(p) or self._is_string(p)]
            self._site(use, path, pair, [*nested, *(lists + strings if len(maps) == 1 else [])], node)
        if len(maps) != 1:
            for pair in (*lists, *strings):
                self._site(use, path, None, [pair], node)
        for pair in commands:
            self._command(use, pair, node)
        if not (maps or lists or strings or commands):
            self._environment_only(use, path)

    def more_lists(self, use: Use, path: Path, pairs: Sequence[Pair]) -> None:
        """Read the lists of options that a container gives again under a key it has already."""
        for pair in pairs:
            if self._is_list(pair) and self._plausible(use.node, path, pair):
                self._site(use, path, None, [pair], use.node)

    # -- what is what

    def _is_list(self, pair: Pair) -> bool:
        node = pair.node
        if node.kind != "sequence" or id(node) in self.reader.done or not node.items:
            return False
        scalars = [u.node for u in node.items if u.node.kind == "scalar"]
        if len(scalars) != len(node.items) or names.for_another(pair.name) or names.holds_packages(pair.name):
            return False
        texts = [s.text for s in scalars]
        if not any(_OPTION.match(t) for t in texts) or not texts[0].startswith("-"):
            return False
        return find_launch(texts) is None and script_of(texts) is None

    def _is_string(self, pair: Pair) -> bool:
        node = pair.node
        return (
            node.kind == "scalar"
            and id(node) not in self.reader.done
            and _OPTION.match(node.text.lstrip()) is not None
            and (names.holds_arguments(pair.name) or pair.name == "value")
            and not names.is_prose(pair.name)
            and not names.for_another(pair.name)
            # A workflow's `options` are those of `docker create`.
            and not (self.reader.workflow and pair.name == "options")
        )

    def _is_command(self, pair: Pair) -> bool:
        """Tell whether a list is the words of a launch, program included."""
        node = pair.node
        if node.kind != "sequence" or id(node) in self.reader.done or not node.items:
            return False
        if any(u.node.kind != "scalar" for u in node.items) or names.is_prose(pair.name):
            return False
        texts = [u.node.text for u in node.items]
        if " " in texts[0].strip() and len(texts) > 1 and not texts[1].startswith("-"):
            return False
        at = script_of(texts)
        if at is not None:
            return "vllm" in texts[at].lower()
        found = find_launch(texts)
        return found is not None and (found.program == 0 or names.holds_arguments(pair.name))

    def _plausible(self, node: Node, path: Path, pair: Pair) -> bool:
        """Tell whether a list of options may be vLLM's."""
        verdict = self._program(node, (*path, pair.name))
        if verdict == "other":
            return False
        if verdict == "vllm":
            return True
        named = names.holds_arguments(pair.name) or (pair.name == "value" and "/args" in node.scalar("path"))
        return self.reader.mentions_vllm and named and not self.reader.workflow

    def _program(self, node: Node, path: Path) -> str:
        """Return "vllm", "other" or "" for what the surroundings say is configured here."""
        here: Node | None = node
        keys = list(path)
        if keys and names.our_program(keys[-1]):
            return "vllm"
        if keys and names.other_program(keys[-1]):
            return "other"
        keys = keys[:-1]
        while here is not None:
            verdict = self._says(here)
            if verdict:
                return verdict
            if keys:
                key = keys.pop()
                if names.other_program(key):
                    return "other"
                if names.our_program(key):
                    return "vllm"
            here = here.holder
        return ""

    def _says(self, node: Node) -> str:
        """Return what a mapping itself says of its program: its image, engine or name."""
        if node.kind != "mapping":
            return ""
        image = node.get("image", "Image", "baseImage", "base_image")
        text = ""
        if image is not None and image.kind == "scalar":
            # `!Ref Image` names another key of the document.
            text = "" if re.match(r"!(?!!)", image.tag) else image.text
        elif image is not None and image.kind == "mapping":
            text = image.scalar("repository", "repo", "name", "image")
        text = text or node.scalar("repository", "imageRepository", "imageName")
        if text and "$" not in text and not any(is_hole(c) for c in text):
            ours = is_server_image(text) or holds_vllm(text)
            return "vllm" if ours or (names.our_program(text) and not names.other_program(text)) else "other"
        for name in _ENGINE_KEYS:
            found = node.get(name)
            word = found.text if found is not None and found.kind == "scalar" else ""
            if found is not None and found.kind == "mapping":
                word = found.scalar("name", "type")
            if word and "vllm" in word.lower():
                return "vllm"
            if word and (name == "backend_name" or word.lower() in launchers()["other_engines"]):
                return "other"
        name = node.scalar("name")
        if name and names.our_program(name) and not names.other_program(name):
            return "vllm"
        return "other" if name and names.other_program(name) else ""

    def _is_settings(self, node: Node, pair: Pair, path: Path) -> bool:
        if pair.node.kind != "mapping" or not pair.node.merged() or id(pair.node) in self.reader.done:
            return False
        if self.reader.workflow and path[-1:] in (("services",), ("jobs",)):
            # A container beside a job, which takes no arguments; a job.
            return False
        if self.reader.compose and path[:1] == ("services",):
            # What a service is made of has names of its own: `logging.options`, `depends_on`.
            return False
        kind = names.settings_kind(pair.name) or ("strong" if self.values.composed(pair.node) else "")
        if not kind or names.is_prose(pair.name) or self.reader.is_container(pair.node, (*path, pair.name)):
            return False
        if self._says(pair.node) == "other" or self._program(node, (*path, pair.name)) == "other":
            return False
        inner = pair.node.merged()
        if any(self._is_settings_name(p) or self._holds_settings(pair, p) for p in inner):
            return False
        if kind == "weak":
            if self._program(node, (*path, pair.name)) != "vllm":
                return False
            upper = sum(1 for p in inner if p.name.isupper())
            return upper * 2 < len(inner) and bool(self._own(pair.node))
        return bool(self._own(pair.node)) or any(self._is_list(p) or self._is_string(p) for p in inner)

    def _holds_settings(self, pair: Pair, inner: Pair) -> bool:
        """Tell whether a chart's section named for vLLM keeps the options one level further in."""
        name = names.normal(inner.name)
        return (
            names.normal(pair.name) == "vllm"
            and inner.node.kind == "mapping"
            and bool(inner.node.pairs)
            and name.endswith(("args", "arguments", "flags", "options", "kwargs"))
            and bool(names.settings_kind(inner.name))
        )

    def _is_settings_name(self, pair: Pair) -> bool:
        return pair.node.kind == "mapping" and names.settings_kind(pair.name) == "strong"

    def _by_role(self, pair: Pair) -> list[Pair]:
        """Return the settings of each role where a mapping keeps them apart, else the pair itself."""
        inner = pair.node.merged()
        if inner and all(p.name.lower() in _ROLES and p.node.kind == "mapping" and p.node.pairs for p in inner):
            self.reader.done |= {id(pair), id(pair.node)}
            return inner
        return [pair]

    def _own(self, node: Node) -> list[Pair]:
        """Return the pairs of a settings mapping that may be options, the chart's own structure left out."""
        out = []
        for pair in node.merged():
            if names.normal(pair.name) in names.STRUCTURE or pair.key.kind != "scalar" or pair.name.isupper():
                continue
            if not re.fullmatch(r"(?:--)?[A-Za-z][\w.-]*", pair.name) or self._is_list(pair) or self._is_string(pair):
                continue
            if self._is_settings_name(pair) or (pair.node.kind == "scalar" and names.is_script(pair.name)):
                continue
            if pair.node.kind == "sequence" and names.settings_kind(pair.name):
                # A list of options that is empty, or of another form.
                continue
            out.append(pair)
        return self.values.options(node, out)

    def _top(self, node: Node) -> None:
        """Read values at the top of a chart's that its templates print as options."""
        reader = self.reader
        own = [p for p in self._own(node) if p.node.kind == "scalar"]
        if not own:
            return
        site = Site("values", reader.document.host, reader.document.region, Span(own[0].start, own[-1].end))
        site.entries = reader.items.entries(node, [p for p in node.merged() if p not in own])
        self.values.lock(node, site.entries)
        site.entry_home = reader.items._map_home(node)
        site.owner, site.hollow, site.open = reader.context.owner, True, True
        site.pins = self._pins(node, site.owner)
        reader.done |= {id(p) for p in own} | {id(p.node) for p in own}
        reader.out.sites.append(site)

    # -- sites

    def _site(self, use: Use, path: Path, settings: Pair | None, lists: Sequence[Pair], node: Node) -> None:
        reader, items = self.reader, self.reader.items
        owner = reader.owner(node)
        words: list[Word] = []
        home: Home | None = None
        open_ended = False
        own = self._own(settings.node) if settings is not None else []
        for pair in lists:
            items.touch_pair(pair)
            if pair.node.kind == "sequence":
                found, rest = items.list_words(pair.node)
                home = items.home(pair.node)
                open_ended = open_ended or rest
            else:
                found, home = items.string_words(pair.node)
                if is_operation(node):
                    for word in found:
                        word.locked = word.locked or OPERATION
            words += found
            reader.done |= {id(pair), id(pair.node), *(id(u.node) for u in pair.node.items)}
        entries: list[Entry] = []
        entry_point = "values"
        span = Span(lists[0].start, lists[-1].end) if lists else Span(node.start, node.end)
        if settings is not None:
            items.touch(settings.use)
            keep = {id(p) for p in own}
            skip = [p for p in settings.node.merged() if id(p) not in keep]
            entries = items.entries(settings.node, skip)
            self.values.lock(settings.node, entries)
            for other, mine in self.values.elsewhere(settings.node):
                keep = {id(p) for p in mine}
                entries = [*entries, *items.entries(other, [p for p in other.merged() if id(p) not in keep])]
                reader.done |= keep
            for pair in own:
                reader.done |= {id(pair), id(pair.node)}
            reader.done.add(id(settings))
            span = Span(settings.start, settings.end)
            if settings.name in _KEYWORDS:
                entry_point = "EngineArgs"
            for pair in settings.node.pairs:
                if id(pair) not in reader.done:
                    reader.done.add(id(settings))
                    reader._visit(pair.use, (*path, settings.name, pair.name))
        elif self._program(node, (*path, lists[0].name)) == "vllm" and self._alone(node, path):
            entry_point = "serve"
        if not words and not entries:
            return
        self._touch_up(use)
        site = Site(entry_point, reader.document.host, reader.document.region, span, words, entries)
        site.owner, site.hollow = owner, True
        self._keep_emptied(entry_point, settings, lists)
        site.open = open_ended or any(w.splits for w in words) or (entry_point == "values" and not entries)
        site.word_home = home
        if settings is not None and not settings.use.alias:
            site.entry_home = items._map_home(settings.node)
        variables, env_home = self._environment(node, settings)
        if entry_point == "values":
            reader.document.kept |= {id(p.node) for n in names.ENVIRONMENTS if (p := node.find(n)) is not None}
        site.variables = [*reader.surroundings(), *variables]
        site.variable_home = env_home
        site.pins = self._pins(node, owner)
        reader.out.sites.append(site)

    def _keep_emptied(self, entry_point: str, settings: Pair | None, lists: Sequence[Pair]) -> None:
        """Note which keys stay when emptied: those of values, which a template or a default is written for."""
        if entry_point == "values":
            self.reader.document.kept |= {id(p.node) for p in lists}
            if settings is not None and not settings.use.alias:
                self.reader.document.kept.add(id(settings.node))

    def _alone(self, node: Node, path: Path) -> bool:
        """Tell whether a custom resource passes the list on as it is."""
        return self.reader.root.find("apiVersion") is not None and self.reader.kind not in (
            "",
            "ConfigMap",
            "HelmRelease",
            "Application",
        )

    def _touch_up(self, use: Use) -> None:
        here: Use | None = use
        while here is not None:
            self.reader.items.touch(here)
            here = here.holder.uses[0] if here.holder is not None and here.holder.uses else None
        self.reader.items.touch_merges(use.node)

    def _pins(self, node: Node, owner: str) -> list[Pin]:
        pins = self.reader.pins
        out = []
        split = pins.split_image(node, owner)
        image = node.find("image", "Image", "baseImage")
        if split is not None:
            out.append(split)
        elif image is not None and image.node.kind == "mapping":
            inner = pins.split_image(image.node, owner)
            out += [inner] if inner is not None else []
        elif image is not None:
            scalar = pins.image(image, owner)
            out += [scalar] if scalar is not None else []
        return out

    def _environment(self, node: Node, settings: Pair | None = None) -> tuple[list[Variable], Home | None]:
        reader = self.reader
        out: list[Variable] = []
        home: Home | None = None
        places = [(node, n) for n in names.ENVIRONMENTS]
        if settings is not None and settings.node.kind == "mapping":
            places += [(settings.node, n) for n in names.ENVIRONMENTS]
        runtime = node.get("runtime_env")
        if runtime is not None and runtime.kind == "mapping":
            places.append((runtime, "env_vars"))
        for holder, name in places:
            pair = holder.find(name)
            if pair is None or pair.node.kind not in ("mapping", "sequence"):
                continue
            found, container = reader.items.environment(pair)
            reader.items.touch_pair(pair)
            out += found
            home = home or container
            reader.done |= {id(pair), id(pair.node)}
        for variable in out:
            variable.scope = "process"
            reader.items.only(variable, True)
        return out, home

    def _command(self, use: Use, pair: Pair, node: Node) -> None:
        """A list that names the program itself, outside a container."""
        reader, items = self.reader, self.reader.items
        items.touch_pair(pair)
        words, open_ended = items.list_words(pair.node)
        launch = find_launch([w.text for w in words])
        reader.done |= {id(pair), id(pair.node), *(id(u.node) for u in pair.node.items)}
        at = script_of([u.node.text for u in pair.node.items])
        if at is not None:
            owner, around = reader.owner(node), reader.surroundings()
            context = reader.guest_context(owner, "", around)
            reader.adopt(read_shell(items.region_of(pair.node.items[at].node), context), owner, around)
            return
        if launch is None:
            return
        self._touch_up(use)
        site = Site(launch.entry_point, reader.document.host, reader.document.region, Span(pair.start, pair.end))
        site.words, site.owner = launch.passed(words, [w.text for w in words]), reader.owner(node)
        launch.mark(site)
        site.open = open_ended or any(w.splits for w in site.words)
        site.word_home = items.home(pair.node)
        variables, home = self._environment(node)
        site.variables = [*reader.surroundings(), *variables]
        site.variable_home = home or NewKey(reader.document, node, "env", "pairs")
        site.pins = self._pins(node, site.owner)
        reader.out.sites.append(site)

    def _environment_only(self, use: Use, path: Path) -> None:
        """Variables of an environment without a launch beside it: a chart's `env:`, a ConfigMap's data."""
        reader, node = self.reader, use.node
        listed = [
            *names.ENVIRONMENTS,
            *(("data", "stringData") if reader.kind in ("ConfigMap", "Secret") and not path else ()),
        ]
        for name in listed:
            pair = node.find(name)
            if pair is None or pair.node.kind not in ("mapping", "sequence") or id(pair.node) in reader.done:
                continue
            if self._program(node, (*path, name)) == "other":
                continue
            found, _ = reader.items.environment(pair)
            # Of a chart's values a template may read the key; of manifests, pipelines and JSON nothing does.
            if not (reader.compose or reader.workflow or reader.document.host == "json" or reader.root.find(*_WHOLE)):
                reader.document.kept.add(id(pair.node))
            for variable in found:
                variable.scope = "file"
            carried = carried_site(found, "", reader.document.host, reader.owner(node))
            if carried is not None:
                reader.items.touch_pair(pair)
                self._touch_up(use)
                reader.out.sites.append(carried)
            reader.unseen += [v for v in reader.interesting(found) if v not in reader.unseen]

    def _config(self, node: Node) -> bool:
        """Read the top of a document as a `--config` file where it has that form."""
        keys = [p.name for p in node.pairs]
        if len(keys) < 2 or any(k in _NOT_CONFIG or _CLIENT_KEY.search(k) for k in keys):
            return False
        shaped = [k for k in keys if re.fullmatch(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", k)]
        joined = [k for k in shaped if ("-" in k or "_" in k) and not k.endswith("version")]
        if any(u.node.kind != "scalar" for p in node.pairs if p.node.kind == "sequence" for u in p.node.items):
            return False
        marks = _CONFIG_MARKS & set(keys)
        if len(shaped) != len(keys) or not joined or not marks:
            return False
        path = self.reader.context.path.rsplit("/", 1)[-1].lower()
        if marks == {"model"} and "vllm" not in path:
            # A model and some options may be any program's: only what vLLM once took is judged then.
            if sum(1 for k in joined if "-" in k) < 2:
                return False
            self.config(node, "values")
            return True
        if len(joined) < 2 and "model" not in keys:
            return False
        self.config(node)
        return True

    def given(self, use: Use, path: Path, wrapper: Wrapper) -> None:
        """Read a place where a wrapper takes vLLM's options: a mapping, a list of words, or a string."""
        reader, items, node = self.reader, self.reader.items, use.node
        site = Site(wrapper.entry_point, reader.document.host, reader.document.region, Span(node.start, node.end))
        if node.kind == "mapping":
            own = [p for p in node.merged() if p.name in wrapper.own_keys or names.normal(p.name) in wrapper.own_keys]
            site.entries = items.entries(node, own)
            site.entry_home = items._map_home(node)
            reader.done |= {id(p) for p in node.pairs} | {id(p.node) for p in node.pairs}
        elif node.kind == "sequence":
            words, site.open = items.list_words(node)
            site.words = wrapper.passed(words, [w.text for w in words])
            site.word_home = items.home(node)
        elif node.text.strip():
            words, site.word_home = items.string_words(node)
            site.words = wrapper.passed(words, [w.text for w in words])
        if not site.words and not site.entries:
            return
        self._touch_up(use)
        site.owner, site.hollow = reader.owner(node), True
        site.open = site.open or any(w.splits for w in site.words)
        reader.document.kept.add(id(node))
        holder = use.holder
        site.pins = self._pins(holder, site.owner) if holder is not None and holder.kind == "mapping" else []
        site.variables = reader.surroundings()
        reader.out.sites.append(wrapper.mark(site))

    def named_template(self, name: str) -> bool:
        """Read the root of a named template where it is a list of words or of variables; tell whether it was."""
        reader, items, node = self.reader, self.reader.items, self.reader.root
        if node.kind != "sequence" or names.other_program(name):
            return False
        if not (reader.mentions_vllm or chart_mentions_vllm(reader.context)):
            return False
        place = Use(node, node.start, node.end)
        if all(u.node.kind == "mapping" and u.node.find("name") for u in node.items):
            if not all(u.node.find("value", "valueFrom") for u in node.items):
                return False
            variables, _ = items.environment(Pair(Node("scalar", node.start, node.start, node.start), place))
            reader.out.variables += reader.interesting(variables)
            return True
        words, _ = items.list_words(node)
        texts = [w.text for w in words]
        launch = find_launch(texts)
        if launch is None and not any(_OPTION.match(t) for t in texts):
            return False
        site = Site("values", reader.document.host, reader.document.region, Span(node.start, node.end), words)
        if launch is not None:
            site.entry_point, site.words = launch.entry_point, launch.passed(words, texts)
            launch.mark(site)
        site.word_home, site.owner, site.hollow = items.home(node), reader.owner(node), True
        # Whoever includes the template may add to it.
        site.open = True
        reader.out.sites.append(site)
        return True

    def config(self, node: Node, entry_point: str = "config") -> None:
        """Read a mapping as a `--config` file."""
        reader = self.reader
        site = Site(entry_point, reader.document.host, reader.document.region, Span(node.start, node.end))
        site.entries = reader.items.entries(node)
        site.entry_home = reader.items._map_home(node)
        site.owner, site.hollow = reader.context.owner, True
        # `--config` takes an empty mapping, but not an empty file.
        reader.document.kept.add(id(node))
        for pair in node.pairs:
            reader.done |= {id(pair), id(pair.node)}
        reader.out.sites.append(site)
