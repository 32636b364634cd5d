"""What is read after an edit is what was read before it, changed as planned."""

from __future__ import annotations

import json
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import dockerfile, ini
from vllm_migrate.hosts.dockerfile_values import quote_value
from vllm_migrate.hosts.unit_words import quote_assignment, quote_word
from vllm_migrate.model import Change, InsertWords, Remove, Rename, Replace

TEXTS = ["--x", "4", "a b", 'say "hi"', "it's", "$HOME", "100%", "back\\slash", '{"a": [1]}', "ü", "#4", "a;b"]
VALUES = ["1", "a b", "0,1", 'q"q', "$5", "back\\slash", "100%", "#4", ""]


def dockerfile_of(words: list[str], gaps: list[str], env: list[str], gap: str) -> str:
    array = ", ".join(
        (g if i else "") + json.dumps(w, ensure_ascii=False) for i, (w, g) in enumerate(zip(words, gaps, strict=False))
    )
    pairs = gap.join(f"V{i}={quote_value(v, (), '')}" for i, v in enumerate(env))
    environment = f"ENV {pairs}\n" if env else ""
    return f'FROM vllm/vllm-openai:v0.17.1\n{environment}\nCMD ["--model", {array}]\nEXPOSE 80\n'


def unit_of(words: list[str], gaps: list[str], env: list[str], gap: str) -> str:
    line = "".join((g or " ") + str(quote_word(w, (), "")) for w, g in zip(words, gaps, strict=False))
    gap = gap.replace("    # note\n", "")
    pairs = gap.join(str(quote_assignment(f"V{i}={v}", (), "")) for i, v in enumerate(env))
    environment = f"Environment={pairs}\n" if env else ""
    return f"[Service]\n{environment}ExecStart=/bin/vllm serve{line}\nRestart=no\n"


GAPS = st.lists(st.sampled_from(["", " ", " \\\n     ", " \\\n  # note\n     "]), min_size=6, max_size=6)


@pytest.mark.parametrize(
    ("host", "build", "path"), [(dockerfile, dockerfile_of, "Dockerfile"), (ini, unit_of, "vllm.service")]
)
@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6),
    GAPS,
    st.lists(st.sampled_from(VALUES), max_size=4),
    st.sampled_from([" ", " \\\n    ", " \\\n    # note\n    "]),
    st.booleans(),
    st.data(),
)
def test_planned_is_read(
    host: ModuleType,
    build: object,
    path: str,
    words: list[str],
    gaps: list[str],
    env: list[str],
    gap: str,
    crlf: bool,
    data: st.DataObject,
) -> None:
    assert callable(build)
    text: str = build(words, gaps, env, gap)
    text = text.replace("\n", "\r\n") if crlf else text
    found = read(host, text, path)
    check_identity(found, text)
    (site,) = found.sites
    lead = len(site.words) - len(words)
    assert [w.text for w in site.words][lead:] == words
    assert [v.value for v in site.variables] == env

    changes: list[Change] = []
    expected_words: list[str] = []
    for word in site.words:
        what = data.draw(st.sampled_from(["keep", "keep", "remove", "replace"])) if word in site.words[lead:] else ""
        if what == "remove":
            changes.append(Remove(word))
            continue
        new = data.draw(st.sampled_from(TEXTS)) if what == "replace" else word.text
        changes += [Replace(word, new)] if what == "replace" else []
        expected_words.append(new)
    if data.draw(st.booleans()):
        assert site.word_home is not None
        changes.append(InsertWords(site.word_home, ["--new", "v 1"]))
        expected_words += ["--new", "v 1"]
    expected_env: list[tuple[str, str | None]] = []
    for variable in site.variables:
        what = data.draw(st.sampled_from(["keep", "remove", "replace", "rename"]))
        if what == "remove":
            changes.append(Remove(variable))
            continue
        value = data.draw(st.sampled_from(VALUES)) if what == "replace" else variable.value
        name = variable.name + "_NEW" if what == "rename" else variable.name
        changes += [Replace(variable, value)] if what == "replace" else []
        changes += [Rename(variable, name)] if what == "rename" else []
        expected_env.append((name, value))

    after = render(found, text, changes)
    again = read(host, after, path)
    assert not again.problems
    assert [w.text for w in again.sites[0].words] == expected_words
    assert [(v.name, v.value) for v in again.sites[0].variables] == expected_env
    assert ("\n" not in after.replace("\r\n", "")) is crlf
    ends = [line.rstrip().endswith("\\") for line in after.split("\n")]
    blanks = [not line.strip() for line in after.split("\n")]
    assert not any(end and blank for end, blank in zip(ends, blanks[1:], strict=False))
