"""What does not read as planned is refused: each thing of a launch that an edit could have damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from vllm_migrate.hosts import Context, python, shell
from vllm_migrate.model import (
    CannotRender,
    Change,
    Container,
    InsertEntry,
    InsertVariable,
    InsertWords,
    Reading,
    Remove,
    Rename,
    Replace,
)
from vllm_migrate.proof import NotProved, prove, render, unique
from vllm_migrate.text import Edit, Region, Source, Span

SCRIPT = (
    "export VLLM_A=1\n"
    "docker run --env VLLM_C=3 vllm/vllm-openai:v0.17.1 --model m\n"
    "VLLM_B=2 vllm serve m --swap-space 4 --port 1\n"
    "pip install transformers==4.50.0\n"
)
PROGRAM = "from vllm import LLM\nllm = LLM(model='m', swap_space=4, dtype='half', hf_overrides={'b': 1, 'a': [2]})\n"


def as_shell(text: str) -> Reading:
    return shell.read(Region.whole(Source.of(text, "run.sh")), Context("run.sh"))


def as_python(text: str) -> Reading:
    return python.read(Region.whole(Source.of(text, "run.py")), Context("run.py"))


def word(reading: Reading, text: str) -> Remove:
    return Remove(next(w for s in reading.sites for w in s.words if w.text == text))


def no_swap(reading: Reading) -> list[Change]:
    return [word(reading, "--swap-space"), word(reading, "4")]


def told(
    text: str,
    read: Callable[[str], Reading],
    changes: Callable[[Reading], list[Change]],
    damage: Callable[[str], str],
    verify: Callable[[Source, Sequence[Span]], str | None] | None = None,
) -> str:
    """Return why a host is not believed that edits as planned and damages something besides; "" where it is."""
    before = read(text)
    try:
        prove(Source.of(text), before, changes(before), lambda s: read(damage(s.text)), verify)
    except NotProved as error:
        return str(error)
    return ""


def swapped(old: str, new: str) -> Callable[[str], str]:
    def damage(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return damage


def test_what_reads_as_planned_is_proved() -> None:
    before = as_shell(SCRIPT)
    source, reading = prove(Source.of(SCRIPT), before, no_swap(before), lambda s: as_shell(s.text), lambda *_: None)
    assert source.text == SCRIPT.replace(" --swap-space 4", "")
    assert [w.text for w in reading.sites[-1].words] == ["m", "--port", "1"]
    assert told(SCRIPT, as_shell, no_swap, lambda text: text + "# a comment\n") == ""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (" --port 1", "", "the command line would read 1 words instead of 3"),
        (" --port 1", " --port 1 --more", "the command line would read 4 words instead of 3"),
        ("--port 1", "--port 2", "the command line would read '2' instead of '1'"),
        ("--model m", "--model n", "the command line would read 'n' instead of 'm'"),
        ("VLLM_B=2 vllm serve", "VLLM_B=2 echo", "the edited text has 1 launches instead of 2"),
        ("VLLM_B=2 vllm serve", "vllm serve x; VLLM_B=2 vllm serve", "the edited text has 3 launches instead of 2"),
        ("vllm serve m", "vllm bench serve m", "a launch would start another program"),
        ("VLLM_B=2 ", "", "the environment would differ at VLLM_B"),
        ("VLLM_B=2 ", "VLLM_B=3 ", "the environment would differ at VLLM_B"),
        ("VLLM_B=2 ", "VLLM_B=2 VLLM_D=3 ", "the environment would differ at VLLM_D"),
        ("VLLM_C=3", "VLLM_C=4", "the environment would differ at VLLM_C"),
        ("export VLLM_A=1\n", "", "the environment would differ at VLLM_A"),
        ("v0.17.1", "v0.18.0", "the pins would differ at vllm/vllm-openai:v0.17.1"),
        ("pip install transformers==4.50.0\n", "", "the pins would differ at transformers==4.50.0"),
        ("pip install", "pip install torch==2.5.0; pip install", "the pins would differ at torch==2.5.0"),
    ],
)
def test_damage_beside_an_edit_is_seen(old: str, new: str, why: str) -> None:
    assert told(SCRIPT, as_shell, no_swap, swapped(old, new)) == why


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (", dtype='half'", "", "the arguments would differ at dtype"),
        ("dtype='half'", "dtype='auto'", "the arguments would differ at dtype"),
        ("dtype='half'", "dtype='half', seed=1", "the arguments would differ at seed"),
        ("'b': 1", "'b': 2", "the arguments would differ at hf_overrides"),
        ("'a': [2]", "'a': [2, 3]", "the arguments would differ at hf_overrides"),
        ("'a': [2]", "'a': ['2']", "the arguments would differ at hf_overrides"),
        ("'b': 1, 'a': [2]", "'a': [2], 'b': 1", ""),
    ],
)
def test_damage_to_keywords_is_seen(old: str, new: str, why: str) -> None:
    def change(reading: Reading) -> list[Change]:
        return [Remove(next(e for e in reading.sites[0].entries if e.key == "swap_space"))]

    assert told(PROGRAM, as_python, change, swapped(old, new)) == why


def test_what_was_to_change_must_have_changed() -> None:
    def port(reading: Reading) -> list[Change]:
        item = word(reading, "1").item
        return [Replace(item, "2"), InsertWords(item.container, ["--more"], after=item)]

    assert told(SCRIPT, as_shell, port, lambda text: text) == ""
    assert "instead of '2'" in told(SCRIPT, as_shell, port, swapped("--port 2", "--port 1"))
    assert told(SCRIPT, as_shell, port, swapped(" --more", "")) != ""

    def before(reading: Reading) -> list[Change]:
        item = word(reading, "--port").item
        return [InsertWords(item.container, ["--more"], before=item)]

    assert told(SCRIPT, as_shell, before, lambda text: text) == ""
    assert told(SCRIPT, as_shell, before, swapped("--more --port 1", "--port 1 --more")) != ""

    def renamed(reading: Reading) -> list[Change]:
        return [Rename(next(v for s in reading.sites for v in s.variables if v.name == "VLLM_B"), "VLLM_NEW")]

    assert told(SCRIPT, as_shell, renamed, lambda text: text) == ""
    assert told(SCRIPT, as_shell, renamed, swapped("VLLM_NEW", "VLLM_B")) == "the environment would differ at VLLM_NEW"

    def set_(reading: Reading) -> list[Change]:
        return [Replace(next(v for s in reading.sites for v in s.variables if v.name == "VLLM_B"), "5")]

    assert told(SCRIPT, as_shell, set_, lambda text: text) == ""
    assert told(SCRIPT, as_shell, set_, swapped("VLLM_B=5", "VLLM_B=2")) == "the environment would differ at VLLM_B"

    def added(reading: Reading) -> list[Change]:
        variable = next(v for s in reading.sites for v in s.variables if v.name == "VLLM_B")
        return [InsertVariable(variable.container, "VLLM_NEW", "1", after=variable)]

    assert told(SCRIPT, as_shell, added, lambda text: text) == ""
    assert told(SCRIPT, as_shell, added, swapped("VLLM_NEW=1 ", "")) == "the environment would differ at VLLM_NEW"
    assert told(SCRIPT, as_shell, added, swapped("VLLM_NEW=1 ", "VLLM_NEW=2 ")) != ""

    def moved(reading: Reading) -> list[Change]:
        return [Replace(next(p for p in reading.pins if p.kind == "image"), "vllm/vllm-openai:v0.18.0")]

    assert told(SCRIPT, as_shell, moved, lambda text: text) == ""
    assert "the pins would differ at" in told(SCRIPT, as_shell, moved, swapped("v0.18.0", "v0.17.1"))


def test_what_is_added_last_must_be_there_and_last() -> None:
    def words(reading: Reading) -> list[Change]:
        home = reading.sites[-1].word_home
        assert home is not None
        return [InsertWords(home, ["--more", "1"])]

    assert told(SCRIPT, as_shell, words, lambda text: text) == ""
    assert told(SCRIPT, as_shell, words, swapped(" --more 1", "")) == "the command line would read 5 words instead of 7"
    assert told(SCRIPT, as_shell, words, swapped("--port 1 --more 1", "--more 1 --port 1")) != ""

    def variable(reading: Reading) -> list[Change]:
        home = reading.sites[-1].variable_home
        assert home is not None
        return [InsertVariable(home, "VLLM_NEW", "1")]

    assert told(SCRIPT, as_shell, variable, lambda text: text) == ""
    assert told(SCRIPT, as_shell, variable, swapped("VLLM_NEW=1 ", "")) == "the environment would differ at VLLM_NEW"


def test_variables_of_no_launch_are_looked_at() -> None:
    script = "export VLLM_A=1\nexport VLLM_B=2\n"

    def gone(reading: Reading) -> list[Change]:
        return [Remove(next(v for v in reading.variables if v.name == "VLLM_A"))]

    assert told(script, as_shell, gone, lambda text: text) == ""
    assert told(script, as_shell, gone, swapped("VLLM_B=2", "VLLM_B=3")) == "the environment would differ at VLLM_B"
    assert told(script, as_shell, gone, lambda text: text + "export VLLM_C=1\n") == ""


def test_what_was_to_change_among_keywords_must_have_changed() -> None:
    def keywords(reading: Reading) -> list[Change]:
        entries = {e.key: e for e in reading.sites[0].entries}
        swap, dtype = entries["swap_space"], entries["dtype"]
        return [Rename(swap, "cpu"), Replace(dtype, "auto"), InsertEntry(dtype.container, "seed", 7, after=dtype)]

    assert told(PROGRAM, as_python, keywords, lambda text: text) == ""
    for old, new in [("cpu=4", "swap_space=4"), ("'auto'", "'half'"), ("seed=7", "seed=8"), (", seed=7", "")]:
        assert told(PROGRAM, as_python, keywords, swapped(old, new)).startswith("the arguments would differ at ")


def test_a_name_that_was_to_change_must_have_changed() -> None:
    text = "from vllm.engine.arg_utils import EngineArgs\n"

    def rename(reading: Reading) -> list[Change]:
        return [Replace(next(m for m in reading.mentions if m.kind == "import"), "vllm.new.EngineArgs")]

    assert told(text, as_python, rename, lambda after: after) == ""
    assert told(text, as_python, rename, lambda after: text).endswith(" would still be there")


def test_text_that_would_not_parse_is_refused() -> None:
    program = PROGRAM + "print(1)\n"

    def change(reading: Reading) -> list[Change]:
        return [Remove(next(e for e in reading.sites[0].entries if e.key == "swap_space"))]

    assert told(program, as_python, change, swapped("print(1)", "print(1")).startswith(
        "the edited text would not parse: "
    )
    assert told(program, as_python, change, lambda text: text, lambda *_: "line 3: no") == (
        "the edited text would not parse: line 3: no"
    )
    assert told(program, as_python, change, lambda text: text, lambda *_: None) == ""
    broken = 'vllm serve m --swap-space 4 --port 1\necho "open\n'
    assert told(broken, as_shell, no_swap, lambda text: text) == "", "what did not parse before is not the edit's fault"


def test_changes_that_change_nothing_are_refused() -> None:
    def same(reading: Reading) -> list[Change]:
        return [Replace(word(reading, "1").item, "1")]

    assert told(SCRIPT, as_shell, same, lambda text: text) == "the changes change nothing"


@dataclass(eq=False)
class Clumsy:
    """A container whose edits run into one another."""

    real: Container
    host: str = "shell"

    def edits(self, changes: list[Change]) -> list[Edit]:
        return [*self.real.edits(changes), Edit(0, len(SCRIPT), "")]


def test_edits_that_overlap_are_refused() -> None:
    before = as_shell(SCRIPT)
    changes = no_swap(before)
    clumsy = Clumsy(word(before, "4").item.container)
    for change in changes:
        assert isinstance(change, Remove)
        change.item.container = clumsy  # type: ignore[assignment]
    with pytest.raises(CannotRender, match="overlaps"):
        prove(Source.of(SCRIPT), before, changes, lambda s: as_shell(s.text), None)


def test_what_two_launches_ask_for_alike_is_done_once() -> None:
    reading = as_shell(SCRIPT)
    port, swap = word(reading, "--port").item, word(reading, "4").item
    variable = next(v for s in reading.sites for v in s.variables if v.name == "VLLM_B")
    twice: list[Change] = []
    for _ in range(2):
        twice += [
            Remove(swap),
            Replace(port, "--p"),
            Rename(variable, "N"),
            InsertWords(port.container, ["a"], after=port),
            InsertWords(port.container, ["a"], before=port),
            InsertVariable(variable.container, "V", "1"),
            InsertVariable(variable.container, "V", "2"),
        ]
    assert unique(twice) == twice[:7]
    assert len(unique([Replace(port, "1"), Replace(port, 1), Replace(swap, "1"), Remove(port), Rename(port, "1")])) == 5
    assert len(render([Remove(swap), Remove(word(reading, "--swap-space").item), Remove(swap)])) == 1


OVERRIDES = "python3 -m verl.trainer.main_ppo %s other.a=1\nVLLM_A=1 vllm serve m\n"
WORDS = [f"+actor_rollout_ref.rollout.engine_kwargs.vllm.{pair}" for pair in ("swap_space=4", "seed=1")]


def test_a_launch_made_of_its_arguments_alone_goes_with_all_of_them_only() -> None:
    both = OVERRIDES % " ".join(WORDS)

    def all_(reading: Reading) -> list[Change]:
        return [Remove(e) for s in reading.sites for e in s.entries]

    def one(reading: Reading) -> list[Change]:
        return all_(reading)[:1]

    def one_for_another(reading: Reading) -> list[Change]:
        removals = all_(reading)
        last = removals[-1]
        assert isinstance(last, Remove)
        return [*removals, InsertEntry(last.item.container, "max_len", 3, after=last.item)]  # type: ignore[arg-type]

    assert told(both, as_shell, all_, lambda text: text) == ""
    assert told(both, as_shell, one, lambda text: text) == ""
    assert told(both, as_shell, one, swapped(f" {WORDS[1]}", "")) == "the edited text has 1 launches instead of 2"
    assert told(both, as_shell, all_, swapped("vllm serve m", "true")) != ""
    assert told(both, as_shell, all_, lambda text: both.replace(f" {WORDS[0]}", "")) != ""
    assert told(both, as_shell, one_for_another, lambda text: both.replace(" ".join(WORDS) + " ", "")) != ""


def test_what_stands_behind_a_variable_that_goes_is_looked_at() -> None:
    script = "export VLLM_A=1 VLLM_B=2 VLLM_C=3\nvllm serve m\n"
    for name, other in [("VLLM_A", "VLLM_C"), ("VLLM_C", "VLLM_A"), ("VLLM_B", "VLLM_C")]:

        def gone(reading: Reading, name: str = name) -> list[Change]:
            return [Remove(next(v for v in reading.sites[0].variables if v.name == name))]

        assert told(script, as_shell, gone, lambda text: text) == ""
        why = told(script, as_shell, gone, swapped(f"{other}=", "MINE="))
        assert why.startswith("the environment would differ at ")
