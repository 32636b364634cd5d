"""Commands that a variable holds one of: `if …; then cmd=(a …); else cmd=(b …); fi; "${cmd[@]}"`."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_migrate.hosts.shell_script import Binding, Flat, Script
from vllm_migrate.hosts.shell_tree import Node, reaches
from vllm_migrate.launch import find_launch


def alternatives(flats: Sequence[Flat], texts: Sequence[str]) -> list[tuple[Script, Binding]]:
    """Return the values of one variable that begin a launch each, with the script that holds them.

    Args: flats, texts: the words of a command, all values of its variables one after the other. Empty
    where the variable has only one value.
    """
    found: list[tuple[Script, Binding, bool]] = []
    seen: set[int] = set()
    for i, flat in enumerate(flats):
        words = flat.words
        if words.kind not in ("array", "string") or words.parent is not None or id(words) in seen:
            continue
        seen.add(id(words))
        binding = next((b for bs in flat.script.bindings.values() for b in bs if b.words is words), None)
        end = next((k for k in range(i + 1, len(flats)) if flats[k].words is not words), len(flats))
        if binding is not None and not binding.appends:
            found.append((flat.script, binding, find_launch(texts[i:end]) is not None))
    for script, binding, launches in found:
        if launches:
            same = [v for v in found if v[0] is script and v[1].name == binding.name]
            for other in (b for _, b, begins in same if not begins):
                _share(flats, other)
            return [(s, b) for s, b, begins in same if begins] if len(same) > 1 else []
    return []


def _share(flats: Sequence[Flat], other: Binding) -> None:
    """Lock words that another program is given too."""
    for flat in flats:
        words = flat.words
        added = words.parent is not None and words.node is not None and reaches(other.node, words.node)
        if added or words.kind == "command":
            flat.word.locked = flat.word.locked or "another program is given it too"


def values(script: Script, name: str, use: Node) -> list[list[Flat]]:
    """Return the words a variable may hold at a command: one list for each command it may be, else one of all."""
    flats = script.contents(name, use)
    if not flats:
        return []
    others = alternatives(flats, [flat.script.shown(flat, use) for flat in flats])
    out: list[list[Flat]] = []
    for owner, binding in others:
        owner.chosen[binding.name] = binding
        out.append(script.contents(name, use) or [])
        del owner.chosen[binding.name]
    return out or [flats]
