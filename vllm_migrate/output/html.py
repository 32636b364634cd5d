"""One page that holds everything: for a build's artifacts, or to send to someone."""

from __future__ import annotations

from html import escape

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import Located, after, counts, edits_by_file, located, sources
from vllm_migrate.output._paint import plain
from vllm_migrate.output._summary import number
from vllm_migrate.output._unified import hunks
from vllm_migrate.text import Source

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024;
  background: #fff }
h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid #ccd }
article { border-left: 4px solid #888; padding: .1rem 1rem; margin: 1rem 0; background: #f6f7f9 }
article.error { border-color: #c2333c } article.warning { border-color: #b7791f } article.info { border-color: #2b6cb0 }
h3 { font-size: 1rem; margin: .5rem 0 } code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { overflow-x: auto; padding: .5rem; background: #fff; border: 1px solid #dde }
ins { color: #136c2e; text-decoration: none } del { color: #a61b24; text-decoration: none }
dt { font-weight: 600 } dd { margin: 0 0 .4rem 1rem }
@media (prefers-color-scheme: dark) {
  body { color: #e4e6ea; background: #16181c } article { background: #1f2228 }
  pre { background: #16181c; border-color: #363a44 } ins { color: #7ee2a0 } del { color: #ff9aa2 }
}
"""


def render(report: Report, settings: Config) -> str:
    """Return a page that needs no other file and runs no script."""
    found = counts(report)
    known = sources(report)
    target = ", ".join(report.targets) or "the releases the pins name"
    kinds = ", ".join(number(found[s + "s"], s) for s in ("error", "warning", "info"))
    where = f"{number(found['files'], 'file')}, {number(found['sites'], 'launch', 'launches')}"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>vllm-migrate: to {escape(target)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n",
        f"<h1>vLLM: to {escape(target)}</h1>\n<p>{kinds} in {where}; {found['fixable']} with a fix.</p>\n",
    ]
    path = None
    for place in located(report):
        if place.finding.path != path:
            path = place.finding.path
            parts.append(f"<h2><code>{escape(plain(path))}</code></h2>\n")
        parts.append(_finding(place, known))
    parts.append("</body>\n</html>\n")
    # A file name need not be text, a page must be.
    return "".join(parts).encode("utf-8", "replace").decode("utf-8")


def _finding(place: Located, known: dict[str, Source]) -> str:
    finding = place.finding
    head = f"<code>{finding.code}</code> {escape(finding.message)}"
    lines = [f'<article class="{finding.severity}">\n<h3>{head}</h3>\n']
    way = f"{finding.origin} → {finding.to}" if finding.origin else finding.to
    notes = [("Where", f"line {place.line}, column {place.column}"), ("Release", way), ("Why", finding.reason)]
    notes += [("Gone since", finding.removed_in or ""), ("Instead", finding.replacement or "")]
    notes += [("Evidence", text) for text in finding.evidence] + [("Related", text) for text in finding.related]
    if finding.fix is not None:
        notes += [(f"Fix ({finding.fix.safety})", finding.fix.description), ("To decide", finding.fix.why)]
    notes += [("No fix offered", finding.withheld), ("Help", finding.help)]
    if place.source is not None:
        last = min(place.end_line, place.line + 3)
        code = "\n".join(plain(place.source.line(n)) for n in range(place.line, last + 1))
        lines.append(f"<pre>{escape(code)}</pre>\n")
    listed = "".join(f"<dt>{label}</dt><dd>{escape(text)}</dd>\n" for label, text in notes if text)
    lines.append(f"<dl>\n{listed}</dl>\n{_patch(place, known)}</article>\n")
    return "".join(lines)


def _patch(place: Located, known: dict[str, Source]) -> str:
    lines: list[str] = []
    for source, edits in edits_by_file(place.finding, known).items():
        fixed = after(source, edits)
        for header, body in hunks(source.raw, fixed.raw) if fixed is not None else ():
            lines.append(f"{escape(plain(source.path))} {header}")
            for sign, raw in body:
                text = escape(f"{sign} {plain(raw.decode('utf-8').rstrip(chr(13) + chr(10)))}")
                tag = {"-": "del", "+": "ins"}.get(sign)
                lines.append(f"<{tag}>{text}</{tag}>" if tag else text)
    return f"<pre>{chr(10).join(lines)}</pre>\n" if lines else ""
