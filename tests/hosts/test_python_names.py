"""Environment, pins and names in Python."""

from __future__ import annotations

import pytest
from python_helpers import changed, pick, read, render, without

from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertText,
    InsertVariable,
    Mention,
    Remove,
    Rename,
    Replace,
)

ENV = """\
import os

from vllm import LLM

os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
os.environ.setdefault("VLLM_USE_V1", "0")
os.environ.update({"VLLM_A": "1", "VLLM_B": str(b)})
if debug:
    os.environ['VLLM_TRACE'] = f"{level}"
os.putenv("VLLM_C", "1")
llm = LLM("m")
"""


def test_variables_of_the_process() -> None:
    found = [(v.name, v.spelled(), v.scope, v.only) for v in read(ENV).sites[0].variables]
    assert found == [
        ("CUDA_VISIBLE_DEVICES", "0,1", "script", True),
        ("VLLM_USE_V1", "0", "script", True),
        ("VLLM_A", "1", "script", True),
        ("VLLM_B", "str(b)", "script", True),
        ("VLLM_TRACE", "{level}", "script", True),
        ("VLLM_C", "1", "script", True),
    ]


def test_removal_of_variables() -> None:
    assert without(ENV, "CUDA_VISIBLE_DEVICES") == ENV.replace('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n', "")
    assert without(ENV, "VLLM_USE_V1") == ENV.replace('os.environ.setdefault("VLLM_USE_V1", "0")\n', "")
    assert without(ENV, "VLLM_A") == ENV.replace('"VLLM_A": "1", ', "")
    both = without(ENV, "VLLM_A", "VLLM_B")
    assert both == ENV.replace('os.environ.update({"VLLM_A": "1", "VLLM_B": str(b)})\n', "")
    assert without(ENV, "VLLM_TRACE") == ENV.replace("if debug:\n    os.environ['VLLM_TRACE'] = f\"{level}\"\n", "")
    assert without(ENV, "VLLM_C") == ENV.replace('os.putenv("VLLM_C", "1")\n', "")


def test_the_only_variable_leaves_no_double_blank_line() -> None:
    text = 'import os\n\nos.environ["A"] = "1"\n\nfrom vllm import LLM\nLLM("m")\n'
    assert without(text, "A") == 'from vllm import LLM\nLLM("m")\n'
    two = text.replace('"1"\n', '"1"\nos.environ["B"] = "1"\n')
    assert without(two, "A", "B") == without(text, "A")
    apart = text.replace('"1"\n', '"1"\n\nos.environ["B"] = "1"\n')
    assert without(apart, "A", "B") == without(text, "A")


def test_rename_replace_and_insert_variables() -> None:
    after = changed(ENV, lambda r: [Rename(i, "HIP_VISIBLE_DEVICES") for i in pick(r, "CUDA_VISIBLE_DEVICES")])
    assert after == ENV.replace('["CUDA_V', '["HIP_V')
    after = changed(ENV, lambda r: [Replace(i, "2") for i in pick(r, "VLLM_A")])
    assert after == ENV.replace('"VLLM_A": "1"', '"VLLM_A": "2"')
    reading = read(ENV)
    (old,) = pick(reading, "VLLM_USE_V1")
    new = InsertVariable(old.container, "VLLM_NEW", "1", after=old)  # type: ignore[arg-type]
    assert render(ENV, [new]) == ENV.replace('"0")\n', '"0")\nos.environ["VLLM_NEW"] = "1"\n')
    assert render(ENV, [Remove(old), new]) == ENV.replace(
        'os.environ.setdefault("VLLM_USE_V1", "0")', 'os.environ["VLLM_NEW"] = "1"'
    )


@pytest.mark.parametrize(
    "more",
    [
        "other = LLM('b')\n",
        "subprocess.run(['nvidia-smi'])\n",
        "x = AutoModel.from_pretrained('m')\n",
        "n = len(os.environ['CUDA_VISIBLE_DEVICES'].split(','))\n",
        "if 'CUDA_VISIBLE_DEVICES' in os.environ:\n    pass\n",
        "g = os.getenv('CUDA_VISIBLE_DEVICES')\n",
        "os.system('python train.py')\n",
    ],
)
def test_a_variable_that_others_see(more: str) -> None:
    assert not read("import subprocess\n" + ENV + more).sites[0].variables[0].only


def test_variables_set_after_or_elsewhere() -> None:
    text = 'import os\nfrom vllm import LLM\nLLM("m")\nos.environ["A"] = "1"\n'
    reading = read(text)
    assert not reading.sites[0].variables and [v.name for v in reading.variables] == ["A"]
    text = (
        'import os\nfrom vllm import LLM\ndef a():\n    os.environ["A"] = "0"\n    LLM("m")\n'
        'def b():\n    os.environ["A"] = "1"\n    LLM("m")\n'
    )
    assert [[v.value for v in s.variables] for s in read(text).sites] == [["0"], ["1"]]


def test_environment_of_a_subprocess() -> None:
    text = (
        "import os, subprocess\nenv = os.environ.copy()\nenv['VLLM_USE_V1'] = '0'\nenv.update(A='1')\n"
        "subprocess.run(['vllm', 'serve', 'm'], env=env)\n"
    )
    site = read(text).sites[0]
    assert [(v.name, v.value, v.scope, v.only) for v in site.variables] == [
        ("VLLM_USE_V1", "0", "process", True),
        ("A", "1", "process", True),
    ]
    assert without(text, "A") == text.replace("env.update(A='1')\n", "")
    twice = text + "subprocess.run(['ls'], env=env)\n"
    assert not read(twice).sites[0].variables[0].only
    inline = "import os, subprocess\nsubprocess.run(['vllm', 'serve', 'm'], env={**os.environ, 'A': '1', 'B': n})\n"
    assert [(v.name, v.literal) for v in read(inline).sites[0].variables] == [("A", True), ("B", False)]
    assert without(inline, "A", "B") == inline.replace(", 'A': '1', 'B': n", "")
    called = "import os, subprocess\nsubprocess.run(['vllm', 'serve', 'm'], env=dict(os.environ, A='1'))\n"
    assert without(called, "A") == called.replace(", A='1'", "")


MODAL = """\
import modal

VERSION = "0.11.0"
image = (
    modal.Image.from_registry("nvidia/cuda:12.8.1-devel-ubuntu22.04", add_python="3.12")
    .uv_pip_install(
        f"vllm=={VERSION}",
        "torch==2.8.0",
        extra_index_url="https://download.pytorch.org/whl/cu128",
    )
    .env({"VLLM_USE_V1": "1"})
)
server = modal.Image.from_registry("vllm/vllm-openai:v0.11.0")
"""


def test_pins_of_an_image_definition() -> None:
    found = {(p.kind, p.whole) for p in read(MODAL).pins}
    assert found == {
        ("base", "nvidia/cuda:12.8.1-devel-ubuntu22.04"),
        ("base", "vllm/vllm-openai:v0.11.0"),
        ("python", "3.12"),
        ("requirement", "vllm==0.11.0"),
        ("requirement", "torch==2.8.0"),
        ("index", "https://download.pytorch.org/whl/cu128"),
    }


def test_a_version_kept_in_a_constant() -> None:
    pin = next(p for p in read(MODAL).pins if p.prefix == "vllm==")
    assert pin.text == "0.11.0"
    assert render(MODAL, [Replace(pin, "0.33.0")]) == MODAL.replace('"0.11.0"', '"0.33.0"')


def test_requirements_are_added_and_taken_away() -> None:
    text = "import modal\ni = modal.Image.debian_slim().pip_install('vllm==0.11.0', 'torch==2.8.0')\n"
    reading = read(text)
    (pin,) = pick(reading, "vllm==0.11.0")
    assert render(text, [InsertText(pin, "requirement", "vllm-bnb-plugin")]) == text.replace(  # type: ignore[arg-type]
        "0.11.0'", "0.11.0', 'vllm-bnb-plugin'"
    )
    assert without(text, "torch==2.8.0") == text.replace(", 'torch==2.8.0'", "")


def test_an_emptied_env_call_leaves_its_chain() -> None:
    assert [v.name for v in read(MODAL).variables] == ["VLLM_USE_V1"]
    assert without(MODAL, "VLLM_USE_V1") == MODAL.replace('\n    .env({"VLLM_USE_V1": "1"})', "")


def test_pins_of_a_setup_script_and_a_runtime_environment() -> None:
    text = (
        'setup(install_requires=["vllm>=0.8", "torch"], extras_require={"gpu": ["vllm[flashinfer]==0.9.1"]})\n'
        'ray.init(runtime_env={"pip": ["vllm==0.10.0"], "env_vars": {"VLLM_USE_V1": "1"}})\n'
        'IMAGE = "vllm/vllm-openai:v0.8.0"\nW = "https://e.org/vllm-0.8.0+cu121-cp38-abi3-x.whl"\n'
    )
    reading = read(text)
    assert {(p.kind, p.text) for p in reading.pins} == {
        ("requirement", "vllm>=0.8"),
        ("requirement", "torch"),
        ("requirement", "vllm[flashinfer]==0.9.1"),
        ("requirement", "vllm==0.10.0"),
        ("image", "vllm/vllm-openai:v0.8.0"),
        ("url", "https://e.org/vllm-0.8.0+cu121-cp38-abi3-x.whl"),
    }
    assert [v.name for v in reading.variables] == ["VLLM_USE_V1"]
    for pin in reading.pins:
        assert text[pin.place.start : pin.place.end] == pin.text


def test_strings_that_are_no_pins() -> None:
    text = 'a = "vllm:num_requests_running"\nb = "http://vllm:8000/v1"\nc = "vllm-service:8000"\nd = "org/vllm-model"\n'
    assert not read(text).pins


def names(text: str, kind: str) -> list[str]:
    return [m.name for m in read(text).mentions if m.kind == kind]


def mention(text: str, name: str) -> Mention:
    return next(m for m in read(text).mentions if m.name == name)


def test_mentions() -> None:
    text = (
        "import vllm.engine.metrics\nfrom vllm.sampling_params import SamplingParams, GuidedDecodingParams as G\n"
        "import numpy as np\np = SamplingParams(guided_decoding=G(), n=1)\nnp.zeros(3)\nllm.generate(x)\n"
        'A = ["MedusaModel", "Qwen3ForCausalLM", "MyClass"]\nM = "vllm:gpu_cache_usage_perc"\n'
        'c.create(extra_body={"guided_json": s})\n'
    )
    assert names(text, "import") == [
        "vllm.engine.metrics",
        "vllm.sampling_params",
        "vllm.sampling_params.SamplingParams",
        "vllm.sampling_params.GuidedDecodingParams",
    ]
    assert names(text, "call") == ["vllm.SamplingParams.guided_decoding", "vllm.SamplingParams.n"]
    assert "generate" in names(text, "attribute") and "zeros" not in names(text, "attribute")
    assert names(text, "string") == ["MedusaModel", "Qwen3ForCausalLM"]
    assert names(text, "metric") == ["vllm:gpu_cache_usage_perc"]
    assert names(text, "field") == ["guided_json"]


def test_attributes_only_where_vllm_is_imported() -> None:
    assert not names("import torch\nx.generate()\n", "attribute")


def rename(text: str, **new: str) -> str:
    def make(reading: object) -> list[Change]:
        found = {m.name: m for m in reading.mentions}  # type: ignore[attr-defined]
        return [Replace(found[k.replace("__", ".")], v) for k, v in new.items()]

    return changed(text, make)


def test_imports_are_renamed() -> None:
    text = "from vllm.a import X\nX()\n"
    assert rename(text, vllm__a="vllm.b") == "from vllm.b import X\nX()\n"
    assert rename(text, vllm__a__X="vllm.b.X") == "from vllm.b import X\nX()\n"
    assert rename(text, vllm__a__X="vllm.b.Y") == "from vllm.b import Y\nY()\n"
    assert rename(text, vllm__a="vllm.b", vllm__a__X="vllm.b.Y") == "from vllm.b import Y\nY()\n"
    assert rename("from vllm.a import X as Z\nZ()\n", vllm__a__X="vllm.b.Y") == "from vllm.b import Y as Z\nZ()\n"


def test_one_name_of_several_moves() -> None:
    assert rename("from vllm.a import X, W\nX(W)\n", vllm__a__X="vllm.b.X") == (
        "from vllm.a import W\nfrom vllm.b import X\nX(W)\n"
    )
    text = "def f():\n    from vllm.a import (\n        W,\n        X as Z,\n    )\n    Z(W)\n"
    assert rename(text, vllm__a__X="vllm.b.Y") == (
        "def f():\n    from vllm.a import (\n        W,\n    )\n    from vllm.b import Y as Z\n    Z(W)\n"
    )
    text = "from vllm.a import X, W\nX(W)\n"
    assert rename(text, vllm__a__X="vllm.a.Y") == "from vllm.a import Y, W\nY(W)\n"


def test_plain_imports_and_their_uses() -> None:
    text = "import vllm.a.b, os\nvllm.a.b.f(vllm.a.b.X)\n"
    assert rename(text, vllm__a__b="vllm.c") == "import vllm.c, os\nvllm.c.f(vllm.c.X)\n"
    assert rename("import vllm.a as v\nv.f()\n", vllm__a="vllm.c") == "import vllm.c as v\nv.f()\n"


def test_a_name_with_two_meanings_is_not_renamed() -> None:
    with pytest.raises(CannotRender):
        rename("from vllm.a import X\nX = X or None\n", vllm__a__X="vllm.b.Y")


def test_removal_of_an_import_and_a_keyword() -> None:
    text = "from vllm.a import X, W\nW(n=1, best_of=2)\n"
    assert render(text, [Remove(mention(text, "vllm.a.X"))]) == "from vllm.a import W\nW(n=1, best_of=2)\n"
    text = "from vllm import SamplingParams\nSamplingParams(n=1, best_of=2)\n"
    assert render(text, [Remove(mention(text, "vllm.SamplingParams.best_of"))]) == text.replace(", best_of=2", "")
    moved = render(text, [Replace(mention(text, "vllm.SamplingParams.best_of"), "vllm.SamplingParams.k")])
    assert moved == text.replace("best_of", "k")


def test_attributes_strings_and_metrics_are_renamed() -> None:
    text = "import vllm\nllm.old(1)\na = \"MedusaModel\"\nm = 'vllm:old'\n"
    assert render(text, [Replace(mention(text, "old"), "new")]) == text.replace(".old(", ".new(")
    assert render(text, [Replace(mention(text, "MedusaModel"), "X")]) == text.replace("MedusaModel", "X")
    assert render(text, [Replace(mention(text, "vllm:old"), "vllm:new")]) == text.replace("vllm:old", "vllm:new")


def test_optional_imports_are_guarded() -> None:
    text = "try:\n    from vllm.a import X\nexcept ImportError:\n    from vllm.b import X\n"
    assert all(m.guarded for m in read(text).mentions)


def test_an_import_whose_last_use_goes_goes_too() -> None:
    body = "from vllm import LLM\n\nos.environ['VLLM_USE_V1'] = '1'\nllm = LLM('m')\n"
    kept = "from vllm import LLM\n\nllm = LLM('m')\n"

    def after(text: str) -> str:
        return changed(text, lambda r: [Remove(v) for v in r.sites[0].variables])

    assert after("import os\n\n" + body) == kept
    for stays in ("import os  # noqa: F401\n", "import os, sys\n"):
        assert after(stays + body) == stays + kept
    used = "import os\n" + body + "print(f'{os.getcwd()}')\n"
    assert after(used).startswith("import os\n")


def test_fields_of_requests_and_answers() -> None:
    text = (
        "import json, requests\n"
        'requests.post(f"{base}/v1/score", json={"data_1": 1, "structured_outputs": {"json": 2}})\n'
        'body = {"prompt": 1}\nbody["n"] = 2\nsession.post(url="http://h:1/v1/completions", data=json.dumps(body))\n'
        'other = {"kept": 1}\nrequests.get("http://h/x", params={"kept": 1})\n'
        'print(message.old_name, delta.get("text_of"), getattr(r["choices"][0]["message"], "late_name", None))\n'
        "print(args.an_option)\n"
    )
    fields = [m for m in read(text).mentions if m.kind == "field"]
    assert sorted((m.of, m.name) for m in fields) == [
        ("", "late_name"),
        ("", "message"),
        ("", "old_name"),
        ("", "text_of"),
        ("/v1/completions", "n"),
        ("/v1/completions", "prompt"),
        ("/v1/score", "data_1"),
        ("/v1/score", "structured_outputs"),
        ("/v1/score", "structured_outputs.json"),
    ]


def test_a_field_is_written_inside_another() -> None:
    text = 'c.create(extra_body={\n    "old": f(1),  # kept\n    "x": 2,\n})\n'
    reading = read(text)
    field = next(m for m in reading.mentions if m.name == "old")
    source = field.region.source
    after = source.with_edits(field.container.edits([Replace(field, "new.part")])).text
    assert after == 'c.create(extra_body={\n    "new": {"part": f(1)},  # kept\n    "x": 2,\n})\n'
    gone = source.with_edits(field.container.edits([Remove(field)])).text
    assert gone == 'c.create(extra_body={\n    "x": 2,\n})\n'
