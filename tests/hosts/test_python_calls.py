"""Keyword arguments and dictionaries in Python: what is read, and what changes leave."""

from __future__ import annotations

import pytest
from python_helpers import changed, entries, pick, read, render, without

from vllm_migrate.model import CannotRender, Dynamic, InsertEntry, Remove, Rename, Replace

CALL = """\
from vllm import LLM

llm = LLM(
    model="facebook/opt-125m",
    swap_space=4,  # GiB
    tensor_parallel_size=tp,
    speculative_config={
        "method": "medusa",
        "num_speculative_tokens": n,
    },
)
"""


def test_keywords_become_entries() -> None:
    assert entries(CALL) == {
        "model": "facebook/opt-125m",
        "swap_space": 4,
        "tensor_parallel_size": Dynamic("tp"),
        "speculative_config": {"method": "medusa", "num_speculative_tokens": Dynamic("n")},
    }
    site = read(CALL).sites[0]
    assert site.entry_point == "LLM" and not site.open


@pytest.mark.parametrize(
    "head",
    [
        "import vllm\nvllm.LLM(",
        "import vllm as v\nv.LLM(",
        "from vllm import LLM as L\nL(",
        "from vllm.entrypoints.llm import LLM\nLLM(",
        "from vllm import *\nLLM(",
        "try:\n    from vllm import LLM\nexcept ImportError:\n    LLM = None\nLLM(",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vllm import LLM\nLLM(",
        "from functools import partial\nfrom vllm import LLM\npartial(LLM, ",
    ],
)
def test_ways_to_import(head: str) -> None:
    sites = read(head + 'model="m", swap_space=4)\n').sites
    assert [s.entry_point for s in sites] == ["LLM"]
    assert {e.key for e in sites[0].entries} == {"model", "swap_space"}


def test_names_of_others_are_not_vllm() -> None:
    assert not read("from langchain import LLM\nLLM(model='m', swap_space=4)\n").sites
    assert not read("class LLM: pass\nLLM(swap_space=4)\n").sites


def test_engine_arguments_and_a_positional_model() -> None:
    text = 'import vllm.engine.arg_utils as a\nx = a.AsyncEngineArgs("m", swap_space=4)\n'
    assert entries(text) == {"model": "m", "swap_space": 4}
    assert read(text).sites[0].entry_point == "AsyncEngineArgs"
    assert '("n", swap' in changed(text, lambda r: [Replace(i, "n") for i in pick(r, "model")])


def test_removal_of_a_keyword() -> None:
    assert without(CALL, "swap_space") == CALL.replace("    swap_space=4,  # GiB\n", "")
    several = without(CALL, "swap_space", "tensor_parallel_size")
    assert several == CALL.replace("    swap_space=4,  # GiB\n    tensor_parallel_size=tp,\n", "")
    start, end = CALL.index("    speculative"), CALL.index(")\n", CALL.index("},"))
    assert without(CALL, "speculative_config") == CALL[:start] + CALL[end:]


@pytest.mark.parametrize(
    ("arguments", "gone", "left"),
    [
        ('model="m", swap_space=4', ["swap_space"], 'model="m"'),
        ('swap_space=4, model="m"', ["swap_space"], 'model="m"'),
        ("swap_space=4", ["swap_space"], ""),
        ("\n    swap_space=4,\n", ["swap_space"], ""),
        ('"m",\n    swap_space=4,\n    seed=1', ["seed", "swap_space"], '"m"'),
        ('"m",\n          swap_space=4,\n          seed=1', ["swap_space"], '"m",\n          seed=1'),
        ("swap_space=(\n  4\n), seed=1,", ["swap_space"], "seed=1,"),
        ("seed=1, swap_space=(4),", ["swap_space"], "seed=1,"),
    ],
)
def test_removal_at_every_place(arguments: str, gone: list[str], left: str) -> None:
    head = "from vllm import LLM\nx = LLM("
    assert without(f"{head}{arguments})\n", *gone) == f"{head}{left})\n"


def test_replacement_of_a_nested_value_touches_its_key_only() -> None:
    def new(value: object) -> str:
        return changed(CALL, lambda r: [Replace(i, value) for i in pick(r, "speculative_config")])

    n = Dynamic("n")
    assert new({"method": "ngram", "num_speculative_tokens": n}) == CALL.replace('"medusa"', '"ngram"')
    assert new({"method": "medusa"}) == CALL.replace('        "num_speculative_tokens": n,\n', "")
    added = new({"method": "medusa", "num_speculative_tokens": n, "prompt_lookup_max": 4})
    assert added == CALL.replace(": n,\n", ': n,\n        "prompt_lookup_max": 4,\n')
    assert "speculative_config=None,\n)" in new(None)


def test_replacement_in_a_dict_call() -> None:
    text = "from vllm import LLM\nLLM(speculative_config=dict(method='medusa', k=3))\n"
    assert entries(text) == {"speculative_config": {"method": "medusa", "k": 3}}
    after = changed(
        text, lambda r: [Replace(i, {"method": "ngram", "k": 3, "m": "x"}) for i in pick(r, "speculative_config")]
    )
    assert after == text.replace("'medusa', k=3", "'ngram', k=3, m='x'")


def test_rename_and_replace_at_once() -> None:
    after = changed(CALL, lambda r: [Rename(pick(r, "swap_space")[0], "offload"), Replace(pick(r, "swap_space")[0], 8)])
    assert after == CALL.replace("swap_space=4", "offload=8")


def test_insertion_of_a_keyword() -> None:
    def add(text: str) -> str:
        site = read(text).sites[0]
        assert site.entry_home is not None
        return render(text, [InsertEntry(site.entry_home, "device_ids", [0, 1])])

    assert add(CALL) == CALL.replace("    },\n)", "    },\n    device_ids=[0, 1],\n)")
    assert add("from vllm import LLM\nLLM('m')\n") == "from vllm import LLM\nLLM('m', device_ids=[0, 1])\n"
    assert add("from vllm import LLM\nLLM()\n") == "from vllm import LLM\nLLM(device_ids=[0, 1])\n"
    assert add("from vllm import LLM\nkw = dict(model='m')\nLLM(**kw)\n").endswith("LLM(**kw, device_ids=[0, 1])\n")


def test_insertion_after_a_named_entry_takes_its_place() -> None:
    reading = read(CALL)
    (old,) = pick(reading, "swap_space")
    after = render(CALL, [Remove(old), InsertEntry(old.container, "kv_offload", 4, after=old)])  # type: ignore[arg-type]
    assert after == CALL.replace("swap_space=4,", "kv_offload=4,")


KWARGS = """\
from vllm import LLM

kwargs = dict(
    model="m",
    swap_space=4,
)
if spec:
    kwargs["num_lookahead_slots"] = 3
kwargs.update({"use_v2_block_manager": True})
kwargs.update(worker_use_ray=True)
kwargs.setdefault("seed", 0)
kwargs |= {"dtype": "auto"}
llm = LLM(**kwargs)
"""


def test_a_dictionary_that_grows() -> None:
    assert list(entries(KWARGS)) == [
        "model", "swap_space", "num_lookahead_slots", "use_v2_block_manager", "worker_use_ray", "seed", "dtype",
    ]  # fmt: skip
    assert not read(KWARGS).sites[0].open


def test_statements_that_set_one_key_go() -> None:
    assert without(KWARGS, "num_lookahead_slots") == KWARGS.replace(
        'if spec:\n    kwargs["num_lookahead_slots"] = 3\n', ""
    )
    assert without(KWARGS, "use_v2_block_manager") == KWARGS.replace(
        'kwargs.update({"use_v2_block_manager": True})\n', ""
    )
    assert without(KWARGS, "worker_use_ray") == KWARGS.replace("kwargs.update(worker_use_ray=True)\n", "")
    assert without(KWARGS, "seed") == KWARGS.replace('kwargs.setdefault("seed", 0)\n', "")
    assert without(KWARGS, "dtype") == KWARGS.replace('kwargs |= {"dtype": "auto"}\n', "")
    assert without(KWARGS, "swap_space") == KWARGS.replace("    swap_space=4,\n", "")


def test_all_of_it_at_once() -> None:
    after = without(KWARGS, *list(entries(KWARGS))[1:])
    assert after == 'from vllm import LLM\n\nkwargs = dict(\n    model="m",\n)\nllm = LLM(**kwargs)\n'


def test_rename_and_insert_in_statements() -> None:
    after = changed(KWARGS, lambda r: [Rename(i, "slots") for i in pick(r, "num_lookahead_slots")])
    assert '    kwargs["slots"] = 3\n' in after
    reading = read(KWARGS)
    (entry,) = pick(reading, "num_lookahead_slots")
    added = render(KWARGS, [InsertEntry(entry.container, "new", 1, after=entry)])  # type: ignore[arg-type]
    assert '] = 3\n    kwargs["new"] = 1\nkwargs.update' in added
    replaced = render(
        KWARGS,
        [Remove(entry), InsertEntry(entry.container, "new", 1, after=entry)],  # type: ignore[arg-type]
    )
    assert 'if spec:\n    kwargs["new"] = 1\nkwargs.update' in replaced


def test_dictionaries_inside_dictionaries() -> None:
    text = (
        'from vllm import LLM\nbase = {"swap_space": 4}\nkw = {**base, "model": "m"}\n'
        'LLM(**kw, **({"seed": 1} if s else {}), **{"dtype": "auto"})\n'
    )
    assert list(entries(text)) == ["swap_space", "model", "seed", "dtype"]
    assert without(text, "seed", "dtype").endswith("LLM(**kw)\n")
    assert without(text, "swap_space").startswith("from vllm import LLM\nbase = {}\n")


def test_a_dictionary_shared_by_two_calls() -> None:
    text = 'from vllm import LLM\nkw = {"swap_space": 4}\na = LLM("a", **kw)\nb = LLM("b", **kw)\n'
    first, second = read(text).sites
    assert first.entries[1] is second.entries[1] and not first.entries[1].locked
    other = text + "train(**kw)\n"
    assert "train" in read(other).sites[0].entries[1].locked
    assert not read(text + "print(kw)\nlogger.info('%s', kw)\n").sites[0].entries[1].locked


def test_a_key_that_is_looked_up_is_locked_alone() -> None:
    text = 'from vllm import LLM\nkw = {"swap_space": 4, "seed": 1}\nx = kw.pop("seed")\nLLM(**kw)\n'
    assert {e.key: bool(e.locked) for e in read(text).sites[0].entries} == {"swap_space": False, "seed": True}


def test_what_the_file_does_not_show() -> None:
    assert read("from vllm import LLM\ndef f(**kw):\n    return LLM('m', **kw)\n").sites[0].open
    assert read("from vllm import EngineArgs\nEngineArgs(**vars(args))\n").sites[0].open
    text = "from vllm import LLM\ndef f(kw):\n    kw['swap_space'] = 4\n    return LLM('m', **kw)\n"
    assert read(text).sites[0].open and entries(text) == {"model": "m", "swap_space": 4}


def test_self_attributes() -> None:
    text = (
        "from vllm import LLM\nclass A:\n    def __init__(self):\n        self.kw = {'swap_space': 4}\n"
        "    def go(self):\n        self.kw['seed'] = 1\n        return LLM('m', **self.kw)\n"
    )
    assert list(entries(text)) == ["model", "swap_space", "seed"]


def test_constants_of_the_module_in_a_function() -> None:
    text = "from vllm import LLM\nKW = dict(swap_space=4)\ndef f():\n    return LLM('m', **KW)\n"
    assert entries(text) == {"model": "m", "swap_space": 4}


def test_ray_serve_engine_kwargs() -> None:
    text = (
        "from ray.serve.llm import LLMConfig\nc = LLMConfig(\n    model_loading_config=dict(model_id='m'),\n"
        "    engine_kwargs=dict(\n        swap_space=4,\n    ),\n)\n"
    )
    assert entries(text) == {"swap_space": 4} and read(text).sites[0].entry_point == "EngineArgs"
    assert without(text, "swap_space") == text.replace("    engine_kwargs=dict(\n        swap_space=4,\n    ),\n", "")
    assert entries('c = {"engine_kwargs": {"swap_space": 4}}\n') == {"swap_space": 4}


@pytest.mark.parametrize(
    "text",
    [
        "import vllm\nkw = {}\nif version.parse(vllm.__version__) < version.parse('0.9'):\n"
        "    kw['swap_space'] = 4\nvllm.LLM(**kw)\n",
        "import vllm\nOLD = version.parse(vllm.__version__) < V\nif OLD:\n    vllm.LLM(swap_space=4)\n",
        "from vllm import LLM\ntry:\n    LLM(swap_space=4)\nexcept TypeError:\n    LLM()\n",
        "from vllm import LLM\nif 'swap_space' in inspect.signature(LLM).parameters:\n    LLM(swap_space=4)\n",
        "from vllm import LLM\nLLM(swap_space=4 if vllm_version < (0, 9) else None)\n",
    ],
)
def test_guarded(text: str) -> None:
    entry = next(e for s in read(text).sites for e in s.entries if e.key == "swap_space")
    if "None" in text:
        assert isinstance(entry.value, Dynamic)
    else:
        assert entry.guarded


def test_conditions_about_other_things_guard_nothing() -> None:
    text = "from vllm import LLM\nif args.version:\n    LLM(swap_space=4)\n"
    assert not read(text).sites[0].entries[0].guarded


def test_text_beyond_ascii() -> None:
    text = 'from vllm import LLM\ns = "größe 🦙"; x = LLM(model="ä🦙", swap_space=4)  # é\n'
    assert without(text, "swap_space") == text.replace(", swap_space=4", "")


def test_a_module_that_does_not_parse() -> None:
    reading = read("from vllm import LLM\nLLM(swap_space=\n")
    assert not reading.sites and reading.problems[0].kind == "syntax"
    assert read("print 'python 2'\n").problems[0].offset == 0
    assert read("x = 1\0").problems


def test_a_keyword_must_be_a_name() -> None:
    (entry,) = pick(read(CALL), "swap_space")
    with pytest.raises(CannotRender):
        entry.container.edits([Rename(entry, "--swap-space")])
