"""Things that belong together, found pair by pair."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Disjoint(Generic[T]):
    """Sets of things that share nothing: each thing is alone until it is joined with another."""

    def __init__(self) -> None:
        self._above: dict[T, T] = {}

    def root(self, thing: T) -> T:
        """Return the thing that stands for the whole set of another one."""
        above = self._above
        while above.setdefault(thing, thing) != thing:
            above[thing] = above[above[thing]]
            thing = above[thing]
        return thing

    def join(self, one: T, other: T) -> None:
        """Make one set of the sets of two things; what stood for the other's stands for both."""
        self._above[self.root(one)] = self.root(other)
