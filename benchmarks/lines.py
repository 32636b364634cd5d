"""Makes command lines of a release from the catalog: valid ones, and ones broken in every way people break them.

Everything comes from a seed. A line is the words after `vllm serve` or after the API server's module.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vllm_migrate.catalog import Catalog, Release
from vllm_migrate.catalog.options import spellings

MODEL = "facebook/opt-125m"
#: Options whose values name files, that end the parser's work, or that a variable decides about (--grpc-port).
_LEFT_OUT = frozenset({"--help", "--config", "--chat-template", "--model", "model_tag", "--headless", "--grpc-port"})
_TEXTS = ("auto", "x", "some/path", "a-b", "None", "http://h:1", "5")
_BROKEN_NUMBERS = ("abc", "1.5x", "", "1e", "0x10", "4,", "٣")


@dataclass(frozen=True)
class Line:
    """surface: "serve" or "api_server". words: after it. how: what was done to it, "valid" for nothing."""

    surface: str
    words: tuple[str, ...]
    how: str

    def argv(self) -> list[str]:
        head = ["vllm", "serve"] if self.surface == "serve" else ["python", "-m", "vllm.entrypoints.openai.api_server"]
        return [*head, *self.words]


class Maker:
    """Makes lines for one release."""

    def __init__(self, catalog: Catalog, version: str, seed: int) -> None:
        self.catalog = catalog
        self.release: Release = catalog.release(version)
        self.seed = seed
        self.random = random.Random()
        self.past = sorted(n for n in catalog.entries("options") if n.startswith("--"))

    def line(self, number: int) -> Line:
        """Return line `number` of this release and seed: every fourth is valid."""
        self.random.seed(f"{self.release.version}/{self.seed}/{number}")
        return self.broken() if number % 4 else self.valid()

    def surface(self) -> str:
        return "serve" if self.random.random() < 0.8 else "api_server"

    def options(self, surface: str) -> dict[str, Mapping[str, Any]]:
        found = self.release.surface_options(surface)
        return {n: a for n, a in found.items() if n not in _LEFT_OUT and n.startswith("-")}

    def valid(self, surface: str = "", count: int = -1) -> Line:
        """Return a line of only what the release takes, as the catalog has it."""
        pick = self.random
        surface = surface or self.surface()
        options = self.options(surface)
        names = pick.sample(sorted(options), min(len(options), pick.randint(0, 6) if count < 0 else count))
        groups = [self.group(n, options[n]) for n in names]
        words = [w for g in groups for w in g]
        if surface == "serve":
            place = pick.choice((0, 0, 0, len(words)))
            if place and groups and options[names[-1]].get("nargs") in ("+", "*", "?"):
                place = 0
            words.insert(place, MODEL)
        elif "--model" in self.release.surface_options(surface):
            words += ["--model", MODEL]
        return Line(surface, tuple(words), "valid")

    def group(self, name: str, attrs: Mapping[str, Any]) -> list[str]:
        """Return an option and a value it takes, in one of the ways people write them."""
        pick = self.random
        spelling = pick.choice([name, name, name, *spellings(name, attrs)])
        if spelling.startswith("--") and pick.random() < 0.2:
            spelling = "--" + spelling[2:].replace("-", "_")
        if attrs.get("nargs") == 0:
            return [spelling]
        values = [self.value(name, attrs) for _ in range(self.count(attrs))]
        if len(values) == 1 and pick.random() < 0.3 and values[0]:
            return [f"{spelling}={values[0]}"]
        if any(v.startswith("-") for v in values):
            return [f"{spelling}={values[0]}"]
        return [spelling, *values]

    def count(self, attrs: Mapping[str, Any]) -> int:
        nargs = attrs.get("nargs")
        if isinstance(nargs, int):
            return nargs
        return {"+": self.random.randint(1, 3), "*": 2, "?": self.random.randint(0, 1)}.get(nargs, 1)

    def value(self, name: str, attrs: Mapping[str, Any]) -> str:
        pick = self.random
        choices = [c for c in attrs.get("choices", ()) if c not in (None, "None")]
        if choices and not attrs.get("choices_computed"):
            return str(pick.choice(choices))
        kind = attrs.get("type") or "str"
        if attrs.get("action") == "store_bool":
            return pick.choice(("true", "False", "True"))
        if attrs.get("action") in ("LoRAParserAction", "PromptAdapterParserAction"):
            return "name=path"
        numbers = {"int": ("1", "2", "8", "64"), "human_int": ("1k", "2048", "4K", "1.5k")}
        numbers["human_int_or_auto"] = (*numbers["human_int"], "auto", "-1")
        numbers["float"] = ("0.5", "1", "0.9", "2e-1")
        if kind in numbers:
            return pick.choice(numbers[kind])
        if kind == "key_values":
            return pick.choice(("image=1", "image=4,video=1"))
        if kind in ("json", "json_or_str", "from_json"):
            return self.object(attrs)
        if name == "--device-ids":
            return pick.choice(("0", "0,1", "2,3"))
        return pick.choice(_TEXTS[:4])

    def object(self, attrs: Mapping[str, Any], depth: int = 0) -> str:
        return json.dumps(self.fields(str(attrs.get("config") or ""), depth))

    def fields(self, config: str, depth: int = 0) -> dict[str, Any]:
        """Return some keys of a config class with values it takes; {} for a class that is not known."""
        pick = self.random
        fields = self.release.config_fields(config) if config else {}
        out: dict[str, Any] = {}
        for name in pick.sample(sorted(fields), min(len(fields), pick.randint(0, 3))):
            attrs = fields[name]
            kind = str(attrs.get("type", ""))
            if attrs.get("choices"):
                out[name] = pick.choice(attrs["choices"])
            elif kind.startswith("bool"):
                out[name] = pick.choice((True, False))
            elif kind.startswith("int"):
                out[name] = pick.randint(1, 8)
            elif kind.startswith("float"):
                out[name] = pick.choice((0.5, 1.0))
            elif kind in ("str", "str | None"):
                out[name] = "x"
        return out

    def broken(self) -> Line:
        """Return a line with something done to it; some are valid all the same."""
        pick = self.random
        line = self.valid()
        ways = (
            self._abbreviated, self._unknown, self._past, self._no_value, self._bad_value, self._bad_choice,
            self._explicit, self._extra, self._dashes, self._negative, self._dotted, self._appends, self._repeated,
            self._glued, self._greedy, self._needs, self._parser, self._object, self._switch_word, self._model_option,
            self._single_dash, self._not_json, self._typo, self._none, self._level,
        )  # fmt: skip
        way = pick.choice(ways)
        words = way(line.surface, list(line.words))
        return Line(line.surface, tuple(words), way.__name__.strip("_"))

    # ---- ways to break a line: each returns the words

    def _put(self, words: list[str], *new: str) -> list[str]:
        """Put words at the end, at the start after the model, or anywhere an option starts."""
        places = [i for i, w in enumerate(words) if w.startswith("-")] + [len(words)]
        i = self.random.choice(places)
        return [*words[:i], *new, *words[i:]]

    def _one(self, surface: str, want: Any = lambda _n, _a: True) -> tuple[str, Mapping[str, Any]]:
        options = {n: a for n, a in self.options(surface).items() if want(n, a)}
        if not options:
            options = self.options(surface)
        name = self.random.choice(sorted(options))
        return name, options[name]

    def _abbreviated(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface, lambda n, _a: len(n) > 6)
        spelling = self.random.choice([s for s in spellings(name, attrs) if len(s) > 4] or [name])
        cut = self.random.choice((1, 1, 2, 3, 5, self.random.randint(1, len(spelling) - 3)))
        return self._put(words, spelling[: max(3, len(spelling) - cut)], *self.group(name, attrs)[1:])

    def _unknown(self, surface: str, words: list[str]) -> list[str]:
        names = ("--no-such-option", "--gpu-memory", "--foo", "--tensor-parallel", "-x", "--quantise")
        name = self.random.choice(names)
        return self._put(words, name, *(["3"] if self.random.random() < 0.5 else []))

    def _past(self, surface: str, words: list[str]) -> list[str]:
        name = self.random.choice(self.past)
        attrs = self.catalog.entries("options")[name][0][2]
        return self._put(words, *self.group(name, attrs))

    def _no_value(self, surface: str, words: list[str]) -> list[str]:
        name, _ = self._one(surface, lambda _n, a: a.get("nargs") != 0)
        return self._put(words, name) if self.random.random() < 0.5 else [*words, name]

    def _bad_value(self, surface: str, words: list[str]) -> list[str]:
        kinds = ("int", "float", "human_int", "human_int_or_auto", "key_values", "json")
        name, _ = self._one(surface, lambda _n, a: a.get("type") in kinds)
        return self._put(words, name, self.random.choice(_BROKEN_NUMBERS))

    def _bad_choice(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface, lambda _n, a: a.get("choices"))
        value = self.random.choice(("nope", "None", "", str((attrs.get("choices") or ["x"])[0]).upper()))
        return self._put(words, name, value)

    def _explicit(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface, lambda _n, a: a.get("nargs") == 0)
        spelling = self.random.choice(spellings(name, attrs))
        return self._put(words, f"{spelling}={self.random.choice(('true', 'False', '', '1'))}")

    def _extra(self, surface: str, words: list[str]) -> list[str]:
        return self._put(words, self.random.choice(("extra", "5", "", "a b", "-", "-1")))

    def _dashes(self, surface: str, words: list[str]) -> list[str]:
        return self._put(words, "--", *self.random.choice(((), ("extra",), ("--port", "8000"))))

    def _negative(self, surface: str, words: list[str]) -> list[str]:
        name, _ = self._one(surface, lambda _n, a: a.get("type") in ("int", "float", "str", "human_int_or_auto"))
        return self._put(words, name, self.random.choice(("-1", "-0.5", "-x", "-1e5", "- 1")))

    def _config_option(self, surface: str) -> tuple[str, str, str]:
        """Return an option that holds an object, its config class and a key of it."""
        name, attrs = self._one(surface, lambda _n, a: a.get("config"))
        config = str(attrs.get("config") or "")
        fields = sorted(self.release.config_fields(config)) if config else []
        return name, config, self.random.choice(fields or ["key"])

    def _dotted(self, surface: str, words: list[str]) -> list[str]:
        name, config, key = self._config_option(surface)
        held = self.fields(config)
        if held and self.random.random() < 0.7:
            key, value = next(iter(held.items()))
            text = json.dumps(value) if not isinstance(value, str) else value
        else:
            text = self.random.choice(("1", "true", "x", "{}", "1k"))
        if self.random.random() < 0.1:
            key = "no_such_key"
        if self.random.random() < 0.15:
            key = key.replace("_", "-")
        return self._put(words, *([f"{name}.{key}={text}"] if self.random.random() < 0.5 else [f"{name}.{key}", text]))

    def _appends(self, surface: str, words: list[str]) -> list[str]:
        name, _, key = self._config_option(surface)
        return self._put(words, f"{name}.{key}+", self.random.choice(("a", "a,b", "1,2")))

    def _repeated(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface)
        return self._put(self._put(words, *self.group(name, attrs)), *self.group(name, attrs))

    def _glued(self, surface: str, words: list[str]) -> list[str]:
        short = ("-tp2", "-tp=2", "-O3", "-O", "-O=1", "-q=fp8", "-qfp8", "-n2", "-t", "-pp", "-dp=1", "-v", "-hx")
        return self._put(words, self.random.choice(short))

    def _greedy(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface, lambda _n, a: a.get("nargs") in ("+", "*"))
        values = [self.value(name, attrs) for _ in range(2)]
        rest = [w for w in words if w != MODEL]
        return [*rest, name, *values, MODEL] if self.random.random() < 0.6 else self._put(words, name, *values)

    def _needs(self, surface: str, words: list[str]) -> list[str]:
        sets = (
            ["--enable-auto-tool-choice"],
            ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"],
            ["--enable-reasoning"],
            ["--enable-reasoning", "--reasoning-parser", "deepseek_r1"],
            ["--enable-log-outputs"],
            ["--enable-log-outputs", "--enable-log-requests"],
            ["--enable-prompt-embeds", "--enable-prompt-adapter"],
            ["--enable-per-request-metrics", "--disable-log-stats"],
            ["--sse-keep-alive-interval=-1"],
            ["--lora-modules", "a"],
            ["--lora-modules", "a=b=c"],
            ["--lora-modules", '{"name": "a", "path": "b"}'],
            ["--lora-modules", '{"nam": "a"}'],
        )
        return self._put(words, *self.random.choice(sets))

    def _parser(self, surface: str, words: list[str]) -> list[str]:
        pick = self.random
        pairs = (("--tool-call-parser", "tool_parsers"), ("--reasoning-parser", "reasoning_parsers"))
        option, section = pick.choice(pairs)
        now, ever = sorted(self.release.section(section)), sorted(self.catalog.entries(section))
        name = pick.choice([*(now or ["x"]), *ever, "nope"])
        return self._put(words, *(["--enable-auto-tool-choice"] if pick.random() < 0.7 else []), option, name)

    def _object(self, surface: str, words: list[str]) -> list[str]:
        name, config, key = self._config_option(surface)
        held = self.fields(config)
        wrong = self.random.choice((1, "x", True, None, [], {}, 1.5))
        held[self.random.choice((key, "no_such_key", key + "x"))] = wrong
        return self._put(words, name, json.dumps(held))

    def _switch_word(self, surface: str, words: list[str]) -> list[str]:
        name, _ = self._one(surface, lambda _n, a: a.get("nargs") == 0)
        return self._put(words, name, self.random.choice(("true", "False", "0")))

    def _model_option(self, surface: str, words: list[str]) -> list[str]:
        rest = [w for w in words if w != MODEL]
        rest = [w for w in rest if w != "--model"]
        return self._put(rest, *self.random.choice((("--model", MODEL), (f"--model={MODEL}",), ("--model",), ())))

    def _single_dash(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface, lambda n, _a: n.startswith("--"))
        return self._put(words, name[1:], *self.group(name, attrs)[1:])

    def _not_json(self, surface: str, words: list[str]) -> list[str]:
        name, _ = self._one(surface, lambda _n, a: str(a.get("type", "")).startswith("json"))
        texts = ("{'a': 1}", "{a: 1}", "a=1", "[1]", '"x"', "3", "{", "", "null", "None", '{"a": 1,}')
        return self._put(words, name, self.random.choice(texts))

    def _typo(self, surface: str, words: list[str]) -> list[str]:
        name, attrs = self._one(surface)
        i = self.random.randrange(2, len(name))
        wrong = name[:i] + self.random.choice("xs-_1") + name[i + self.random.randint(0, 1) :]
        return self._put(words, wrong, *self.group(name, attrs)[1:])

    def _none(self, surface: str, words: list[str]) -> list[str]:
        name, _ = self._one(surface, lambda _n, a: a.get("nargs") != 0)
        return self._put(words, name, self.random.choice(("None", "none", "null", "")))

    def _level(self, surface: str, words: list[str]) -> list[str]:
        ways = ("-O3", "-O 3", "-O=2", "-O.level=3", "-O.mode 3", "-cc.mode=3", "-O {}", "-Oeager")
        return self._put(words, *self.random.choice(ways).split())
