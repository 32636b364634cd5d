"""The values a reading of Python source can yield: plain ones are Python's own, the rest stand-ins.

Nothing here holds code that could be run: a `Function` is a piece of syntax tree.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Union


class Unknown:
    """A value only a run could tell. Works wherever typing wants a type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.__name__ = text.rpartition(".")[2]

    def __repr__(self) -> str:
        return self.text

    def __call__(self) -> None:  # typing accepts as a type only what is callable
        raise TypeError(f"{self.text} is not known")

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007  # neither is a type the operator knows

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007


class External(Unknown):
    """A named thing of a package that is not read (`torch.dtype`): unknown inside, but always itself."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.__module__ = text.rpartition(".")[0] or text


class Missing:
    """A marker such as `dataclasses.MISSING`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


MISSING = Missing("MISSING")
UNDEFINED = Missing("PydanticUndefined")


@dataclass(eq=False)
class Scope:
    """Names of one function call, class body or module."""

    names: dict[str, Any]
    parent: Scope | None
    module: Module
    owner: type | None = None
    first: Any = None
    outer: set[str] = field(default_factory=set)

    def top(self) -> Scope:
        return self if self.parent is None else self.parent.top()


@dataclass(eq=False)
class Module:
    """One module of the tree that is read."""

    name: str
    package: str
    path: str
    globals: dict[str, Any] = field(default_factory=dict)
    tree: ast.Module | None = None


@dataclass(eq=False)
class ImportRef:
    """A name bound by an import, looked up only when used. attr None: the module itself."""

    module: str
    attr: str | None


@dataclass(eq=False)
class Function:
    """A function or lambda with the scope it was defined in."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    defaults: list[Any] = field(default_factory=list)
    kw_defaults: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    """"", "static", "class" or "property"."""
    owner: type | None = None
    decorators: tuple[str, ...] = ()

    def __call__(self) -> None:  # typing accepts as a type only what is callable
        raise TypeError("not runnable")


@dataclass(eq=False)
class Bound:
    """A function together with its first argument."""

    function: Any
    first: Any


@dataclass(eq=False)
class Partial:
    """What functools.partial returns."""

    function: Any
    args: tuple[Any, ...]
    keywords: dict[str, Any]


@dataclass(eq=False)
class Instance:
    """An object of a class that was read; its constructor was not followed."""

    cls: type
    args: tuple[Any, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class SuperProxy:
    owner: type
    first: Any


@dataclass(eq=False)
class FieldSpec:
    """`dataclasses.field(...)`."""

    default: Any = MISSING
    default_factory: Any = MISSING
    init: bool = True


@dataclass(eq=False)
class FieldInfo:
    """`pydantic.Field(...)`."""

    default: Any = UNDEFINED
    default_factory: Any = None
    init: Any = None
    alias: Any = None
    validation_alias: Any = None
    deprecated: Any = None
    ge: Any = None
    gt: Any = None
    le: Any = None
    lt: Any = None


@dataclass(eq=False)
class FieldObject:
    """One result of `dataclasses.fields`."""

    name: str
    type: Any
    default: Any
    default_factory: Any
    init: bool
    annotation: ast.expr
    scope: Scope
    owner: type | None = None


@dataclass(eq=False)
class ClassInfo:
    """What a class body said; the class itself is an empty stand-in that typing can work with."""

    node: ast.ClassDef
    scope: Scope
    namespace: dict[str, Any]
    annotations: dict[str, ast.expr]
    dataclass: bool = False
    pydantic: bool = False
    extra: str | None = None
    bases: tuple[Any, ...] = ()
    initvars: frozenset[str] = frozenset()


@dataclass(eq=False)
class Native:
    """One of the few functions the reader knows how to work out itself."""

    name: str
    call: Any
    takes_unknown: bool = False

    def __call__(self) -> None:  # typing accepts as a type only what is callable
        raise TypeError("not runnable")


class Unsupported(Exception):
    """A construct the reader does not follow."""


class Raised(Exception):
    """The source would have raised an exception of this name."""

    def __init__(self, name: str, text: str = "") -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Stop(Exception):
    """The source reached the end of what is worth following (`parse_args`)."""
