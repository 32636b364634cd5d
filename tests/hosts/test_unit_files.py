"""systemd units, quadlets, supervisor programs, setup.cfg."""

from __future__ import annotations

import shlex

import pytest
from small_hosts import check_identity, env, pins, read, render, word, words

from vllm_migrate.hosts import host, ini
from vllm_migrate.hosts.unit_words import quote_assignment, quote_supervised, quote_word, split_unit_words
from vllm_migrate.model import (
    CannotRender,
    InsertText,
    InsertVariable,
    InsertWords,
    Remove,
    Rename,
    Replace,
    Variable,
    fill,
)

needs_shell = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

UNIT = """\
[Unit]
Description=vllm serve for the team

[Service]
Environment=VLLM_USE_V1=1 "CUDA_VISIBLE_DEVICES=0,1"
Environment=HF_HOME=/models
EnvironmentFile=-/etc/vllm.env
ExecStart=/opt/vllm/bin/vllm serve Qwen/Qwen3-8B \\
    --swap-space 4 \\
    # what the drafts come from
    --speculative-config '{"method": "ngram"}' \\
    --port ${PORT} $EXTRA
Restart=always
"""


def variables(text: str, path: str = "vllm.service") -> dict[str, Variable]:
    return {v.name: v for v in read(ini, text, path).sites[0].variables}


def test_what_a_unit_starts() -> None:
    found = read(ini, UNIT, "vllm.service")
    assert words(found) == [
        "Qwen/Qwen3-8B",
        "--swap-space",
        "4",
        "--speculative-config",
        '{"method": "ngram"}',
        "--port",
        "${PORT}",
        "$EXTRA",
    ]
    assert env(found) == {"VLLM_USE_V1": "1", "CUDA_VISIBLE_DEVICES": "0,1", "HF_HOME": "/models"}
    site = found.sites[0]
    assert site.open and site.words[-1].splits and not site.words[-2].splits
    assert found.links == ["/etc/vllm.env"]
    check_identity(found, UNIT)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(newline: str) -> None:
    text = UNIT.replace("\n", newline)
    found = read(ini, text, "vllm.service")
    site = found.sites[0]
    by_name = {v.name: v for v in site.variables}
    assert site.word_home is not None and site.variable_home is not None
    after = render(
        found,
        text,
        [
            Remove(word(found, "--swap-space")),
            Remove(word(found, "4")),
            Replace(word(found, '{"method": "ngram"}'), '{"method": "suffix"}'),
            InsertWords(site.word_home, ["--device-ids", "0,1"], before=site.words[-1]),
            Remove(by_name["CUDA_VISIBLE_DEVICES"]),
            Rename(by_name["HF_HOME"], "HF_HUB_CACHE"),
            InsertVariable(site.variable_home, "A", "x y"),
        ],
    )
    assert after == (
        UNIT.replace(' "CUDA_VISIBLE_DEVICES=0,1"', "")
        .replace("HF_HOME=/models", 'HF_HUB_CACHE=/models "A=x y"')
        .replace("    --swap-space 4 \\\n", "")
        .replace("ngram", "suffix")
        .replace("${PORT} $EXTRA", "${PORT} --device-ids 0,1 $EXTRA")
    ).replace("\n", newline)


def test_the_last_assignment_takes_its_line() -> None:
    found = read(ini, UNIT, "vllm.service")
    gone = [v for v in found.sites[0].variables if v.name == "HF_HOME"]
    assert render(found, UNIT, [Remove(v) for v in gone]) == UNIT.replace("Environment=HF_HOME=/models\n", "")


def test_only_when_one_process_sees_it() -> None:
    assert variables(UNIT)["VLLM_USE_V1"].only
    more = UNIT.replace("ExecStart=", "ExecStartPre=/usr/bin/warm-up\nExecStart=")
    assert not variables(more)["VLLM_USE_V1"].only


def test_a_unit_without_environment_gets_a_line() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve m\n"
    found = read(ini, text, "a.service")
    home = found.sites[0].variable_home
    assert home is not None
    assert render(found, text, [InsertVariable(home, "A", "1")]) == text.replace("Exec", "Environment=A=1\nExec")


def test_quoting_of_percent_and_dollar() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve %h/m --x 100%% --y $$HOME\n"
    found = read(ini, text, "a.service")
    assert words(found) == ["%h/m", "--x", "100%", "--y", "$HOME"]
    check_identity(found, text)
    after = render(found, text, [Replace(word(found, "$HOME"), "$X 5%d")])
    assert words(read(ini, after, "a.service"))[-1] == "$X 5%d"


def test_env_program_and_docker_in_a_unit() -> None:
    text = (
        "[Service]\nExecStart=-/usr/bin/docker run --rm -e VLLM_USE_V1=1 "
        "vllm/vllm-openai:v0.17.1 --model m --swap-space 4\n"
    )
    found = read(ini, text, "a.service")
    assert words(found) == ["--model", "m", "--swap-space", "4"] and env(found) == {"VLLM_USE_V1": "1"}
    assert pins(found) == ["vllm/vllm-openai:v0.17.1"]
    check_identity(found, text)


def test_quadlet() -> None:
    text = "[Container]\nImage=docker.io/vllm/vllm-openai:v0.17.1\nEnvironment=A=1\nExec=--model m --swap-space 4\n"
    found = read(ini, text, "vllm.container")
    assert words(found) == ["--model", "m", "--swap-space", "4"] and env(found) == {"A": "1"}
    assert [p.whole for p in found.sites[0].pins] == ["docker.io/vllm/vllm-openai:v0.17.1"]
    assert render(found, text, [Remove(w) for w in found.sites[0].words]) == text.rsplit("Exec", 1)[0]


def test_supervisor() -> None:
    text = '[program:vllm]\ncommand=vllm serve m --swap-space 4\nenvironment=A="1",VLLM_USE_V1="1"\n'
    found = read(ini, text, "supervisord.conf")
    assert env(found) == {"A": "1", "VLLM_USE_V1": "1"}
    check_identity(found, text)
    after = render(found, text, [Remove(found.sites[0].variables[1]), *(Remove(w) for w in found.sites[0].words[1:])])
    assert after == '[program:vllm]\ncommand=vllm serve m\nenvironment=A="1"\n'


def test_setup_cfg() -> None:
    text = (
        "[metadata]\nname = x\n[options]\npython_requires = >=3.9\ninstall_requires =\n    vllm==0.11.0\n"
        "    transformers<5\n\n[options.extras_require]\na = ray\n"
    )
    found = read(ini, text, "setup.cfg")
    assert pins(found) == [">=3.9", "vllm==0.11.0", "transformers<5", "ray"]
    check_identity(found, text)
    _, vllm, transformers, ray = found.pins
    after = render(
        found,
        text,
        [InsertText(vllm, "requirement", "x"), Remove(transformers), InsertText(ray, "requirement", "y")],
    )
    assert after == text.replace("    transformers<5\n", "    x\n").replace("a = ray\n", "a = ray\n    y\n")


@needs_shell
def test_script_in_quotes() -> None:
    text = "[Service]\nExecStart=/bin/bash -lc 'exec vllm serve $$M --swap-space 4 \\\n  --port 1'\n"
    found = read(ini, text, "a.service")
    assert words(found) == ["$M", "--swap-space", "4", "--port", "1"]
    check_identity(found, text)
    after = render(found, text, [Remove(word(found, "--swap-space")), Remove(word(found, "4"))])
    assert words(read(ini, after, "a.service")) == ["$M", "--port", "1"]


# What systemd 252 hands over for each (its own `extract_first_word`, as it reads `ExecStart=`).
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('a"b c"d e', ["ab cd", "e"]),
        ('--x="a b"  c', ["--x=a b", "c"]),
        ("""'{"a": "x\\\\y"}'""", ['{"a": "x\\y"}']),
        ("""'say \\"x\\"' "it's" 'a\\'b'""", ['say "x"', "it's", "a'b"]),
        ("\"a\\tb\" 'c\\td' e\\sf", ["a\tb", "c\td", "e f"]),
        ("\\a\\b\\f\\n\\r\\t\\v|", ["\a\b\f\n\r\t\v|"]),
        ("'\\x41\\101\\u00e9\\U0001F600'", ["AA\xe9\U0001f600"]),
        ("a\\qb '\\d' x\\", ["a\\qb", "\\d", "x\\"]),
        ("100%% $$HOME a;b", ["100%", "$HOME", "a;b"]),
        ("XX==YY", ["XX==YY"]),
    ],
)
def test_words_are_what_systemd_hands_over(raw: str, said: list[str]) -> None:
    assert [w.text for w in split_unit_words(raw)] == said
    again = [quote_word(w.text, (), raw[w.span.start : w.span.end]) for w in split_unit_words(raw)]
    if None in again:
        assert any("\n" in text for text in said), "only a line end cannot be written"
    else:
        assert [w.text for w in split_unit_words(" ".join(map(str, again)))] == said


@pytest.mark.parametrize(
    "raw", ["vllm 'a b' \"it's\" x\\ y", '"a\\"b" \'c\\d\' "e\\d" f\\\\g', "a'b c'd\"e\" $HOME $$ XX", "''", "'\"'x"]
)
def test_words_of_supervisor_are_those_of_a_posix_shell(raw: str) -> None:
    found = split_unit_words(raw, supervised=True)
    said = shlex.split(raw)
    assert [fill(w.text, w.holes) for w in found] == said
    again = [quote_supervised(w.text, w.holes, raw[w.span.start : w.span.end]) for w in found]
    assert shlex.split(" ".join(map(str, again))) == said


@pytest.mark.parametrize("old", ["x", '"x"', "'x'", "''", '""'])
@pytest.mark.parametrize("value", ['{"a": 1}', "it's", "a b", "$X", "100%d", "\\d", '"it\'s"', "#", "a;b", ""])
def test_a_value_of_a_unit_reads_the_same_again(value: str, old: str) -> None:
    for quote, supervised, dollars in (
        (quote_word, False, True),
        (quote_assignment, False, False),
        (quote_supervised, True, True),
    ):
        written = quote(value, (), old)
        assert written is not None
        (word,) = split_unit_words(written, dollars=dollars, supervised=supervised)
        assert fill(word.text, word.holes) == value
        if old != "x" and "'" not in value:
            assert written[0] == written[-1] == old[0], "quotes stay"


def test_unknown_parts_keep_their_order() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve ${A}/%h-$B --x y\n"
    found = read(ini, text, "a.service")
    assert words(found)[0] == "${A}/%h-$B"
    item = found.sites[0].words[0]
    assert "serve ${A}:$B/%h --x" in render(found, text, [Replace(item, "\ue000:\ue002/\ue001")])


@pytest.mark.parametrize(
    ("raw", "splits"), [("$A", True), ('"$A"', True), ("${A}", False), ("x$A", False), ("$A$B", False)]
)
def test_only_a_bare_name_that_stands_alone_may_be_several_words(raw: str, splits: bool) -> None:
    (word,) = split_unit_words(raw)
    assert word.splits is splits


@pytest.mark.parametrize(
    ("script", "said", "new", "written"),
    [
        ("'vllm serve m --x 4'", "4", "it's", "'vllm serve m --x \"it\\'s\"'"),
        ("'vllm serve m --x 4'", "4", "100%", "'vllm serve m --x 100%%'"),
        ("'vllm serve m --x 4'", "4", "a$b", "'vllm serve m --x \\'a$$b\\''"),
        ("'vllm serve m --x \"4\"'", "4", "a b", "'vllm serve m --x \"a b\"'"),
        ("'vllm serve m --x \\x34'", "4", "5", "'vllm serve m --x 5'"),
        (
            '"vllm serve m --x \\"4\\" --y 100%% $$Z ${W}"',
            "4",
            "5 6",
            '"vllm serve m --x \\"5 6\\" --y 100%% $$Z ${W}"',
        ),
    ],
)
def test_scripts_in_quotes_are_written_as_systemd_reads_them(script: str, said: str, new: str, written: str) -> None:
    text = f"[Service]\nExecStart=/bin/sh -c {script}\n"
    found = read(ini, text, "a.service")
    check_identity(found, text)
    assert "%%" not in " ".join(words(found))
    after = render(found, text, [Replace(word(found, said), new)])
    assert after == f"[Service]\nExecStart=/bin/sh -c {written}\n"
    assert word(read(ini, after, "a.service"), new)


@pytest.mark.parametrize(
    ("script", "new", "written"),
    [
        ("'vllm serve m --x \"4\" --y $$%%'", "5%", "'vllm serve m --x \"5%%\" --y $$%%'"),
        ('"vllm serve m --x \\"4\\" --y %%"', 'a "b"', '"vllm serve m --x \'a \\"b\\"\' --y %%"'),
        ('"vllm serve m --x 4 --y %(ENV_Y)s"', "$Z", "\"vllm serve m --x '$Z' --y %(ENV_Y)s\""),
    ],
)
def test_scripts_in_quotes_of_supervisor(script: str, new: str, written: str) -> None:
    text = f"[program:a]\ncommand=bash -c {script}\n"
    found = read(ini, text, "supervisord.conf")
    check_identity(found, text)
    assert "%%" not in " ".join(words(found))
    assert render(found, text, [Replace(word(found, "4"), new)]) == f"[program:a]\ncommand=bash -c {written}\n"
    ran = shlex.split(written)[0].replace("%(ENV_Y)s", "Y").replace("%%", "%")
    assert shlex.split(ran)[4] == new


@pytest.mark.parametrize(
    "lines",
    [
        "[Service]\n# ExecStart=/bin/vllm serve m --x 1\n; ExecStart=/bin/vllm serve m --x 1\n",
        "[Service]\nRestart=always \\\n  ExecStart=/bin/vllm serve m\n",
        "[Service]\ncommand=vllm serve m\n",
    ],
)
def test_lines_that_start_nothing(lines: str) -> None:
    assert read(ini, lines, "a.service").sites == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[Service]\nno setting\n\nExecStart=/bin/vllm serve m\n", ["m"]),
        ("[Service]\nExecStart=/bin/vllm serve m \\", ["m"]),
        ("[Service]\nExecStart=/bin/vllm serve m \\\n# why\n; why\n  --x\n", ["m", "--x"]),
        ("[Service]\r\nExecStart=/bin/vllm serve m \\\r\n  --x\r\n", ["m", "--x"]),
        ("[Service]\nExecStart=@!-/bin/vllm serve m\n", ["m"]),
        ("[program:a]\ncommand = vllm serve m --x $$ 'a\\b'\n", ["m", "--x", "$$", "a\\b"]),
    ],
)
def test_lines_that_start_a_server(lines: str, said: list[str]) -> None:
    assert words(read(ini, lines, "a.service")) == said
    check_identity(read(ini, lines, "a.service"), lines)


@pytest.mark.parametrize(
    ("unit", "only"),
    [
        ("[program:a]\ncommand=vllm serve m\nenvironment=A=1\n", True),
        ("[program:a]\ncommand=vllm serve m\nenvironment=A=1\n[program:b]\ncommand=other\n", True),
        ("[Container]\nImage=vllm/vllm-openai:v0.9.0\nEnvironment=A=1\nExec=--model m\n", True),
        ("[Service]\nEnvironment=A=1\nExecStart=/bin/vllm serve m\nExecStartPost=/bin/probe\n", False),
        ("[Service]\nEnvironment=A=1\nExecStart=/bin/vllm serve m\nExecStart=/bin/vllm serve n\n", False),
    ],
)
def test_a_variable_moves_only_from_a_unit_of_one_process(unit: str, only: bool) -> None:
    assert [v.only for v in read(ini, unit, "a.conf").sites[0].variables] == [only]


def test_pins_of_a_unit_are_named_once() -> None:
    text = "[Container]\nImage=vllm/vllm-openai:v0.9.0@sha256:ab\nExec=--model m\n"
    found = read(ini, text, "a.container")
    assert len(found.sites[0].pins) == 1 and found.sites[0].pins[0].locked
    pulled = "[Service]\nExecStartPre=docker pull vllm/vllm-openai:v0.9.0\nExecStart=docker run {} --model m\n"
    found = read(ini, pulled.format("vllm/vllm-openai:v0.9.0"), "a.service")
    assert pins(found) == ["vllm/vllm-openai:v0.9.0"] * 2 and len(found.sites[0].pins) == 1


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("[options]\npython_requires =\n    >=3.9  \n", "[options]\npython_requires =\n    >=3.10  \n"),
        ("[options]\r\npython_requires=>=3.9\r\n", "[options]\r\npython_requires=>=3.10\r\n"),
        ("[tool]\npython_requires = >=3.9\n", ""),
        ("[options]\nother = >=3.9\n", ""),
    ],
)
def test_the_python_of_setup_cfg(text: str, after: str) -> None:
    found = read(ini, text, "setup.cfg")
    assert pins(found) == ([">=3.9"] if after else [])
    if after:
        assert render(found, text, [Replace(found.pins[0], ">=3.10")]) == after


def test_where_the_value_of_a_variable_stands() -> None:
    text = '[Service]\nEnvironment=A=1 "B=x y" C="z"\nExecStart=/bin/vllm serve m\n'
    spans = [v.value_span for v in read(ini, text, "a.service").sites[0].variables]
    assert [text[s.start : s.end] for s in spans if s is not None] == ["1", "x y", '"z"']


@pytest.mark.parametrize(
    ("before", "what", "after"),
    [
        ('A="1",B=2', "=x y", 'A="x y",B=2'),
        ("A='1',B=2", "=x", 'A="x",B=2'),
        ("A=1,B=2", "remove", "B=2"),
        ("A=1,B=2", "rename", 'N="1",B=2'),
        ("A=1", "remove", None),
        ("A=1", '=say "x"', ""),
        ("A=1", "=a\nb", ""),
    ],
)
def test_variables_of_a_supervisor_program(before: str, what: str, after: str | None) -> None:
    text = "[program:a]\nenvironment={}\ncommand=vllm serve m\n"
    found = read(ini, text.format(before), "supervisord.conf")
    variable = found.sites[0].variables[0]
    change: Remove | Rename | Replace
    change = (
        Remove(variable)
        if what == "remove"
        else Rename(variable, "N")
        if what == "rename"
        else Replace(variable, what[1:])
    )
    if after == "":
        with pytest.raises(CannotRender):
            render(found, text.format(before), [change])
    else:
        told = text.replace("environment={}\n", "") if after is None else text.format(after)
        assert render(found, text.format(before), [change]) == told


def test_the_fewest_quotes_of_a_unit() -> None:
    assert quote_word('{"a": 1}', (), "") == "'{\"a\": 1}'" and quote_word("it's", (), "") == '"it\'s"'
    assert quote_word("\ue000", ("$A",), "") == "$A" and quote_word("a \ue000", ("$A",), "") == '"a $A"'
