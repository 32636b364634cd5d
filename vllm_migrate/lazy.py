"""What costs time at import is made at first use.

A run over one small file uses few of this package's classes and patterns, and making them all takes longer than the
work itself: a data class about 0.3 ms, a regular expression about 0.2 ms.
"""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

__all__ = ["dataclass", "regex"]

Class = TypeVar("Class", bound=type)


class _Pattern:
    """Stands for a regular expression; what is asked of it stays in its own dictionary, as fast as the real one."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


@overload
def regex(text: str, flags: int = 0) -> re.Pattern[str]: ...
@overload
def regex(text: bytes, flags: int = 0) -> re.Pattern[bytes]: ...
def regex(text: str | bytes, flags: int = 0) -> re.Pattern[str] | re.Pattern[bytes]:
    """Return what `re.compile` returns, compiled when first used: a wrong pattern fails there.

    It has the methods of a pattern, but the functions of `re` do not take it.
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    _waiting: dict[type, dict[str, Any]] = {}
    """Data classes of which there is no instance yet, and their options."""

    def dataclass(cls: Class | None = None, /, **options: Any) -> Class | Callable[[Class], Class]:
        """Make a data class as `dataclasses.dataclass` does, all but `slots`, when its first instance is made.

        What the standard library compiles anew for each class, all but `__init__`, is shared code here. `frozen` is for
        the type checker and gives a hash: a run-time guard would double the time that each instance takes. Until the
        first instance the class has no `__dataclass_fields__`: ask an instance for its fields.
        """

        def decorate(cls: Class) -> Class:
            def first(self: Any, /, *args: Any, **named: Any) -> None:
                _make(cls)
                cls.__init__(self, *args, **named)

            cls.__init__ = first
            _waiting[cls] = options
            return cls

        return decorate if cls is None else decorate(cls)

    def _make(cls: type) -> None:
        for base in reversed(cls.__mro__):
            options = _waiting.pop(base, None)
            if options is not None:
                del base.__init__
                _finish(base, **options)

    def _finish(cls: type, eq: bool = True, order: bool = False, frozen: bool = False, **options: Any) -> None:
        import dataclasses

        own = set(cls.__dict__)
        dataclasses.dataclass(cls, repr=False, eq=False, **options)
        if "__repr__" not in own:
            cls.__repr__ = _shown
        if not eq or "__eq__" in own:
            return
        names = [f.name for f in dataclasses.fields(cls) if f.compare]
        values = operator.attrgetter(*names)
        cls.__eq__ = _comparing(operator.eq, values)
        cls.__hash__ = (lambda self: hash(values(self))) if frozen else None
        if order:
            cls.__lt__, cls.__le__ = _comparing(operator.lt, values), _comparing(operator.le, values)
            cls.__gt__, cls.__ge__ = _comparing(operator.gt, values), _comparing(operator.ge, values)

    def _comparing(compare: Callable[[Any, Any], bool], values: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def compared(self: Any, other: Any) -> Any:
            return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

        return compared

    @reprlib.recursive_repr()
    def _shown(self: Any) -> str:
        import dataclasses

        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"
