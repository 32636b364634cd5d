from __future__ import annotations

import re

import pytest
from pin_cases import judge

from vllm_migrate.rules.source_build import below, distro_of, toolchains
from vllm_migrate.versions_key import matches

SOURCE = """FROM nvidia/cuda:13.0.2-devel-ubuntu{ubuntu}
RUN apt-get update && apt-get install -y gcc-{gcc} g++-{gcc} git
RUN update-alternatives --install /usr/bin/gcc gcc /usr/bin/gcc-{gcc} 100
ENV CC=gcc-{gcc} CXX=g++-{gcc}
RUN pip install git+https://github.com/vllm-project/vllm.git@{ref}
"""


def source(ubuntu: str = "24.04", gcc: str = "11", ref: str = "v0.33.0") -> str:
    return SOURCE.format(ubuntu=ubuntu, gcc=gcc, ref=ref)


def test_all_places_of_the_compiler_change_in_step() -> None:
    got = judge("Dockerfile", source())
    found = got.one("VM601")
    assert found.severity == "error" and found.fix is not None and found.fix.safety == "safe"
    assert got.after() == source(gcc="13")


def test_the_floor_is_the_targets() -> None:
    assert "VM601" not in judge("Dockerfile", source(gcc="11", ref="v0.24.0"), "0.24.0").codes
    got = judge("Dockerfile", source(ubuntu="22.04", gcc="10", ref="v0.24.0"), "0.24.0")
    assert got.after(only=["VM601"]) == source(ubuntu="22.04", gcc="12", ref="v0.24.0")
    assert judge("Dockerfile", source(gcc="9", ref="v0.20.0"), "0.20.0").findings == []


def test_a_base_without_the_package_rises_with_it() -> None:
    got = judge("Dockerfile", source(ubuntu="22.04"))
    found = got.one("VM601")
    assert found.fix is not None and found.fix.safety == "unsafe"
    assert got.after() == source(ubuntu="22.04")
    assert got.after(unsafe=True) == source(ubuntu="24.04", gcc="13").replace("13.0.2", "13.0.2")


def test_a_base_that_cannot_rise_is_reported() -> None:
    text = source(gcc="10").replace("nvidia/cuda:13.0.2-devel-ubuntu24.04", "debian:bullseye")
    found = judge("Dockerfile", text).one("VM601")
    assert found.fix is None and "Debian 11" in found.withheld


def test_an_archive_with_newer_compilers_is_enough() -> None:
    text = source(ubuntu="22.04").replace(
        "apt-get update", "add-apt-repository ppa:ubuntu-toolchain-r/test && apt-get update"
    )
    found = judge("Dockerfile", text).one("VM601")
    assert found.fix is not None and found.fix.safety == "safe"


def test_a_place_that_cannot_be_rewritten_holds_all_back() -> None:
    text = source() + 'RUN python3 -c "compiler = \'g++-11\'"\n'
    got = judge("Dockerfile", text)
    assert got.one("VM601").fix is None and "g++-11" in got.one("VM601").withheld


def test_a_comment_does_not() -> None:
    assert judge("Dockerfile", "# gcc-11 was enough once\n" + source()).one("VM601").fix is not None


@pytest.mark.parametrize(
    "text",
    [
        source().replace("git+https://github.com/vllm-project/vllm.git@v0.33.0", "vllm==0.33.0"),
        source().replace("ENV CC", "ENV VLLM_USE_PRECOMPILED=1 CC"),
        source(gcc="12").replace("ENV CC", "ENV VLLM_TARGET_DEVICE=cpu CC"),
        source(gcc="14"),
    ],
)
def test_no_compiler_is_judged_where_none_is_used_or_it_is_new_enough(text: str) -> None:
    assert "VM601" not in judge("Dockerfile", text).codes


def test_the_distributions_own_compiler() -> None:
    text = (
        "FROM nvidia/cuda:13.0.2-devel-ubuntu22.04\nRUN apt-get install -y build-essential\n"
        "RUN git clone -b v0.33.0 https://github.com/vllm-project/vllm.git && pip install ./vllm\n"
    )
    found = judge("Dockerfile", text).one("VM601")
    assert found.fix is None and "GCC 11" in found.message
    assert "VM601" not in judge("Dockerfile", text.replace("22.04", "24.04")).codes


def test_a_script_on_an_unknown_machine_needs_a_person() -> None:
    text = (
        "sudo apt-get install -y gcc-11 g++-11\nexport CC=gcc-11 CXX=g++-11\n"
        "pip install git+https://github.com/vllm-project/vllm.git@v0.33.0\n"
    )
    got = judge("build.sh", text)
    found = got.one("VM601")
    assert found.fix is not None and found.fix.safety == "unsafe"
    assert got.after(unsafe=True) == text.replace("-11", "-13")


def test_compilers_wait_for_a_checkout_that_stays() -> None:
    text = source(ref="v0.24.0")
    got = judge("Dockerfile", text)
    assert got.after() == source(gcc="13", ref="v0.33.0")
    assert judge("Dockerfile", text, keep_pins=True).one("VM601").fix is None


def test_the_cxx_standard() -> None:
    text = (
        "git clone -b v0.33.0 https://github.com/vllm-project/vllm.git\n"
        "CMAKE_ARGS='-DCMAKE_CXX_STANDARD=17' pip install -e vllm\n"
    )
    got = judge("build.sh", text)
    assert got.one("VM602").severity == "error"
    assert got.after() == text.replace("=17", "=20")
    assert "VM602" not in judge("build.sh", text.replace("=17", "=20")).codes
    assert judge("build.sh", "cmake -DCMAKE_CXX_STANDARD=17 .\n").findings == []


BUILD = "git clone -b v0.33.0 https://github.com/vllm-project/vllm.git && cd vllm\ndocker build {} .\n"


def test_build_arguments() -> None:
    got = judge("build.sh", BUILD.format("--build-arg FLASHINFER_VERSION=0.6.4 --build-arg MY_OWN=1"))
    assert got.one("VM603").severity == "warning" and got.one("VM603").subject == "FLASHINFER_VERSION"
    volta = judge("build.sh", BUILD.format("--build-arg torch_cuda_arch_list='7.0 8.0'"))
    assert "7.0" in volta.one("VM603").message
    assert judge("build.sh", "docker build --build-arg FLASHINFER_VERSION=0.6.4 .\n").findings == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Dockerfile", "docker/Dockerfile"),
        ("Dockerfile.cpu", "docker/Dockerfile.cpu"),
        ("docker/Dockerfile.arm", "docker/Dockerfile.cpu"),
    ],
)
def test_files_of_the_tree_that_moved(old: str, new: str) -> None:
    got = judge("build.sh", BUILD.format(f"-f {old}"))
    assert got.one("VM604").severity == "error"
    assert got.after() == BUILD.format(f"-f {new}")


def test_files_of_the_tree_that_are_gone_or_mean_something_else() -> None:
    gone = judge("build.sh", BUILD.format("-f docker/Dockerfile.tpu")).one("VM604")
    assert gone.fix is None and "vllm-tpu" in gone.help
    text = BUILD.format("-f docker/Dockerfile.rocm").replace("v0.33.0", "v0.32.0")
    got = judge("build.sh", text)
    assert got.one("VM604").severity == "warning"
    assert "docker/Dockerfile.rocm_72" in got.after()
    assert judge("build.sh", "docker build -f Dockerfile .\n").findings == []


def test_compiler_versions_compare_as_far_as_they_are_written() -> None:
    cases = [("10", "11.3"), ("11", "11.3"), ("11.2", "11.3"), ("12", "13"), ("13", "13")]
    assert [below(a, b) for a, b in cases] == [True, False, True, True, False]


def test_distributions_are_read_from_base_images() -> None:
    names = ["nvidia/cuda:13.0.2-devel-ubuntu22.04", "ubuntu:24.04", "debian:bookworm-slim", "python:3.12-bullseye"]
    found = [distro_of(n) for n in names]
    assert [d.name if d else None for d in found] == ["Ubuntu 22.04", "Ubuntu 24.04", "Debian 12", "Debian 11"]
    assert distro_of("vllm/vllm-openai:v0.20.2-ubuntu2404") is None


def test_the_data_about_toolchains_can_be_used() -> None:
    data = toolchains()
    patterns = [*data["source_build"], *data["not_compiled"], *data["other_device"], data["other_python"]]
    for pattern in [*patterns, *(r["match"] for r in data["distributions"]), *(r["match"] for r in data["paths"])]:
        re.compile(pattern)
    for row in [*data["wheels"], *data["wheel_glibc"]]:
        matches(row["releases"], "0.33.0")
    names = {row["name"]: row for row in data["distributions"]}
    for old, new in data["base_raises"].items():
        raised = distro_of(new)
        assert raised is not None and set(names[old]["gcc"]) < set(raised.gcc)
