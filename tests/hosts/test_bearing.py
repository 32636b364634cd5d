"""What is passed over in a long file changes nothing of what is read in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_migrate.engine import read_source
from vllm_migrate.hosts import bearing, host_for
from vllm_migrate.hosts.python_bearing import quiet_statements
from vllm_migrate.hosts.shell_bearing import without_the_rest
from vllm_migrate.hosts.shell_parse import parse
from vllm_migrate.hosts.shell_skim import statements
from vllm_migrate.hosts.yaml_tree import quiet_documents
from vllm_migrate.migrations import load
from vllm_migrate.model import Reading
from vllm_migrate.proof import _compare
from vllm_migrate.text import Edit, Region, Source, Span

FIXTURES = Path(__file__).parents[2] / "fixtures"
OTHER = {
    ".sh": '\nif [ -n "$OTHER" ]; then\n  tool "$OTHER" | tee other.log\nfi\nother() { echo "$1"; }\n' * 20,
    ".py": "\n\ndef other_{n}(first: int) -> int:\n    second = [first, 1]\n    return sum(second)\n",
    ".yaml": "---\nkind: Service\nmetadata:\n  name: other\nspec:\n  ports: [{port: 1}]\n" * 20,
}


def longer(path: Path, text: str) -> str | None:
    """Return a file's text with much behind it that has nothing to do with it; None where that is no such file."""
    if path.suffix == ".sh":
        return None if "EOF" in text else text.rstrip("\n") + "\n" + OTHER[".sh"]
    if path.suffix == ".py":
        return text.rstrip("\n") + "\n" + "".join(OTHER[".py"].format(n=n) for n in range(20))
    if path.suffix in (".yaml", ".yml") and "{{" not in text and ("\nkind:" in text or text.startswith("kind:")):
        return text.rstrip("\n") + "\n" + OTHER[".yaml"]
    return None


def files() -> list[Path]:
    found = (p for p in sorted(FIXTURES.glob("*/*/before/**/*")) if p.is_file())
    return [p for p in found if longer(p, p.read_bytes().decode("utf-8", "replace")) is not None]


def read(text: str, path: Path) -> tuple[Reading, Source]:
    source = Source.of(text, path.name)
    host = host_for(path.name, source.head)
    assert host is not None
    return read_source(source, host, path.parent), source


@pytest.mark.parametrize("group", range(8))
def test_a_long_file_reads_as_if_all_of_it_were_read(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bearing.look_for(load().names_in_code)
    passed_over = 0
    for path in files()[group::8]:
        text = longer(path, path.read_bytes().decode("utf-8", "replace"))
        assert text is not None
        quick, source = read(text, path)
        passed_over += any(source.quiet.values())
        with monkeypatch.context() as all_of_it:
            all_of_it.setattr(bearing, "LONG", len(text) + 1)
            whole, _ = read(text, path)
        _compare(whole, quick, ())
        assert [s.place for s in quick.sites] == [s.place for s in whole.sites], path
        assert [p.place for p in quick.pins] == [p.place for p in whole.pins], path
        assert quick.problems == whole.problems, path
    assert passed_over > 3, "the comparison would show nothing"


TRICKY = """\
#!/bin/bash
name='it is' # a comment with ' and "
cat <<'EOF' | tee "$(date +%F).log"
if this were code; then
EOF
start ()
{
  case "$1" in
    a|b) echo "a)" ;;
    (c) echo c;;
    *) echo "${2:-"$(echo ')')"}" ;;
  esac
}
LIST=(one "two three"
  four)
for ((i = 0; i < 3; i++)); do echo $((i << 2)); done
while read -r line; do
  echo "$line" `date` ${line#*#}
done < file
true &&
  false ||
  echo done
echo a \\
  b; echo if
[[ $x =~ ^(a|b)$ ]] && echo yes
function other { echo "}"; }
cat <<-A <<B
	first
	A
second
B
echo end
"""


def test_a_script_is_cut_where_its_statements_end() -> None:
    spans = statements(TRICKY)
    assert spans is not None
    parts = [TRICKY[start:end] for start, end in spans]
    assert "".join(parts) == TRICKY
    for part in parts:
        assert parse(part)[1] == [], part
    first = [part.split("\n", 1)[0] for part in parts]
    assert first[2:5] == ["cat <<'EOF' | tee \"$(date +%F).log\"", "start ()", 'LIST=(one "two three"']
    assert [f for f in first if f.startswith(("true", "echo a", "echo end"))] == ["true &&", "echo a \\", "echo end"]


@pytest.mark.parametrize("text", ["if true; then\n", 'echo "open\n', "cat <<EOF\nopen\n", "fi\n", "case x in\n", ")\n"])
def test_what_cannot_be_followed_is_not_cut(text: str) -> None:
    assert statements(text) is None


def quiet_lines(text: str) -> list[str]:
    shown = without_the_rest(Region.whole(Source.of(text, "a.sh")))
    assert len(shown) == len(text)
    both = zip(text.split("\n"), shown.split("\n"), strict=True)
    return [line for line, now in both if line.strip() and not now.strip()]


def test_a_statement_that_shares_a_variable_or_a_function_is_read() -> None:
    filler = "echo nothing of interest is said here\n" * 50
    text = f'SIZE=4\nOTHER=5\nrun() {{ vllm serve m --swap-space "$SIZE"; }}\n{filler}run\necho $OTHER\n'
    assert set(quiet_lines(text)) == {"OTHER=5", "echo nothing of interest is said here", "echo $OTHER"}


def test_where_something_is_exported_all_of_a_script_is_read() -> None:
    filler = "python other.py\n" * 120
    assert quiet_lines(f"export CUDA_VISIBLE_DEVICES=0\n{filler}vllm serve m\n") == []


def test_a_function_that_gives_a_launch_its_options_is_read() -> None:
    filler = "".join(f"def other_{n}() -> int:\n    return {n}\n\n\n" for n in range(60))
    options = "def options() -> list[str]:\n    return ['--swap-space', '4']\n\n\n"
    text = f"{filler}{options}run(['vllm', 'serve', 'm', *options()])\n"
    (quiet,) = quiet_statements(text)
    assert text[quiet.start : quiet.end] == filler


def test_a_document_is_read_when_one_that_speaks_of_vllm_names_it() -> None:
    pod = "---\nkind: Pod\nmetadata:\n  name: llm\nspec:\n  image: vllm/vllm-openai\n  configMapName: settings\n"
    maps = [f"---\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata: {{a: b}}\n" for name in ("settings", "others")]
    text = "".join([maps[1] * 10, pod, maps[0], maps[1] * 10])
    assert [text[p.start : p.end] for p in quiet_documents(text)] == [maps[1] * 10, maps[1] * 10]


def test_what_has_no_bearing_stays_so_when_something_else_is_edited() -> None:
    text = "vllm serve m --swap-space 4\n" + "echo nothing of interest is said here\n" * 60
    source = Source.of(text, "a.sh")
    without_the_rest(Region.whole(source))
    (part,) = source.quiet["shell"]
    after = source.with_edits([Edit(14, 27, "")])
    (moved,) = after.quiet["shell"]
    assert after.text[moved.start : moved.end] == text[part.start : part.end]
    touched = source.with_edits([Edit(part.start + 5, part.start + 12, "vllm serve")])
    assert touched.quiet["shell"] == []


FIXING = [
    "apt-get install -y gcc-11", "microdnf install gcc", "brew install gcc", "aptitude install gcc", "scl enable x sh",
    "pip install torch==2.4", "micromamba install torch", "mamba install torch", "poetry add torch", "uv add torch",
    "git checkout v1", "update-alternatives --set cc /usr/bin/gcc-11", "CC=gcc-11", "CUDAHOSTCXX=g++-11",
    "cmake -DCMAKE_CUDA_STANDARD=17 .", "curl localhost:8000/ping", "http localhost:8000/ping", "hey localhost:8000",
    "wrk localhost:8000", "xh localhost:8000", "open https://localhost:8000/ping", "docker pull x", "run x.sif",
    "set -- a b", "shift", ". ./settings", "source settings", "exec other",
]  # fmt: skip


@pytest.mark.parametrize("line", FIXING)
def test_what_fixes_a_version_talks_to_a_server_or_changes_the_shell_is_read(line: str) -> None:
    filler = "echo nothing of interest is said here\n" * 60
    assert line not in quiet_lines(f"{filler}{line}\n{filler}vllm serve m\n")


@pytest.mark.parametrize("making", ["read -r SIZE < file", "for SIZE in 1 2; do true; done", "printf -v SIZE %d 4"])
def test_what_gives_a_variable_its_value_is_read(making: str) -> None:
    filler = "echo nothing of interest is said here\n" * 60
    assert making not in quiet_lines(f'{making}\n{filler}vllm serve m --swap-space "$SIZE"\n')


def test_a_file_that_a_launch_reads_is_read_where_it_is_written() -> None:
    filler = "echo nothing of interest is said here\n" * 60
    writing = "cat > conf/serve.yaml <<EOF\nswap-space: 4\nEOF\n"
    lines = quiet_lines(f"{writing}{filler}vllm serve --config conf/serve.yaml\n")
    assert set(lines) == {"echo nothing of interest is said here"}


def test_of_very_many_pieces_those_next_to_a_launch_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bearing, "_MANY", 3)
    pod = "---\nkind: Pod\nmetadata:\n  name: llm\nspec:\n  image: vllm/vllm-openai\n  configMapName: settings\n"
    maps = {n: f"---\nkind: ConfigMap\nmetadata:\n  name: {n}\ndata: {{a: b}}\n" for n in ("settings", "others")}
    service = "---\nkind: Service\nmetadata:\n  name: front\nspec:\n  target: llm\n"
    text = "".join([maps["others"] * 10, pod, maps["settings"], service, maps["others"] * 10])
    assert [text[p.start : p.end] for p in quiet_documents(text)] == [maps["others"] * 10] * 2


def test_blanks_keep_every_offset_and_line_end() -> None:
    text = "one\r\ntwo\rthree\n\nfour"
    assert bearing.blanked(text, [Span(0, 14), Span(16, 20)]) == "   \r\n   \r     \n\n    "[: len(text)]


@pytest.mark.parametrize(
    "line",
    ["! if true; then false; fi", "time { true; }", "if true\nthen echo a; fi", "cat < a > b 2>&1", "x=$(( (1) + 2 ))"],
)
def test_a_statement_is_one_piece(line: str) -> None:
    assert statements(f"{line}\necho end\n") == [(0, len(line) + 1), (len(line) + 1, len(line) + 10)]
