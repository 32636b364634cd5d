"""Who sets a variable of a script, which launch sees it, and who else would."""

from __future__ import annotations

import pytest
from small_hosts import read, render

from vllm_migrate.hosts import shell
from vllm_migrate.model import InsertVariable, Reading, Remove, Rename, Replace, Site

# What scripts do before they start a server; none of it reads what the server is set up with.
PRELUDE = """\
:
true; false || true
set -euo pipefail
shopt -s nullglob
[ -n "$X" ] && [[ -n $X ]] && test -n x
cd /tmp; pushd a; popd
ulimit -n 9; umask 22
trap 'exit 1' INT
local a=1; declare b=2; typeset c=3; readonly d=4; export OTHER=5; unset OTHER
source venv/bin/activate
. other.sh
eval "$X"
while getopts a:b opt; do shift; break; done
mkdir -p a; rm -f a; mv a b; cp a b; ln -s a b; ls a; pwd; touch a; chmod +x a; chown x a
date; hostname; whoami; uname -a; id -u
head -1 a | tail -1 | sort | uniq | wc -l | cut -d: -f1 | tr a b | xargs
find . -name x; basename a; dirname a; realpath a; readlink a; mktemp; seq 3; expr 1 + 1; let a=1; echo 1 | bc
curl -s x; wget x; nc -z a 1; netstat; ss; lsof
module load cuda; conda activate vllm; deactivate
nvidia-smi; rocm-smi; free; df; du; mount
tar xf a; unzip a; gzip a; rsync a b; scp a b; git pull
apt update; apt-get install x; yum install x; dnf install x
clear; stty sane; diff a b; cmp a b; command -v x; builtin cd; hash -r; logger x
sleep 1; kill $!; wait
f() { return 0; }; f
continue
"""


def of(text: str) -> Reading:
    return read(shell, text, "run.sh")


def only(text: str) -> Site:
    (site,) = of(text).sites
    return site


@pytest.mark.parametrize("line", PRELUDE.splitlines())
def test_what_a_script_does_before_reads_no_variable_of_the_server(line: str) -> None:
    (variable,) = (v for v in only(f"export A=1\n{line}\nvllm serve m\n").variables if v.name == "A")
    assert variable.only and not variable.locked


@pytest.mark.parametrize(
    "line", ["python warm_up.py", "./prepare", "make all", "nohup tool &", "sudo tool", "env tool", "B=$(tool)"]
)
def test_another_program_might_read_it(line: str) -> None:
    (variable,) = (v for v in only(f"export A=1\n{line}\nvllm serve m\n").variables if v.name == "A")
    assert not variable.only


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("set -a\nA=1\nset +a\nB=2\nvllm serve m\n", {"A": "1"}),
        ("set -o allexport\nA=1\nset +o allexport\nB=2\nvllm serve m\n", {"A": "1"}),
        ("set -o pipefail\nA=1\nvllm serve m\n", {}),
        ("set -a\nset +o pipefail\nA=1\nvllm serve m\n", {"A": "1"}),
        ("set -o allexport\nset -o pipefail\nset +o nounset\nA=1\nvllm serve m\n", {"A": "1"}),
        ("set allexport\nA=1\nvllm serve m\n", {}),
        ("A=1\nexport A\nvllm serve m\n", {"A": "1"}),
        ("export A\nA=1\nvllm serve m\n", {"A": "1"}),
        ("export -n A\nA=1\nvllm serve m\n", {}),
        ("export -f A\nA=1\nvllm serve m\n", {}),
        ("declare -x A=1\ntypeset -x B=2\ndeclare C=3\nvllm serve m\n", {"A": "1", "B": "2"}),
        ("declare -gx A\nA=1\nvllm serve m\n", {"A": "1"}),
        ("export A\nvllm serve m\n", {"A": None}),
        ("A=1 vllm serve m\n", {"A": "1"}),
        ("A=1\nvllm serve m\n", {}),
        ("export A=1\nunset A\nvllm serve m\n", {}),
        ("export A=1\nunset -v A\nexport A=2\nvllm serve m\n", {"A": "2"}),
        ("export A=1\nif x; then unset A; fi\nvllm serve m\n", {"A": "1"}),
        ("unset A\nexport A=1\nvllm serve m\n", {"A": "1"}),
        ("export A=1\nexport A=2\nvllm serve m\n", {"A": "2"}),
        ("vllm serve m\nexport A=1\n", {}),
        ("(export A=1)\nvllm serve m\n", {}),
        ("f() { export A=1; }\nf\nvllm serve m\n", {"A": "1"}),
        ("env A=1 B= vllm serve m\n", {"A": "1", "B": ""}),
        ("docker run -e A=$X -e $Y=1 vllm/vllm-openai:v0.9.0 --model m\n", {"A": "\ue000"}),
        (
            "docker run -e A=1 --env B=2 --env=C=3 -e D vllm/vllm-openai:v0.9.0 --model m\n",
            {"A": "1", "B": "2", "C": "3", "D": None},
        ),
    ],
)
def test_what_a_launch_sees(text: str, seen: dict[str, str | None]) -> None:
    variables = only(text).variables
    assert {v.name: v.value for v in variables} == seen and len(variables) == len(seen)


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("export A=1\nvllm serve m\n", True),
        ("if x; then export A=1; fi\nvllm serve m\n", False),
        ("x && export A=1\nvllm serve m\n", False),
        ("f() { export A=1; }\nf\nvllm serve m\n", True),
        ("f() { export A=1; }\ng() { f; }\ng\nvllm serve m\n", True),
        ("f() { if x; then export A=1; fi; }\nf\nvllm serve m\n", False),
        ("f() { export A=1; }\nif x; then f; fi\nvllm serve m\n", False),
        ("case $x in a) export A=1;; esac\nvllm serve m\n", False),
    ],
)
def test_what_is_set_only_sometimes_is_told(text: str, certain: bool) -> None:
    (variable,) = only(text).variables
    assert (variable.branch < 0) is certain


def test_what_is_given_sometimes_leaves_what_was_given_before() -> None:
    text = "export A=1\nif x; then\n  export A=2\nfi\nvllm serve m\n"
    assert [(v.value, v.branch >= 0) for v in only(text).variables] == [("1", False), ("2", True)]


@pytest.mark.parametrize(
    ("line", "reader"),
    [
        ("tool $A", "tool"),
        ("/usr/bin/tool --x=${A%1}", "tool"),
        ('B="$A x"', "the script"),
        ("tool <<< $A", "tool"),
        ("tool > $A", "tool"),
        ("tool <<EOF\n$A\nEOF", "tool"),
        ("B=(x $A)", "the script"),
        ("B=$(tool $A)", "tool"),
        ('[ "$A" = 1 ] && x', "["),
        ("echo $A", ""),
        ("A=$A,2", ""),
        ("tool <<'EOF'\n$A\nEOF", ""),
        ("echo '$A'", ""),
    ],
)
def test_a_variable_that_the_script_itself_reads_stays(line: str, reader: str) -> None:
    locked = [v.locked for v in only(f"export A=1\n{line}\nvllm serve m\n").variables if v.name == "A"]
    assert locked[0] == (f"also read by {reader} as $A" if reader else "")


@pytest.mark.parametrize(
    ("text", "what", "after"),
    [
        ("docker run -e A=1 -e B=2 I --model m\n", "remove", "docker run -e B=2 I --model m\n"),
        ("docker run --env=A=1 -e B=2 I --model m\n", "rename", "docker run --env=N=1 -e B=2 I --model m\n"),
        ("docker run -e A=1 I --model m\n", "=x y", "docker run -e A='x y' I --model m\n"),
        ("docker run -e A=1 -e B=2 I --model m\n", "+v", "docker run -e A=1 -e N=v -e B=2 I --model m\n"),
        ("docker run --env=A=1 I --model m\n", "+v", "docker run --env=A=1 --env=N=v I --model m\n"),
        (
            "docker run -e \\\n  A=1 \\\n  I --model m\n",
            "+v",
            "docker run -e \\\n  A=1 \\\n  -e N=v \\\n  I --model m\n",
        ),
        ("A=1 vllm serve m\n", "+v w", "A=1 N='v w' vllm serve m\n"),
        ("export A=1 B=2\nvllm serve m\n", "+v", "export A=1 B=2\nexport N=v\nvllm serve m\n"),
        ("x; export A=1\nvllm serve m\n", "+v", "x; export A=1; export N=v\nvllm serve m\n"),
        (
            "if x; then\n  export A=1\nfi\nvllm serve m\n",
            "+v",
            "if x; then\n  export A=1\n  export N=v\nfi\nvllm serve m\n",
        ),
        ("declare -x A=1\nvllm serve m\n", "+v", "declare -x A=1\ndeclare -x N=v\nvllm serve m\n"),
        ("A=1\nexport A\nvllm serve m\n", "remove", "vllm serve m\n"),
        ("A=1\nexport A B\nvllm serve m\n", "remove", "export B\nvllm serve m\n"),
        ("A='1' \\\n  vllm serve m\n", "rename", "N='1' \\\n  vllm serve m\n"),
        ("A=1\nexport A B\nvllm serve m\n", "rename", "N=1\nexport N B\nvllm serve m\n"),
        ("export A\nvllm serve m\n", "rename", "export N\nvllm serve m\n"),
        ("env A=1 B=2 vllm serve m\n", "remove", "env B=2 vllm serve m\n"),
    ],
)
def test_variables_change(text: str, what: str, after: str) -> None:
    change: Remove | Rename | Replace | InsertVariable
    text = text.replace(" I ", " vllm/vllm-openai:v0.9.0 ")
    found = of(text)
    (variable,) = (v for v in found.sites[0].variables if v.name == "A")
    if what == "remove":
        change = Remove(variable)
    elif what == "rename":
        change = Rename(variable, "N")
    elif what.startswith("="):
        change = Replace(variable, what[1:])
    else:
        change = InsertVariable(variable.container, "N", what[1:], after=variable)
    assert render(found, text, [change]) == after.replace(" I ", " vllm/vllm-openai:v0.9.0 ")
