"""How the YAML host writes changes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import yaml_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st
from small_hosts import check_identity, read, word

from vllm_migrate.hosts import json as json_host
from vllm_migrate.hosts import yaml
from vllm_migrate.model import (
    CannotRender,
    Change,
    Entry,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Pin,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
    container_of,
)
from vllm_migrate.text import Source

Plan = Callable[[Reading], Sequence[Change]]


def render(reading: Reading, text: str, changes: Sequence[Change]) -> str:
    """Hand every container its changes at once, those that say they are one together."""
    groups: dict[Any, list[Change]] = {}
    for change in changes:
        groups.setdefault(container_of(change), []).append(change)
    edits = [edit for home, own in groups.items() for edit in home.edits(own)]
    return Source.of(text).with_edits(edits).text


def edited(text: str, plan: Plan, host: Any = yaml, path: str = "x.yaml") -> str:
    """Return the text after the changes, once as it is and once with CRLF: both must say the same."""
    reading = read(host, text, path)
    after = render(reading, text, plan(reading))
    crlf = text.replace("\n", "\r\n")
    reading = read(host, crlf, path)
    assert render(reading, crlf, plan(reading)) == after.replace("\n", "\r\n")
    return after


def variable(reading: Reading, name: str, site: int = 0) -> Variable:
    return next(v for v in reading.sites[site].variables if v.name == name)


def entry(reading: Reading, key: str, site: int = 0) -> Entry:
    return next(e for e in reading.sites[site].entries if e.key == key)


def removing(*texts: str, site: int = 0) -> Plan:
    return lambda reading: [Remove(word(reading, text, site)) for text in texts]


def gone(text: str, *lines: str) -> str:
    for line in lines:
        assert text.count(line + "\n") == 1, line
        text = text.replace(line + "\n", "")
    return text


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


# -- lists


def test_neighbours_go_with_their_lines_and_comments_stay() -> None:
    after = edited(samples.POD, removing("--swap-space", "4"))
    assert after == gone(samples.POD, "        - --swap-space", '        - "4"')
    after = edited(samples.POD, removing("--model=org/model"))
    assert after == gone(samples.POD, "        - --model=org/model")
    after = edited(samples.POD, removing("--dtype=auto"))
    assert after == gone(samples.POD, '        - "--dtype=auto"')


def test_the_last_argument_takes_the_key_along() -> None:
    after = edited(samples.POD, removing("--model=org/model", "--swap-space", "4", "--dtype=auto"))
    assert "args:" not in after
    assert "env:" in after
    assert 'vllm.entrypoints.openai.api_server"]\n        env:\n' in after


def test_arguments_and_environment_go_together() -> None:
    def plan(reading: Reading) -> list[Change]:
        site = reading.sites[0]
        return [*(Remove(w) for w in site.words), *(Remove(v) for v in site.variables)]

    after = edited(samples.POD, plan)
    assert "args:" not in after and "env:" not in after
    assert 'api_server"]\n        ports:\n' in after


def test_flow_lists_keep_their_commas_right() -> None:
    for texts, left in (
        (("--swap-space", "4"), '["--model", "org/model", "--dtype=auto"]'),
        (("--model", "org/model"), '["--swap-space", "4", "--dtype=auto"]'),
        (("--dtype=auto",), '["--model", "org/model", "--swap-space", "4"]'),
        (("--model", "org/model", "--dtype=auto"), '["--swap-space", "4"]'),
    ):
        after = edited(samples.FLOW_POD, removing(*texts))
        assert f"args: {left}\n" in after
    after = edited(samples.FLOW_POD, lambda r: [Remove(w) for w in r.sites[0].words])
    assert "args" not in after


def test_a_flow_list_over_several_lines() -> None:
    text = """\
kind: Pod
spec:
  containers:
    - image: vllm/vllm-openai:v0.11.0
      args: [
        "--model", "a",   # which
        "--swap-space", "4",
        "--dtype=auto"
      ]
"""
    after = edited(text, removing("--swap-space", "4"))
    assert after == gone(text, '        "--swap-space", "4",')
    after = edited(text, removing("--dtype=auto"))
    assert after == changed(text, '"4",\n        "--dtype=auto"\n', '"4"\n')


def test_new_words_are_spelled_like_their_neighbours() -> None:
    def plan(reading: Reading) -> list[Change]:
        after = word(reading, "4")
        return [InsertWords(after.container, ["--speculative-config", '{"method": "ngram"}', "7"], after=after)]

    after = edited(samples.POD, plan)
    assert after == changed(
        samples.POD,
        '        - "4"\n',
        '        - "4"\n        - --speculative-config\n        - \'{"method": "ngram"}\'\n        - "7"\n',
    )
    after = edited(samples.FLOW_POD, plan)
    assert '"4", "--speculative-config", \'{"method": "ngram"}\', "7", "--dtype=auto"]' in after


def test_words_go_before_first_and_last() -> None:
    first = edited(
        samples.POD, lambda r: [InsertWords(r.sites[0].words[0].container, ["--x"], before=r.sites[0].words[0])]
    )
    assert "        args:\n        - --x\n        - --model" in first
    last = edited(samples.POD, lambda r: [InsertWords(r.sites[0].word_home, ["--x"])])  # type: ignore[arg-type]
    assert last == changed(samples.POD, '        - "--dtype=auto"\n', '        - "--dtype=auto"\n        - --x\n')


def test_a_new_word_takes_the_place_of_an_old_one() -> None:
    def plan(reading: Reading) -> list[Change]:
        old, value = word(reading, "--swap-space"), word(reading, "4")
        return [Remove(old), Remove(value), InsertWords(old.container, ["--kv-offloading-size=4"], after=value)]

    after = edited(samples.POD, plan)
    assert after == changed(
        samples.POD, '        - --swap-space\n        - "4"\n', "        - --kv-offloading-size=4\n"
    )


def test_replacing_keeps_the_quotes() -> None:
    after = edited(samples.POD, lambda r: [Replace(word(r, "--dtype=auto"), "--dtype=half")])
    assert after == changed(samples.POD, '"--dtype=auto"', '"--dtype=half"')
    after = edited(samples.POD, lambda r: [Replace(word(r, "4"), "8")])
    assert after == changed(samples.POD, '"4"', '"8"')
    after = edited(samples.POD, lambda r: [Replace(word(r, "--model=org/model"), "--x=a: b # c")])
    assert after == changed(samples.POD, "--model=org/model", '"--x=a: b # c"')


# -- strings and scripts


def test_scripts_lose_whole_lines() -> None:
    after = edited(samples.SCRIPT_POD, removing("--swap-space", "4"))
    assert after == gone(samples.SCRIPT_POD, "            --swap-space 4 \\")
    after = edited(samples.SCRIPT_POD, removing("--dtype", "auto"))
    assert after == changed(samples.SCRIPT_POD, "4 \\\n            --dtype auto\n", "4\n")
    after = edited(samples.SCRIPT_POD, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert after == gone(samples.SCRIPT_POD, "          export VLLM_USE_V1=1")


def test_words_added_to_a_script_get_a_line() -> None:
    def plan(reading: Reading) -> list[Change]:
        last = reading.sites[0].words[-1]
        return [InsertWords(last.container, ["--config", '{"a": 1}'], after=last)]

    after = edited(samples.SCRIPT_POD, plan)
    assert after == changed(
        samples.SCRIPT_POD, "--dtype auto\n", "--dtype auto \\\n            --config '{\"a\": 1}'\n"
    )


def test_a_folded_command_loses_and_gains_lines() -> None:
    after = edited(samples.COMPOSE, removing("--swap-space", "4"))
    assert after == gone(samples.COMPOSE, "      --swap-space 4")

    def plan(reading: Reading) -> list[Change]:
        return [InsertWords(word(reading, "4").container, ["--x", "1"], after=word(reading, "4"))]

    after = edited(samples.COMPOSE, plan)
    assert after == changed(samples.COMPOSE, "      --swap-space 4\n", "      --swap-space 4\n      --x 1\n")


def test_a_plain_command_is_quoted_when_it_must_be() -> None:
    text = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model a --swap-space 4\n"
    assert edited(text, removing("--swap-space", "4")) == changed(text, " --swap-space 4", "")

    def plan(reading: Reading) -> list[Change]:
        last = reading.sites[0].words[-1]
        return [InsertWords(last.container, ["--config", '{"a": 1}'], after=last)]

    after = edited(text, plan)
    assert after.splitlines()[-1] == "    command: '--model a --swap-space 4 --config ''{\"a\": 1}'''"
    assert [w.text for w in read(yaml, after).sites[0].words][-2:] == ["--config", '{"a": 1}']


def test_an_item_of_several_words_goes_when_nothing_is_left() -> None:
    text = 'engine: vllm\nextraArgs:\n  - "--swap-space 4"   # GiB\n  - --dtype auto\n'
    assert edited(text, removing("--swap-space", "4")) == gone(text, '  - "--swap-space 4"   # GiB')

    def plan(reading: Reading) -> list[Change]:
        return [InsertWords(reading.sites[0].word_home, ["--x", "1"])]  # type: ignore[arg-type]

    assert edited(text, plan) == text + "  - --x 1\n"


def test_a_script_in_double_quotes() -> None:
    text = (
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n"
        '    entrypoint: ["sh", "-c", "vllm serve a --swap-space 4 --x \\"b c\\""]\n'
    )
    after = edited(text, removing("--swap-space", "4"))
    assert after == changed(text, " --swap-space 4", "")
    after = edited(text, lambda r: [Replace(word(r, "4"), 'd "e"')])
    assert [w.text for w in read(yaml, after).sites[0].words][2] == 'd "e"'


# -- environment


def test_variables_of_a_list() -> None:
    after = edited(samples.POD, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert after == gone(samples.POD, "        - name: VLLM_USE_V1", '          value: "1"')
    after = edited(samples.POD, lambda r: [Remove(variable(r, "HF_TOKEN"))])
    assert "secretKeyRef" not in after and "        ports:" in after
    after = edited(
        samples.POD, lambda r: [Rename(variable(r, "VLLM_USE_V1"), "X"), Replace(variable(r, "VLLM_USE_V1"), "0")]
    )
    assert after == changed(changed(samples.POD, "name: VLLM_USE_V1", "name: X"), 'value: "1"', 'value: "0"')
    after = edited(samples.POD, lambda r: [InsertVariable(r.sites[0].variable_home, "A", "1")])  # type: ignore[arg-type]
    assert '        - name: A\n          value: "1"\n        ports:' in after
    after = edited(samples.FLOW_POD, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert "env: [{name: A, value: b}]" in after
    with pytest.raises(CannotRender):
        edited(samples.POD, lambda r: [Replace(variable(r, "HF_TOKEN"), "x")])


def test_variables_of_maps_and_strings() -> None:
    after = edited(samples.COMPOSE, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert after == gone(samples.COMPOSE, '  VLLM_USE_V1: "1"')
    after = edited(samples.COMPOSE, lambda r: [Replace(variable(r, "VLLM_USE_V1", 1), "a$b")])
    assert after == changed(samples.COMPOSE, "- VLLM_USE_V1=1", "- VLLM_USE_V1=a$$b")
    after = edited(samples.VALUES, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert after == changed(samples.VALUES, 'env:\n  VLLM_USE_V1: "1"\n', "env: {}\n")
    after = edited(samples.VALUES, lambda r: [InsertVariable(r.sites[0].variable_home, "B", "0")])  # type: ignore[arg-type]
    assert after == changed(samples.VALUES, '  VLLM_USE_V1: "1"\n', '  VLLM_USE_V1: "1"\n  B: "0"\n')


def test_a_dollar_sign_of_a_compose_file_stays_one() -> None:
    for form in ("\n      X: a", "\n      - X=a"):
        text = f"services:\n  a:\n    image: vllm/vllm-openai:v1\n    environment:{form}\n"
        after = edited(text, lambda r: [InsertVariable(r.sites[0].variable_home, "Y", "b$c")])  # type: ignore[arg-type]
        assert after.count("b$$c") == 1
        assert variable(read(yaml, after), "Y").value == "b$c"
        after = edited(text, lambda r: [Replace(variable(r, "X"), "b$c")])
        assert variable(read(yaml, after), "X").value == "b$c"


def test_a_container_without_environment_gets_one() -> None:
    text = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: vllm/vllm-openai:v1\n    args:\n    - --x\n"
    after = edited(text, lambda r: [InsertVariable(r.sites[0].variable_home, "A", "1")])  # type: ignore[arg-type]
    assert after == text + '    env:\n    - name: A\n      value: "1"\n'
    text = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command:\n      - --x\n"
    after = edited(text, lambda r: [InsertVariable(r.sites[0].variable_home, "A", "1")])  # type: ignore[arg-type]
    assert after == text + "    environment:\n      - A=1\n"


# -- mappings


def test_settings_lose_rename_and_change_keys() -> None:
    after = edited(samples.VALUES, lambda r: [Remove(entry(r, "swapSpace"))])
    assert after == gone(samples.VALUES, "  swapSpace: 4   # GiB")
    after = edited(samples.VALUES, lambda r: [Rename(entry(r, "swapSpace"), "kvOffloadingSize")])
    assert after == changed(samples.VALUES, "swapSpace:", "kvOffloadingSize:")
    after = edited(samples.VALUES, lambda r: [Replace(entry(r, "enablePrefixCaching"), True)])
    assert after == changed(samples.VALUES, "enablePrefixCaching: false", "enablePrefixCaching: true")
    after = edited(samples.VALUES, lambda r: [Replace(entry(r, "maxModelLen"), "auto")])
    assert after == changed(samples.VALUES, "maxModelLen: 4096", "maxModelLen: auto")
    after = edited(samples.VALUES, lambda r: [Replace(entry(r, "maxModelLen"), "12")])
    assert after == changed(samples.VALUES, "maxModelLen: 4096", 'maxModelLen: "12"')
    after = edited(
        samples.VALUES, lambda r: [InsertEntry(entry(r, "swapSpace").container, "seed", 3, after=entry(r, "swapSpace"))]
    )
    assert after == changed(samples.VALUES, "   # GiB\n", "   # GiB\n  seed: 3\n")


def test_values_that_lose_all_keep_their_key() -> None:
    def plan(reading: Reading) -> list[Change]:
        site = reading.sites[0]
        return [*(Remove(w) for w in site.words), *(Remove(e) for e in site.entries)]

    after = edited(samples.VALUES, plan)
    assert "  tag: v0.11.0\nvllmConfig:\n  extraArgs: []\nenv:\n" in after


def test_nested_values_change_as_little_as_possible() -> None:
    def plan(value: dict[str, object]) -> Plan:
        return lambda reading: [Replace(entry(reading, "speculative-config"), value)]

    same = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}
    assert edited(samples.CONFIG, plan(dict(same))) == samples.CONFIG
    after = edited(samples.CONFIG, plan({**same, "num_speculative_tokens": 5}))
    assert after == changed(samples.CONFIG, "num_speculative_tokens: 3", "num_speculative_tokens: 5")
    after = edited(samples.CONFIG, plan({"method": "ngram", "num_speculative_tokens": 3}))
    assert after == gone(samples.CONFIG, "  prompt_lookup_max: 4")
    after = edited(samples.CONFIG, plan({**same, "extra": {"a": [1, "b"]}}))
    assert after == samples.CONFIG + "  extra:\n    a:\n      - 1\n      - b\n" or "extra" in after
    assert read(yaml, after).sites[0].entries[-1].value == {**same, "extra": {"a": [1, "b"]}}


def test_flow_mappings() -> None:
    def plan(value: object) -> Plan:
        return lambda reading: [Replace(entry(reading, "compilation-config"), value)]

    after = edited(samples.CONFIG, plan({"mode": 3, "cudagraph_capture_sizes": [1, 2, 4]}))
    assert after == changed(samples.CONFIG, '{"level": 3, ', '{"mode": 3, ')
    after = edited(samples.CONFIG, plan({"cudagraph_capture_sizes": [1, 4, 8]}))
    assert after == changed(
        samples.CONFIG, '{"level": 3, "cudagraph_capture_sizes": [1, 2, 4]}', '{"cudagraph_capture_sizes": [1, 4, 8]}'
    )


def test_a_config_file_that_loses_all_is_an_empty_mapping() -> None:
    from vllm_migrate.hosts import Context
    from vllm_migrate.text import Region

    source = Source.of("# ours\nswap-space: 4\n\nbest-of: 2\n", "c.yaml")
    reading = yaml.read_config(Region.whole(source), Context("c.yaml"))
    entries = reading.sites[0].entries
    after = source.with_edits(entries[0].container.edits([Remove(e) for e in entries]))
    assert after.text == "# ours\n{}\n"


# -- templates


def test_template_lines_go_with_their_if() -> None:
    after = edited(samples.TEMPLATE, removing("--swap-space=\ue000"))
    assert after == gone(
        samples.TEMPLATE,
        "            {{- if .Values.swap }}",
        "            - --swap-space={{ .Values.swap }}",
        "            {{- end }}\n            - --disable-log-stats",
    ).replace("- --model={{ .Values.model }}\n", "- --model={{ .Values.model }}\n            - --disable-log-stats\n")
    after = edited(samples.TEMPLATE, removing("--disable-log-stats"))
    assert after == gone(samples.TEMPLATE, "            - --disable-log-stats")


def test_template_actions_are_never_touched() -> None:
    after = edited(samples.TEMPLATE, lambda r: [Replace(word(r, "--swap-space=\ue000"), "--other=\ue000")])
    assert after == changed(samples.TEMPLATE, "--swap-space={{", "--other={{")
    with pytest.raises(CannotRender):
        edited(samples.TEMPLATE, lambda r: [Replace(variable(r, "VLLM_USE_V1"), "1")])
    after = edited(samples.TEMPLATE, lambda r: [Replace(variable(r, "PLAIN"), "0")])
    assert after == changed(samples.TEMPLATE, 'value: "1"', 'value: "0"')


# -- pins


def test_pins_move_where_they_are_written() -> None:
    def pin(reading: Reading, text: str) -> Pin:
        return next(p for p in reading.pins if p.text == text)

    after = edited(samples.COMPOSE, lambda r: [Replace(pin(r, "vllm/vllm-openai:v0.11.0"), "vllm/vllm-openai:v0.33.0")])
    assert after == changed(samples.COMPOSE, "vllm-openai:v0.11.0", "vllm-openai:v0.33.0")
    after = edited(samples.COMPOSE, lambda r: [Replace(pin(r, "v0.10.0"), "v0.33.0")])
    assert after == changed(samples.COMPOSE, "v0.10.0", "v0.33.0")
    after = edited(samples.VALUES, lambda r: [Replace(pin(r, "v0.11.0"), "v0.33.0")])
    assert after == changed(samples.VALUES, "tag: v0.11.0", "tag: v0.33.0")
    after = edited("image: {repository: a/vllm, tag: v1}\n", lambda r: [Replace(pin(r, "v1"), "1.0")])
    assert after == 'image: {repository: a/vllm, tag: "1.0"}\n'


def test_requirements_come_and_go() -> None:
    text = "name: x\ndependencies:\n  - python=3.11\n  - pip:\n      - vllm==0.11.0\n      - other\n"

    def plan(reading: Reading) -> list[Change]:
        vllm = next(p for p in reading.pins if p.name == "vllm")
        return [Replace(vllm, "vllm==0.33.0"), InsertText(vllm, "requirement", "arctic-inference")]

    after = edited(text, plan, path="environment.yml")
    assert after == changed(text, "vllm==0.11.0\n", "vllm==0.33.0\n      - arctic-inference\n")
    after = edited(text, lambda r: [Remove(next(p for p in r.pins if p.name == "other"))], path="environment.yml")
    assert after == gone(text, "      - other")


def test_metric_names_change_inside_a_query() -> None:
    text = 'rules:\n- expr: sum(vllm:old_name{a="b"}) by (c)\n'
    assert edited(text, lambda r: [Replace(r.mentions[0], "vllm:new_name")]) == changed(text, "old", "new")


# -- shapes that are easy to break


def test_yaml_inside_yaml_is_edited_through_both() -> None:
    after = edited(samples.SERVE, lambda r: [Remove(entry(r, "swap_space"))])
    assert after == gone(samples.SERVE, "                swap_space: 4")
    after = edited(samples.SERVE, lambda r: [Remove(e) for e in r.sites[0].entries])
    assert "engine_kwargs" not in after
    after = edited(samples.SERVE, lambda r: [Remove(variable(r, "VLLM_USE_V1"))])
    assert "env_vars" not in after and '"1"' not in after


def test_a_first_key_behind_a_dash() -> None:
    text = "models:\n- engine_kwargs: {swap_space: 4}\n  name: a\n- name: b\n"
    after = edited(text, lambda r: [Remove(entry(r, "swap_space"))])
    assert after == "models:\n- name: a\n- name: b\n"


def test_an_emptied_value_is_written_as_its_kind() -> None:
    image = "image: vllm/vllm-openai:v1\n"
    for text, nothing in (
        ("extraArgs:   # ours\n  - --swap-space=4\n", "extraArgs: []   # ours\n"),
        ("extraArgs: [\n  --swap-space=4,\n]\n", "extraArgs: []\n"),
        ('extraArgs: "--swap-space=4"\n', 'extraArgs: ""\n'),
        ("vllmConfig:\n  swapSpace: 4\n", "vllmConfig: {}\n"),
    ):
        after = edited(
            image + text + "replicas: 1\n",
            lambda r: [Remove(i) for i in (*r.sites[0].words, *r.sites[0].entries)],
        )
        assert after == image + nothing + "replicas: 1\n"


def test_an_anchor_in_use_stays() -> None:
    text = (
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: &args\n      - --swap-space=4\n"
        "  b:\n    image: vllm/vllm-openai:v1\n    command: *args\n"
    )
    reading = read(yaml, text)
    assert reading.sites[0].words[0] is reading.sites[1].words[0]
    with pytest.raises(CannotRender):
        edited(text, lambda r: [Remove(r.sites[0].words[0])])


def test_one_blank_line_goes_with_what_stood_between_two() -> None:
    text = "vllmConfig:\n  a: 1\n\n  swapSpace: 4\n\n  b: 2\n"
    assert edited(text, lambda r: [Remove(entry(r, "swapSpace"))]) == "vllmConfig:\n  a: 1\n\n  b: 2\n"


def test_no_line_end_at_the_end() -> None:
    text = "vllmConfig:\n  a: 1\n  swapSpace: 4"
    assert edited(text, lambda r: [Remove(entry(r, "swapSpace"))]) == "vllmConfig:\n  a: 1"
    plan: Plan = lambda r: [InsertEntry(entry(r, "a").container, "c", False)]  # noqa: E731
    assert edited(text, plan) == text + "\n  c: false"


def test_byte_order_marks_stay() -> None:
    source = Source("x.yaml", b"\xef\xbb\xbf" + samples.POD.encode())
    from vllm_migrate.hosts import Context
    from vllm_migrate.text import Region

    reading = yaml.read(Region.whole(source), Context("x.yaml"))
    item = word(reading, "--dtype=auto")
    after = source.with_edits(item.container.edits([Remove(item)]))
    assert after.raw == source.raw.replace(b'        - "--dtype=auto"\n', b"")


JSON = """\
{
  "containerDefinitions": [
    {
      "image": "vllm/vllm-openai:v0.11.0",
      "command": [
        "--model", "a",
        "--swap-space",
        "4"
      ],
      "environment": [
        {"name": "VLLM_USE_V1", "value": "1"}
      ]
    }
  ]
}
"""


def test_json() -> None:
    after = edited(JSON, removing("--swap-space", "4"), json_host, "t.json")
    assert after == changed(JSON, '"a",\n        "--swap-space",\n        "4"\n', '"a"\n')
    after = edited(JSON, lambda r: [Remove(variable(r, "VLLM_USE_V1"))], json_host, "t.json")
    assert "environment" not in after and "      ]\n    }\n" in after
    after = edited(JSON, lambda r: [Replace(word(r, "4"), 'a"b')], json_host, "t.json")
    assert after == changed(JSON, '"4"', '"a\\"b"')
    plan: Plan = lambda r: [InsertVariable(r.sites[0].variable_home, "A", "1")]  # type: ignore[arg-type,list-item]  # noqa: E731
    after = edited(JSON, plan, json_host, "t.json")
    assert '"value": "1"},\n        {"name": "A", "value": "1"}\n' in after


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_every_item_given_its_own_value_changes_nothing(name: str) -> None:
    for text in (samples.ALL[name], samples.ALL[name].replace("\n", "\r\n")):
        reading = read(yaml, text, "x.yaml")
        check_identity(reading, text)
        for site in reading.sites:
            for item in site.entries:
                assert render(reading, text, [Replace(item, item.value)]) == text


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Co", "Cn", "Zl", "Zp"]), max_size=12)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | _TEXTS
    | st.sampled_from(["yes", "4", "1e3", "~", "a: b", "- c", "{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b_c", "no"]), inner, max_size=3),
    max_leaves=5,
)


@given(value=_VALUES, key=st.sampled_from(["swap-space", "compilation-config", "speculative-config"]))
@settings(max_examples=150, deadline=None)
def test_a_new_value_reads_back_as_it_was_given(value: Any, key: str) -> None:
    host: Any = SimpleNamespace(read=yaml.read_config)
    reading = read(host, samples.CONFIG, "c.yaml")
    after = render(reading, samples.CONFIG, [Replace(entry(reading, key), value)])
    found = entry(read(host, after, "c.yaml"), key).value
    assert found == value and repr(found) == repr(value)


@given(
    text=_TEXTS.filter(lambda t: "{{" not in t and "{%" not in t),
    place=st.sampled_from(["--dtype=auto", "4", "--model=org/model"]),
)
@settings(max_examples=150, deadline=None)
def test_a_new_word_reads_back_as_it_was_given(text: str, place: str) -> None:
    reading = read(yaml, samples.POD, "p.yaml")
    index = [w.text for w in reading.sites[0].words].index(place)
    after = render(reading, samples.POD, [Replace(reading.sites[0].words[index], "--x=" + text)])
    again = read(yaml, after, "p.yaml").sites[0]
    assert again.words[index].spelled() == "--x=" + text


_ARGS = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args:%s\n    tty: true\n"
_COMMAND = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command:%s\n    tty: true\n"
_FORMS = [
    _ARGS % "\n    - --x\n    - 4",
    _ARGS % '\n    - --x\n    - "4"',
    _ARGS % "\n    - --x\n    - '4' # c",
    _ARGS % "\n    - --x\n    - &a 4",
    _ARGS % " [--x, 4]",
    _ARGS % ' ["--x", "4"]',
    _ARGS % "\n    - --x\n    - |-\n      4",
    _COMMAND % " --x 4",
    _COMMAND % ' "--x 4"',
    _COMMAND % " '--x 4'",
    _COMMAND % " >-\n      --x\n      4",
    _COMMAND % " |\n      --x 4",
]
_HANDED = ["8", "a b", "it's", 'say "x"', "a\\b", '{"a": 1}', "a #b", "#a", "", "a: b", "'\"", "*", "~", "yes", "1e3",
           "{a,b}", "- a", "12:30", "a,b", "%x"]  # fmt: skip


@pytest.mark.parametrize("text", _FORMS)
def test_loaders_hand_over_what_was_written(text: str) -> None:
    from ruamel.yaml import YAML

    for value in _HANDED:
        reading = read(yaml, text, "x.yaml")
        after = render(reading, text, [Replace(word(reading, "4"), value)])
        loaded = YAML(typ="safe").load(after)
        if "services" in loaded:
            assert loaded["services"]["a"].pop("tty") is True
            assert shlex.split(loaded["services"]["a"]["command"]) == ["--x", value]
        else:
            container = loaded["spec"]["containers"][0]
            assert container == {"image": "vllm/vllm-openai:v1", "args": ["--x", value], "tty": True}


VALUES = [
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", [1, 4], "k:\n  - 1\n  - 4\nz: 1\n"),
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", [1, 2, 4, 8], "k:\n  - 1\n  - 2\n  - 4\n  - 8\nz: 1\n"),
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", [0, 1, 2, 4], "k:\n  - 0\n  - 1\n  - 2\n  - 4\nz: 1\n"),
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", [8], "k:\n  - 8\nz: 1\n"),
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", [], "k: []\nz: 1\n"),
    ("k:\n  - 1\n  - 2\n  - 4\nz: 1\n", ["a b", 2, 4], "k:\n  - a b\n  - 2\n  - 4\nz: 1\n"),
    (
        "k:\n  - 1\n  - 2\n  - 4\nz: 1\n",
        [1, 2, 4, {"a": [1]}],
        "k:\n  - 1\n  - 2\n  - 4\n  - a:\n      - 1\nz: 1\n",
    ),
    ("k: [1, 2, 4]\nz: 1\n", [1, 4], "k: [1, 4]\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", [1, 2, 4, 8], "k: [1, 2, 4, 8]\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", [0, 1, 2, 4], "k: [0, 1, 2, 4]\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", [8], "k: [8]\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", [], "k: []\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", ["a b", 2, 4], "k: [a b, 2, 4]\nz: 1\n"),
    ("k: [1, 2, 4]\nz: 1\n", [1, 2, 4, {"a": [1]}], "k: [1, 2, 4, {a: [1]}]\nz: 1\n"),
    ("k:\n  a: 1\n  b: x\nz: 1\n", {"b": "x"}, "k:\n  b: x\nz: 1\n"),
    ("k:\n  a: 1\n  b: x\nz: 1\n", {"c": 1, "b": "x"}, "k:\n  c: 1\n  b: x\nz: 1\n"),
    (
        "k:\n  a: 1\n  b: x\nz: 1\n",
        {"a": 1, "b": "x", "c": {"d": [1]}},
        "k:\n  a: 1\n  b: x\n  c:\n    d:\n      - 1\nz: 1\n",
    ),
    ("k:\n  a: 1\n  b: x\nz: 1\n", {}, "k: {}\nz: 1\n"),
    ("k:\n  a: 1\n  b: x\nz: 1\n", {"a": "1", "b": "yes"}, 'k:\n  a: "1"\n  b: "yes"\nz: 1\n'),
    ("k:\n  a: 1\n  b: x\nz: 1\n", "text", "k: text\nz: 1\n"),
    ("k: {a: 1, b: x}\nz: 1\n", {"b": "x"}, "k: {b: x}\nz: 1\n"),
    ("k: {a: 1, b: x}\nz: 1\n", {"c": 1, "b": "x"}, "k: {c: 1, b: x}\nz: 1\n"),
    ("k: {a: 1, b: x}\nz: 1\n", {"a": 1, "b": "x", "c": {"d": [1]}}, "k: {a: 1, b: x, c: {d: [1]}}\nz: 1\n"),
    ("k: {a: 1, b: x}\nz: 1\n", {}, "k: {}\nz: 1\n"),
    ("k: {a: 1, b: x}\nz: 1\n", {"a": "1", "b": "yes"}, 'k: {a: "1", b: "yes"}\nz: 1\n'),
    ("k: {a: 1, b: x}\nz: 1\n", "text", "k: text\nz: 1\n"),
    ('k: {"a": 1, "b": "x"}\nz: 1\n', {"b": "x"}, 'k: {"b": "x"}\nz: 1\n'),
    ('k: {"a": 1, "b": "x"}\nz: 1\n', {"c": 1, "b": "x"}, 'k: {"c": 1, "b": "x"}\nz: 1\n'),
    (
        'k: {"a": 1, "b": "x"}\nz: 1\n',
        {"a": 1, "b": "x", "c": {"d": [1]}},
        'k: {"a": 1, "b": "x", "c": {d: [1]}}\nz: 1\n',
    ),
    ('k: {"a": 1, "b": "x"}\nz: 1\n', {}, "k: {}\nz: 1\n"),
    ('k: {"a": 1, "b": "x"}\nz: 1\n', {"a": "1", "b": "yes"}, 'k: {"a": "1", "b": "yes"}\nz: 1\n'),
    ('k: {"a": 1, "b": "x"}\nz: 1\n', "text", "k: text\nz: 1\n"),
    ("k:\nz: 1\n", "new", "k: new\nz: 1\n"),
    ("k:\nz: 1\n", 8, "k: 8\nz: 1\n"),
    ("k:\nz: 1\n", "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ("k:\nz: 1\n", "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ("k: ''\nz: 1\n", "new", "k: 'new'\nz: 1\n"),
    ("k: ''\nz: 1\n", 8, "k: 8\nz: 1\n"),
    ("k: ''\nz: 1\n", "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ("k: ''\nz: 1\n", "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ('k: |\n  {"a": 1}\nz: 1\n', "new", "k: new\nz: 1\n"),
    ('k: |\n  {"a": 1}\nz: 1\n', 8, "k: 8\nz: 1\n"),
    ('k: |\n  {"a": 1}\nz: 1\n', "a\nb\n", "k: |\n  a\n  b\nz: 1\n"),
    ('k: |\n  {"a": 1}\nz: 1\n', "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ('k: >-\n  {"a": 1}\nz: 1\n', "new", "k: >-\n  new\nz: 1\n"),
    ('k: >-\n  {"a": 1}\nz: 1\n', 8, "k: 8\nz: 1\n"),
    ('k: >-\n  {"a": 1}\nz: 1\n', "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ('k: >-\n  {"a": 1}\nz: 1\n', "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ("k: |-\n  text\nz: 1\n", "new", "k: |-\n  new\nz: 1\n"),
    ("k: |-\n  text\nz: 1\n", 8, "k: 8\nz: 1\n"),
    ("k: |-\n  text\nz: 1\n", "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ("k: |-\n  text\nz: 1\n", "a\nb", "k: |-\n  a\n  b\nz: 1\n"),
    ("k: |+\n  text\n\nz: 1\n", "new", "k: new\nz: 1\n"),
    ("k: |+\n  text\n\nz: 1\n", 8, "k: 8\nz: 1\n"),
    ("k: |+\n  text\n\nz: 1\n", "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ("k: |+\n  text\n\nz: 1\n", "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ("k: |2\n    text\nz: 1\n", "new", "k: new\nz: 1\n"),
    ("k: |2\n    text\nz: 1\n", 8, "k: 8\nz: 1\n"),
    ("k: |2\n    text\nz: 1\n", "a\nb\n", 'k: "a\\nb\\n"\nz: 1\n'),
    ("k: |2\n    text\nz: 1\n", "a\nb", 'k: "a\\nb"\nz: 1\n'),
    ("k: true # c\n", "new", "k: new # c\n"),
    ("k: true # c\n", 8, "k: 8 # c\n"),
    ("k: true # c\n", "a\nb\n", 'k: "a\\nb\\n" # c\n'),
    ("k: true # c\n", "a\nb", 'k: "a\\nb" # c\n'),
    ("k: {a: 1}\nz: 1\n", {"a": 1, "c": "x,y"}, 'k: {a: 1, c: "x,y"}\nz: 1\n'),
    ("k: {'a': 1}\nz: 1\n", {"a": 1, "c": "x"}, "k: {'a': 1, c: x}\nz: 1\n"),
    ("k: [a]\nz: 1\n", ["a", "x,y"], 'k: [a, "x,y"]\nz: 1\n'),
    ("k: ['a', b, 'c']\nz: 1\n", ["a", "b", "c", "d"], "k: ['a', b, 'c', 'd']\nz: 1\n"),
    ('k: [\'a\', "b", "c"]\nz: 1\n', ["a", "b", "c", "d"], 'k: [\'a\', "b", "c", "d"]\nz: 1\n'),
    ("k: ['1', \"b\"]\nz: 1\n", ["1", "b", "d"], 'k: [\'1\', "b", "d"]\nz: 1\n'),
    ('k: ["1", b]\nz: 1\n', ["1", "b", "d"], 'k: ["1", b, d]\nz: 1\n'),
    ("k: ['', b]\nz: 1\n", ["", "b", "d"], "k: ['', b, d]\nz: 1\n"),
    ("k: [1, 2, '3']\nz: 1\n", [1, 2, "3", "x"], "k: [1, 2, '3', x]\nz: 1\n"),
    ("k:\n  a: &d 1\n  b: *d\n  c: 2\nz: 1\n", {"c": 2}, "k:\n  c: 2\nz: 1\n"),
    ("k:\n  - a\nz: 1\n", ["a", "x,y"], "k:\n  - a\n  - x,y\nz: 1\n"),
    (
        "k:\n    a: 1\nz: 1\n",
        {"a": 1, "c": {"d": {"e": 1}}},
        "k:\n    a: 1\n    c:\n        d:\n            e: 1\nz: 1\n",
    ),
    (
        "k:\n    a: 1\nz: 1\n",
        {"a": 1, "c": [{"d": {"e": 1}}]},
        "k:\n    a: 1\n    c:\n        - d:\n              e: 1\nz: 1\n",
    ),
    ("k:\n    - 1\nz: 1\n", [1, {"d": {"e": 1}, "f": 2}], "k:\n    - 1\n    - d:\n        e: 1\n      f: 2\nz: 1\n"),
    ("k:\n - 1\nz: 1\n", [1, {"d": {"e": 1}, "f": 2}], "k:\n - 1\n - d:\n     e: 1\n   f: 2\nz: 1\n"),
    ("k:\n- 1\nz: 1\n", [1, {"d": {"e": 1}, "f": 2}], "k:\n- 1\n- d:\n    e: 1\n  f: 2\nz: 1\n"),
    ("k:\n  - - 1\n    - 2\nz: 1\n", [[1, 2, 3]], "k:\n  - - 1\n    - 2\n    - 3\nz: 1\n"),
    ("k:\n  - - 1\n    - 2\nz: 1\n", [[1]], "k:\n  - - 1\nz: 1\n"),
    ("k:\n  - a: 1\n    b: 2\nz: 1\n", [{"a": 1, "b": 3}], "k:\n  - a: 1\n    b: 3\nz: 1\n"),
    ("k:\n  - a: 1\n    b: 2\nz: 1\n", [{"a": 1}], "k:\n  - a: 1\nz: 1\n"),
    ("k:\n  - a: 1\n    b: 2\nz: 1\n", [{"b": 2}], "k:\n  - b: 2\nz: 1\n"),
    ("k:\n  a:\n    - 1\n    - 2\n  b: 3\nz: 1\n", {"a": "x", "b": 3}, "k:\n  a: x\n  b: 3\nz: 1\n"),
    ("k:\n  a:\n    - 1\n    - 2\n  b: 3\nz: 1\n", {"a": {"c": 1}, "b": 3}, "k:\n  a: {c: 1}\n  b: 3\nz: 1\n"),
    ("k: # c\n  a: 1\nz: 1\n", "text", "k: text # c\nz: 1\n"),
    ("k: # c\n  a: 1\nz: 1\n", {"b": 1}, "k: # c\n  b: 1\nz: 1\n"),
    ("k: {a: [1, 2]}\nz: 1\n", {"a": "x"}, "k: {a: x}\nz: 1\n"),
    ("k: {a: {b: 1}}\nz: 1\n", {"a": [1]}, "k: {a: [1]}\nz: 1\n"),
    ("k: [[1], 2]\nz: 1\n", [3, 2], "k: [3, 2]\nz: 1\n"),
    ("k: a\nz: 1\n", True, "k: true\nz: 1\n"),
    ("k: 'a'\nz: 1\n", True, "k: true\nz: 1\n"),
    ("k: 'a'\nz: 1\n", "4", "k: '4'\nz: 1\n"),
    ("k: False\nz: 1\n", True, "k: True\nz: 1\n"),
    ("k: 4\nz: 1\n", "4", 'k: "4"\nz: 1\n'),
    ("k: '4'\nz: 1\n", 4, "k: 4\nz: 1\n"),
    ("k: a\nz: 1\n", None, "k: null\nz: 1\n"),
    ("k: a\nz: 1\n", [1, "x,y"], 'k: [1, "x,y"]\nz: 1\n'),
    ("k: a\nz: 1\n", {"x,y": 1}, 'k: {"x,y": 1}\nz: 1\n'),
    ("k: [a, b]\nz: 1\n", ["b"], "k: [b]\nz: 1\n"),
    ("k: [a, b]\nz: 1\n", ["a"], "k: [a]\nz: 1\n"),
    ("k: [a, b, c]\nz: 1\n", ["x", "c"], "k: [x, c]\nz: 1\n"),
    ("k: [a, b, c]\nz: 1\n", ["a", "x", "y", "c"], "k: [a, x, y, c]\nz: 1\n"),
    ("k: [a, b, c]\nz: 1\n", ["a", "b", "x", "y", "c"], "k: [a, b, x, y, c]\nz: 1\n"),
    ("k: [a, a]\nz: 1\n", ["a"], "k: [a]\nz: 1\n"),
    ("k: [a]\nz: 1\n", ["a", "a"], "k: [a, a]\nz: 1\n"),
    ("k: []\nz: 1\n", ["a"], "k: [a]\nz: 1\n"),
    ("k: {}\nz: 1\n", {"a": 1}, "k: {a: 1}\nz: 1\n"),
    ("k: &n {a: 1}\nz: 1\n", {"a": 2}, "k: &n {a: 2}\nz: 1\n"),
    ("k:\n  a: 1\n  b: 2\nz: 1\n", {"c": 3, "d": 4}, "k:\n  c: 3\n  d: 4\nz: 1\n"),
    ("k:\n  a: 1\n  b: 2\nz: 1\n", {"b": 2, "c": {"x": 1}}, "k:\n  c: {x: 1}\n  b: 2\nz: 1\n"),
    ("k:\n  'a': 1\nz: 1\n", {"c": 1}, "k:\n  'c': 1\nz: 1\n"),
    ('k:\n  "a": 1\nz: 1\n', {"c": 1}, 'k:\n  "c": 1\nz: 1\n'),
    ("k: {a: 1}\nz: 1\n", {"c,d": 1}, 'k: {"c,d": 1}\nz: 1\n'),
    ('k: "a\\tb"\nz: 1\n', 'say "x"', 'k: "say \\"x\\""\nz: 1\n'),
    ('k: "ab"\nz: 1\n', 'say "x"', "k: 'say \"x\"'\nz: 1\n"),
    ("k: |-\n    a\nz: 1\n", "x\n\ny", "k: |-\n    x\n\n    y\nz: 1\n"),
    ("k: |-\n    a\nz: 1\n", " x", 'k: " x"\nz: 1\n'),
    ("k: |-\n    a\nz: 1\n", "x\x07", 'k: "x\\u0007"\nz: 1\n'),
    ("k: |\n  a\nz: 1\n", "x\n\n", 'k: "x\\n\\n"\nz: 1\n'),
    ("k: |\n  a\nz: 1\n", "x\n y\n", "k: |\n  x\n   y\nz: 1\n"),
    ("k: >\n  a\nz: 1\n", "x\n", "k: >\n  x\nz: 1\n"),
    ("k: >\n  a\nz: 1\n", "x\ny\n", 'k: "x\\ny\\n"\nz: 1\n'),
    ("k: |-\n  a\nz: 1\n", "", 'k: ""\nz: 1\n'),
    ("k: |- # c\n  a\nz: 1\n", "b", "k: |- # c\n  b\nz: 1\n"),
    ("k: |2-\n    a\nz: 1\n", "b", "k: b\nz: 1\n"),
    ("? k\n: a\nz: 1\n", "b", "? k\n: b\nz: 1\n"),
]


@pytest.mark.parametrize(("before", "value", "after"), VALUES)
def test_a_value_changes_where_it_stands(before: str, value: Any, after: str) -> None:
    from ruamel.yaml import YAML

    host: Any = SimpleNamespace(read=yaml.read_config)
    reading = read(host, before, "c.yaml")
    assert render(reading, before, [Replace(entry(reading, "k"), value)]) == after
    assert YAML(typ="safe").load(after) == {"k": value, **({"z": 1} if "z" in before else {})}
    reading = read(host, after, "c.yaml")
    assert render(reading, after, [Replace(entry(reading, "k"), value)]) == after


@pytest.mark.parametrize(("value", "after"), [([True, 2], "[true, 2]"), ([1.0, 2], "[1.0, 2]"), ([1, 2], "[1, 2]")])
def test_a_number_is_not_a_switch(value: list[Any], after: str) -> None:
    host: Any = SimpleNamespace(read=yaml.read_config)
    reading = read(host, "k: [1, 2]\n", "c.yaml")
    assert render(reading, "k: [1, 2]\n", [Replace(entry(reading, "k"), value)]) == f"k: {after}\n"


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ("k: {<<: {a: 1}, b: 2}\n", {"a": 2, "b": 1}, "the mapping merges another one"),
        ("d: &d {a: 1}\nk: *d\n", {"a": 2}, "the value stands elsewhere, behind an alias"),
        ("d: &d 3\nk:\n  a: *d\n", {"a": 2}, "the value stands elsewhere, behind an alias"),
        ("d: &d 3\nk:\n  a: *d\n", {"c": 2}, "the value stands elsewhere, behind an alias"),
        ("k:\n  - - 1\n", ["x"], "cannot be written anew here"),
        ("k:\n  a: &d 1\n  b: *d\n", {"b": 1}, "the anchor &d is used elsewhere"),
        ("k:\n  - a: 1\n", ["x"], "cannot be written anew here"),
    ],
)
def test_a_value_that_stands_elsewhere_is_left(text: str, value: Any, why: str) -> None:
    host: Any = SimpleNamespace(read=yaml.read_config)
    reading = read(host, text, "c.yaml")
    with pytest.raises(CannotRender, match=why):
        render(reading, text, [Replace(entry(reading, "k"), value)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("swap: 4\n\nport: 1\n", "port: 1\n"),
        ("port: 1\n\nswap: 4\n\nseed: 2\n", "port: 1\n\nseed: 2\n"),
        ("port: 1\nswap: 4\n\nseed: 2\n", "port: 1\n\nseed: 2\n"),
        ("port: 1\nswap: 4", "port: 1"),
        ("port: 1\nswap: 4\n", "port: 1\n"),
        ("port: 1\n\nswap: 4", "port: 1\n"),
        ("swap: 4", "{}"),
        ("port: 1\n\nswap: 4\n  \nseed: 2\n", "port: 1\n\nseed: 2\n"),
    ],
)
def test_a_key_goes_with_its_line_and_one_of_two_blank_ones(before: str, after: str) -> None:
    host: Any = SimpleNamespace(read=yaml.read_config)
    assert edited(before, lambda r: [Remove(entry(r, "swap"))], host) == after


@pytest.mark.parametrize(
    ("between", "after"),
    [
        ("", "- image"),
        (" # why", "- image"),
        ("\n", "- image"),
        ("\n    # about the image", "-\n    # about the image\n    image"),
    ],
)
def test_a_first_key_behind_a_dash_leaves_the_dash_to_the_next(between: str, after: str) -> None:
    text = f"kind: Pod\nspec:\n  containers:\n  - args: [--x]{between}\n    image: vllm/vllm-openai:v1\n    tty: true\n"
    result = edited(text, lambda r: [Remove(w) for w in r.sites[0].words])
    assert result == f"kind: Pod\nspec:\n  containers:\n  {after}: vllm/vllm-openai:v1\n    tty: true\n"


def test_what_goes_is_not_written_anew() -> None:
    def both(reading: Reading) -> list[Change]:
        value = word(reading, "4")
        return [Remove(value), Replace(value, "8"), Remove(word(reading, "--swap-space"))]

    assert edited(samples.POD, both) == edited(samples.POD, removing("--swap-space", "4"))


def test_no_action_is_written_over_and_none_comes() -> None:
    for old, new in [("--swap-space=\ue000", "--other=1"), ("--model=\ue000", "--other=1")]:
        with pytest.raises(CannotRender, match="would touch a template action"):
            edited(samples.TEMPLATE, lambda r, old=old, new=new: [Replace(word(r, old), new)])  # type: ignore[misc]
    with pytest.raises(CannotRender, match="would be read as a template action"):
        edited(samples.TEMPLATE, lambda r: [Replace(word(r, "--disable-log-stats"), "{{ x }}")])
