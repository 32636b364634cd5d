"""Options that one word or one variable carries: what becomes of the word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vllm_migrate.hosts import Context, shell
from vllm_migrate.model import CannotRender, Change, Entry, InsertEntry, Reading, Remove, Rename, Replace
from vllm_migrate.proof import render
from vllm_migrate.text import Region, Source

PAIRS = "lm_eval --model vllm --model_args pretrained=m,swap_space=4,dtype=auto --tasks x\n"
OVERRIDES = "python3 -m verl.trainer.main_ppo +actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=4 other.a=1\n"
VARIABLES = "export VLLM_ARGS_X=1\nvllm serve m\n"


def read(text: str) -> Reading:
    return shell.read(Region.whole(Source.of(text, "run.sh")), Context("run.sh"))


def entry(reading: Reading, key: str) -> Entry:
    return next(e for s in reading.sites for e in s.entries if e.key == key)


def changed(text: str, plan: Callable[[Reading], list[Change]]) -> str:
    reading = read(text)
    return Source.of(text).with_edits(render(plan(reading))).text


def test_pairs_of_one_word() -> None:
    def swap(*more: Callable[[Entry], Change]) -> str:
        return changed(PAIRS, lambda r: [make(entry(r, "swap_space")) for make in more])

    assert swap(Remove) == PAIRS.replace("swap_space=4,", "")
    assert swap(lambda e: Rename(e, "cpu-offload")) == PAIRS.replace("swap_space", "cpu_offload")
    assert swap(lambda e: Replace(e, 8)) == PAIRS.replace("=4", "=8")
    assert swap(lambda e: Replace(e, True)) == PAIRS.replace("=4", "=True")
    assert swap(lambda e: Rename(e, "n"), lambda e: Replace(e, 1.5)) == PAIRS.replace("swap_space=4", "n=1.5")
    added = PAIRS.replace("dtype=auto", "dtype=auto,max_len=3")
    assert swap(lambda e: InsertEntry(e.container, "max-len", 3)) == added
    with pytest.raises(CannotRender, match="no plain form"):
        swap(lambda e: Replace(e, {"a": 1}))
    with pytest.raises(CannotRender, match="nothing would be left"):
        changed("lm_eval --model vllm --model_args swap_space=4\n", lambda r: [Remove(entry(r, "swap_space"))])


def test_overrides_are_words_of_their_own() -> None:
    assert [e.key for s in read(OVERRIDES).sites for e in s.entries] == ["swap_space"]

    def swap(*more: Callable[[Entry], Change]) -> str:
        return changed(OVERRIDES, lambda r: [make(entry(r, "swap_space")) for make in more])

    word = "+actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=4"
    assert swap(Remove) == OVERRIDES.replace(f" {word}", "")
    assert swap(lambda e: Rename(e, "cpu-offload")) == OVERRIDES.replace("swap_space", "cpu_offload")
    assert swap(lambda e: Replace(e, 8)) == OVERRIDES.replace("=4", "=8")
    new = word.replace("swap_space=4", "max_len=3")
    assert swap(lambda e: InsertEntry(e.container, "max-len", 3, after=e)) == OVERRIDES.replace(word, f"{word} {new}")
    with pytest.raises(CannotRender, match="no plain form"):
        swap(lambda e: Replace(e, None))
    with pytest.raises(CannotRender, match="no plain form"):
        swap(lambda e: Replace(e, 'say "x"'))
