from __future__ import annotations

from itertools import pairwise

import pytest
from pin_cases import judge

from vllm_migrate.distribution import distribution, major
from vllm_migrate.versions_key import key


def image(reference: str, target: str, **more: str) -> tuple[str, str, str, str]:
    """Judge one image in a Dockerfile: code, severity, safety, the reference after the fix."""
    got = judge("Dockerfile", f"FROM {reference}\n", target, **more)
    found = got.findings[0]
    safety = found.fix.safety if found.fix else ""
    return found.code, found.severity, safety, got.after(unsafe=True).removeprefix("FROM ").strip()


@pytest.mark.parametrize(
    ("old", "target", "code", "severity", "safety", "new"),
    [
        # plain before 0.20 is CUDA 12: its channel goes on as -cu129 while that is published
        ("v0.19.0", "0.32.0", "VM501", "warning", "safe", "v0.32.0-cu129"),
        ("v0.11.0-x86_64", "0.32.0", "VM501", "warning", "safe", "v0.32.0-x86_64-cu129"),
        ("v0.19.0", "0.33.0", "VM501", "warning", "unsafe", "v0.33.0"),
        ("0.11.0", "0.33.0", "VM501", "warning", "unsafe", "0.33.0"),
        # -cu130 before 0.20 is what the plain tag is from 0.20
        ("v0.19.0-cu130", "0.20.0", "VM501", "warning", "safe", "v0.20.0"),
        ("v0.19.0-cu130", "0.33.0", "VM501", "warning", "safe", "v0.33.0"),
        # -cu129 from 0.20 stays, until 0.33
        ("v0.20.0-cu129", "0.32.0", "VM505", "info", "safe", "v0.32.0-cu129"),
        ("v0.32.0-cu129", "0.33.0", "VM507", "error", "unsafe", "v0.33.0"),
        ("v0.33.0-cu129", "0.33.0", "VM507", "error", "unsafe", "v0.33.0"),
        ("v0.33.0-cu130", "0.33.0", "VM501", "warning", "safe", "v0.33.0"),
        # same channel on both sides
        ("v0.10.0", "0.19.0", "VM505", "info", "safe", "v0.19.0"),
        ("v0.20.0", "0.33.0", "VM505", "info", "safe", "v0.33.0"),
        ("v0.20.2-ubuntu2404", "0.32.0", "VM505", "info", "safe", "v0.32.0-ubuntu2404"),
        ("v0.32.0-x86_64-cu129-ubuntu2404", "0.33.0", "VM507", "error", "unsafe", "v0.33.0-x86_64"),
        ("v0.32.0-ubuntu2404", "0.33.0", "VM501", "warning", "safe", "v0.33.0"),
    ],
)
def test_cuda_tags(old: str, target: str, code: str, severity: str, safety: str, new: str) -> None:
    got = image(f"vllm/vllm-openai:{old}", target)
    assert got == (code, severity, safety, f"vllm/vllm-openai:{new}")


@pytest.mark.parametrize(
    ("old", "target", "code", "new"),
    [
        ("vllm/vllm-openai-rocm:v0.20.0", "0.32.0", "VM505", "vllm/vllm-openai-rocm:v0.32.0"),
        ("vllm/vllm-openai-rocm:v0.20.0", "0.33.0", "VM506", "vllm/vllm-openai-rocm:v0.33.0-rocm72"),
        ("vllm/vllm-openai-rocm:v0.32.0-base", "0.33.0", "VM506", "vllm/vllm-openai-rocm:v0.33.0-rocm72-base"),
        ("vllm/vllm-openai:v0.14.0-rocm", "0.32.0", "VM507", "vllm/vllm-openai-rocm:v0.32.0"),
    ],
)
def test_rocm_tags_stay_on_their_rocm(old: str, target: str, code: str, new: str) -> None:
    got = image(old, target)
    assert (got[0], got[2], got[3]) == (code, "safe", new)


def test_a_driver_question_names_driver_and_gpu() -> None:
    found = judge("Dockerfile", "FROM vllm/vllm-openai:v0.32.0-cu129\n").one("VM507")
    assert found.fix is not None
    assert "580" in found.fix.why and "7.5" in found.fix.why


@pytest.mark.parametrize("tag", ["v0.33.0", "latest", "nightly", "v0.33.0-x86_64"])
def test_what_is_there_already_is_not_reported(tag: str) -> None:
    assert judge("Dockerfile", f"FROM vllm/vllm-openai:{tag}\n").findings == []


def test_a_pin_beyond_the_target_stays() -> None:
    got = judge("Dockerfile", "FROM vllm/vllm-openai:v0.33.0\n", "0.32.0")
    assert (got.one("VM505").severity, got.one("VM505").fix) == ("info", None)


def test_a_digest_is_reported_and_never_moved() -> None:
    got = judge("Dockerfile", f"FROM vllm/vllm-openai:v0.24.0@sha256:{'a' * 64}\n")
    assert got.one("VM505").fix is None
    assert "digest" in got.one("VM505").withheld


@pytest.mark.parametrize("reference", ["vllm/vllm-openai:v0.24.0-cfc13f2", "gpustack/runner:cuda12.8-vllm0.13.0"])
def test_a_tag_of_another_pattern_is_left_to_a_person(reference: str) -> None:
    found = judge("Dockerfile", f"FROM {reference}\n").one("VM505")
    assert found.fix is None and found.withheld


def test_a_mirror_may_lack_the_tag() -> None:
    assert image("registry.local/vllm-openai:v0.24.0", "0.33.0")[2] == "unsafe"
    assert image("mirror.local/vllm/vllm-openai:v0.24.0", "0.33.0")[2] == "safe"


def test_keep_pins_reports_only() -> None:
    got = judge("Dockerfile", "FROM vllm/vllm-openai:v0.24.0\n", keep_pins=True)
    assert got.one("VM505").fix is None and "--keep-pins" in got.one("VM505").withheld


def test_nightly_variants_that_ended() -> None:
    assert image("vllm/vllm-openai:cu130-nightly", "0.32.0") == (
        "VM507",
        "error",
        "safe",
        "vllm/vllm-openai:nightly",
    )
    assert image("vllm/vllm-openai:latest-cu129", "0.33.0")[2:] == ("unsafe", "vllm/vllm-openai:latest")


def test_latest_is_a_channel_change_only_when_the_old_release_is_known() -> None:
    text = "FROM vllm/vllm-openai:latest\n"
    assert judge("Dockerfile", text, "0.32.0", origin="0.19.0").one("VM501").fix is None
    assert judge("Dockerfile", text, "0.32.0", origin="0.20.0").findings == []


def test_the_version_may_stand_in_an_argument() -> None:
    text = "ARG VLLM_VERSION=v0.24.0\nFROM vllm/vllm-openai:${VLLM_VERSION}\n"
    assert judge("Dockerfile", text).after() == text.replace("0.24.0", "0.33.0")


def test_a_suffix_outside_the_argument_holds_the_fix_back() -> None:
    text = "ARG VLLM_VERSION=0.32.0\nFROM vllm/vllm-openai:v${VLLM_VERSION}-cu129\n"
    got = judge("Dockerfile", text)
    assert got.one("VM507").withheld and got.after(unsafe=True) == text


URLS = """VLLM_VERSION=0.24.0
pip install "vllm==${VLLM_VERSION}"
wget https://x.org/v${VLLM_VERSION}/vllm-${VLLM_VERSION}+cu129-cp38-abi3-manylinux_2_28_x86_64.whl
"""


def test_a_variable_of_several_pins_moves_when_it_suits_all() -> None:
    assert judge("a.sh", URLS, "0.32.0").after() == URLS.replace("0.24.0", "0.32.0")
    got = judge("a.sh", URLS, "0.33.0")
    assert got.after(unsafe=True) == URLS
    assert "+cu129" in got.one("VM505").withheld


def test_a_variable_that_something_else_uses_too_stays() -> None:
    text = "ARG V=v0.24.0\nFROM vllm/vllm-openai:${V}\nCOPY --from=me/tools:${V} /x /x\n"
    got = judge("Dockerfile", text)
    assert got.after(unsafe=True) == text and got.one("VM505").withheld


def requirement(line: str, target: str = "0.33.0") -> tuple[str, str, str]:
    got = judge("requirements.txt", line + "\n", target)
    found = got.findings[0]
    return found.code, found.fix.safety if found.fix else "", got.after(unsafe=True).rstrip("\n")


@pytest.mark.parametrize(
    ("old", "code", "safety", "new"),
    [
        ("vllm==0.24.0", "VM505", "safe", "vllm==0.33.0"),
        ("vllm[audio] == 0.24.0 ; os_name == 'nt'", "VM505", "safe", "vllm[audio] == 0.33.0 ; os_name == 'nt'"),
        ("vllm==0.11.0  # pinned", "VM502", "unsafe", "vllm==0.33.0  # pinned"),
        ("vllm==0.19.0+cu130", "VM502", "safe", "vllm==0.33.0"),
        ("vllm==0.32.0+cu129", "VM507", "unsafe", "vllm==0.33.0"),
        ("vllm==0.20.0+rocm721", "VM506", "safe", "vllm==0.33.0+rocm72"),
        ("vllm==0.5.3post1", "VM502", "unsafe", "vllm==0.33.0"),
        ("vllm~=0.24.0", "VM505", "safe", "vllm~=0.33.0"),
        ("vllm>=0.24,<0.30", "VM505", "safe", "vllm>=0.33,<0.34"),
        ("vllm>=0.24.0,<0.30.0", "VM505", "safe", "vllm>=0.33.0,<0.34.0"),
        ("vllm>=0.10,<0.12", "VM502", "unsafe", "vllm>=0.33,<0.34"),
        ("vllm==0.24.*", "VM505", "safe", "vllm==0.33.*"),
        ("vllm<=0.24.0", "VM505", "safe", "vllm<=0.33.0"),
        ("vllm==0.24.0+gptoss", "VM505", "unsafe", "vllm==0.33.0"),
    ],
)
def test_requirements_keep_their_spelling(old: str, code: str, safety: str, new: str) -> None:
    assert requirement(old) == (code, safety, new)


def test_a_wheel_variant_that_the_target_still_has() -> None:
    assert requirement("vllm==0.20.0+cu129", "0.32.0") == ("VM505", "safe", "vllm==0.32.0+cu129")


@pytest.mark.parametrize(
    "line", ["vllm", "vllm>=0.10", "vllm~=0.10", "vllm>=0.24,<1.0", "vllm==0.33.0", "vllm!=0.20.0"]
)
def test_a_range_that_holds_the_target_stays(line: str) -> None:
    assert judge("requirements.txt", line + "\n").findings == []


def test_hashes_are_not_moved() -> None:
    got = judge("requirements.txt", "vllm==0.24.0 --hash=sha256:" + "a" * 64 + "\n")
    assert got.one("VM505").fix is None and "hash" in got.one("VM505").withheld


def test_poetry_and_pyproject() -> None:
    text = '[tool.poetry.dependencies]\npython = "^3.11"\nvllm = "^0.24.0"\n'
    assert judge("pyproject.toml", text).after() == text.replace("0.24.0", "0.33.0")
    text = '[project]\nname = "x"\nversion = "1"\ndependencies = ["vllm>=0.24,<0.25"]\n'
    assert judge("pyproject.toml", text).after() == text.replace("vllm>=0.24,<0.25", "vllm>=0.33,<0.34")


def test_the_torch_index_moves_with_the_wheel_or_not_at_all() -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu128\nvllm==0.11.0\n"
    got = judge("requirements.txt", text)
    assert got.after() == text
    assert got.after(unsafe=True) == text.replace("cu128", "cu130").replace("0.11.0", "0.33.0")


def test_a_backend_word_beside_vllm() -> None:
    text = "uv pip install vllm==0.20.0 --torch-backend=cu129\n"
    got = judge("install.sh", text)
    assert got.one("VM502").severity == "error"
    assert got.after(unsafe=True) == "uv pip install vllm==0.33.0 --torch-backend=cu130\n"


def test_a_torch_index_without_vllm_is_nobodys_business() -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.8.0\n"
    assert judge("requirements.txt", text).findings == []


def test_an_index_of_the_kept_variant_stays() -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu129\nvllm==0.20.0+cu129\n"
    assert judge("requirements.txt", text, "0.32.0").codes == ["VM505"]


@pytest.mark.parametrize(
    ("url", "target", "code", "new"),
    [
        ("https://wheels.vllm.ai/0.20.0/cu129", "0.32.0", "VM505", "https://wheels.vllm.ai/0.32.0/cu129"),
        ("https://wheels.vllm.ai/0.20.0/cu129", "0.33.0", "VM507", "https://wheels.vllm.ai/0.33.0"),
        ("https://wheels.vllm.ai/nightly/cu129", "0.33.0", "VM507", "https://wheels.vllm.ai/nightly"),
        (
            "https://wheels.vllm.ai/rocm/0.20.0/rocm721",
            "0.33.0",
            "VM506",
            "https://wheels.vllm.ai/rocm/0.33.0/rocm72",
        ),
    ],
)
def test_vllms_own_index(url: str, target: str, code: str, new: str) -> None:
    got = judge("requirements.txt", f"--extra-index-url {url}\nvllm\n", target)
    assert got.codes == [code]
    assert got.after(unsafe=True) == f"--extra-index-url {new}\nvllm\n"


def test_a_wheel_url_moves_in_all_its_parts() -> None:
    page = "https://github.com/vllm-project/vllm/releases/download"
    old = f"{page}/v0.24.0/vllm-0.24.0+cu129-cp38-abi3-manylinux_2_28_x86_64.whl"
    got = judge("requirements.txt", old + "\n", "0.32.0")
    assert got.after() == old.replace("0.24.0", "0.32.0") + "\n"
    gone = judge("requirements.txt", old + "\n", "0.33.0").one("VM507")
    assert gone.fix is not None and gone.fix.safety == "unsafe"


def test_a_wheel_whose_file_name_is_not_known() -> None:
    old = "https://example.org/vllm-0.19.0-cp38-abi3-manylinux_2_31_x86_64.whl"
    assert judge("requirements.txt", old + "\n", "0.20.0").findings[0].withheld


def test_a_source_checkout() -> None:
    old = "vllm @ git+https://github.com/vllm-project/vllm.git@v0.24.0"
    assert judge("requirements.txt", old + "\n").after() == old.replace("0.24.0", "0.33.0") + "\n"
    other = "vllm-ascend @ git+https://github.com/vllm-project/vllm-ascend.git@v0.11.0"
    assert judge("requirements.txt", other + "\n").findings == []


CUDA_BASE = "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN pip install vllm==0.24.0\n"


def test_a_cuda_base_of_the_old_major() -> None:
    got = judge("Dockerfile", CUDA_BASE)
    found = got.one("VM503")
    assert found.severity == "warning" and found.fix is not None and found.fix.safety == "unsafe"
    assert "nvidia/cuda:13.0.3-devel-ubuntu22.04" in got.after(unsafe=True)
    assert got.after() == CUDA_BASE


def test_a_cuda_base_rises_to_where_the_compiler_is_when_vllm_is_compiled() -> None:
    text = (
        "FROM nvidia/cuda:12.8.1-cudnn8-devel-ubuntu22.04\n"
        "RUN pip install git+https://github.com/vllm-project/vllm.git@v0.24.0\n"
    )
    assert "nvidia/cuda:13.0.3-cudnn-devel-ubuntu24.04" in judge("Dockerfile", text).after(unsafe=True)


def test_a_cuda_base_that_has_no_successor() -> None:
    found = judge("Dockerfile", CUDA_BASE.replace("22.04", "20.04")).one("VM503")
    assert found.fix is None and "ubuntu20.04" in found.withheld


@pytest.mark.parametrize(
    "text",
    [
        "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN pip install numpy\n",
        "FROM nvidia/cuda:13.0.2-devel-ubuntu22.04\nRUN pip install vllm==0.33.0\n",
        "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nENV VLLM_TARGET_DEVICE=cpu\nRUN pip install vllm==0.33.0\n",
    ],
)
def test_a_base_that_is_none_of_vllms_business(text: str) -> None:
    assert "VM503" not in judge("Dockerfile", text).codes


def test_a_base_for_the_kept_variant_stays() -> None:
    text = "FROM nvidia/cuda:12.9.1-devel-ubuntu22.04\nRUN pip install vllm==0.20.0+cu129\n"
    assert judge("Dockerfile", text, "0.32.0").codes == ["VM505"]


def test_a_c_library_that_is_too_old_for_the_wheel() -> None:
    text = "FROM ubuntu:20.04\nRUN pip install vllm==0.19.0\n"
    assert judge("Dockerfile", text, "0.20.0").one("VM503").severity == "error"
    assert "VM503" not in judge("Dockerfile", text, "0.24.0").codes


def test_channel_majors() -> None:
    assert [major(c) for c in ("cu118", "cu129", "cu130", "rocm72", "rocm721", "rocm100", "rocm641", "x")] == [
        "11",
        "12",
        "13",
        "7",
        "7",
        "10",
        "6",
        "",
    ]


def test_every_release_of_the_intervals_has_one_channel() -> None:
    data = distribution()
    for rows in (data.channels, data.rocm):
        for one, two in pairwise(rows):
            assert one.until == two.from_ and key(one.from_) < key(two.from_)
    assert data.channel_at("0.33.0") == data.channels[-1]
    assert data.channel_at("0.5.0") is None
