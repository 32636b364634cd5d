"""Which function of a script sees a variable that another one sets."""

from __future__ import annotations

from dataclasses import field

from vllm_migrate.hosts.shell_tree import Node
from vllm_migrate.lazy import dataclass

_LOCAL = frozenset(("local", "declare", "typeset"))


def function_of(node: Node) -> Node | None:
    """Return the innermost function a command stands in."""
    return next((a for a in node.ancestors() if a.kind == "function"), None)


@dataclass
class Scopes:
    """The functions of one script by name, filled while the script is read.

    A shell scopes by call: what is local to a function is seen by those it calls, and what those set is
    set there.
    """

    functions: dict[str, Node]
    _locals: dict[int, frozenset[str]] = field(default_factory=dict)
    _called: dict[int, frozenset[int]] = field(default_factory=dict)

    def sees(self, name: str, source: Node, use: Node) -> bool:
        """Tell whether a variable that one command sets may be the one that another command reads."""
        setter, user = function_of(source), function_of(use)
        if setter is user:
            return True
        if setter is not None and name in self.locals(setter):
            return user is not None and self.calls(setter, user)
        if user is not None and name in self.locals(user):
            return setter is not None and self.calls(user, setter)
        return True

    def between(self, source: Node, use: Node) -> bool:
        """Tell whether what a command of another function sets may happen in the midst of the user's."""
        setter, user = function_of(source), function_of(use)
        return setter is user or user is None or (setter is not None and self.calls(user, setter))

    def locals(self, function: Node) -> frozenset[str]:
        """Return the names a function declares for itself."""
        known = self._locals.get(id(function))
        if known is None:
            names: set[str] = set()
            for node in function.walk():
                first = node.words[0].text if node.kind == "command" and node.words else ""
                if first in _LOCAL and not any(w.text.startswith("-") and "g" in w.text for w in node.words):
                    names |= {a.name for a in node.assignments} | {w.text for w in node.words[1:]}
            known = self._locals[id(function)] = frozenset(names)
        return known

    def calls(self, caller: Node, function: Node) -> bool:
        """Tell whether a function may run inside another one: its name is a word there, or in one that is called."""
        return id(function) in self._reached(caller)

    def _reached(self, caller: Node) -> frozenset[int]:
        known = self._called.get(id(caller))
        if known is None:
            reached: dict[int, Node] = {}
            waiting = [caller]
            while waiting:
                for node in waiting.pop().walk():
                    found = [self.functions.get(w.text) for w in node.words] if node.kind == "command" else []
                    for function in found:
                        if function is not None and id(function) not in reached:
                            reached[id(function)] = function
                            waiting.append(function)
            known = self._called[id(caller)] = frozenset(reached)
        return known
