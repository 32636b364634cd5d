"""What a launch gets from texts, joined lists and functions: Python runs the module before and after the change."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from python_helpers import read, without, words

SYSTEM = "import os, shlex, subprocess\n"
CLASS = """\
class A:
    {0}
        return ["--x", "1", "--y"]
    def go(self, a):
        run(["vllm", "serve", "m", *{1}])
"""
CALLED = "A().go(A())\n"
MODULES = [
    'opts = "--x 1 --y"\nrun(["vllm", "serve", "m", *opts.split(), "--z"])\n',
    'opts = "--y --x=1"\nrun(["vllm", "serve", "m"] + shlex.split(opts))\n',
    'opts = "--x 1 --y"\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = "--x 1 --y"\nos.system("vllm serve m " + opts + " --z")\n',
    'opts = "--x 1 --y"\nos.system(f"vllm serve m {opts} --z")\nos.system(f"vllm serve n {opts}")\n',
    'opts = "--y"\nopts += " --x 1"\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = "--x 1 --y" if a else ""\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = "--x 1 --y"\nif a:\n    opts = "--x 2"\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = "--x 1" if a else "--y"\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = "--x 1" if a else ("--y" if b else "")\nos.system(f"vllm serve m {opts} --z")\n',
    'opts = ["--x", "1", "--y"]\nos.system(f"vllm serve m {\' \'.join(opts)} --z")\n',
    'opts = ["--x", "1", "--y"]\nos.system("vllm serve m " + " ".join(opts))\n',
    'opts = ["--x", 1, "--y"]\nos.system("vllm serve m " + " ".join(map(str, opts)) + " --z")\n',
    'opts = ["--x", "1", "--y"]\nos.system("vllm serve m " + shlex.join(opts))\n',
    'opts = ["--x", "1", "--y"]\nos.system("vllm serve m " + subprocess.list2cmdline(opts))\n',
    'def opts():\n    return ["--x", "1", "--y"]\nrun(["vllm", "serve", "m", *opts()])\n',
    'def opts():\n    o = ["--x", "1"]\n    o += ["--y"]\n    return o\nrun(["vllm", "serve", "m"] + opts())\n',
    'def o():\n    def f():\n        return ["--w"]\n    return ["--x", "1"]\nrun(["vllm", "serve", "m", *o()])\n',
    CLASS.format("def o(self):", "self.o()") + CALLED,
    CLASS.format("@staticmethod\n    def o():", "self.o()") + CALLED,
    CLASS.format("@classmethod\n    def o(cls):", "self.o()") + CALLED,
    CLASS.format("@property\n    def o(self):", "a.o") + CALLED,
    "import functools\n" + CLASS.format("@functools.cached_property\n    def o(self):", "a.o") + CALLED,
]


def launched(text: str, a: bool, b: bool) -> list[list[str]]:
    """Return the words of the launches that a module runs, without `vllm serve`."""
    got: list[list[str]] = []
    import os

    scope: dict[str, Any] = {"a": a, "b": b, "run": lambda line: got.append([str(w) for w in line])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "system", lambda line: got.append(shlex.split(line)))
        exec(compile(text, "a.py", "exec"), scope)
    return [line[2:] for line in got]


def is_x(word: str) -> bool:
    return word in ("--x", "--x=1", "1", "2")


@pytest.mark.parametrize("text", MODULES)
def test_what_is_read_is_what_is_run(text: str) -> None:
    text = SYSTEM + text
    runs = [launched(text, a, b) for a in (True, False) for b in (True, False)]
    for i, site in enumerate(read(text).sites):
        assert not site.open and not any(w.locked for w in site.words)
        assert set(words(text, i)) == {word for run in runs for word in run[i]}
    gone = [w.text for w in read(text).sites[0].words if w.text.startswith("--x")]
    after = without(text, gone[0]) if len(gone) == 1 else without(without(text, "--x"), "--x")
    left = [[[w for w in line if not is_x(w)] for line in run] for run in runs]
    assert [launched(after, a, b) for a in (True, False) for b in (True, False)] == left


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('os.system("vllm serve m " + "-".join(["--x", "1"]))\n', ["m", '"-".join(["--x", "1"])']),
        ('opts = "--x 1"\nos.system(f"vllm serve m {opts!r} --z")\n', ["m", "{opts!r}", "--z"]),
        ('opts = "--x 1"\nos.system(f"vllm serve m {opts:>9} --z")\n', ["m", "{opts:>9}", "--z"]),
        ('opts = "--x 1" if a else b\nos.system(f"vllm serve m {opts} --z")\n', ["m", "{opts}", "--z"]),
        ('opts = "x 1"\nos.system(f"vllm serve m {opts} --z")\n', ["m", "{opts}", "--z"]),
        ('opts = "--x 1"\nrun(["vllm", "serve", "m", *opts.split("=")])\n', ["m", 'opts.split("=")']),
        ('def o():\n    yield "--x"\nrun(["vllm", "serve", "m", *o()])\n', ["m", "o()"]),
        ('@cache\ndef o():\n    return ["--x"]\nrun(["vllm", "serve", "m", *o()])\n', ["m", "o()"]),
        ('def o():\n    return ["--x"]\ndef o():\n    return []\nrun(["vllm", "serve", "m", *o()])\n', ["m", "o()"]),
        ('def p():\n    return ["--x"]\nrun(["vllm", "serve", "m", *o()])\n', ["m", "o()"]),
        (CLASS.format("def o(self):", "a.o"), ["m", "a.o"]),
        (CLASS.format("def o(self):", "other.o()"), ["m", "other.o()"]),
        (CLASS.format("@property\n    def p(self):", "a.o"), ["m", "a.o"]),
    ],
)
def test_what_is_not_known_is_a_run_time_part(text: str, seen: list[str]) -> None:
    assert words(SYSTEM + text) == seen


@pytest.mark.parametrize(
    "other", ["print(opts)\n", 'os.system(f"sglang {opts}")\n', "log = {\n    'opts': opts,\n    'b': 1}\n"]
)
def test_a_text_that_something_else_uses_is_not_changed(other: str) -> None:
    text = SYSTEM + 'opts = "--x 1 --y"\nos.system(f"vllm serve m {opts} --z")\n' + other
    (site,) = read(text).sites
    shown = " ".join(other.split())
    assert [(w.text, w.locked) for w in site.words if w.locked] == [
        (word, f"also used by `{shown[:60]}`") for word in ("--x", "1", "--y")
    ]
