"""Classes of the source: bodies, attributes, dataclass fields, enums."""

from __future__ import annotations

import ast
import enum
import typing
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_values import (
    MISSING,
    UNDEFINED,
    Bound,
    ClassInfo,
    External,
    FieldInfo,
    FieldObject,
    FieldSpec,
    Function,
    ImportRef,
    Instance,
    Raised,
    Scope,
    Unknown,
    Unsupported,
)

if TYPE_CHECKING:
    from vllm_migrate.catalog.interp import Interpreter
    from vllm_migrate.catalog.interp_eval import Evaluator

_ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")


def build_class(interp: Interpreter, node: ast.ClassDef, scope: Scope) -> Any:
    """Return the stand-in of a class, its body read and its decorators applied."""
    bases = tuple(interp.try_eval(base, scope) for base in node.bases)
    if node.name in interp.natives.get("replaced classes", {}):
        return interp.natives["replaced classes"][node.name]
    inner = Scope({}, scope, scope.module)
    holder = type(node.name, (), {})
    inner.owner = holder
    interp.run(node.body, inner)
    annotations = {
        s.target.id: s.annotation for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    }
    names = dict(inner.names)
    cls = _make(interp, node, bases, names, scope.module.name)
    info = ClassInfo(node, inner, names, annotations, bases=bases)
    interp.infos[cls] = info
    for value in names.values():
        if isinstance(value, Function) and value.owner is holder:
            value.owner = cls
    for base in bases:
        parent = interp.infos.get(base) if isinstance(base, type) else None
        if parent is not None:
            info.pydantic = info.pydantic or parent.pydantic
            info.extra = info.extra or parent.extra
    if any(isinstance(b, External) and b.text.rpartition(".")[2] == "BaseModel" for b in bases):
        _model(info)
    for decorator in reversed(node.decorator_list):
        # A decorator that cannot be followed is taken to leave the class as it is.
        function = interp.try_eval(decorator, scope)
        if not isinstance(function, Unknown):
            try:
                interp.call(function, [cls], {})
            except (Raised, Unsupported) as error:
                interp.notes.append(f"{scope.module.path}:{node.lineno}: decorator of {node.name}: {error}")
    return cls


def _model(info: ClassInfo) -> None:
    config = info.namespace.get("model_config")
    info.pydantic = info.dataclass = True
    if isinstance(config, dict) and isinstance(config.get("extra"), str):
        info.extra = config["extra"]


def _make(interp: Interpreter, node: ast.ClassDef, bases: tuple[Any, ...], names: dict[str, Any], module: str) -> type:
    tails = [b.text.rpartition(".")[2] if isinstance(b, External) else "" for b in bases]
    enums = [b for b in bases if isinstance(b, type) and issubclass(b, enum.Enum)]
    if enums or any(t in _ENUMS for t in tails):
        return _make_enum(node.name, bases, enums, names, module)
    if "TypedDict" in tails or any(b is typing.TypedDict for b in bases):
        make: Any = typing.TypedDict
        made = make(node.name, {})
        made.__module__ = module
        return typing.cast(type, made)
    plain_bases = [typing.get_origin(b) or b for b in bases]
    real = [b for b in plain_bases if isinstance(b, type) and (b in interp.infos or b is dict)]
    unique = tuple(dict.fromkeys(real))
    try:
        cls = type(node.name, unique, {})
    except TypeError:
        cls = type(node.name, (), {})
    cls.__module__ = module
    return cls


def _make_enum(name: str, bases: tuple[Any, ...], enums: list[type], names: dict[str, Any], module: str) -> type:
    members = {
        k: (object() if isinstance(v, Unknown) else v)
        for k, v in names.items()
        if not k.startswith("_") and not isinstance(v, (Function, ImportRef))
    }
    mixed = str if any(b is str for b in bases) else None
    for base in bases:
        tail = base.text.rpartition(".")[2] if isinstance(base, External) else ""
        mixed = str if tail == "StrEnum" else mixed
        if isinstance(base, type) and issubclass(base, enum.Enum) and issubclass(base, str):
            mixed = str
    if mixed is str and not all(isinstance(v, (str, enum.auto)) for v in members.values()):
        mixed = None
    make: Any = enum.Enum
    try:
        made = make(name, list(members.items()), module=module, type=mixed)
    except (TypeError, ValueError):
        made = make(name, [(k, k) for k in members], module=module)
    return typing.cast(type, made)


def _mro(interp: Evaluator, cls: type) -> list[type]:
    own = [c for c in cls.__mro__ if c in interp.infos]
    # An enum's parents are not parents of the stand-in.
    for base in interp.infos[cls].bases if cls in interp.infos else ():
        if isinstance(base, type) and base in interp.infos and base not in own:
            own.append(base)
    return own


def class_attribute(interp: Evaluator, cls: type, name: str, *, first: Any = None, after: type | None = None) -> Any:
    """Return what `cls.name` (or, with `first` an object, `first.name`) yields."""
    order = _mro(interp, type(first) if after is not None and isinstance(first, Instance) else cls)
    if after is not None:
        start = first.cls if isinstance(first, Instance) else first if isinstance(first, type) else cls
        order = _mro(interp, start)
        order = order[order.index(after) + 1 :] if after in order else []
    for owner in order:
        namespace = interp.infos[owner].namespace
        if name in namespace:
            return _bound(interp, namespace[name], owner, cls if after is None else first, first)
    if isinstance(cls, type) and issubclass(cls, enum.Enum) and name in cls.__members__:
        return cls[name]
    if name in ("__name__", "__qualname__"):
        return cls.__name__
    if name == "__doc__":
        return ast.get_docstring(interp.infos[cls].node) if cls in interp.infos else None
    if name == "__module__":
        return cls.__module__
    if name == "__members__" and issubclass(cls, enum.Enum):
        return dict(cls.__members__)
    if name == "__init__" or after is not None:
        return Unknown(f"{cls.__name__}.{name}")
    infos = [interp.infos[c] for c in order]
    if infos and all(isinstance(b, type) and b in interp.infos for i in infos for b in i.bases):
        raise Raised("AttributeError", f"{cls.__name__}.{name}")
    return Unknown(f"{cls.__name__}.{name}")


def _bound(interp: Evaluator, value: Any, owner: type, cls: Any, first: Any) -> Any:
    value = interp.resolve(value)
    if isinstance(value, Function):
        if value.kind == "static":
            return value
        if value.kind == "class":
            return Bound(value, cls if isinstance(cls, type) else owner)
        if first is not None and not isinstance(first, type):
            return interp.call(value, [first], {}) if value.kind == "property" else Bound(value, first)
        return value
    if isinstance(owner, type) and issubclass(owner, enum.Enum):
        name = next((k for k, v in interp.infos[owner].namespace.items() if v is value), None)
        if name is not None and name in owner.__members__:
            return owner[name]
    # dataclasses leave a field's default as the class's attribute
    if isinstance(value, FieldSpec):
        if value.default is MISSING:
            raise Raised("AttributeError", "a field without default")
        value = value.default
    if isinstance(value, FieldInfo) and interp.infos[owner].pydantic and value.default is not UNDEFINED:
        return value.default
    return value


def instance_attribute(interp: Evaluator, instance: Instance, name: str) -> Any:
    """Return an attribute of an object whose constructor was followed as far as possible."""
    if name in instance.attributes:
        return instance.attributes[name]
    if name == "__class__":
        return instance.cls
    value = class_attribute(interp, instance.cls, name, first=instance)
    if isinstance(value, (FieldSpec, FieldInfo)):
        return Unknown(f"{instance.cls.__name__}.{name}")
    return value


def dataclass_fields(interp: Evaluator, cls: type) -> list[FieldObject]:
    """Return the fields of a dataclass in the order of its parameters, those of its bases first."""
    found: dict[str, FieldObject] = {}
    for owner in reversed(_mro(interp, cls)):
        info = interp.infos[owner]
        if not info.dataclass:
            continue
        for name, annotation in info.annotations.items():
            text = ast.unparse(annotation)
            if "ClassVar" in text or "InitVar" in text or "ConfigDict" in text:
                continue
            default = interp.resolve(info.namespace.get(name, MISSING))
            factory: Any = MISSING
            init = True
            if isinstance(default, FieldSpec):
                default, factory, init = default.default, default.default_factory, default.init
            if isinstance(default, FieldInfo) and default.init is not None:
                init = bool(default.init)
            kind = interp.try_eval(annotation, info.scope)
            found[name] = FieldObject(name, kind, default, factory, init, annotation, info.scope, owner)
    return list(found.values())


def default_of(interp: Evaluator, field: FieldObject) -> Any:
    """Return a field's default, its factory called; MISSING where a value must be given."""
    default, factory = field.default, field.default_factory
    if isinstance(default, FieldInfo):
        factory = MISSING if default.default_factory is None else default.default_factory
        default = MISSING if default.default is UNDEFINED else default.default
    if default is not MISSING and default is not Ellipsis:
        return default
    if factory is MISSING:
        return MISSING
    try:
        return interp.call(factory, [], {})
    except (Raised, Unsupported):
        return Unknown("factory")
