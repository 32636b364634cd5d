"""A script is cut into its top statements where they end, and nowhere else."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from vllm_migrate.hosts.shell_skim import statements

# `§` stands where one statement ends and the next begins.
SCRIPTS = [
    "echo a\n§echo b\n§\n§echo c",
    "if a; then\n b\nfi\n§if a; then (b\n); elif c; then\n d; else\n e; fi | tee\n§echo",
    "for i in 1 2; do\n a\ndone | tee\n§while a; do b; done\n§until a\ndo b\ndone\n§select x in a; do b; done\n§",
    "case $x in\n a|b) c;;\n (d) e;&\n f) g;;&\n esac\n§case a in b) (c) ;; esac\n§echo",
    "f() {\n a\n}\n§g ( )\n{ a; }\n§function h\n{ a; }\n§function i() {\n a\n}\n§j()\n(\n a\n)\n§",
    "a &&\n b ||\n c\n§d |\n e\n§f |&\n g\n§a &&\n\n# why\n b\n§",
    "a='x\ny'\n§b=\"x\n$(c\n)\"\n§c=\"`d\n`\"\n§d=x'y'\"z\n\"w\n§",
    "cat <<EOF\nif (\nEOF\n§cat <<-'E F'\n\tif\n\tE F\n§cat <<\\X <<\"Y\" | b\na\nX\nb\nY\n§cat <<-A\n\t A\n\tA\n§",
    "a=(1\n2)\n§b+=(if\n[3]=done)\n§declare -a c=(\n 1\n)\n§",
    "[[ -n $a ]] && (\n x\n)\n§[[ $a =~ (b|c) ]]\n§",
    "echo $(( 1 + (2\n) ))\n§((a = 1,\nb = 2))\n§for ((i=0; i<3;\ni++)); do\n x\ndone\n§echo $((1)) $(((2)\n))\n§",
    "echo ${a:-\"x\n}\"}\n§echo \"${a:-it}\nb\"\n§echo ${a:-'}\n'}\n§echo ${a:-${b:-\n}}\n§echo ${a//\\}/\n}\n§",
    "echo `a\nb`\n§echo $(a\n`b\n`)\n§",
    "echo a # if (\n§echo a#b\n§x=$#\n§#if\n§echo $(a # )\n)\n§",
    "echo \\\n b\n§echo then fi done\n§echo if\n§a \\; b\n§echo \\( \\'\n§",
    "{\n a\n}\n§! a\n§time a\n§{ a; } && {\n b\n}\n§",
    "echo $'a\\'\n'\n§echo $\"a\n\"\n§echo $ a\n§echo \"$\"\n§",
    "if a; then if b; then c; fi; fi\n§for x in y; do if b; then c; fi; done\n§",
    "if a; then b; else if c; then d; fi; fi\n§",
    "cat <done >fi\n§a && \\\n\n b\n§echo a#'b\n'\n§",
    "a; b & c\n§a;\n§if a; then b & fi\n§",
    "a <b >c 2>&1\n§diff <(a\n) >(b\n)\n§cat <<<\"a\nb\"\n§a <>b &>c\n§a >&2\n§",
    "if ! a; then\n b\nfi\n§while ! time a; do\n b\ndone\n§if { a; }; then\n b\nfi\n§if (a); then\n b\nfi\n§",
    "for x in if done; do\n a\ndone\n§for x do\n a\ndone\n§case if in if) a;; esac\n§",
    "a\\\n  b\n§x=1 if\n§then=1\n§",
    "echo \"a \\\" ( $(b \"c\n)\") \"\n§echo \"${a[@]}\" \"\n\"\n§",
]  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("marked", SCRIPTS)
def test_scripts_are_cut_at_their_statements(marked: str, newline: str) -> None:
    marked = marked.replace("\n", newline)
    text = marked.replace("§", "")
    spans = statements(text)
    assert spans is not None
    told = "§".join(text[start:end] for start, end in spans)
    assert told == marked.rstrip("§")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
def test_each_statement_is_one_to_a_shell() -> None:
    texts = [marked.replace("§", "") for marked in SCRIPTS]
    pieces = [text[a:b] for text in texts for a, b in statements(text) or ()]
    # Only defined, never run.
    check = "while IFS= read -r -d '' piece; do eval \"f() {\n:\n$piece\n}\" || exit; done"
    ran = subprocess.run(["bash", "-c", check], input="\0".join([*pieces, ""]), capture_output=True, text=True)
    assert ran.stderr == ""


@pytest.mark.parametrize(
    "text",
    ["if a\n", "fi\n", "echo )\n", "echo 'a\n", "cat <<EOF\na\n", "case a in b) c\n", "a; done\n", "(a\n", "}\n",
     'echo "a\n', "if a; then b; done\n", "echo `a $(b `\n", "cat << \n", "esac\n", "echo ${a\n", "f() {\n", "a=(\n"],
)  # fmt: skip
def test_what_it_cannot_follow_it_leaves(text: str) -> None:
    assert statements(text) is None
