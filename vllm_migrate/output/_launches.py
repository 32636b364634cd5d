"""What a launch is called when it is shown to people."""

from __future__ import annotations

from vllm_migrate.model import Dynamic, Site
from vllm_migrate.output._paint import plain

_ENTRY_POINTS = {
    "serve": "vllm serve",
    "api_server": "API server",
    "config": "file for --config",
    "bench": "vllm bench",
}
_KEYS = ("model", "model_name", "modelName", "model_tag")
_LONGEST = 60


def launch_name(site: Site) -> str:
    """Return what starts and, where the file says so, which model: `vllm serve Qwen/Qwen3-8B`."""
    entry = _ENTRY_POINTS.get(site.entry_point, site.entry_point)
    model = model_name(site)
    name = f"{entry} {model}" if model else entry
    name += f" (through {site.wrapper})" if site.wrapper else ""
    return plain(name)


def model_name(site: Site) -> str:
    """Return the model as the file spells it, "" where it does not say."""
    for word, value in zip(site.words, site.words[1:], strict=False):
        if word.text == "--model":
            return _short(value.spelled())
    for word in site.words:
        if word.text.startswith("--model="):
            return _short(word.spelled().partition("=")[2])
    for entry in site.entries:
        if entry.key in _KEYS and not isinstance(entry.value, (dict, list)) and entry.value is not None:
            return _short(entry.value.raw if isinstance(entry.value, Dynamic) else str(entry.value))
    if site.entry_point in ("serve", "bench") and site.words:
        first = site.words[0]
        if not first.text.startswith("-") and not first.splits:
            return _short(first.spelled())
    return ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
