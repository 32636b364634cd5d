"""The HTML page in a real browser: what is picked there is a patch that git takes and the engine agrees with."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, find
from handmade import edit, finding

from vllm_migrate.config import Config, place_key
from vllm_migrate.findings import FileResult, Fix, Report
from vllm_migrate.output import render
from vllm_migrate.text import Source

PROGRAM = find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")

NAMES = {
    "plain.sh": b"export VLLM_USE_V1=1\nvllm serve m \\\n  --swap-space 4 \\\n  --max-seq-len-to-capture 9 \\\n"
    b"  --disable-log-requests\n",
    "windows & bom.sh": b"\xef\xbb\xbfexport VLLM_USE_V1=1\r\n"
    b"vllm serve m --swap-space 4 --max-seq-len-to-capture 9\r\n",
    "gr\u00f6\u00dfe \U0001f680.yaml": "# \U0001f680\U0001f680\ncommand: [vllm, serve, m, --swap-space, '4', "
    "--max-seq-len-to-capture, '9'] # \U0001f680\nenv:\n- {name: VLLM_USE_V1, value: '1'}".encode(),
    "all.yaml": b"image: vllm/vllm-openai:v0.10.0\nargs:\n- --swap-space=4\n- --max-seq-len-to-capture=9\n"
    b"- --use-v2-block-manager\n",
    "</script><script>x.sh": b"vllm serve '</script><script>document.title=1</script>' --swap-space 4 # <b>&amp;\n",
    "d/quo\"te'.py": b"from vllm import LLM\nLLM('m', swap_space=4,"
    b" max_seq_len_to_capture=9, use_v2_block_manager=True)",
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    it = Browser(PROGRAM, tmp_path_factory.mktemp("downloads"))
    yield it
    it.close()


def git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr.decode(), given)
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, content in NAMES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    git(root, "init", "-q")
    git(root, "config", "core.autocrlf", "false")
    git(root, "add", "-A")
    return root


def settled(**given: Any) -> Config:
    return Config(to=("0.33.0",), from_="0.10.0", **given)


def report_of(root: Path, config: Config) -> Report:
    from vllm_migrate.engine import run

    return run([root], root, config)


Show = Callable[..., Report]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Show:
    def call(report: Report | Path, config: Config | None = None, **how: Any) -> Report:
        config = config or settled(choose=True)
        report = report_of(report, config) if isinstance(report, Path) else report
        page = tmp_path / "page.html"
        page.write_text(render("html", report, config), encoding="utf-8")
        browser.errors.clear()
        browser.requests.clear()
        browser.open(page, **how)
        return report

    return call


def pick(browser: Browser, some: list[int]) -> bytes:
    """Tick exactly these fixes and return the patch shown."""
    browser.run(
        f"""(() => {{ const wanted = new Set({some}); document.getElementById("preview").open = true;
        for (const box of document.querySelectorAll("[data-tick]")) {{
          if (box.checked !== wanted.has(Number(box.dataset.tick))) box.click(); }} }})()"""
    )
    return str(browser.run("document.getElementById('patch').textContent")).encode()


def status(browser: Browser) -> str:
    return str(browser.run("document.getElementById('status').textContent"))


def after(root: Path, patch: bytes) -> dict[str, bytes]:
    """Return the files after a patch; the tree is as before."""
    if patch:
        git(root, "apply", "--whitespace=nowarn", "-", given=patch)
    files = {name: (root / name).read_bytes() for name in NAMES}
    git(root, "checkout", "-q", ".")
    return files


def test_the_patch_that_is_downloaded_is_what_fix_writes(browser: Browser, tree: Path, show: Show) -> None:
    show(tree)
    fixed = {f.path: f.fixed.raw for f in report_of(tree, settled(fix=True)).files if f.fixed is not None}
    assert len(fixed) == len(NAMES)
    patch = browser.download("#download")
    assert [p.name for p in browser.downloads.iterdir()] == ["vllm-0.33.0.patch"]
    assert after(tree, patch) == fixed
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "blob:"))] == []


def test_any_selection_is_what_the_engine_writes_for_it(browser: Browser, tree: Path, show: Show) -> None:
    report = show(tree, settled(choose=True, unsafe_fixes=True))
    assert any(len(cluster.members) > 1 for cluster in report.clusters), "some of them depend on each other"
    choices = report.choices
    dice = random.Random(5)
    selections = [[], list(range(len(choices)))] + [
        sorted(dice.sample(range(len(choices)), dice.randint(1, len(choices) - 1))) for _ in range(14)
    ]
    for some in selections:
        got = after(tree, pick(browser, some))
        chosen = frozenset(place_key(f) for i in some for f in choices[i].findings)
        run = report_of(tree, settled(fix=True, unsafe_fixes=True, chosen=chosen))
        wanted = {**NAMES, **{f.path: f.fixed.raw for f in run.files if f.fixed is not None}}
        assert got == wanted, some
    assert status(browser).startswith(f"{len(selections[-1])} of {len(choices)} fixes ticked: ")


def test_embedded_text_is_text(browser: Browser, tree: Path, show: Show) -> None:
    report = show(tree)
    page = render("html", report, settled(choose=True))
    assert browser.run("document.scripts.length") == 2 == page.count("<script")
    assert browser.run("document.title") != "1"
    policy = browser.run("document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "*" not in policy
    browser.run("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))")
    assert browser.run("window.evil") is None, "the policy lets no other program run"


SHOWN = "[...document.querySelectorAll('article')].filter((a) => a.getClientRects().length)"


def choose(browser: Browser, name: str, value: str) -> None:
    browser.run(
        f"""(() => {{ const e = document.getElementById("f-{name}"); e.value = {json.dumps(value)};
        e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input", {{bubbles: true}})); }})()"""
    )


def test_filters(browser: Browser, tree: Path, show: Show) -> None:
    show(tree)
    ticked = int(status(browser).split()[0])
    total = browser.run(f"{SHOWN}.length")
    choose(browser, "rule", "VM403")
    rules = browser.run(f"{SHOWN}.map((a) => a.dataset.rule)")
    assert rules and all("VM403" in rule.split() for rule in rules) and len(rules) < total
    assert browser.run("document.getElementById('shown').textContent") == f"{len(rules)} of {total} shown"
    choose(browser, "path", "PLAIN.sh")
    assert browser.run(f"{SHOWN}.map((a) => a.dataset.path)") == ["plain.sh"]
    browser.click("#untick-shown")
    assert status(browser).startswith(f"{ticked - 1} of ")
    choose(browser, "rule", "")
    choose(browser, "path", "")
    choose(browser, "severity", "info")
    assert browser.run(f"{SHOWN}.every((a) => a.dataset.severity.split(' ').includes('info'))")
    choose(browser, "safety", "none")
    assert browser.run(f"{SHOWN}.every((a) => a.dataset.choice === undefined)")
    browser.click("#filters [type=reset]")
    browser.wait(f"{SHOWN}.length === {total}")


def test_keys(browser: Browser, tree: Path, show: Show) -> None:
    show(tree)
    before = int(status(browser).split()[0])
    browser.press("j")
    first = browser.run("document.activeElement.id")
    assert first == browser.run(f"{SHOWN}[0].id") != ""
    browser.press("j")
    assert browser.run("document.activeElement.id") == browser.run(f"{SHOWN}[1].id")
    browser.press("k")
    assert browser.run("document.activeElement.id") == first
    here = browser.run("document.activeElement.dataset.choice !== undefined")
    while not here:
        browser.press("j")
        here = browser.run("document.activeElement.dataset.choice !== undefined")
    browser.press(" ")
    assert int(status(browser).split()[0]) == before - 1
    assert browser.run("document.activeElement.querySelector('input').checked") is False
    browser.press("x")
    assert browser.run("document.activeElement.querySelector('details').open") is True
    browser.press("x")
    assert browser.run("document.activeElement.querySelector('details').open") is False
    browser.press("/")
    browser.press("x")
    assert browser.run("document.activeElement.id + document.activeElement.value") == "f-pathx"


def test_it_says_what_becomes_of_a_launch(browser: Browser, tree: Path, show: Show) -> None:
    report = show(tree)
    stage = "[...document.querySelectorAll('section')].find((s) => s.textContent.includes('plain.sh'))"
    told = f"[...{stage}.querySelectorAll('.stage')].map((s) => s.textContent.replace(/\\s+/g, ' '))"
    now, as_is, then = browser.run(told)
    assert now == "NowvLLM 0.10.0"
    assert as_is.startswith("On 0.33.0 as it isdoes not start2 breaks at start, 1 silently ignored")
    assert "nothing known stops it" in then and "ignored" not in then
    pick(browser, [])
    assert "still does not start2 things left that it refuses, 1 setting still ignored" in browser.run(told)[2]
    assert browser.run("document.getElementById('written').textContent") == "0"
    titles = browser.run("[...document.querySelectorAll('.tiles li')].map((t) => t.textContent.replace(/\\d+/, ''))")
    assert titles == [
        "breaks at start", "silently ignored", "behaves differently", "nothing breaks", "rewritten by what is ticked",
        "left to a person",
    ]  # fmt: skip
    errors = sum(f.severity == "error" for f in report.findings())
    assert browser.run("document.querySelector('.tiles b').textContent") == str(errors)


def test_a_screen_reader_finds_its_way(browser: Browser, tree: Path, show: Show) -> None:
    show(tree)
    nodes = [n for n in browser.send("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]

    def named(role: str) -> list[str]:
        return [n.get("name", {}).get("value", "") for n in nodes if n["role"]["value"] == role]

    for landmark in ("banner", "main", "navigation", "search", "contentinfo"):
        assert len(named(landmark)) == 1, landmark
    live = [n for n in nodes if n["role"]["value"] == "status" and n.get("properties")]
    assert any(p["name"] == "live" and p["value"]["value"] == "polite" for n in live for p in n["properties"])
    for role in ("checkbox", "combobox", "searchbox", "button", "article", "link"):
        assert named(role) and all(named(role)), f"each {role} has a name"
    levels = browser.run("[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and all(b <= a + 1 for a, b in itertools.pairwise(levels))
    ids = browser.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    targets = browser.run("[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))")
    assert set(targets) <= set(ids)
    assert browser.run("document.documentElement.lang") == "en"


CONTRAST = """(() => {
  const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!c.startsWith("rgba(0, 0, 0, 0")) return c; } return "rgb(255, 255, 255)"; };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    if (e.disabled || e.matches(".vh, option, script, noscript") || !e.getClientRects().length) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = light(getComputedStyle(e).color), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.textContent.slice(0, 30)}`);
  }
  return [...new Set(low)]; })()"""


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_can_be_read(browser: Browser, tree: Path, show: Show, dark: bool) -> None:
    show(tree, dark=dark)
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) is dark
    assert browser.run(CONTRAST) == []


def test_a_narrow_screen_stacks(browser: Browser, tree: Path, show: Show) -> None:
    show(tree, width=360)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    row = "[...document.querySelector('.diff tr:has(.minus):has(.plus)').querySelectorAll('.minus, .plus')]"
    tops = browser.run(f"{row}.map((c) => c.getBoundingClientRect().top)")
    assert len(tops) == 2 and tops[0] < tops[1]
    assert browser.run("getComputedStyle(document.querySelector('.diff .again')).display") == "none"
    show(tree, width=1280)
    tops = browser.run(f"{row}.map((c) => c.getBoundingClientRect().top)")
    assert tops[0] == tops[1], "side by side where there is room"
    marks = browser.run(f"{row}.map((c) => [...c.querySelectorAll('del, ins')].map((m) => m.textContent))")
    assert any(marks) and all(len(m) < 40 for side in marks for m in side), "the words that differ are marked"


def test_it_prints_what_matters(browser: Browser, tree: Path, show: Show) -> None:
    show(tree)
    browser.send("Emulation.setEmulatedMedia", media="print")
    for gone in ("nav", "form", "footer"):
        assert browser.run(f"getComputedStyle(document.querySelector('{gone}')).display") == "none"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('article details:not([open])').length") == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('article details[open]').length") == 0
    browser.send("Emulation.setEmulatedMedia", media="")


def test_a_thousand_findings(browser: Browser, tmp_path: Path, show: Show) -> None:
    files = []
    for i in range(100):
        text = f"# {i}\n" + "".join(f"run {j} --flag{j} {i}\n# one\n# two\n# three\n# four\n" for j in range(10))
        source = Source(f"deploy/{i:03}.sh", text.encode())
        found = []
        for j in range(10):
            fix = Fix("safe" if j % 2 else "unsafe", f"Remove --flag{j}", [], why="" if j % 2 else "Look at it.")
            fix.edits = [(source.path, edit(source, f" --flag{j} {i}\n", "\n"))]
            found.append(finding(source, f"--flag{j} {i}", fix=fix, reason="It is gone. " * 20))
        files.append(FileResult(source.path, source, found, 10))
    report = Report(["0.33.0"], files, root=str(tmp_path))
    show(report)
    assert status(browser) == "500 of 1000 fixes ticked: 500 hunks in 100 files"
    slow = browser.run(
        """(() => { const box = document.querySelector("#c0 input"); const took = [];
        for (let i = 0; i < 5; i++) { const start = performance.now(); box.click(); box.getBoundingClientRect();
          took.push(performance.now() - start); }
        return Math.min(...took); })()"""
    )
    assert slow < 1000, "milliseconds from a tick to the patch"
    choose(browser, "path", "deploy/042.sh")
    assert browser.run(f"{SHOWN}.length") == 10
    assert browser.errors == []


def test_fixes_that_meet_are_one_choice_where_nobody_says_more(tmp_path: Path, browser: Browser, show: Show) -> None:
    source = Source("a.sh", b"run --a 1 --b 2 --c 3\n")
    found = []
    for old, new in ((" --a 1 --b 2", ""), (" --b 2 --c 3", " --d"), (" --c 3", ""), ("ru", "Ru")):
        fix = Fix("safe", f"Remove {old}", [])
        fix.edits = [("a.sh", edit(source, old, new))]
        found.append(finding(source, old.strip(), fix=fix))
    show(Report(["0.33.0"], [FileResult("a.sh", source, found, 1)], root=str(tmp_path)), Config())
    assert status(browser).startswith("2 of 2 fixes ticked")
    last = [i for i, text in enumerate(browser.run(f"{SHOWN}.map((a) => a.textContent)")) if "Remove ru" in text]
    assert pick(browser, last).decode().splitlines()[3:] == [
        "@@ -1 +1 @@", "-run --a 1 --b 2 --c 3", "+Run --a 1 --b 2 --c 3"
    ]  # fmt: skip


def test_several_targets_are_one_choice_where_they_ask_for_the_same(
    browser: Browser, tree: Path, show: Show
) -> None:
    config = Config(to=("0.20.0", "0.33.0"), from_="0.10.0", choose=True)
    report = show(tree, config)
    assert {f.to for f in report.findings()} == {"0.20.0", "0.33.0"}
    card = f"{SHOWN}.find((a) => a.dataset.path === 'plain.sh' && a.textContent.includes('remove --swap-space'))"
    told = browser.run(f"[...{card}.querySelectorAll('.found > li')].map((li) => li.textContent)")
    assert len(told) == 2 and "0.10.0 → 0.20.0" in told[0] and "0.10.0 → 0.33.0" in told[1]
    left = browser.run(f"{SHOWN}.filter((a) => a.dataset.choice === undefined).map((a) => a.textContent)")
    own = [text for text in left if "A fix of its own" in text]
    assert all("(check with --to 0.20.0 alone)" in text for text in own)
    assert len(left) - len(own) == sum(f.fix is None for f in report.findings())


def test_an_empty_report_is_a_page(browser: Browser, show: Show) -> None:
    show(Report(["0.33.0"]), Config())
    assert "Nothing found." in browser.run("document.querySelector('main').textContent")
    assert browser.run("document.getElementById('download').disabled") is True
    assert browser.errors == []
