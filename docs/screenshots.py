"""Takes the pictures under `images/`: the report and the review in a terminal, and the page of a review.

`python docs/screenshots.py [NAME…]` takes those named, or all. It needs a Chromium on PATH, and the example in
`fixtures/example`; nothing here uses a network.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "cli"), str(ROOT / "tests" / "output")]

from browser import Browser, find  # noqa: E402
from terminal import Terminal  # noqa: E402

COLUMNS = 104
_LAUNCH = "[...document.querySelectorAll('h2')].find(e => e.textContent.includes('gpt-oss-20b'))"
TO = ("--to", "0.33.0")
_TO_TOP = "e => (e.scrollIntoView({behavior: 'instant'}), e.getBoundingClientRect().y < 20)"
_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_CLASSES = {
    "1": "bold", "2": "dim", "7": "reverse", "31": "red", "32": "green", "33": "yellow", "34": "blue", "36": "cyan",
}  # fmt: skip
_PAGE = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #1b1f27; width: max-content; overflow: hidden; }
pre { margin: 0; padding: 14px 18px; font: 13px/1.35 "DejaVu Sans Mono", "Liberation Mono", monospace; color: #d6dae2; }
.bold { font-weight: bold; } .dim { color: #8a93a3; }
.red { color: #ff7a78; } .green { color: #7fd88f; } .yellow { color: #f2c86b; }
.blue { color: #82aaff; } .cyan { color: #6fd3e3; }
.red.reverse { background: #ff7a78; color: #1b1f27; } .green.reverse { background: #7fd88f; color: #1b1f27; }
</style><pre>"""


def as_page(printed: str) -> str:
    """Return what a terminal was told to show as a page: its colours, and of lines drawn over, the last."""
    lines = [line.rpartition("\r\x1b[K")[2].replace("\r", "") for line in printed.split("\r\n")]
    out = []
    for index, part in enumerate(_STYLE.split("\n".join(lines))):
        if index % 2 == 0:
            out.append(html.escape(part))
            continue
        names = [_CLASSES[code] for code in part.split(";") if code in _CLASSES]
        out.append(f'</span><span class="{" ".join(names)}">')
    return f"{_PAGE}<span>{''.join(out)}</span></pre>"


def check(folder: Path) -> str:
    """Return the report as a terminal shows it."""
    words = ["check", *TO, "--select", "VM101,VM110", "workstation/serve.sh"]
    terminal = Terminal(words, folder, columns=COLUMNS)
    terminal.end()
    return f"$ vllm-migrate {' '.join(words)}\r\n{terminal.text}"


def review(folder: Path) -> str:
    """Return the question of a review about a fix that changes one word of a line."""
    terminal = Terminal(["review", *TO, "workstation/serve.sh"], folder, columns=COLUMNS)
    while "level was renamed" not in (asked := terminal.wait("(?) ")):
        terminal.type("n\n")
    terminal.hang_up()
    return asked.partition("\r\n")[2]


def page(folder: Path) -> Path:
    """Write the page of a review of the example and return its file."""
    path = folder.parent / "review.html"
    done = subprocess.run(
        [sys.executable, "-m", "vllm_migrate", "review", *TO, "--output-format", "html"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
    )
    path.write_bytes(done.stdout)
    return path


def shoot_text(browser: Browser, make: Callable[[Path], str], folder: Path, target: Path) -> None:
    """Take a picture of a terminal, as large as its text."""
    path = folder.parent / "terminal.html"
    path.write_text(as_page(make(folder)), encoding="utf-8")
    browser.open(path, width=1000, height=400)
    size = browser.run("[document.body.offsetWidth, document.body.offsetHeight]")
    browser.open(path, width=int(size[0]), height=int(size[1]))
    browser.screenshot(target)


def main(names: list[str]) -> int:
    """Take the pictures; returns 2 where there is no browser."""
    program = find()
    if program is None:
        print("no Chromium on PATH", file=sys.stderr)
        return 2
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "example"
        shutil.copytree(ROOT / "fixtures" / "example", folder)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        browser = Browser(program, Path(scratch))
        try:
            for name, make in (("check", check), ("review", review)):
                if not names or name in names:
                    shoot_text(browser, make, folder, IMAGES / f"{name}.png")
            if not names or "page-launch" in names:
                browser.open(page(folder), width=1400, height=1000)
                # What was not on the screen yet gets its height only now: the first try ends somewhere else.
                browser.wait(f"({_TO_TOP})({_LAUNCH})")
                browser.screenshot(IMAGES / "page-launch.png")
            for width, label, height in ((1400, "wide", 1000), (420, "narrow", 900)):
                for dark, scheme in ((False, "light"), (True, "dark")):
                    name = f"page-{label}-{scheme}"
                    if not names or name in names:
                        browser.open(page(folder), width=width, height=height, dark=dark)
                        browser.screenshot(IMAGES / f"{name}.png")
        finally:
            browser.close()
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.relative_to(ROOT)} {path.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
