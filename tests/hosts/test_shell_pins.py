"""What fixes a version among the words of a script, and what only looks like it."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import shell
from vllm_migrate.model import InsertText, Reading, Remove, Replace


def of(text: str) -> Reading:
    return read(shell, text, "run.sh")


def told(text: str) -> list[str]:
    return [f"{p.kind}:{p.whole}" for p in of(text).pins]


SYSTEM = "apt-get apt yum dnf microdnf apk zypper tdnf brew aptitude"


@pytest.mark.parametrize("program", SYSTEM.split())
def test_packages_of_a_system(program: str) -> None:
    verb = "add" if program == "apk" else "install"
    assert told(f"sudo -E {program} -y {verb} --quiet gcc-11 g++-11\n") == ["package:gcc-11", "package:g++-11"]
    assert told(f"{program} update gcc-11\n") == []


@pytest.mark.parametrize(
    "installer",
    [
        "pip",
        "pip3",
        "/usr/bin/pip3.11",
        "python -m pip",
        "python3 -u -m pip",
        "uv pip",
        "sudo env X=1 uv pip",
        "conda",
        "mamba",
        "micromamba",
        "uv tool",
        "pixi",
        "poetry",
        "pdm",
        "rye",
        "nohup pip",
        "uv",
    ],
)
def test_installers_of_python(installer: str) -> None:
    verb = "add" if installer in ("uv", "poetry", "pdm", "rye", "pixi") else "install"
    assert told(f"{installer} {verb} vllm==0.9.0\n") == ["requirement:vllm==0.9.0"]


@pytest.mark.parametrize(
    "line",
    [
        "pip download vllm==0.9.0",
        "npm install vllm==0.9.0",
        "tool pip install vllm==0.9.0",
        "pip run install vllm==0.9.0",
        "uv run install vllm==0.9.0",
        "python setup.py install vllm==0.9.0",
        "echo pip install vllm==0.9.0",
    ],
)
def test_what_installs_nothing(line: str) -> None:
    assert told(line + "\n") == []


INDEXES = "--extra-index-url --index-url -i --index --default-index --find-links -f --torch-backend"


@pytest.mark.parametrize("option", INDEXES.split())
def test_indexes(option: str) -> None:
    (pin, last) = of(f"pip install {option} https://x/cu129 vllm\n").pins
    assert (pin.kind, pin.text, pin.name, last.text) == ("index", "https://x/cu129", option, "vllm")
    if option.startswith("--"):
        (pin, last) = of(f"pip install {option}=https://x/cu129 vllm\n").pins
        assert (pin.kind, pin.text, pin.name, last.text) == ("index", "https://x/cu129", option, "vllm")


VALUES = (
    "-t --target --prefix --root --src --platform --python-version --implementation --abi --progress-bar --trusted-host"
    " --cert --proxy --retries --timeout --cache-dir --log -p --prerelease --resolution --index-strategy"
    " --upgrade-package -P --no-binary --only-binary --config-settings -C --global-option --keyring-provider"
    " --link-mode --exclude-newer --group --extra -n --name --channel --override --overrides"
)


@pytest.mark.parametrize("option", VALUES.split())
def test_values_of_options_are_no_requirements(option: str) -> None:
    assert told(f"pip install {option} value vllm\n") == ["requirement:vllm"]
    assert told(f"pip install {option}=value vllm\n") == ["requirement:vllm"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pip install -U --no-deps vllm", ["requirement:vllm"]),
        (
            "pip install 'vllm[audio] @ https://x/vllm-0.9.0.whl'",
            ["url:vllm[audio] @ https://x/vllm-0.9.0.whl"],
        ),
        ("pip install ./vllm-0.9.0.whl", ["url:./vllm-0.9.0.whl"]),
        ("pip install ./vllm . .[dev] /opt/vllm vllm/x", []),
        (
            "pip install git+https://github.com/vllm-project/vllm",
            ["requirement:git+https://github.com/vllm-project/vllm"],
        ),
        ("pip install vllm[x]@git+https://h/a/b.git@v0.9.0#egg=c", ["git:v0.9.0"]),
        ("uv pip install --python 3.12 vllm", ["python:3.12", "requirement:vllm"]),
        ("uv venv --python=3.12", ["python:3.12"]),
        ("uvx --from vllm==0.9.0 vllm serve m --python 3", ["requirement:vllm==0.9.0"]),
        ("uv run --index https://x/cu129 --with=vllm tool", ["index:https://x/cu129", "requirement:vllm"]),
        ("uv run python x.py --with other", []),
        (
            "wget -q https://x/vllm-0.9.0.whl https://x/a.tar.gz https://x/a.txt",
            ["url:https://x/vllm-0.9.0.whl", "url:https://x/a.tar.gz"],
        ),
        ("curl -LO https://x/a.zip", ["url:https://x/a.zip"]),
        ("aria2c https://x/a.whl?y", ["url:https://x/a.whl?y"]),
        ("alternatives --set gcc /usr/bin/gcc-11", ["compiler:gcc", "compiler:/usr/bin/gcc-11"]),
        ("scl enable gcc-toolset-11 devtoolset-9 bash", ["package:gcc-toolset-11", "package:devtoolset-9"]),
        ("docker pull --platform linux/amd64 vllm/vllm-openai:v0.9.0", ["image:vllm/vllm-openai:v0.9.0"]),
        ("docker -H x pull vllm/vllm-openai:v0.9.0 other:1", []),
        ("docker --debug pull vllm/vllm-openai:v0.9.0", ["image:vllm/vllm-openai:v0.9.0"]),
        ("docker image pull -q vllm/vllm-openai:v0.9.0 other:1", ["image:vllm/vllm-openai:v0.9.0"]),
        (
            "podman build --build-arg=A=1 --file=D.x -f D.y --build-arg B --build-arg C=2 .",
            ["build-arg:A=1", "path:D.x", "path:D.y", "build-arg:C=2"],
        ),
        ("docker buildx build --build-arg A=1 .", ["build-arg:A=1"]),
        ("srun --container-image vllm/vllm-openai:v0.9.0 x", ["image:vllm/vllm-openai:v0.9.0"]),
        ("srun -N1 --container-image=vllm:1 bash x.sh", ["image:vllm:1"]),
        ("srun --container-image=nginx:1 x", []),
        (
            "tool --image=reg.io:5000/vllm:v0.9.0@sha256:ab --docker-image vllm:1",
            ["image:reg.io:5000/vllm:v0.9.0@sha256:ab", "image:vllm:1"],
        ),
        ("apptainer pull docker://vllm/vllm-openai:v0.9.0", ["image:vllm/vllm-openai:v0.9.0"]),
        ("apptainer exec vllm-0.9.sif x", ["image:vllm-0.9.sif"]),
        ("cmake -DCMAKE_CXX_STANDARD=17 -DCMAKE_C_COMPILER:FILEPATH=gcc-11 -DX=1", ["compiler:17", "compiler:gcc-11"]),
        ("CMAKE_ARGS='-DCMAKE_CUDA_HOST_COMPILER=gcc-11 -DY=2' make", ["compiler:gcc-11"]),
        (
            "export NVCC_CCBIN=gcc-11 CUDAHOSTCXX=g++-11 CMAKE_CXX_STANDARD=17 CMAKE_CXX_COMPILER=",
            ["compiler:gcc-11", "compiler:g++-11", "compiler:17"],
        ),
        ("git clone --branch=v0.9.0 https://x/vllm", ["git:v0.9.0"]),
        ("git clone https://x/vllm -b", []),
        ("git -C vllm checkout v0.9.0", ["git:v0.9.0"]),
        ("git -C other checkout v0.9.0", []),
        ("cd vllm\ngit switch --detach v0.9.0 x", ["git:v0.9.0"]),
        ("cd vllm\ngit reset --hard origin v0.9.0", ["git:v0.9.0"]),
        ("cd vllm\ngit fetch v0.9.0", []),
        ("cd other\ngit checkout v0.9.0", []),
        ("cd vllm\ngit checkout .", []),
        ("cd vllm\npip install -r requirements/cuda.txt", ["path:requirements/cuda.txt"]),
        ("cd a/vllm/\npip install --requirement=requirements/cuda.txt", ["path:requirements/cuda.txt"]),
        ("cd my-vllm\npip install -r requirements.txt", []),
        ("IMAGE=nginx:1 MODEL=vllm/x", []),
        ("IMAGE=reg.io/vllm/start.sh:1.sh", []),
        ("IMAGE=vllm/vllm-openai", []),
        ("A=${1:-vllm/vllm-openai:v0.9.0} B=${2:-nginx:1}", ["image:vllm/vllm-openai:v0.9.0"]),
    ],
)
def test_what_names_a_version(line: str, said: list[str]) -> None:
    text = line + "\n"
    assert told(text) == said
    check_identity(of(text), text)
    crlf = text.replace("\n", "\r\n")
    assert told(crlf) == said


@pytest.mark.parametrize(
    ("text", "whole", "after"),
    [
        ("V=0.9.0\npip install vllm==$V\n", "vllm==0.9.0", "V=X\npip install vllm==$V\n"),
        ("V=0.9.0\nW=$V\npip install vllm==$W\n", "vllm==0.9.0", "V=X\nW=$V\npip install vllm==$W\n"),
        ("V=${V:-0.9.0}\npip install vllm==$V\n", "vllm==0.9.0", "V=${V:-X}\npip install vllm==$V\n"),
        ("pip install vllm==${V:-0.9.0}\n", "vllm==0.9.0", "pip install vllm==${V:-X}\n"),
        ("pip install vllm==${1:-'0.9.0'}\n", "vllm==0.9.0", "pip install vllm==${1:-'X'}\n"),
        (
            "R=reg.io\nT=v0.9.0\ndocker pull $R/vllm:$T-cu129\n",
            "reg.io/vllm:v0.9.0-cu129",
            "R=reg.io\nT=X\ndocker pull $R/vllm:$T-cu129\n",
        ),
        ("docker pull $R/vllm:v0.9.0\n", "\ue000/vllm:v0.9.0", "docker pull X\n"),
        (
            "V='0.9.0' # why\npip install \"vllm==$V\" ray\n",
            "vllm==0.9.0",
            "V='X' # why\npip install \"vllm==$V\" ray\n",
        ),
        ("pip install \"vllm=='0.9.0'\"\n", "vllm=='0.9.0'", 'pip install "X"\n'),
    ],
)
def test_a_version_moves_where_it_is_written(text: str, whole: str, after: str) -> None:
    found = of(text)
    pin = found.pins[0]
    assert pin.whole == whole
    assert render(found, text, [Replace(pin, "X")]) == after


@pytest.mark.parametrize(
    "text",
    [
        "V=${V:-0.9.0 1}\npip install vllm==$V\n",
        "V=$(f)\npip install vllm==$V\n",
        "V=$V\npip install vllm==$V\n",
        "V=latest\npip install vllm==$V\n",
    ],
)
def test_a_version_that_is_not_sure_stays_unknown(text: str) -> None:
    (pin,) = of(text).pins
    assert pin.text == "vllm==\ue000" and pin.holes == ("$V",)


def test_requirements_come_and_go_beside_others() -> None:
    text = "pip install \\\n  vllm==0.9.0 \\\n  'torch>=2'\n"
    found = of(text)
    vllm, torch = found.pins
    assert render(found, text, [Remove(vllm)]) == "pip install \\\n  'torch>=2'\n"
    assert render(found, text, [InsertText(torch, "requirement", "ray>=2")]) == text[:-1] + " \\\n  'ray>=2'\n"


def test_build_arguments_are_told_by_their_names() -> None:
    text = "docker build --build-arg VLLM_VERSION=0.9.0 --build-arg=B=a=b .\n"
    assert [(p.name, p.text) for p in of(text).pins] == [("VLLM_VERSION", "VLLM_VERSION=0.9.0"), ("B", "B=a=b")]


def test_two_launches_of_one_image_share_its_pin() -> None:
    text = "I=vllm/vllm-openai:v0.9.0\ndocker run $I --model a\ndocker run $I --model b\n"
    found = of(text)
    first, second = found.sites
    assert first.pins[0] is second.pins[0] and first.pins[0].owner == ""


@pytest.mark.parametrize(
    ("line", "links"),
    [
        ("pip install -r a.txt --requirement=b.txt -c c.txt --constraint d.txt", ["a.txt", "b.txt", "c.txt", "d.txt"]),
        ("pip install -r $F -r", []),
        ("conda install -c conda-forge vllm", []),
        ("uv pip install --requirements a.txt", ["a.txt"]),
    ],
)
def test_files_of_requirements_are_read_too(line: str, links: list[str]) -> None:
    assert of(line + "\n").links == links


@pytest.mark.parametrize("line", ["pip install vllm==${1:-0.9.0 1}", "pip install vllm==${1:-'0.9.0}"])
def test_a_default_of_several_words_is_no_version(line: str) -> None:
    assert [p.holes for p in of(line + "\n").pins] in ([(line.split("==")[1],)], [])


def test_the_option_that_gives_an_index_is_told() -> None:
    assert [p.name for p in of("uv run --index https://x/cu129 --with vllm --index=https://x/cu128 tool\n").pins] == [
        "--index", "", "--index",
    ]  # fmt: skip
