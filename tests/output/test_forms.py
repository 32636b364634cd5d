"""Every form of a report says the same findings at the right places."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from handmade import SCRIPT, edit, finding

from vllm_migrate.config import Config
from vllm_migrate.findings import FileResult, Fix, Report
from vllm_migrate.output import FORMATS, render
from vllm_migrate.paths import schemas_dir
from vllm_migrate.text import Source


@pytest.fixture(autouse=True)
def at_the_root(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(report.root)


def loaded(name: str, report: Report, **settings: Any) -> Any:
    return json.loads(render(name, report, Config(**settings)))


def test_json_fits_its_schema_and_counts(report: Report) -> None:
    data = loaded("json", report)
    schema = json.loads((schemas_dir() / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)
    assert data["version"] == 1
    assert data["target"] == "0.33.0"
    assert data["summary"] == {"files": 3, "sites": 2, "errors": 2, "warnings": 1, "infos": 1, "fixable": 2}


def test_json_is_ordered_by_place_and_counts_code_points(report: Report) -> None:
    found = loaded("json", report)["findings"]
    assert [(f["path"], f["line"], f["column"], f["end_line"], f["end_column"]) for f in found] == [
        ("latin.yaml", 1, 1, 1, 1),
        ("run me.sh", 4, 3, 4, 17),
        ("run me.sh", 5, 3, 5, 26),
        ("run me.sh", 5, 27, 5, 36),
    ]
    swap = found[1]
    assert swap["from"] == "0.17.1"
    assert swap["to"] == "0.33.0"
    assert swap["removed_in"] == "0.18.0"
    assert swap["site"] == {"entry_point": "serve", "host": "shell"}
    assert found[0]["fix"] is None
    assert found[0]["site"] is None


def test_json_edits_are_bytes_of_the_file(report: Report) -> None:
    fix = loaded("json", report)["findings"][1]["fix"]
    raw = SCRIPT.encode()
    (edit,) = fix["edits"]
    assert fix["safety"] == "safe"
    assert raw[edit["start"] : edit["end"]] == b"  --swap-space 4 \\\n"
    assert edit["text"] == ""


def test_concise_marks_what_fix_would_fix(report: Report) -> None:
    lines = render("concise", report, Config()).splitlines()
    assert lines[1] == "run me.sh:4:3: VM101 [*] --swap-space was removed"
    assert lines[2] == "run me.sh:5:3: VM302 --num-lookahead-slots was removed"
    assert len(lines) == 4, "a message of two lines must not break the format"
    unsafe = render("concise", report, Config(unsafe_fixes=True)).splitlines()
    assert unsafe[2].startswith("run me.sh:5:3: VM302 [*] ")


def test_concise_paths_open_from_another_folder(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    below = Path(report.root) / "deep" / "er"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert render("concise", report, Config()).splitlines()[1].startswith("../../run me.sh:4:3: ")
    monkeypatch.chdir("/")
    assert report.root.lstrip("/") + "/run me.sh:4:3: " in render("concise", report, Config())


def test_concise_names_the_target_of_a_rolling_upgrade(report: Report) -> None:
    report.targets = ["0.24.0", "0.33.0"]
    assert render("concise", report, Config()).splitlines()[1].endswith("was removed (0.33.0)")


def test_text_shows_frame_fix_and_reasons(report: Report) -> None:
    text = render("text", report, Config())
    block = next(part for part in text.split("\n\n") if "--swap-space was" in part)
    assert block == "\n".join(
        [
            "error[VM101]: --swap-space was removed",
            " --> run me.sh:4:3",
            "  |",
            "3 | vllm serve m \\",
            "4 |   --swap-space 4 \\",
            "  |   ^^^^^^^^^^^^^^",
            "  = why: The engine never swaps the cache.",
            "  = release: 0.17.1 → 0.33.0, gone since 0.18.0",
            "  = evidence: 0.18.0: the parser refuses it",
            "  = fix: Remove --swap-space",
            "4 | -   --swap-space 4 \\",
            "  = help: Delete it.",
        ]
    )
    assert "fix (unsafe): Use the n-gram method" in text
    assert "Another draft method answers at another speed." in text
    assert "no fix offered: did not prove" in text
    assert "\x1b" not in text


def test_text_in_colour_says_the_same(report: Report) -> None:
    colored = render("text", report, Config(color=True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == render("text", report, Config())


def test_text_does_not_pass_on_control_characters(report: Report) -> None:
    report.files[0].findings[0].message = "bad \x1b]0;title\x07"
    assert "\x1b" not in render("text", report, Config())
    assert "\x1b" not in render("concise", report, Config())


def test_text_clips_a_long_line_around_its_span(report: Report) -> None:

    source = Source("x.json", b'{"a": "' + b"y" * 5000 + b' --swap-space 4"}')
    report.files = [FileResult("x.json", source, [finding(source, "--swap-space 4")])]
    lines = render("text", report, Config()).splitlines()
    assert max(map(len, lines)) < 120
    shown, carets = lines[3], lines[4]
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "--swap-space 4"


@pytest.mark.parametrize("columns", [56, 80])
def test_text_fits_a_narrow_terminal(report: Report, columns: int) -> None:
    lines = render("text", report, Config(width=columns)).splitlines()
    # A message is one line for search, and a word that is longer than the terminal stays whole.
    over = [line for line in lines if len(line) > columns and not line.startswith(("error", "warning", "info"))]
    assert [line for line in over if " " in line.partition(": ")[2].strip() or "|" in line] == []


def test_sarif_places_and_fixes(report: Report) -> None:
    run = loaded("sarif", report)["runs"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    result = run["results"][1]
    assert result["ruleId"] == "VM101"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "VM101"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "run%20me.sh"
    assert place["region"] == {"startLine": 4, "startColumn": 3, "endLine": 4, "endColumn": 17}
    replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["deletedRegion"] == {"startLine": 4, "startColumn": 1, "endLine": 5, "endColumn": 1}
    assert [r["level"] for r in run["results"]] == ["error", "error", "warning", "note"]


def test_github_escapes_messages(report: Report) -> None:
    lines = render("github", report, Config()).splitlines()
    assert lines[1].startswith(
        "::error title=vllm-migrate VM101,file=run me.sh,line=4,endLine=4,col=3,endColumn=17::"
    )
    assert lines[3].startswith("::notice ")
    assert lines[3].endswith("::a note: 100%25%0Asure")
    assert len(lines) == 4


def test_gitlab_fingerprints_differ(report: Report) -> None:
    report.files[0].findings.append(report.files[0].findings[0])
    issues = loaded("gitlab", report)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 5
    assert issues[1]["location"] == {"path": "run me.sh", "lines": {"begin": 4, "end": 4}}
    assert [issue["severity"] for issue in issues] == ["major", "major", "minor", "info", "info"]


def test_rdjson_counts_bytes_and_suggests(report: Report) -> None:

    source = Source("a.sh", "vllm serve größe --swap-space 4 --enable-x 1\n".encode())
    found = finding(source, "--swap-space 4", fix=Fix("safe", "both", []))
    assert found.fix is not None
    found.fix.edits = [("a.sh", edit(source, " --swap-space 4", "")), ("a.sh", edit(source, "-x 1", "-y"))]
    report.files = [FileResult("a.sh", source, [found])]
    (diagnostic,) = loaded("rdjson", report)["diagnostics"]
    assert diagnostic["location"]["range"]["start"] == {"line": 1, "column": 20}
    (suggestion,) = diagnostic["suggestions"]
    assert suggestion["text"] == " --enable-y"
    assert suggestion["range"] == {"start": {"line": 1, "column": 19}, "end": {"line": 1, "column": 47}}
    assert diagnostic["severity"] == "ERROR"


def test_junit_fails_only_what_fails_the_run(report: Report) -> None:
    report.files[0].findings[0].message = "nul \0 & <tag>"
    tree = ElementTree.fromstring(render("junit", report, Config(fail_on="error")))
    assert tree.attrib["tests"] == "5"
    assert tree.attrib["failures"] == "2"
    names = [case.attrib["name"] for case in tree.iter("testcase") if case.find("failure") is not None]
    assert names == ["VM001 latin.yaml", "VM101 --swap-space"]
    assert [suite.attrib["name"] for suite in tree] == ["clean.sh", "latin.yaml", "run me.sh"]


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_report_is_well_formed(name: str) -> None:
    text = render(name, Report(["0.33.0"]), Config())
    if name in ("text", "concise", "github"):
        assert text == ""
    elif name == "junit":
        assert ElementTree.fromstring(text).attrib["tests"] == "0"
    elif name == "html":
        assert text.startswith("<!doctype html>")
    elif name == "markdown":
        assert "Nothing found." in text
    else:
        json.loads(text)


def test_paths_of_services_are_relative_to_the_repository(report: Report) -> None:
    top = Path(report.root)
    (top / ".git").mkdir()
    (top / "sub").mkdir()
    report.root = str(top / "sub")
    assert loaded("gitlab", report)[1]["location"]["path"] == "sub/run me.sh"
    assert "file=sub/run me.sh," in render("github", report, Config())
    assert loaded("rdjson", report)["diagnostics"][1]["location"]["path"] == "sub/run me.sh"
    assert loaded("json", report)["findings"][1]["path"] == "run me.sh"


def test_html_stands_alone_and_escapes(report: Report) -> None:
    report.files[0].findings[0].message = "<script>alert(1)</script>"
    page = render("html", report, Config())
    assert page.count("<script") == 2 and "&lt;script&gt;alert(1)" in page
    assert "http:" not in page and "https:" not in page, "the page needs nothing from elsewhere"
    assert '<del>--swap-space 4 \\</del>' not in page, "a line that goes as a whole has no words marked"
    assert page.count("<article") == page.count("</article>") == 4
    assert re.findall("<h2>(.*)</h2>", page) == ["latin.yaml", "vllm serve", "vllm serve", "vllm serve"]


def test_without_a_release_asked_for_the_pins_say_the_target(report: Report) -> None:
    report.targets = []
    report.files[0].findings[0].to = "0.9.0"
    assert loaded("json", report)["target"] == "0.33.0"
    assert loaded("json", Report([]))["target"] is None
