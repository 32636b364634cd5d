"""The functions of Python and its library that the reader works out itself; everything else stays unknown.

None of them reaches files, processes, the network or the environment: `os.environ` is empty.
"""

from __future__ import annotations

import collections.abc
import enum
import itertools
import types
import typing
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_classes import dataclass_fields
from vllm_migrate.catalog.interp_values import (
    MISSING,
    External,
    FieldInfo,
    FieldSpec,
    Instance,
    Native,
    Partial,
    Raised,
    Unknown,
)

if TYPE_CHECKING:
    from vllm_migrate.catalog.interp import Interpreter

#: Images ship this Python; it decides branches on sys.version_info.
_PYTHON = (3, 12, 0, "final", 0)
_TYPING = (
    "Any Optional Union Literal Annotated Callable Type List Dict Tuple Set FrozenSet Mapping MutableMapping "
    "Sequence Iterable Iterator Generator AsyncGenerator Awaitable Collection ClassVar NamedTuple "
    "Required NotRequired"
)
_ABC = (
    "Callable Mapping MutableMapping Sequence MutableSequence Iterable Iterator Generator AsyncGenerator "
    "Collection Set Hashable Awaitable"
)


def natives(interp: Interpreter) -> dict[str, Any]:
    """Return dotted name -> value for the parts of Python the reader knows."""
    table: dict[str, Any] = {}
    table.update(_builtins(interp))
    table.update(_types(interp))
    table.update(_dataclasses(interp))
    table.update(_library(interp))
    for module in ("typing", "typing_extensions"):
        table |= {k.replace("typing.", module + ".", 1): v for k, v in table.items() if k.startswith("typing.")}
    return table


def deep_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: deep_copy(v) for k, v in value.items()}
    if isinstance(value, list):
        return [deep_copy(v) for v in value]
    if isinstance(value, tuple):
        return tuple(deep_copy(v) for v in value)
    if isinstance(value, set):
        return set(value)
    return value


def _builtins(interp: Interpreter) -> dict[str, Any]:
    def is_instance(value: Any, classes: Any) -> Any:
        options = classes if isinstance(classes, tuple) else (classes,)
        if isinstance(value, Unknown) and not isinstance(value, External):
            return Unknown("isinstance")
        target = value.cls if isinstance(value, Instance) else type(value)
        known = [c for c in options if isinstance(c, type)]
        if isinstance(value, Instance):
            if any(issubclass(target, c) for c in known):
                return True
        elif isinstance(value, External):
            if type in known:
                # Names of other packages that serve as types are classes as far as we can tell.
                return value.text.rpartition(".")[2][:1].isupper() or Unknown("isinstance")
        elif any(isinstance(value, c) for c in known):
            return True
        if len(known) < len(options) and _foreign(value):
            return Unknown("isinstance")
        return False

    def is_subclass(value: Any, classes: Any) -> Any:
        options = classes if isinstance(classes, tuple) else (classes,)
        if isinstance(value, External):
            return False
        if not isinstance(value, type):
            raise TypeError("issubclass")
        return any(issubclass(value, c) for c in options if isinstance(c, type))

    def get(value: Any, name: str, *default: Any) -> Any:
        try:
            return interp.getattr(value, name)
        except Raised:
            if default:
                return default[0]
            raise

    def has(value: Any, name: str) -> Any:
        try:
            found = interp.getattr(value, name)
        except Raised:
            return False
        return Unknown("hasattr") if isinstance(found, Unknown) else True

    def mapped(function: Any, *iterables: Any) -> Any:
        return iter([interp.call(function, list(a), {}) for a in zip(*map(interp.iterate, iterables), strict=False)])

    def filtered(function: Any, iterable: Any) -> Any:
        keep = interp.iterate(iterable)
        if function is not None:
            return iter([v for v in keep if interp.truth(interp.call(function, [v], {}))])
        return iter([v for v in keep if interp.truth(v)])

    def sort(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
        items = interp.iterate(iterable)
        if any(isinstance(v, Unknown) for v in items):
            return Unknown("sorted")
        return sorted(items, key=None if key is None else lambda v: interp.call(key, [v], {}), reverse=reverse)

    def every(items: Any) -> Any:
        values = interp.iterate(items)
        if any(not isinstance(v, Unknown) and not v for v in values):
            return False
        return Unknown("all") if any(isinstance(v, Unknown) for v in values) else True

    def some(items: Any) -> Any:
        values = interp.iterate(items)
        if any(not isinstance(v, Unknown) and v for v in values):
            return True
        return Unknown("any") if any(isinstance(v, Unknown) for v in values) else False

    def kind(value: Any) -> Any:
        if isinstance(value, Unknown):
            return Unknown("type")
        return value.cls if isinstance(value, Instance) else type(value)

    def text(*args: Any) -> Any:
        if args and not isinstance(args[0], (str, int, float, bool, type(None), enum.Enum)):
            return Unknown("str(…)")
        return str(*args)

    def make_dict(*args: Any, **kwargs: Any) -> Any:
        return dict(*[a if isinstance(a, dict) else interp.iterate(a) for a in args], **kwargs)

    def call_able(value: Any) -> Any:
        return Unknown("callable") if isinstance(value, Unknown) else callable(value)

    open_ended = {
        "isinstance": is_instance,
        "issubclass": is_subclass,
        "getattr": get,
        "hasattr": has,
        "map": mapped,
        "filter": filtered,
        "sorted": sort,
        "all": every,
        "any": some,
        "callable": call_able,
        "next": next,
        "iter": lambda v: iter(interp.iterate(v)),
        "len": lambda v: len(v if isinstance(v, (str, bytes, dict)) else interp.iterate(v)),
        "enumerate": lambda v, start=0: iter(list(enumerate(interp.iterate(v), start))),
        "zip": lambda *v, **_: iter(list(zip(*map(interp.iterate, v), strict=False))),
        "reversed": lambda v: iter(interp.iterate(v)[::-1]),
        "print": lambda *_, **__: None,
        "repr": lambda v: Unknown("repr") if isinstance(v, (Unknown, Instance)) else repr(v),
        "id": lambda v: Unknown("id"),
        "setattr": lambda o, n, v: _set(interp, o, n, v),
    }
    closed = {
        "min": min,
        "max": max,
        "sum": sum,
        "abs": abs,
        "round": round,
        "ord": ord,
        "chr": chr,
        "range": range,
        "divmod": divmod,
    }
    table: dict[str, Any] = {"builtins." + k: Native(k, v, True) for k, v in open_ended.items()}
    table |= {"builtins." + k: Native(k, v) for k, v in closed.items()}
    for cls in (str, int, float, bool, list, dict, set, tuple, frozenset, type, object, bytes):
        table["builtins." + cls.__name__] = cls
    constructors: dict[str, Any] = {
        "str": Native("str", text, True),
        "int": Native("int", int),
        "float": Native("float", float),
        "bool": Native("bool", bool),
        "list": Native("list", lambda *a: list(*map(interp.iterate, a)), True),
        "tuple": Native("tuple", lambda *a: tuple(*map(interp.iterate, a)), True),
        "set": Native("set", lambda *a: set(*map(interp.iterate, a)), True),
        "frozenset": Native("frozenset", lambda *a: frozenset(*map(interp.iterate, a)), True),
        "dict": Native("dict", make_dict, True),
        "type": Native("type", kind, True),
        "object": Native("object", lambda: Unknown("object()")),
    }
    table |= {"call." + k: v for k, v in constructors.items()}
    table["builtins.Ellipsis"] = Ellipsis
    table["builtins.__debug__"] = True
    return table


def _foreign(value: Any) -> bool:
    return not isinstance(value, (str, int, float, bool, type(None), list, dict, tuple, set, Missing_))


Missing_ = type(MISSING)


def _set(interp: Interpreter, target: Any, name: str, value: Any) -> None:
    if isinstance(target, Instance):
        target.attributes[name] = value
    elif isinstance(target, type) and target in interp.infos:
        interp.infos[target].namespace[name] = value


def _types(interp: Interpreter) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name in _TYPING.split():
        if hasattr(typing, name):
            table["typing." + name] = getattr(typing, name)
    for name in _ABC.split():
        table["collections.abc." + name] = getattr(collections.abc, name)
    table["types.UnionType"] = types.UnionType
    table["types.NoneType"] = type(None)
    table["typing.TYPE_CHECKING"] = False
    table["typing.get_origin"] = Native("get_origin", typing.get_origin, True)
    table["typing.get_args"] = Native("get_args", typing.get_args, True)
    table["typing.is_typeddict"] = Native("is_typeddict", typing.is_typeddict, True)
    table["typing.cast"] = Native("cast", lambda _, value: value, True)
    table["typing.get_type_hints"] = Native(
        "get_type_hints",
        lambda cls, **_: {f.name: f.type for f in dataclass_fields(interp, cls)},
        True,
    )
    table["collections.Counter"] = Native("Counter", lambda: {})
    table["collections.OrderedDict"] = Native("OrderedDict", dict, True)
    table["collections.defaultdict"] = Native("defaultdict", lambda *a, **k: Unknown("defaultdict"), True)
    table["enum.auto"] = Native("auto", enum.auto)
    return table


def _dataclasses(interp: Interpreter) -> dict[str, Any]:
    def mark(pydantic: bool) -> Any:
        def dataclass(*args: Any, **kwargs: Any) -> Any:
            config = kwargs.get("config")

            def apply(cls: Any) -> Any:
                if isinstance(cls, type) and cls in interp.infos:
                    info = interp.infos[cls]
                    info.dataclass = True
                    info.pydantic = info.pydantic or pydantic
                    if pydantic and isinstance(config, dict) and isinstance(config.get("extra"), str):
                        info.extra = config["extra"]
                return cls

            return apply(args[0]) if args and args[0] is not None else Native("dataclass", apply, True)

        return dataclass

    def field(**kwargs: Any) -> Any:
        known = {k: v for k, v in kwargs.items() if k in ("default", "default_factory", "init")}
        return FieldSpec(**known)

    def info(*args: Any, **kwargs: Any) -> Any:
        wanted = tuple(FieldInfo.__dataclass_fields__)
        known = {k: v for k, v in kwargs.items() if k in wanted}
        if args:
            known["default"] = args[0]
        if known.get("default") is Ellipsis:
            del known["default"]
        return FieldInfo(**known)

    def is_dataclass(value: Any) -> bool:
        cls = value.cls if isinstance(value, Instance) else value
        return isinstance(cls, type) and any(c in interp.infos and interp.infos[c].dataclass for c in cls.__mro__)

    pydantic_field = Native("Field", info, True)
    return {
        "dataclasses.MISSING": MISSING,
        "dataclasses.dataclass": Native("dataclass", mark(False), True),
        "dataclasses.field": Native("field", field, True),
        "dataclasses.fields": Native("fields", lambda c: dataclass_fields(interp, c), True),
        "dataclasses.is_dataclass": Native("is_dataclass", is_dataclass, True),
        "pydantic.dataclasses.dataclass": Native("dataclass", mark(True), True),
        "pydantic.ConfigDict": Native("ConfigDict", lambda **k: dict(k), True),
        "pydantic.Field": pydantic_field,
        "pydantic.fields.Field": pydantic_field,
        "pydantic.fields.FieldInfo": FieldInfo,
    }


class _Environment(dict[str, str]):
    """No variable is set, and what the source sets at import does not count."""

    def setdefault(self, name: str, default: Any = None) -> Any:
        return default

    def update(self, *_: Any, **__: Any) -> None:
        pass


def _library(interp: Interpreter) -> dict[str, Any]:
    def join(*parts: Any) -> Any:
        out = ""
        for part in parts:
            out = part if part.startswith("/") or not out else out.rstrip("/") + "/" + part
        return out

    def partial(function: Any, *args: Any, **kwargs: Any) -> Any:
        return Partial(function, args, kwargs)

    def same(function: Any = None, **_: Any) -> Any:
        return function if function is not None else Native("decorator", lambda f: f, True)

    def dumps(value: Any, **_: Any) -> Any:
        import json

        return json.dumps(value)

    def loads(value: Any, **_: Any) -> Any:
        import json

        return json.loads(value)

    environment = _Environment()
    return {
        "os.environ": environment,
        "os.getenv": Native("getenv", lambda name, default=None: default, True),
        "os.path.join": Native("join", join),
        "os.path.expanduser": Native("expanduser", lambda p: p),
        "os.path.abspath": Native("abspath", lambda p: p),
        "os.path.dirname": Native("dirname", lambda p: p.rpartition("/")[0]),
        "os.path.exists": Native("exists", lambda p: False),
        "os.path.isfile": Native("isfile", lambda p: False),
        "os.sep": "/",
        "os.cpu_count": Native("cpu_count", lambda: 64),
        "torch.version.hip": None,
        "builtins.__import__": Native("__import__", lambda name: interp.external(name)),
        "builtins.globals": Native("globals", dict),
        "tempfile.gettempdir": Native("gettempdir", lambda: "/tmp"),
        "sys.argv": [],
        "sys.version_info": _PYTHON,
        "sys.platform": "linux",
        "sys.modules": {},
        "sys.maxsize": 2**63 - 1,
        "json.loads": Native("json.loads", loads),
        "json.dumps": Native("json.dumps", dumps),
        "copy.deepcopy": Native("deepcopy", deep_copy, True),
        "copy.copy": Native("copy", lambda v: v.copy() if isinstance(v, (dict, list, set)) else v, True),
        "functools.partial": Native("partial", partial, True),
        "functools.lru_cache": Native("lru_cache", same, True),
        "functools.cache": Native("cache", same, True),
        "functools.wraps": Native("wraps", lambda *_, **__: Native("wraps", lambda f: f, True), True),
        "itertools.chain": Native("chain", lambda *v: iter([x for i in v for x in interp.iterate(i)]), True),
        "itertools.permutations": Native(
            "permutations", lambda v, r=None: iter(list(itertools.islice(itertools.permutations(v, r), 1000)))
        ),
        "argparse.SUPPRESS": "==SUPPRESS==",
        "argparse.OPTIONAL": "?",
        "argparse.ZERO_OR_MORE": "*",
        "argparse.ONE_OR_MORE": "+",
        "argparse.REMAINDER": "...",
        "ssl.CERT_NONE": 0,
        "logging.DEBUG": 10,
        "logging.INFO": 20,
        "logging.WARNING": 30,
        "logging.ERROR": 40,
        "logging.CRITICAL": 50,
        "pathlib.Path": External("pathlib.Path"),
    }
