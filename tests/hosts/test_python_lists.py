"""Argument lists in Python: what is read, and what a removal or an insertion leaves."""

from __future__ import annotations

import pytest
from python_helpers import changed, pair, pick, read, render, without, words

from vllm_migrate.model import CannotRender, InsertWords, Remove, Replace

ONE_PER_LINE = """\
cmd = [
    "vllm",
    "serve",
    model,
    "--swap-space",
    "4",  # GiB
    f"--port={port}",
    "--dtype", "auto",
]
subprocess.run(cmd)
"""


def test_words_after_the_program() -> None:
    assert words(ONE_PER_LINE) == ["model", "--swap-space", "4", "--port={port}", "--dtype", "auto"]
    site = read(ONE_PER_LINE).sites[0]
    assert site.entry_point == "serve" and not site.open
    assert not site.words[0].literal and site.words[1].literal


def test_removal_takes_whole_lines_and_their_comments() -> None:
    assert without(ONE_PER_LINE, "--swap-space") == ONE_PER_LINE.replace('    "--swap-space",\n    "4",  # GiB\n', "")


def test_removal_of_a_pair_on_one_line() -> None:
    assert without(ONE_PER_LINE, "--dtype") == ONE_PER_LINE.replace('    "--dtype", "auto",\n', "")


def test_removal_keeps_carriage_returns() -> None:
    text = ONE_PER_LINE.replace("\n", "\r\n")
    assert without(text, "--swap-space") == text.replace('    "--swap-space",\r\n    "4",  # GiB\r\n', "")


@pytest.mark.parametrize(
    ("before", "option", "after"),
    [
        ('run(["vllm", "serve", "m", "--a", "1", "--b", "2"])', "--a", 'run(["vllm", "serve", "m", "--b", "2"])'),
        ('run(["vllm", "serve", "m", "--a", "1", "--b", "2"])', "--b", 'run(["vllm", "serve", "m", "--a", "1"])'),
        ('run(("vllm", "serve", "m", "--a", "1"),)', "--a", 'run(("vllm", "serve", "m"),)'),
        (
            'c = ["vllm", "serve",\n     "--a", "1",\n     "--b", "2"]\n',
            "--b",
            'c = ["vllm", "serve",\n     "--a", "1"]\n',
        ),
        ('c = ["vllm", "serve", "--a", "1",\n     "--b", "2"]\n', "--a", 'c = ["vllm", "serve",\n     "--b", "2"]\n'),
        (
            'c = [\n    "vllm", "serve",\n    "--a",\n    "1"\n]\n',
            "--a",
            'c = [\n    "vllm", "serve"\n]\n',
        ),
        (
            'c = [\n    "vllm", "serve",  # start\n    "--a", "1"]\n',
            "--a",
            'c = [\n    "vllm", "serve"  # start\n    ]\n',
        ),
    ],
)
def test_removal_at_every_place(before: str, option: str, after: str) -> None:
    assert without(before, option) == after


GROWN = """\
def start(fp8, eager):
    cmd = ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"]
    cmd += ["--swap-space", "4"]
    cmd.append("--enable-x")
    if fp8:
        # half the memory
        cmd.extend(["--kv-cache-dtype", "fp8_e5m2"])
    if eager:
        cmd.append("--enforce-eager")
    else:
        cmd += ["--cuda-graph-sizes", "8"]
    for extra in extras:
        cmd.append(extra)
    cmd += ["--a", *more] if more else []
    return subprocess.Popen(cmd, env=env)
"""


def test_a_list_that_grows() -> None:
    assert words(GROWN) == [
        "--model", "m", "--swap-space", "4", "--enable-x", "--kv-cache-dtype", "fp8_e5m2", "--enforce-eager",
        "--cuda-graph-sizes", "8", "extra", "--a", "more",
    ]  # fmt: skip
    assert read(GROWN).sites[0].entry_point == "api_server"
    assert read(GROWN).sites[0].open


def test_an_emptied_statement_goes() -> None:
    assert without(GROWN, "--swap-space") == GROWN.replace('    cmd += ["--swap-space", "4"]\n', "")
    after = changed(GROWN, lambda r: [Remove(i) for i in pick(r, "--enable-x")])
    assert after == GROWN.replace('    cmd.append("--enable-x")\n', "")


def test_an_emptied_if_goes_with_its_comment() -> None:
    gone = '    if fp8:\n        # half the memory\n        cmd.extend(["--kv-cache-dtype", "fp8_e5m2"])\n'
    assert without(GROWN, "--kv-cache-dtype") == GROWN.replace(gone, "")


def test_an_emptied_arm_with_another_arm() -> None:
    after = changed(GROWN, lambda r: [Remove(i) for i in pick(r, "--enforce-eager")])
    assert "    if eager:\n        pass\n    else:\n" in after
    after = without(GROWN, "--cuda-graph-sizes")
    assert '        cmd.append("--enforce-eager")\n    for extra' in after


def test_everything_of_a_growing_list_at_once() -> None:
    after = without(GROWN, "--swap-space", "--kv-cache-dtype", "--cuda-graph-sizes")
    assert words(after) == ["--model", "m", "--enable-x", "--enforce-eager", "extra", "--a", "more"]


def test_elif_arm_goes() -> None:
    text = (
        'cmd = ["vllm", "serve", "m"]\nif a:\n    cmd += ["--a", "1"]\nelif b:\n    cmd += ["--b", "2"]\n'
        'else:\n    cmd += ["--c", "3"]\n'
    )
    assert without(text, "--c") == text.replace('else:\n    cmd += ["--c", "3"]\n', "")
    assert "elif b:\n    pass\nelse:" in without(text, "--b")
    shorter = without(text, "--c")
    assert without(shorter, "--b") == 'cmd = ["vllm", "serve", "m"]\nif a:\n    cmd += ["--a", "1"]\n'


def test_one_line_if_and_semicolons() -> None:
    text = 'cmd = ["vllm", "serve", "m"]\nif a: cmd.append("--x")\ncmd.append("--y"); cmd.append("--z")\nrun(cmd)\n'
    after = changed(text, lambda r: [Remove(i) for i in pick(r, "--x", "--y")])
    assert after == 'cmd = ["vllm", "serve", "m"]\ncmd.append("--z")\nrun(cmd)\n'


def test_statements_that_share_a_line() -> None:
    line = '    cmd.append("--x"); cmd.append("--y"); cmd.append("--z")  # all\n'
    text = f'cmd = ["vllm", "serve", "m"]\nif a:\n{line}run(cmd)\n'

    def gone(*names: str) -> str:
        return changed(text, lambda r: [Remove(i) for i in pick(r, *names)])

    assert gone("--x", "--y") == text.replace('cmd.append("--x"); cmd.append("--y"); ', "")
    assert gone("--y", "--z") == text.replace('; cmd.append("--y"); cmd.append("--z")', "")
    assert gone("--x", "--z") == text.replace('cmd.append("--x"); ', "").replace('; cmd.append("--z")', "")
    assert gone("--x", "--y", "--z") == 'cmd = ["vllm", "serve", "m"]\nrun(cmd)\n'


def test_a_starred_condition_goes_when_emptied() -> None:
    text = 'run(["vllm", "serve", "m", *(["--x", "1"] if x else []), "--y"])\n'
    assert words(text) == ["m", "--x", "1", "--y"]
    assert without(text, "--x") == 'run(["vllm", "serve", "m", "--y"])\n'


def test_parts_shared_by_two_launches_are_the_same_words() -> None:
    text = (
        'common = ["--swap-space", "4"]\na = ["vllm", "serve", "a", *common]\n'
        'b = ["vllm", "serve", "b"] + common\nrun(a)\nrun(b)\n'
    )
    first, second = read(text).sites
    assert first.words[1] is second.words[1] and not first.words[1].locked
    other = text + 'c = ["sglang", "serve", *common]\n'
    assert "sglang" in read(other).sites[0].words[1].locked


def test_a_base_command_is_no_launch_of_its_own() -> None:
    text = 'base = ["vllm", "serve"]\ncmd = base + ["--a", "1"]\nrun(cmd)\n'
    assert [words(text, i) for i in range(len(read(text).sites))] == [["--a", "1"]]


def test_two_beginnings_share_what_follows() -> None:
    text = (
        'if a:\n    cmd = ["vllm", "serve", "m"]\nelse:\n    cmd = ["python3", "-m", "vllm.entrypoints.openai.'
        'api_server", "--model", "m"]\ncmd += ["--swap-space", "4"]\n'
    )
    first, second = read(text).sites
    assert first.words[-1] is second.words[-1]


def test_insertion_is_spelled_like_its_neighbours() -> None:
    def after_swap(text: str) -> str:
        reading = read(text)
        value = pair(reading, "--swap-space")[1]
        return render(text, [InsertWords(value.container, ["--new", "5"], after=value)])  # type: ignore[arg-type]

    assert '    "4",  # GiB\n    "--new",\n    "5",\n    f"--port' in after_swap(ONE_PER_LINE)
    pairs = "c = [\n  'vllm', 'serve',\n  '--swap-space', '4'\n]\n"
    assert after_swap(pairs) == "c = [\n  'vllm', 'serve',\n  '--swap-space', '4',\n  '--new', '5'\n]\n"
    assert after_swap('r(["vllm", "serve", "--swap-space", "4"])') == (
        'r(["vllm", "serve", "--swap-space", "4", "--new", "5"])'
    )


def test_an_added_word_takes_the_place_of_what_goes() -> None:
    reading = read(ONE_PER_LINE)
    old = pair(reading, "--swap-space")
    new = InsertWords(old[1].container, ["--new", "5"], after=old[1])  # type: ignore[arg-type]
    after = render(ONE_PER_LINE, [Remove(old[0]), Remove(old[1]), new])
    assert after == ONE_PER_LINE.replace('"--swap-space"', '"--new"').replace('"4",', '"5",')


def test_insertion_without_a_neighbour_goes_last() -> None:
    site = read(ONE_PER_LINE).sites[0]
    assert site.word_home is not None
    after = render(ONE_PER_LINE, [InsertWords(site.word_home, ["--new"])])
    assert after == ONE_PER_LINE.replace('"auto",\n', '"auto",\n    "--new",\n')


def test_words_after_an_append() -> None:
    reading = read(GROWN)
    (word,) = pick(reading, "--enable-x")
    new = InsertWords(word.container, ["--new", "5"], after=word)  # type: ignore[arg-type]
    assert '    cmd.append("--enable-x")\n    cmd.extend(["--new", "5"])\n' in render(GROWN, [new])
    reading = read(GROWN)
    (word,) = pick(reading, "--enable-x")
    new = InsertWords(word.container, ["--new", "5"], after=word)  # type: ignore[arg-type]
    after = render(GROWN, [Remove(word), new])
    assert '4"]\n    cmd.extend(["--new", "5"])\n    if fp8' in after


def test_replacement_keeps_quotes_and_run_time_parts() -> None:
    text = "run(['vllm', 'serve', model, f'--port={port}', '--tp', str(tp)])\n"
    reading = read(text)
    words_ = reading.sites[0].words
    after = render(
        text,
        [Replace(words_[1], "--api-port=\ue000"), Replace(words_[2], "--size"), Replace(words_[3], "--n=\ue000")],
    )
    assert after == "run(['vllm', 'serve', model, f'--api-port={port}', '--size', f'--n={str(tp)}'])\n"


def test_text_put_together_in_an_element() -> None:
    text = 'run(["vllm", "serve", "--model=" + name, "--n={}".format(n), "--k", 4])\n'
    assert words(text) == ["--model=name", "--n={}", "--k", "4"]
    assert [w.literal for w in read(text).sites[0].words] == [False, False, True, True]


def test_json_dumps_is_read_and_edited_as_its_value() -> None:
    text = 'c = ["vllm", "serve", "--speculative-config", json.dumps({"method": "x", "n": 3})]\nimport json\n'
    word = read(text).sites[0].words[1]
    assert word.text == '{"method": "x", "n": 3}'
    assert 'json.dumps({"n": 3, "k": True})' in render(text, [Replace(word, '{"n": 3, "k": true}')])


def test_json_dumps_of_a_variable() -> None:
    text = 'import json\nconf = {"method": "x"}\nc = ["vllm", "serve", "--speculative-config", json.dumps(conf)]\n'
    word = read(text).sites[0].words[1]
    assert word.text == '{"method": "x"}'
    assert render(text, [Replace(word, '{"method": "y"}')]) == text.replace('"x"', '"y"')
    used = read(text + "print(conf)\n").sites[0].words[1]
    assert not used.literal and used.spelled() == "json.dumps(conf)"


def test_container_runs_and_their_environment() -> None:
    text = 'run(["docker", "run", "-e", "VLLM_USE_V1=0", "--gpus", "all", "vllm/vllm-openai:v0.8.0", "--model", "m"])\n'
    site = read(text).sites[0]
    assert words(text) == ["--model", "m"]
    assert [(p.kind, p.text) for p in site.pins] == [("image", "vllm/vllm-openai:v0.8.0")]
    assert [(v.name, v.value, v.only) for v in site.variables] == [("VLLM_USE_V1", "0", True)]
    assert without(text, "VLLM_USE_V1") == text.replace('"-e", "VLLM_USE_V1=0", ', "")
    assert "v0.11.0" in changed(text, lambda r: [Replace(r.sites[0].pins[0], "vllm/vllm-openai:v0.11.0")])


def test_arguments_of_a_container_in_a_manifest_or_client() -> None:
    text = 'c = {"name": "x", "image": "vllm/vllm-openai:v0.8.0", "args": ["--model", "m", "--swap-space", "4"]}\n'
    assert words(text) == ["--model", "m", "--swap-space", "4"]
    text = 'V1Container(image="vllm/vllm-openai:v0.8.0", command=["vllm", "serve"], args=["m", "--swap-space", "4"])\n'
    assert [words(text, i) for i in range(len(read(text).sites))] == [["m", "--swap-space", "4"]]


def test_lists_of_other_programs_are_no_sites() -> None:
    assert not read('run(["pip", "install", "vllm"])\nc = ["python", "train.py", "--model", "m"]\n').sites
    assert not read('echo = ["echo", "vllm", "serve"]\n').sites


def test_words_used_by_name_elsewhere_are_locked() -> None:
    text = 'cmd = ["vllm", "serve", "m", "--x", "--y"]\nif "--x" in cmd:\n    pass\n'
    locked = {w.text: bool(w.locked) for w in read(text).sites[0].words}
    assert locked == {"m": False, "--x": True, "--y": False}


def test_guarded_words() -> None:
    text = (
        'import vllm\ncmd = ["vllm", "serve", "m"]\nif version.parse(vllm.__version__) < version.parse("0.9"):\n'
        '    cmd += ["--old", "1"]\n'
    )
    assert [bool(w.guarded) for w in read(text).sites[0].words] == [False, True, True]


def test_what_cannot_be_written() -> None:
    text = 'cmd = "a", "vllm", "serve", "--x"\nrun(["vllm", "serve", *flags])\n'
    word = read(text).sites[0].words[0]
    with pytest.raises(CannotRender):
        word.container.edits([Remove(word)])


def test_paths_that_never_meet_are_two_launches() -> None:
    text = (
        "def start(old):\n    cmd = list(prefix) if prefix else []\n    if old:\n"
        '        cmd.extend(["vllm", "serve", "m"])\n        cmd += ["--swap-space", "4"]\n        return cmd\n'
        '    cmd += ["python", "-m", "vllm.entrypoints.openai.api_server"]\n    cmd.append("--x")\n    return cmd\n'
    )
    sites = read(text).sites
    assert [[w.text for w in s.words] for s in sites] == [["m", "--swap-space", "4"], ["--x"]]


def test_an_added_list_goes_with_its_last_item() -> None:
    text = 'run(["vllm", "serve", "m"] + extra() + ["--swap-space", "4"])\n'
    assert without(text, "--swap-space") == 'run(["vllm", "serve", "m"] + extra())\n'
    lines = 'run(\n    ["vllm", "serve", "m"]\n    + ["--swap-space", "4"]\n    + ["--port", "1"]\n)\n'
    assert without(lines, "--swap-space") == lines.replace('\n    + ["--swap-space", "4"]', "")


def test_a_sum_of_a_variable_stays_a_list_of_its_own() -> None:
    text = 'base = ["vllm", "serve", "m"]\ncmd = base + ["--swap-space", "4"]\ncmd += ["--port", "1"]\nrun(cmd)\n'
    assert without(text, "--swap-space") == text.replace('"--swap-space", "4"', "")
