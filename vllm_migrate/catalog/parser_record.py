"""A stand-in for argparse that writes down what a release registers."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_values import Native, Raised, Stop, Unknown
from vllm_migrate.lazy import dataclass

if TYPE_CHECKING:
    from vllm_migrate.catalog.interp import Interpreter


@dataclass
class Action:
    """One `add_argument` call."""

    flags: tuple[str, ...]
    keywords: dict[str, Any]
    group: str | None


@dataclass(eq=False)
class Parser:
    """An argument parser or one of its groups; a group adds to its parser."""

    interp: Interpreter
    prog: str = ""
    actions: list[Action] = field(default_factory=list)
    group: str | None = None
    subparsers: dict[str, Parser] = field(default_factory=dict)

    def vm_attribute(self, name: str) -> Any:
        method = getattr(self, "_at_" + name, None)
        if method is None:
            return Native(f"parser.{name}", lambda *_, **__: Unknown(f"parser.{name}(…)"), True)
        return Native(name, method, True)

    def _at_add_argument(self, *flags: Any, **keywords: Any) -> Any:
        if not flags or not all(isinstance(f, str) for f in flags):
            raise Raised("ValueError", f"an option whose name is not known: {flags!r}")
        taken = {f for a in self.actions for f in a.flags if f.startswith("-")}
        clash = taken & set(flags)
        if clash:
            raise Raised("ArgumentError", f"conflicting option {', '.join(sorted(clash))}")
        action = Action(tuple(flags), keywords, self.group)
        self.actions.append(action)
        return RecordedAction(action)

    def _at_add_argument_group(self, *args: Any, **keywords: Any) -> Parser:
        title = keywords.get("title", args[0] if args else None)
        return dataclasses.replace(self, group=title if isinstance(title, str) else None)

    def _at_add_mutually_exclusive_group(self, **_: Any) -> Parser:
        return self

    def _at_add_subparsers(self, **_: Any) -> Parser:
        return self

    def _at_add_parser(self, name: str, **_: Any) -> Parser:
        made = Parser(self.interp, name)
        self.subparsers[name] = made
        return made

    def _at_parse_args(self, *_: Any, **__: Any) -> Any:
        raise Stop("the parser is complete")

    _at_parse_known_args = _at_parse_args


@dataclass(eq=False)
class RecordedAction:
    """What `add_argument` returns; some releases ask for its names or change its choices."""

    action: Action

    def vm_attribute(self, name: str) -> Any:
        if name == "option_strings":
            return list(self.action.flags)
        if name == "dest":
            return destination(self.action.flags, self.action.keywords)
        return self.action.keywords.get(name, Unknown(f"action.{name}"))


def destination(flags: tuple[str, ...], keywords: dict[str, Any]) -> str:
    """Return argparse's `dest` for an action."""
    given = keywords.get("dest")
    if isinstance(given, str):
        return given
    name = next((f for f in flags if f.startswith("--")), flags[0])
    return name.lstrip("-").replace("-", "_") if name.startswith("-") else name


@dataclass(eq=False)
class ParserClass:
    """The release's own parser class, called to make a parser."""

    interp: Interpreter
    made: list[Parser] = field(default_factory=list)

    def vm_call(self, args: list[Any], keywords: dict[str, Any]) -> Parser:
        parser = Parser(self.interp)
        self.made.append(parser)
        return parser

    def vm_attribute(self, name: str) -> Any:
        return Unknown(f"parser class.{name}")

    def __or__(self, other: Any) -> Any:
        return Unknown("parser class") | other

    def __call__(self) -> None:  # typing accepts as a type only what is callable
        raise TypeError("not runnable")
