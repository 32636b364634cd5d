"""What a person relies on when the tool rewrites a repository: pins, groups, safety, rounds, scope."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vllm_migrate.config import Config, from_mapping
from vllm_migrate.engine import run, run_text
from vllm_migrate.findings import Finding, Report

TO = Config(to=("0.33.0",), fix=True)


def put(root: Path, files: dict[str, str]) -> Path:
    (root / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def after(report: Report, name: str) -> str:
    file = next(f for f in report.files if f.path == name)
    assert file.source is not None
    return (file.fixed or file.source).text


def found(report: Report, code: str) -> list[Finding]:
    return [f for f in report.findings() if f.code == code]


def pod(image: str, *args: str, env: str = "") -> str:
    text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: llm\n"
    text += f"      image: {image}\n      args:\n" + "".join(f"        - {a}\n" for a in ("--model=m/x", *args))
    return text + env


DEVICES = '      env:\n        - name: CUDA_VISIBLE_DEVICES\n          value: "0"\n'


def test_a_fix_the_pinned_release_lacks_moves_with_its_pin(tmp_path: Path) -> None:
    put(tmp_path, {"pod.yaml": pod("vllm/vllm-openai:v0.22.0", "--port=1", env=DEVICES)})
    text = after(run([tmp_path], tmp_path, TO), "pod.yaml")
    assert "vllm/vllm-openai:v0.33.0" in text
    assert "--device-ids=0" in text
    assert "CUDA_VISIBLE_DEVICES" not in text


@pytest.mark.parametrize("how", ["keep", "digest"])
def test_a_pin_that_stays_holds_its_group_back(tmp_path: Path, how: str) -> None:
    image = "vllm/vllm-openai:v0.22.0" + ("@sha256:" + "a" * 64 if how == "digest" else "")
    put(tmp_path, {"pod.yaml": pod(image, "--port=1", env=DEVICES)})
    report = run([tmp_path], tmp_path, replace(TO, keep_pins=how == "keep", unsafe_fixes=True))
    assert [f.path for f in report.files if f.fixed is not None] == []
    assert found(report, "VM204")[0].fix is None
    assert "0.22.0" in found(report, "VM204")[0].withheld


def test_what_both_releases_take_stands_alone(tmp_path: Path) -> None:
    env = '      env:\n        - name: VLLM_RPC_TIMEOUT\n          value: "1"\n'
    put(tmp_path, {"pod.yaml": pod("vllm/vllm-openai:v0.23.0", env=env)})
    report = run([tmp_path], tmp_path, replace(TO, keep_pins=True))
    text = after(report, "pod.yaml")
    assert "v0.23.0" in text
    assert "VLLM_RPC_TIMEOUT" not in text


def test_a_pin_does_not_move_alone_where_the_launch_would_not_start(tmp_path: Path) -> None:
    put(tmp_path, {"pod.yaml": pod("vllm/vllm-openai:v0.22.0", "--max-num-partial-prefills=2")})
    report = run([tmp_path], tmp_path, TO)
    assert [f.path for f in report.files if f.fixed is not None] == []
    (move,) = found(report, "VM505")
    assert move.fix is not None
    assert move.fix.safety == "unsafe"
    assert "--max-num-partial-prefills" in move.fix.why
    assert report.left_out == 2
    both = after(run([tmp_path], tmp_path, replace(TO, unsafe_fixes=True)), "pod.yaml")
    assert "v0.33.0" in both
    assert "partial-prefills" not in both


def test_a_launch_beyond_the_target_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, {"pod.yaml": pod("vllm/vllm-openai:v0.33.0", "--disable-log-requests")})
    report = run([tmp_path], tmp_path, replace(TO, to=("0.32.0",)))
    assert [f.path for f in report.files if f.fixed is not None] == []
    assert found(report, "VM101") == []
    assert any("0.33.0" in notice for notice in report.notices)


def test_the_nearest_pin_decides(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "vllm==0.11.0\n",
        "deep/er/serve.sh": "vllm serve m/x --port 1\n",
        "other/requirements.txt": "vllm==0.31.0\n",
        "other/serve.sh": "vllm serve m/x --port 1\n",
    }
    report = run([tmp_path], put(tmp_path, files), replace(TO, fix=False))
    origins = {f.path: f.origin for f in found(report, "VM109")}
    assert origins == {"deep/er/serve.sh": "0.11.0", "other/serve.sh": "0.31.0"}


COMPOSE = "services:\n  a:\n    image: vllm/vllm-openai:v0.17.1\n"
LOCK = '[[package]]\nname = "vllm"\nversion = "0.17.1"\n'
BESIDE = {
    **dict.fromkeys(("Dockerfile", "Containerfile.gpu", "gpu.dockerfile"), "FROM vllm/vllm-openai:v0.17.1\n"),
    **dict.fromkeys((".env", ".env.prod", "prod.env"), "VLLM_IMAGE=vllm/vllm-openai:v0.17.1\n"),
    **dict.fromkeys(("compose.yaml", "compose.yml"), COMPOSE),
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock"), LOCK),
    **dict.fromkeys(
        ("requirements.txt", "requirements-a.txt", "a-requirements.txt", "a_requirements.txt", "a-requirements.in",
         "constraints.txt"),
        "vllm==0.17.1\n",
    ),
    "Pipfile": '[packages]\nvllm = "==0.17.1"\n',
    "Pipfile.lock": '{"default": {"vllm": {"version": "==0.17.1"}}}\n',
    "environment.yml": "dependencies:\n  - pip:\n    - vllm==0.17.1\n",
    "pixi.toml": '[pypi-dependencies]\nvllm = "==0.17.1"\n',
    "pyproject.toml": '[project]\ndependencies = ["vllm==0.17.1"]\n',
    "setup.cfg": "[options]\ninstall_requires =\n    vllm==0.17.1\n",
    "setup.py": 'from setuptools import setup\nsetup(install_requires=["vllm==0.17.1"])\n',
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_a_file_alone_is_judged_by_the_pins_beside_it(name: str, tmp_path: Path) -> None:
    """A hook is given the files of a commit: the release they run on does not depend on that."""
    # Folders and files that say nothing stand before and behind it.
    put(tmp_path, {"a.yaml": "x: 1\n", "b.yaml/c": "", "z.env": "X=1\n"})
    put(tmp_path, {"serve.sh": "vllm serve m\n", name: BESIDE[name]})
    alone = run([tmp_path / "serve.sh"], tmp_path, replace(TO, fix=False))
    assert [(s.path, s.version) for s in alone.standings] == [("serve.sh", "0.17.1")]
    assert [f.path for f in alone.files] == ["serve.sh"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.md", "```\ndocker run vllm/vllm-openai:v0.17.1 --model m\n```\n"),
        ("requirements.md", "```\npip install vllm==0.17.1\n```\n"),
        ("compose.yaml", COMPOSE + "#" * (1 << 20)),
    ],
)
def test_documents_and_long_files_beside_say_nothing(name: str, text: str, tmp_path: Path) -> None:
    put(tmp_path, {"serve.sh": "vllm serve m\n", name: text, "z/requirements.txt": "vllm==0.17.1\n"})
    alone = run([tmp_path / "serve.sh"], tmp_path, replace(TO, fix=False))
    assert [(s.path, s.version) for s in alone.standings] == [("serve.sh", None)]


def test_pins_that_disagree_are_said_not_guessed(tmp_path: Path) -> None:
    files = {
        "a.txt": "",
        "requirements-a.txt": "vllm==0.11.0\n",
        "requirements-b.txt": "vllm==0.12.0\n",
        "serve.sh": "vllm serve m/x --swap-space 4\n",
    }
    report = run([tmp_path], put(tmp_path, files), TO)
    assert "0.11.0, 0.12.0" in found(report, "VM508")[0].message
    assert found(report, "VM109") == []
    assert after(report, "serve.sh") == "vllm serve m/x\n"


def test_text_two_launches_share_changes_only_when_both_ask(tmp_path: Path) -> None:
    script = 'ARGS="--swap-space 4 --port 1"\nvllm serve m/x $ARGS\nvllm serve m/y $ARGS\n'
    both = after(run([tmp_path], put(tmp_path, {"s.sh": script}), TO), "s.sh")
    assert both == 'ARGS="--port 1"\nvllm serve m/x $ARGS\nvllm serve m/y $ARGS\n'
    mixed = script.replace("vllm serve m/y", "other-server")
    report = run([tmp_path], put(tmp_path, {"s.sh": mixed}), TO)
    assert after(report, "s.sh") == mixed


def test_a_guarded_branch_is_reported_and_not_touched(tmp_path: Path) -> None:
    code = (
        "import vllm\nfrom packaging.version import Version\nfrom vllm import LLM\n\n"
        'if Version(vllm.__version__) < Version("0.18"):\n    llm = LLM("m/x", swap_space=4)\n'
        'else:\n    llm = LLM("m/x")\n'
    )
    report = run([tmp_path], put(tmp_path, {"a.py": code}), replace(TO, unsafe_fixes=True))
    assert after(report, "a.py") == code
    assert all(f.severity == "info" for f in report.findings() if f.subject == "swap_space")


def test_paths_limit_what_is_written_but_not_what_is_known(tmp_path: Path) -> None:
    files = {"Dockerfile": "FROM vllm/vllm-openai:v0.22.0\n", "serve.sh": "CUDA_VISIBLE_DEVICES=0 vllm serve m/x\n"}
    put(tmp_path, files)
    report = run([tmp_path / "serve.sh"], tmp_path, replace(TO, unsafe_fixes=True))
    assert [f.path for f in report.files] == ["serve.sh"]
    assert found(report, "VM204")[0].origin == "0.22.0"
    assert found(report, "VM204")[0].fix is None
    whole = run([tmp_path], tmp_path, replace(TO, unsafe_fixes=True))
    assert "--device-ids 0" in after(whole, "serve.sh")
    assert "v0.33.0" in after(whole, "Dockerfile")


def test_a_config_file_a_launch_names_is_read(tmp_path: Path) -> None:
    files = {"s.sh": "vllm serve --config conf/serve.yaml\n", "conf/serve.yaml": "model: m/x\nswap-space: 4\nport: 1\n"}
    report = run([tmp_path], put(tmp_path, files), TO)
    assert after(report, "conf/serve.yaml") == "model: m/x\nport: 1\n"


def test_a_config_file_is_found_from_the_root_too(tmp_path: Path) -> None:
    # It may have been read before, as a file like any other.
    config = "# what vllm is given\nmodel: m/x\nswap-space: 4\n"
    files = {"sub/s.sh": "vllm serve --config conf/serve.yml\n", "conf/serve.yml": config}
    report = run([tmp_path], put(tmp_path, files), TO)
    assert after(report, "conf/serve.yml") == config.replace("swap-space: 4\n", "")
    report = run([tmp_path / "sub"], tmp_path, TO)
    assert [f.path for f in report.files] == ["sub/s.sh"]


LIBRARY = "pip install vllm=={}\nvllm serve other --swap-space 4\n"


@pytest.mark.parametrize(
    ("files", "version"),
    [
        (["sub/lib.sh=0.17.1"], "0.17.1"),
        (["lib.sh=0.17.1"], "0.17.1"),
        (["sub/lib.sh=0.17.1", "lib.sh=0.12.0"], "0.17.1"),
        (["../lib.sh=0.17.1"], None),
    ],
)
def test_a_script_that_is_read_into_another_says_what_it_runs_on(
    files: list[str], version: str | None, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    put(root, {"sub/s.sh": "source lib.sh\nvllm serve m\n"})
    put(root, {name: LIBRARY.format(pin) for name, _, pin in (f.partition("=") for f in files)})
    report = run([root / "sub" / "s.sh"], root, TO)
    assert [(s.path, s.version) for s in report.standings] == [("sub/s.sh", version)]
    assert [f.path for f in report.files] == ["sub/s.sh"], "what a path does not name is not reported"


@pytest.mark.parametrize("words", ["bench serve --model m", "chat --url http://x"])
def test_what_only_talks_to_a_server_uses_no_device_of_it(words: str, tmp_path: Path) -> None:
    held = "CUDA_VISIBLE_DEVICES=0 VLLM_ATTENTION_BACKEND=FLASH_ATTN "
    put(tmp_path, {"s.sh": f"{held}VLLM_USE_V1=1 vllm {words}\n"})
    report = run([tmp_path], tmp_path, TO)
    assert [f.subject for f in report.findings()] == ["VLLM_ATTENTION_BACKEND", "VLLM_USE_V1"]
    assert after(report, "s.sh") == f"{held}vllm {words}\n", "what it is told of becomes no option of its own"


def test_each_target_of_a_rolling_upgrade_is_judged(tmp_path: Path) -> None:
    put(tmp_path, {"s.sh": "vllm serve m/x --disable-log-requests\n"})
    report = run([tmp_path], tmp_path, Config(to=("0.32.0", "0.33.0")))
    assert [(f.subject, f.to) for f in report.findings()] == [("--disable-log-requests", "0.32.0")]


def test_without_a_target_a_launch_is_judged_against_its_own_pin(tmp_path: Path) -> None:
    old = pod("vllm/vllm-openai:v0.17.1", "--swap-space=4")
    files = {"old/p.yaml": old, "new/s.sh": "vllm serve m --swap-space 4\n"}
    report = run([tmp_path], put(tmp_path, files), Config())
    assert [(f.path, f.to) for f in report.findings() if f.subject == "--swap-space"] == [("new/s.sh", "0.33.0")]


def test_what_a_private_image_holds_can_be_said(tmp_path: Path) -> None:
    put(tmp_path, {"p.yaml": pod("registry.local/llm/vllm-fork:prod", "--port=1")})
    config = from_mapping({"images": {"registry.local/llm/*": "0.11.0"}, "to": "0.33.0"}, tmp_path)
    report = run([tmp_path], tmp_path, config)
    assert found(report, "VM109")[0].origin == "0.11.0"


def test_select_and_ignore_and_comments(tmp_path: Path) -> None:
    text = (
        "vllm serve m/x --swap-space 4 --num-scheduler-steps 2  # vllm-migrate: ignore[VM101:swap-space]\n"
    )
    put(tmp_path, {"s.sh": text})
    report = run([tmp_path], tmp_path, TO)
    assert [f.subject for f in report.findings()] == ["--num-scheduler-steps"]
    assert "--swap-space 4" in after(report, "s.sh")
    assert run([tmp_path], tmp_path, replace(TO, ignore=("VM1",))).findings() == []


def test_a_file_that_does_not_parse_does_not_stop_the_others(tmp_path: Path) -> None:
    files = {"bad.py": "import vllm\ndef f(:\n", "worse.yaml": "vllm: [\n", "s.sh": "vllm serve m --swap-space 4\n"}
    report = run([tmp_path], put(tmp_path, files), TO)
    (tmp_path / "latin.sh").write_bytes(b"# vllm \xe9\n")
    assert {f.path for f in report.findings() if f.code == "VM001"} == {"bad.py", "worse.yaml"}
    assert after(report, "s.sh") == "vllm serve m\n"
    assert [f.code for f in run([tmp_path / "latin.sh"], tmp_path, TO).findings()] == ["VM002"]


def test_a_generated_file_is_reported_and_not_touched(tmp_path: Path) -> None:
    text = "# Code generated by render. DO NOT EDIT.\n" + pod("vllm/vllm-openai:v0.17.1", "--swap-space=4")
    report = run([tmp_path], put(tmp_path, {"p.yaml": text}), replace(TO, unsafe_fixes=True))
    assert after(report, "p.yaml") == text
    assert {f.code for f in report.findings()} >= {"VM003", "VM101"}


def test_one_text(tmp_path: Path) -> None:
    report = run_text("s.sh", b"vllm serve m --swap-space 4\r\n", tmp_path, TO)
    assert report.files[0].fixed is not None
    assert report.files[0].fixed.raw == b"vllm serve m\r\n"


KUSTOMIZATION = "resources:\n  - {}\nimages:\n  - name: vllm/vllm-openai\n    newTag: {}\n"


def test_a_kustomization_says_which_image_its_manifests_run(tmp_path: Path) -> None:
    put(tmp_path, {"pod.yaml": pod("vllm/vllm-openai:v0.8.5", "--port=1", env=DEVICES)})
    put(tmp_path, {"kustomization.yaml": KUSTOMIZATION.format("pod.yaml", "v0.22.0")})
    report = run([tmp_path / "pod.yaml"], tmp_path, replace(TO, fix=False))
    assert found(report, "VM204")[0].origin == "0.22.0"


def test_overlays_on_different_releases_are_not_guessed_between(tmp_path: Path) -> None:
    put(tmp_path, {"base/pod.yaml": pod("vllm/vllm-openai", "--port=1", "--swap-space=4")})
    put(tmp_path, {"base/kustomization.yaml": "resources:\n  - pod.yaml\n"})
    for name, tag in (("dev", "v0.22.0"), ("prod", "v0.10.0")):
        put(tmp_path, {f"{name}/kustomization.yaml": KUSTOMIZATION.format("../base", tag)})
    report = run([tmp_path], tmp_path, replace(TO, fix=False))
    assert "0.10.0, 0.22.0" in found(report, "VM508")[0].message


def test_a_launch_that_names_its_model_does_not_rely_on_the_default_one(tmp_path: Path) -> None:
    put(tmp_path, {"run.sh": "vllm serve $MODEL --port 1\n", "requirements.txt": "vllm==0.9.1\n"})
    assert "--model" not in found(run([tmp_path], tmp_path, replace(TO, fix=False)), "VM109")[0].subject


@pytest.mark.parametrize("name", ["run.sh", "Dockerfile", "pod.yaml", "batch.py", "requirements.txt"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_with_an_open_merge_conflict_is_reported_there_and_left_alone(
    tmp_path: Path, name: str, newline: str
) -> None:
    put(tmp_path, {"other.sh": "vllm serve m --swap-space 4\n"})
    sides = ["# kept", "<<<<<<< HEAD", "vllm serve m --swap-space 4", "=======", "vllm serve m", ">>>>>>> theirs", ""]
    (tmp_path / name).write_bytes(newline.join(sides).encode())
    report = run([tmp_path], tmp_path, TO)
    (told,) = [f for f in report.findings() if f.path == name]
    source = next(f.source for f in report.files if f.path == name)
    assert source is not None
    assert (told.code, source.position(told.span.start)[0]) == ("VM001", 2)
    assert source.text[told.span.start : told.span.end] == "<<<<<<<"
    assert "merge conflict" in told.message
    assert after(report, "other.sh") == "vllm serve m\n"
    assert after(report, name) == source.text


def test_a_suppression_that_hides_nothing_is_reported(tmp_path: Path) -> None:
    lines = [
        "# vllm-migrate: ignore[VM101]",
        "vllm serve m --swap-space 4  # vllm-migrate: ignore[VM999]",
        "vllm serve m --port 1  # vllm-migrate: ignore",
        "",
    ]
    put(tmp_path, {"run.sh": "\n".join(lines)})
    report = run([tmp_path], tmp_path, replace(TO, fix=False))
    assert [(f.code, f.severity, f.subject) for f in report.findings()] == [
        ("VM004", "info", "VM999"),
        ("VM004", "info", "ignore"),
    ]
    assert report.suppressed == 1


def test_a_suppression_that_one_of_several_targets_needs_is_used(tmp_path: Path) -> None:
    put(tmp_path, {"run.sh": "# vllm-migrate: ignore[VM101]\nvllm serve m --swap-space 4\n"})
    report = run([tmp_path], tmp_path, Config(to=("0.10.0", "0.33.0")))
    assert found(report, "VM004") == []


def test_what_was_not_asked_for_does_not_count_as_suppressed(tmp_path: Path) -> None:
    put(tmp_path, {"run.sh": "vllm serve m --swap-space 4\nvllm serve m --swap-space 4  # vllm-migrate: ignore\n"})
    report = run([tmp_path], tmp_path, replace(TO, fix=False, from_="0.10.0", ignore=("VM109",)))
    assert report.suppressed == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (RecursionError(), "nested too deeply to be read"),
        (KeyError("x"), "could not be read (KeyError: 'x')"),
    ],
)
def test_a_fault_in_reading_one_file_does_not_stop_the_others(
    fault: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm_migrate.hosts import shell

    def broken(region: object, context: object) -> None:
        raise fault

    monkeypatch.delenv("VLLM_MIGRATE_TRACEBACK", raising=False)
    monkeypatch.setattr(shell, "read", broken)
    good = pod("vllm/vllm-openai:v0.33.0", "--swap-space=4")
    put(tmp_path, {"a.sh": "vllm serve m --swap-space 4\n", "pod.yaml": good})
    report = run([tmp_path], tmp_path, TO)
    assert "--swap-space" not in after(report, "pod.yaml")
    assert after(report, "a.sh") == "vllm serve m --swap-space 4\n"
    assert [f.message for f in report.findings() if f.path == "a.sh"] == [said]
    monkeypatch.setenv("VLLM_MIGRATE_TRACEBACK", "1")
    if not isinstance(fault, RecursionError):
        with pytest.raises(type(fault)):
            run([tmp_path], tmp_path, TO)


def test_one_mark_of_a_conflict_is_none(tmp_path: Path) -> None:
    put(tmp_path, {"run.sh": "# <<<<<<< left over\nvllm serve m --swap-space 4\n"})
    assert after(run([tmp_path], tmp_path, TO), "run.sh") == "# <<<<<<< left over\nvllm serve m\n"
