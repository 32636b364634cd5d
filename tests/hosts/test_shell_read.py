"""What is read out of shell scripts: launches, environment, pins, scripts inside scripts."""

from __future__ import annotations

import pytest

from vllm_migrate.hosts import Context, read_words, shell
from vllm_migrate.model import InsertWords, Reading, Remove, Replace, Site
from vllm_migrate.text import Piece, Region, Source


def read(text: str) -> Reading:
    return shell.read(Region.whole(Source.of(text, "run.sh")), Context("run.sh"))


def only(text: str) -> Site:
    reading = read(text)
    assert not reading.problems
    assert len(reading.sites) == 1
    return reading.sites[0]


def words(site: Site) -> str:
    return " ".join(word.spelled() for word in site.words)


LAUNCHES = [
    ("vllm serve m --a 1", "m --a 1"),
    ("/opt/venv/bin/vllm serve m", "m"),
    ("python3 -m vllm.entrypoints.openai.api_server --model m", "--model m"),
    ("exec vllm serve m", "m"),
    ("nohup vllm serve m > log 2>&1 &", "m"),
    ("sudo -E env A=1 vllm serve m", "m"),
    ("srun -N1 --ntasks 1 numactl -N 0 timeout 3600 uv run vllm serve m | tee log", "m"),
    ("time vllm serve m", "m"),
    ("vllm serve m 2>&1 --a 1 > log --b", "m --a 1 --b"),
    ("vllm serve 'a b' \"c $D\" e\\ f g'h'\"i\"", "a b c $D e f ghi"),
    ("if true; then vllm serve m; fi", "m"),
    ("while :; do vllm serve m; done", "m"),
    ("case $1 in x) vllm serve m;; esac", "m"),
    ("f() { vllm serve m; }\nf", "m"),
    ("(cd /x && vllm serve m)", "m"),
    ("P=$(vllm serve m & echo $!)", "m"),
    ("cd /x && vllm serve m || exit 1", "m"),
    ("bash -c 'vllm serve m --a \"b c\"'", "m --a b c"),
    ('bash -lc "vllm serve $M --a \\$B"', "$M --a $B"),
    ("ssh host 'vllm serve m'", "m"),
    ("tmux new-session -d -s v 'vllm serve m | tee log'", "m"),
    ("docker run --gpus all vllm/vllm-openai:v0.11.0 --model m", "--model m"),
    ("docker run -p 8000:8000 --entrypoint bash vllm/vllm-openai:v0.11.0 -c 'vllm serve m'", "m"),
    ("docker exec c vllm serve m", "m"),
    ("apptainer exec --nv vllm.sif vllm serve m", "m"),
    ('A=(--a 1)\nvllm serve m "${A[@]}" --b', "m --a 1 --b"),
    ('A=(--a 1)\nA+=(--b "$B")\nvllm serve m "${A[@]}"', "m --a 1 --b $B"),
    ('A=(--a)\nvllm serve m ${A[@]+"${A[@]}"}', "m --a"),
    ('A=(--a 1)\nA=(--b "${A[@]}")\nvllm serve m "${A[@]}"', "m --a 1 --b"),
    ('C=(vllm serve m)\nC+=(--a 1)\nexec "${C[@]}"', "m --a 1"),
    ("ARGS='--a 1'\nARGS=\"$ARGS --b\"\nvllm serve m $ARGS", "m --a 1 --b"),
    ("BASE='--a 1'\nARGS=\"$BASE --b\"\nvllm serve m $ARGS", "m --a 1 --b"),
    ("CMD='vllm serve m'\nCMD+=' --a'\neval \"$CMD\"", "m --a"),
    ('CMD="vllm serve $M --a \'b c\'"\nbash -c "$CMD"', "$M --a b c"),
    ("CMD='vllm serve m'\nssh host \"$CMD\"", "m"),
    ("ARGS='--a 1'\nARGS='--b 2'\nvllm serve m $ARGS", "m --b 2"),
    ("BIN=/opt/bin/vllm\n$BIN serve m", "m"),
    ("${PYTHON:-python3} -m vllm.entrypoints.openai.api_server --model m", "--model m"),
    ("vllm serve m --port $PORT --n $((1+2))", "m --port $PORT --n $((1+2))"),
    ("bash <<'EOF'\nvllm serve m\nEOF", "m"),
    ("cat > run.sh <<EOF\nvllm serve $M --a \\$B\nEOF", "$M --a $B"),
    ("cat <<'EOF' | sudo tee /opt/run.sh\nvllm serve m\nEOF", "m"),
    ('cat > "$FILE" <<EOF\nsetup; \\\nvllm serve m --a 1\nEOF', "m --a 1"),
    ('serve() { vllm serve "$@"; }\nserve m --a 1', "m --a 1"),
    ("vllm serve m \\\n  `# why` \\\n  --a 1", "m --a 1"),
]


@pytest.mark.parametrize(("text", "expected"), LAUNCHES)
def test_launches(text: str, expected: str) -> None:
    assert words(only(text + "\n")) == expected
    assert words(only(text.replace("\n", "\r\n") + "\r\n")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "# vllm serve m",
        "echo vllm serve m",
        "echo 'vllm serve m'",
        "cat <<EOF\nvllm serve m\nEOF",
        "cat > $FILE <<EOF\nRun vllm serve m --a 1 now\nEOF",
        "pkill -f 'vllm serve'",
        "USAGE='vllm serve m'\necho \"$USAGE\"",
        "die 'vllm serve failed'",
        "pip install vllm",
        "grep -q 'vllm serve' log",
    ],
)
def test_what_only_talks_about_a_launch_is_none(text: str) -> None:
    assert read(text + "\n").sites == []


def test_open_and_closed_command_lines() -> None:
    assert only('vllm serve m "$@"\n').open
    assert only("vllm serve m $EXTRA_ARGS\n").open
    assert only("vllm serve m ${LORA:+--enable-lora}\n").open
    assert not only('vllm serve $MODEL --port $PORT --x "$X"\n').open


def test_shared_words_are_one_object() -> None:
    reading = read('ARGS=(--a 1)\nvllm serve m "${ARGS[@]}" &\nvllm serve n "${ARGS[@]}" &\n')
    first, second = reading.sites
    assert first.words[1] is second.words[1]
    assert not first.words[1].locked


def test_words_another_program_uses_are_locked() -> None:
    site = read('ARGS=(--a 1)\nother "${ARGS[@]}"\nvllm serve m "${ARGS[@]}"\n').sites[0]
    assert "other" in site.words[1].locked
    site = read('ARGS=(--a 1)\necho "${ARGS[@]}"\nvllm serve m "${ARGS[@]}"\n').sites[0]
    assert not site.words[1].locked


def test_quotes_a_split_string_would_keep_lock_it() -> None:
    assert only("ARGS=\"--x '{}'\"\nvllm serve m $ARGS\n").words[-1].locked
    assert not only('CMD="vllm serve m --x \'{}\'"\neval "$CMD"\n').words[-1].locked


def test_version_tests_guard() -> None:
    site = only('if vllm --version | grep -q 0.9; then A=(--old); else A=(--new); fi\nvllm serve m "${A[@]}"\n')
    assert [bool(w.guarded) for w in site.words] == [False, True, True]
    site = only('if [ "$(printf "%s\\n" 1 "$V" | sort -V | head -1)" = 1 ]; then vllm serve m; fi\n')
    assert site.words[0].guarded
    assert not only('if [ "$CUDA_VERSION" = 12 ]; then vllm serve m; fi\n').words[0].guarded


def environment(text: str) -> dict[str, tuple[str, str, bool]]:
    return {v.name: (v.spelled(), v.scope, v.only) for v in only(text).variables}


def test_environment() -> None:
    assert environment("X=1 vllm serve m\n") == {"X": ("1", "process", True)}
    assert environment("export X=1 Y=$Z\nvllm serve m\n") == {"X": ("1", "script", True), "Y": ("$Z", "script", True)}
    assert environment("X=1\nexport X\nvllm serve m\n") == {"X": ("1", "script", True)}
    assert environment("X=1\nvllm serve m\n") == {}
    assert environment("export X=1\nunset X\nvllm serve m\n") == {}
    assert environment("export X=1\nexport X=2\nvllm serve m\n") == {"X": ("2", "script", True)}
    assert environment("export X=1\nX=2 vllm serve m\n") == {"X": ("2", "process", True)}
    assert environment("(export X=1)\nvllm serve m\n") == {}
    assert environment("vllm serve m\nexport X=1\n") == {}
    assert environment("set -a\nX=1\nset +a\nY=1\nvllm serve m\n") == {"X": ("1", "script", True)}
    assert environment("export X\nvllm serve m\n") == {"X": ("", "script", True)}
    assert environment("export X=1\nsleep 5\npython other.py\nvllm serve m\n") == {"X": ("1", "script", False)}
    assert environment("export X=1\nsleep 5\nmkdir a\nvllm serve m\n") == {"X": ("1", "script", True)}
    assert environment("export X=1\nbash -c 'Y=2 vllm serve m'\n") == {
        "Y": ("2", "process", True),
        "X": ("1", "script", True),
    }
    assert environment("export X=1\nbash -c 'other; vllm serve m'\n") == {"X": ("1", "script", False)}
    assert environment("if a; then export X=1; else export Y=1; vllm serve m; fi\n") == {"Y": ("1", "script", True)}


def test_environment_of_containers() -> None:
    run = "docker run -e A=1 --env=B=2 -e C vllm/vllm-openai:v0.11.0 --model m\n"
    assert environment("export X=1 C=3\n" + run) == {
        "A": ("1", "process", True),
        "B": ("2", "process", True),
        "C": ("3", "script", True),
    }
    assert environment("docker run -e A=1 x/vllm:1 bash -c 'vllm serve m'\n") == {"A": ("1", "process", True)}


def test_variables_that_reach_no_launch_are_reported() -> None:
    assert [v.name for v in read("export X=1\n./run.sh\n").variables] == ["X"]
    assert [v.name for v in read("X=1 ./run.sh\n").variables] == ["X"]


def test_an_exported_variable_that_the_script_reads_is_locked() -> None:
    site = only("export CUDA_VISIBLE_DEVICES=0,1\nN=$(f $CUDA_VISIBLE_DEVICES)\nvllm serve m --n $N\n")
    assert site.variables[0].locked
    assert not only("export X=1\necho $X\nvllm serve m\n").variables[0].locked


def pins(text: str) -> list[tuple[str, str]]:
    return [(p.kind, p.whole) for p in read(text).pins]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip install vllm==0.11.0 'torch>=2'", [("requirement", "vllm==0.11.0"), ("requirement", "torch>=2")]),
        ("python3 -m pip install -U ray[cgraph]==2.4", [("requirement", "ray[cgraph]==2.4")]),
        ("uv pip install vllm --torch-backend=cu129", [("requirement", "vllm"), ("index", "cu129")]),
        ("uv pip install --system -e . vllm", [("requirement", "vllm")]),
        (
            "pip install vllm --extra-index-url https://x/cu129 -r r.txt",
            [("requirement", "vllm"), ("index", "https://x/cu129")],
        ),
        ("pip install https://x/vllm-0.9.0-cp38.whl", [("url", "https://x/vllm-0.9.0-cp38.whl")]),
        ("pip install git+https://x/vllm.git@v0.9.0", [("git", "v0.9.0")]),
        ("uv run --with vllm==0.9.0 vllm serve m", [("requirement", "vllm==0.9.0")]),
        ("git clone -b v0.9.0 https://x/vllm", [("git", "v0.9.0")]),
        ("git clone https://x/vllm.git && cd vllm && git checkout v0.9.0", [("git", "v0.9.0")]),
        ("git clone -b v1 https://x/other", []),
        ("sudo apt-get install -y gcc-11 g++-11", [("package", "gcc-11"), ("package", "g++-11")]),
        ("dnf install -y gcc-toolset-11", [("package", "gcc-toolset-11")]),
        (
            "update-alternatives --install /usr/bin/gcc gcc /usr/bin/gcc-11 90",
            [("compiler", "/usr/bin/gcc"), ("compiler", "gcc"), ("compiler", "/usr/bin/gcc-11")],
        ),
        ("CC=gcc-11 CXX=g++-11 make", [("compiler", "gcc-11"), ("compiler", "g++-11")]),
        (
            "docker build --build-arg A=1 -f docker/Dockerfile.x .",
            [("build-arg", "A=1"), ("path", "docker/Dockerfile.x")],
        ),
        ("docker pull vllm/vllm-openai:v0.9.0", [("image", "vllm/vllm-openai:v0.9.0")]),
        ("IMAGE=vllm/vllm-openai:v0.9.0", [("image", "vllm/vllm-openai:v0.9.0")]),
        ("IMAGE=${IMAGE:-vllm/vllm-openai:v0.9.0}", [("image", "vllm/vllm-openai:v0.9.0")]),
        ("V=0.9.0\npip install vllm==$V", [("requirement", "vllm==0.9.0")]),
        ('V=${V:-0.9.0}\npip install "vllm==${V}"', [("requirement", "vllm==0.9.0")]),
        ("TAG=v0.9.0\ndocker run vllm/vllm-openai:$TAG", [("image", "vllm/vllm-openai:v0.9.0")]),
        ('V=0.9.0\nbash -c "pip install vllm==$V"', [("requirement", "vllm==0.9.0")]),
        ('bash -c "pip install vllm==0.9.0 && vllm serve m"', [("requirement", "vllm==0.9.0")]),
    ],
)
def test_pins(text: str, expected: list[tuple[str, str]]) -> None:
    assert pins(text + "\n") == expected


def test_pins_of_a_container_belong_to_its_launch() -> None:
    reading = read(
        "docker run vllm/vllm-openai:v0.9.0 --model a\n"
        "docker run vllm/vllm-openai:v0.11.0 --model b\n"
        "pip install vllm\n"
    )
    first, second = reading.sites
    assert [p.text for p in first.pins] == ["vllm/vllm-openai:v0.9.0"]
    assert [p.text for p in second.pins] == ["vllm/vllm-openai:v0.11.0"]
    assert first.owner == first.pins[0].owner != second.owner == second.pins[0].owner
    assert [p.owner for p in reading.pins if p.kind == "requirement"] == [""]


def test_broken_scripts_are_reported_and_read_on() -> None:
    reading = read("vllm serve m --a 1\nif true; then\n  vllm serve n\n")
    assert [p.kind for p in reading.problems] == ["syntax"]
    assert [words(s) for s in reading.sites] == ["m --a 1", "n"]


def test_spans_are_exact() -> None:
    text = "# ünïcode\nbash -c 'vllm serve m --x \"a b\"'\n"
    word = only(text).words[-1]
    assert text[word.place.start : word.place.end] == '"a b"'


def test_read_words_for_other_hosts() -> None:
    source = Source.of("command: --a 1 --x '{\"b\": 2}' ${C:-3} $(D)\n")
    region = Region.whole(source).slice(9, len(source.text) - 1)
    found = read_words(region, "yaml")
    assert [w.text if w.literal else w.spelled() for w in found] == ["--a", "1", "--x", '{"b": 2}', "${C:-3}", "$(D)"]
    assert {w.container.host for w in found} == {"yaml"}
    edits = found[0].container.edits([Remove(found[0]), Remove(found[1]), Replace(found[3], "{}")])
    assert source.with_edits(edits).text == "command: --x '{}' ${C:-3} $(D)\n"
    edits = found[0].container.edits([InsertWords(found[0].container, ["--n", "4"], after=found[1])])
    assert source.with_edits(edits).text.startswith("command: --a 1 --n 4 --x")


def test_read_words_over_lines_of_a_folded_text() -> None:
    source = Source.of("k: >\n    --a 1\n    --b 2\n")
    guest = "--a 1\n--b 2\n"
    region = Region.whole(source).child(guest, (Piece(0, 6, 9, 15), Piece(6, 12, 19, 25)))
    found = read_words(region, "yaml")
    edits = found[0].container.edits([Remove(found[0]), Remove(found[1])])
    assert source.with_edits(edits).text == "k: >\n    --b 2\n"
    edits = found[0].container.edits([Remove(found[2]), Remove(found[3])])
    assert source.with_edits(edits).text == "k: >\n    --a 1\n"


def test_a_string_with_an_open_quote_is_locked() -> None:
    assert all(w.locked for w in read_words(Region.whole(Source.of("--a 'b")), "yaml"))


def test_names_of_the_server_a_script_uses() -> None:
    reading = read(
        "curl -s localhost:8000/metrics | grep 'vllm:gpu_cache_usage_perc'\n"
        'curl http://$HOST:8000/v1/completions -d \'{"prompt": "x", "guided_json": {}, "n": \'$N\'}\'\n'
        "echo '{\"other\": 1}'\n"
    )
    assert [(m.kind, m.name) for m in reading.mentions] == [
        ("endpoint", "/metrics"),
        ("metric", "vllm:gpu_cache_usage_perc"),
        ("endpoint", "/v1/completions"),
        ("field", "prompt"),
        ("field", "guided_json"),
        ("field", "n"),
    ]


def test_rename_a_metric_and_a_field() -> None:
    text = 'curl x:1/v1/completions -d \'{"guided_json": {}}\' | grep "vllm:old_total "\n'
    reading = read(text)
    endpoint, field, metric = reading.mentions
    assert endpoint.name == "/v1/completions"
    edits = metric.container.edits([Replace(metric, "vllm:new_total"), Replace(field, "structured")])
    after = Source.of(text).with_edits(edits).text
    assert after == 'curl x:1/v1/completions -d \'{"structured": {}}\' | grep "vllm:new_total "\n'


@pytest.mark.parametrize(
    "text",
    [
        'export A="${B:-{\\"a\\": false\\}}"',
        'A=${B:-\'{"a": {"b": 1}}\'}',
        "[[ $x =~ ^[[:space:]]*(#|$) ]] && continue",
        'A="$(python -c \'import u; print(f("vllm"))\')"',
        "case $x in (a|b) ;; *) ;; esac",
        "A=$(cat <<EOF\nit's (\nEOF\n)",
        "for ((i=0; i<3; i++)); do :; done",
        "((n++)) || true",
        "a() (\n  b\n)",
        "x=${#a[@]} y=${a[@]:1} z=$((1 << 2))",
        "diff <(a) <(b 'c')",
        "cat <<A <<'B'\n$(x)\nA\n)\nB",
        "if ! a; then b; elif c; then d; fi > out 2>&1",
        'echo "a $(b "c $(d)") e" `f \\`g\\``',
    ],
)
def test_what_a_shell_accepts_is_no_problem(text: str) -> None:
    reading = read(text + "\nvllm serve m --last\n")
    assert not reading.problems
    assert words(reading.sites[-1]) == "m --last"


def test_here_documents_of_other_formats() -> None:
    text = (
        "cat > config.yaml <<EOF\nmodel: m\ntensor-parallel-size: 2\nserved-model-name: x\nswap-space: 4\nEOF\n"
        "kubectl apply -f - <<EOF\n"
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: vllm/vllm-openai:v0.11.0\n"
        '      args: ["--model", "$MODEL", "--gone", "4"]\nEOF\n'
    )
    reading = read(text)
    config, pod = reading.sites
    assert {e.key: e.value for e in config.entries} == {
        "model": "m",
        "tensor-parallel-size": 2,
        "served-model-name": "x",
        "swap-space": 4,
    }
    assert words(pod) == "--model $MODEL --gone 4"
    edits = pod.words[2].container.edits([Remove(pod.words[2]), Remove(pod.words[3])])
    assert Source.of(text).with_edits(edits).text == text.replace(', "--gone", "4"', "")


def test_quotes_in_what_the_shell_only_splits_are_letters() -> None:
    json_text = '{"method":"ngram","num_speculative_tokens":3}'
    split = read(f"A='--x {json_text} --y'\nvllm serve m $A\n").sites[0]
    assert [w.text for w in split.words] == ["m", "--x", json_text, "--y"]
    assert split.words[2].locked and not split.words[1].locked
    again = read(f"A='--x {json_text} --y'\neval vllm serve m $A\n").sites[0]
    assert [w.text for w in again.words] == ["m", "--x", json_text.replace('"', ""), "--y"]
