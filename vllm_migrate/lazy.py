"""What costs time at import is made at first use.

A run over one small file uses few of this package's classes and patterns, and making them all takes longer than the
work itself: a data class about 0.3 ms, a regular expression about 0.2 ms.
"""

from __future__ import annotations

import re
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
        """Make a data class as `dataclasses.dataclass` does (all but `slots`), when its first instance is made.

        Until then the class has no `__dataclass_fields__`: ask an instance for its fields.
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
        import dataclasses

        for base in reversed(cls.__mro__):
            options = _waiting.pop(base, None)
            if options is not None:
                del base.__init__
                dataclasses.dataclass(base, **options)
