"""Shell commands and manifests in Python strings."""

from __future__ import annotations

import pytest
from python_helpers import changed, pair, pick, read, render, without, words

from vllm_migrate.hosts import host
from vllm_migrate.model import InsertWords, Remove, Replace

pytestmark = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

PARTS = """\
cmd = (
    f"vllm serve {model} "
    "--swap-space 4 "
    f"--port {port} "
    '--speculative-config \\'{"method": "x"}\\' '
    "--trust-remote-code"
)
subprocess.run(cmd, shell=True)
"""


def test_an_f_string_for_a_shell() -> None:
    text = 'os.system(f"VLLM_USE_V1=0 vllm serve {model} --swap-space 4 --port {port}")\n'
    assert words(text) == ["{model}", "--swap-space", "4", "--port", "{port}"]
    assert [v.name for v in read(text).sites[0].variables] == ["VLLM_USE_V1"]
    assert without(text, "--swap-space") == text.replace("--swap-space 4 ", "")
    assert without(text, "VLLM_USE_V1") == text.replace("VLLM_USE_V1=0 ", "")


def test_literals_side_by_side() -> None:
    assert words(PARTS)[5:] == ["--speculative-config", '{"method": "x"}', "--trust-remote-code"]
    assert without(PARTS, "--swap-space") == PARTS.replace('    "--swap-space 4 "\n', "")
    assert without(PARTS, "--port") == PARTS.replace('    f"--port {port} "\n', "")
    assert without(PARTS, "--swap-space", "--port") == PARTS.replace(
        '    "--swap-space 4 "\n    f"--port {port} "\n', ""
    )
    after = changed(PARTS, lambda r: [Remove(i) for i in pick(r, "--trust-remote-code")])
    assert words(after) == words(PARTS)[:-1]
    assert '"--trust' not in after


def test_json_inside_quotes_inside_quotes() -> None:
    after = changed(PARTS, lambda r: [Replace(i, '{"method": "it\'s"}') for i in pick(r, '{"method": "x"}')])
    assert words(after)[6] == '{"method": "it\'s"}'
    braces = """run(f'vllm serve {m} --speculative-config \\'{{"method": "x"}}\\'', shell=True)\n"""
    assert words(braces)[2] == '{"method": "x"}'
    after = changed(braces, lambda r: [Replace(i, '{"method": "y", "k": 3}') for i in pick(r, '{"method": "x"}')])
    assert after == braces.replace('"method": "x"', '"method": "y", "k": 3')


def test_sums_and_strings_that_grow() -> None:
    text = (
        'cmd = "vllm serve " + model + " --swap-space " + str(n) + " --port 80"\n'
        'cmd += " --x 1"\nif y:\n    cmd += f" --seed {s}"\nsubprocess.Popen(cmd, shell=True)\n'
    )
    assert words(text) == [
        "model", "--swap-space", "str(n)", "--port", "80", "--x", "1", "--seed", "{s}",
    ]  # fmt: skip
    assert without(text, "--swap-space") == text.replace(' --swap-space " + str(n) + "', "").replace(
        'model + " --port', 'model + " --port'
    )
    assert without(text, "--x") == text.replace('cmd += " --x 1"\n', "")
    assert without(text, "--seed") == text.replace('if y:\n    cmd += f" --seed {s}"\n', "")
    assert words(without(text, "--swap-space", "--x", "--seed")) == ["model", "--port", "80"]


def test_scripts_in_triple_quotes() -> None:
    text = (
        'S = """#!/bin/bash\n#SBATCH -N 1\nexport VLLM_USE_V1=0\nvllm serve m \\\\\n    --swap-space 4 \\\\\n'
        '    --port 80\n"""\n'
    )
    assert without(text, "--swap-space") == text.replace("    --swap-space 4 \\\\\n", "")
    assert without(text, "VLLM_USE_V1") == text.replace("export VLLM_USE_V1=0\n", "")
    folded = 'S = """\nvllm serve m \\\n    --swap-space 4 \\\n    --port 80\n"""\nrun(S)\n'
    assert without(folded, "--swap-space") == folded.replace("    --swap-space 4 \\\n", "")
    windows = folded.replace("\n", "\r\n")
    assert without(windows, "--swap-space") == windows.replace("    --swap-space 4 \\\r\n", "")
    raw = 'S = r"""\nvllm serve m \\\n    --swap-space 4 \\\n    --port 80\n"""\nrun(S)\n'
    assert without(raw, "--swap-space") == raw.replace("    --swap-space 4 \\\n", "")


def test_insertion_escapes_for_the_literal() -> None:
    text = "os.system('vllm serve m --swap-space 4')\n"
    reading = read(text)
    value = pair(reading, "--swap-space")[1]
    new = InsertWords(value.container, ["--c", '{"a": "b"}'], after=value)  # type: ignore[arg-type]
    after = render(text, [new])
    assert words(after) == ["m", "--swap-space", "4", "--c", '{"a": "b"}']
    text = 'os.system(f"vllm serve {m} --swap-space 4")\n'
    reading = read(text)
    value = pair(reading, "--swap-space")[1]
    new = InsertWords(value.container, ["--c", '{"a": "b"}'], after=value)  # type: ignore[arg-type]
    after = render(text, [new])
    assert words(after) == ["{m}", "--swap-space", "4", "--c", '{"a": "b"}']


def test_templates_filled_by_format_and_percent() -> None:
    text = 'run("vllm serve {name} --swap-space {} --port 80".format(4, name=n))\n'
    site = read(text).sites[0]
    assert [(w.literal, bool(w.locked)) for w in site.words[:3]] == [(False, False), (True, False), (False, True)]
    percent = 'run("vllm serve %s --swap-space 4" % m)\n'
    assert all(w.locked for w in read(percent).sites[0].words)


def test_a_script_as_an_item_of_a_list() -> None:
    text = 'run(["bash", "-lc", "export A=1; exec vllm serve m --swap-space 4"])\n'
    assert without(text, "--swap-space") == text.replace(" --swap-space 4", "")
    assert len(read(text).sites) == 1


@pytest.mark.parametrize(
    "text",
    [
        '"""vllm serve m --swap-space 4"""\n',
        'def f():\n    """Runs\n\n    vllm serve m --swap-space 4\n    """\n',
        'raise ValueError("vllm serve m --swap-space 4")\n',
        'print("vllm serve m --swap-space 4")\n',
        'logger.info("vllm serve %s --swap-space 4", m)\n',
        'parser.add_argument("--x", help="vllm serve m --swap-space 4")\n',
        'x = "Start it with vllm serve and --swap-space 4"\n',
        'y = {"a": "Use `vllm serve m --swap-space 4`."}\n',
        'assert "vllm serve m --swap-space 4" in text\n',
        "# vllm serve m --swap-space 4\n",
        'z = "vllm serve process died"\n',
        'HELP = "vllm serve m --swap-space 4"\nprint(HELP)\n',
        'EPILOG = """\nvllm serve m --swap-space 4\n"""\np = ArgumentParser(epilog=EPILOG)\n',
        'USAGE = """\nvllm serve m --swap-space 4\n"""\n',
        'import textwrap\nprint(textwrap.dedent("""\n    vllm serve m --swap-space 4\n    """))\n',
        'def usage():\n    return "vllm serve m --swap-space 4"\n',
        'class C:\n    help = "vllm serve m --swap-space 4"\n',
        'text = "vllm serve m --swap-space 4"\nlogger.info(text)\n',
        'x = {"help": "vllm serve m --swap-space 4"}\n',
        'a = "vllm serve m --swap-space 4"\nif a == b:\n    print(a)\n',
        'sys.stderr.write("vllm serve m --swap-space 4")\n',
        'a = "vllm serve m --swap-space 4"\nb = a.strip()\nprint(f"run {b}")\n',
    ],
)
def test_prose_is_no_launch(text: str) -> None:
    assert not read(text).sites


@pytest.mark.parametrize(
    "text",
    [
        'a = "vllm serve m --swap-space 4"\nprint(a)\nos.system(a)\n',
        'a = "vllm serve m --swap-space 4"\ndef f():\n    subprocess.run(shlex.split(a))\n',
        'a = "vllm serve m --swap-space 4"\nb = a.format(1)\nsubprocess.run(["sh", "-c", b])\n',
        'class C:\n    tool = "vllm serve m --swap-space 4"\n    def f(self):\n        run_cmd(self.tool)\n',
        'LAUNCH_CMD = "vllm serve m --swap-space 4"\n',
        'def build():\n    return "vllm serve m --swap-space 4"\n',
        's = "vllm serve m --swap-space 4"\nPath("run.sh").write_text(s)\n',
        'Container(command="vllm serve m --swap-space 4")\n',
    ],
)
def test_what_is_run_or_leaves_the_module_is_a_launch(text: str) -> None:
    assert [w for w in words(text) if w == "--swap-space"]


def test_a_manifest_in_a_string() -> None:
    if host("yaml") is None:
        pytest.skip("the YAML host is not there")
    text = (
        'Y = """\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: vllm/vllm-openai:v0.8.0\n'
        '    args:\n    - --model\n    - m\n    - --swap-space\n    - "4"\n"""\n'
    )
    assert words(text) == ["--model", "m", "--swap-space", "4"]
    assert without(text, "--swap-space") == text.replace('    - --swap-space\n    - "4"\n', "")


JOINED = """\
parts = [
    "vllm serve",
    model,
    f"--port {port}",
    "--swap-space 4",
    "--seed 1 --enforce-eager",
]
if spec:
    parts.append("--num-lookahead-slots 3")
parts += ["--a 1", "--b 2"]
subprocess.run(" ".join(parts), shell=True)
"""


def test_pieces_that_are_joined() -> None:
    assert words(JOINED) == [
        "model", "--port", "{port}", "--swap-space", "4", "--seed", "1", "--enforce-eager",
        "--num-lookahead-slots", "3", "--a", "1", "--b", "2",
    ]  # fmt: skip
    assert without(JOINED, "--swap-space") == JOINED.replace('    "--swap-space 4",\n', "")
    assert without(JOINED, "--port") == JOINED.replace('    f"--port {port}",\n', "")
    assert without(JOINED, "--seed") == JOINED.replace("--seed 1 ", "")
    assert without(JOINED, "--num-lookahead-slots") == JOINED.replace(
        'if spec:\n    parts.append("--num-lookahead-slots 3")\n', ""
    )
    assert without(JOINED, "--a") == JOINED.replace('"--a 1", ', "")
    assert without(JOINED, "--b") == JOINED.replace(', "--b 2"', "")
    assert words(without(JOINED, "--swap-space", "--num-lookahead-slots")) == [
        w for w in words(JOINED) if w not in ("--swap-space", "4", "--num-lookahead-slots", "3")
    ]


def test_a_list_run_as_a_list_is_not_read_as_text() -> None:
    text = "cmd = ['vllm', 'serve', '--speculative-config', '{\"a\": 1}']\nprint(' '.join(cmd))\nsubprocess.run(cmd)\n"
    assert words(text) == ["--speculative-config", '{"a": 1}']


def test_lines_of_a_script() -> None:
    text = (
        'T = {"cmd": [\n    "vllm serve m \\\\",\n    "    --swap-space 4 \\\\",\n    "    --port 80",\n]}\n'
        's = "\\n".join(T["cmd"])\n'
    )
    assert words(text) == ["m", "--swap-space", "4", "--port", "80"]
    assert without(text, "--swap-space") == text.replace('    "    --swap-space 4 \\\\",\n', "")


def test_pins_of_commands() -> None:
    text = 'image = image.run_commands("pip install vllm==0.11.0 --extra-index-url https://e.org/cu128")\n'
    assert ("requirement", "vllm==0.11.0") in [(p.kind, p.text) for p in read(text).pins]
    assert not read('raise ImportError("pip install vllm==0.11.0")\n').pins


def test_guarded_strings() -> None:
    text = 'if vllm.__version__ < "0.9":\n    os.system("vllm serve m --swap-space 4")\n'
    assert all(w.guarded for w in read(text).sites[0].words)
