"""Questions to the catalog, on a history small enough to check by eye."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_migrate.catalog import Catalog, CatalogError, UnknownRelease, load


@pytest.fixture
def catalog(history: Path) -> Catalog:
    return load(folder=history)


def test_releases_are_in_order_and_the_last_is_the_latest(catalog: Catalog) -> None:
    assert catalog.releases == ("0.8.5", "0.8.5.post1", "0.9.0", "0.10.0", "0.11.0")
    assert catalog.latest == "0.11.0"


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("v0.10.0", "0.10.0"),
        ("0.10", "0.10.0"),
        ("0.8.5post1", "0.8.5.post1"),
        ("0.8.5.post1+cu129", "0.8.5.post1"),
        ("0.10.0rc2", "0.10.0"),
        ("0.9.0.dev7+gabc", "0.9.0"),
        ("0.11.1.dev3", "0.11.0"),  # what a checkout after the newest release calls itself
        ("0.9.2", "0.9.0"),  # unknown patch release: the nearest of its series
        ("0.8.6", "0.8.5.post1"),
    ],
)
def test_a_version_stands_for_a_release(catalog: Catalog, asked: str, got: str) -> None:
    release = catalog.release(asked)
    assert (release.version, release.requested) == (got, asked)


@pytest.mark.parametrize("asked", ["0.12.0", "0.3.0", "0.11.1", "1.0.0rc1"])
def test_a_version_outside_is_refused_with_its_neighbour(catalog: Catalog, asked: str) -> None:
    with pytest.raises(UnknownRelease, match=r"0\.8\.5 to 0\.11\.0"):
        catalog.release(asked)


@pytest.mark.parametrize("asked", ["latest", "", "0.x", "0.10.0; rm"])
def test_nonsense_is_refused(catalog: Catalog, asked: str) -> None:
    with pytest.raises(UnknownRelease, match="not a vLLM version"):
        catalog.release(asked)


def test_lifetimes(catalog: Catalog) -> None:
    assert catalog.lifetime("options", "--swap-space") == [("0.8.5", "0.10.0")]
    assert catalog.lifetime("options", "--enable-log-requests") == [("0.9.0", None)]
    assert catalog.lifetime("options", "--flicker") == [("0.8.5", "0.8.5.post1"), ("0.10.0", "0.11.0")]
    assert catalog.lifetime("options", "--never") == []
    assert catalog.removed_in("options", "--flicker") == "0.11.0"
    assert catalog.removed_in("options", "--max-model-len") is None
    assert catalog.introduced_in("options", "--device-ids") == "0.10.0"
    assert catalog.introduced_in("options", "--never") is None


def test_sections_are_those_of_the_release(catalog: Catalog) -> None:
    assert catalog.release("0.9.0").has("options", "--device")
    assert not catalog.release("0.10.0").has("options", "--device")
    assert catalog.release("0.9.0").section("configs")["CacheConfig"] == {"extra": "forbid"}
    assert catalog.release("0.8.5.post1").section("configs")["CacheConfig"] == {"extra": "ignore"}
    with pytest.raises(CatalogError, match="no section"):
        catalog.release("0.9.0").section("optoins")


def test_what_a_release_takes() -> None:
    old, new = load().release("0.8.5"), load().release("0.33.0")
    assert old.takes("--swap-space") and not new.takes("--swap-space")
    assert not new.takes("--tensor-parallel")  # an abbreviation of a name is no name
    assert new.takes("--speculative-config", ("method",)) and not new.takes("--speculative-config", ("nonsense",))
    assert new.takes("--compilation-config", ("pass_config", "fuse_norm_quant"))
    assert not new.takes("--compilation-config", ("pass_config", "nonsense"))
    assert new.takes("--hf-overrides", ("anything", "below"))  # no class: any key is taken
    assert new.takes("--port", surface="serve") and not new.takes("--port", surface="LLM")
    assert new.takes("--swap-space", surface="LLM") is False and old.takes("--swap-space", surface="LLM")


class TestOption:
    def test_exact_and_underscores(self, catalog: Catalog) -> None:
        release = catalog.release("0.9.0")
        for spelling in ("--swap-space", "--swap_space"):
            match = release.option(spelling)
            assert (match.option, match.exact, match.attrs["default"]) == ("--swap-space", True, 4)

    def test_a_prefix_is_taken_unless_it_is_ambiguous(self, catalog: Catalog) -> None:
        assert catalog.release("0.8.5").option("--max-model").option == "--max-model-len"
        assert not catalog.release("0.8.5").option("--max-model").exact
        twice = catalog.release("0.9.0").option("--max-model")
        assert twice.option is None
        assert twice.candidates == ("--max-model-len", "--max-model-lenience")

    def test_an_exact_name_wins_over_a_longer_one(self, catalog: Catalog) -> None:
        match = catalog.release("0.9.0").option("--max-model-len")
        assert (match.option, match.exact) == ("--max-model-len", True)

    def test_a_removed_option_can_turn_into_an_abbreviation(self, catalog: Catalog) -> None:
        match = catalog.release("0.10.0").option("--device")
        assert (match.option, match.exact) == ("--device-ids", False)

    def test_inverse_spellings(self, catalog: Catalog) -> None:
        old, new = catalog.release("0.10.0"), catalog.release("0.11.0")
        no = old.option("--no-enable-log-requests")
        assert (no.option, no.exact, no.negated) == ("--enable-log-requests", True, True)
        assert old.option("--disable-log-requests").option is None
        disable = new.option("--disable-log-requests")
        assert (disable.option, disable.negated) == ("--enable-log-requests", True)
        assert not new.option("--enable-log-requests").negated

    def test_dotted_keys(self, catalog: Catalog) -> None:
        match = catalog.release("0.10.0").option("--compilation_config.pass_config.fuse_x")
        assert match.option == "--compilation-config"
        assert match.path == ("pass_config", "fuse_x")
        short = catalog.release("0.10.0").option("-cc.sizes+")
        assert (short.option, short.path, short.appends) == ("--compilation-config", ("sizes",), True)
        assert catalog.release("0.8.5").option("--compilation-config.level").option is None

    def test_short_and_glued(self, catalog: Catalog) -> None:
        release = catalog.release("0.10.0")
        assert release.option("-tp").option == "--tensor-parallel-size"
        assert release.option("-tp4").option is None
        glued = release.option("-qawq")
        assert (glued.option, glued.glued) == ("--quantization", "awq")
        level = release.option("-O3")
        assert (level.option, level.glued, level.exact) == ("--optimization-level", "3", True)
        assert catalog.release("0.9.0").option("-O3").option == "--compilation-config"

    def test_what_is_no_option(self, catalog: Catalog) -> None:
        for word in ("model", "-", "--", "", "-1", "model_tag"):
            assert catalog.release("0.10.0").option(word).option is None

    def test_past_options(self, catalog: Catalog) -> None:
        past = catalog.past_option("--swap_space")
        assert past is not None and past.option == "--swap-space" and past.attrs["type"] == "float"
        dotted = catalog.past_option("--compilation-config.level")
        assert dotted is not None and dotted.path == ("level",)
        assert catalog.past_option("--swap-spa") is None
        assert catalog.past_option("--image") is None


def test_keywords(catalog: Catalog) -> None:
    old, new = catalog.release("0.9.0"), catalog.release("0.11.0")
    assert old.keyword("swap_space", "EngineArgs") == {"type": "float"}
    assert old.keyword("swap_space", "LLM") == {"type": "float"}
    assert new.keyword("swap_space", "LLM") is None
    assert new.keyword("max_model_len", "LLM") is None  # no longer forwarded
    assert new.keyword("max_model_len", "EngineArgs") is not None
    assert old.keyword("skip_tokenizer_init", "LLM") is not None
    assert old.keyword("enable_log_requests", "EngineArgs") is None
    assert old.keyword("enable_log_requests", "AsyncEngineArgs") is not None
    assert old.keyword("**", "LLM") is None


def test_config_fields(catalog: Catalog) -> None:
    assert catalog.release("0.9.0").config_fields("CacheConfig") == {"block_size": {"type": "int"}}
    assert catalog.release("0.9.0").config_fields("NoConfig") == {}


def test_specifiers() -> None:
    assert Catalog.specifier_allows(">=4.56,<5", "4.57.1")
    assert not Catalog.specifier_allows("==2.9.0", "2.8.0")
    with pytest.raises(ValueError):
        Catalog.specifier_allows("bananas", "1")


class TestExtra:
    def write(self, path: Path, version: str, options: dict[str, object]) -> Path:
        facts = {"python": ">=3.12"}
        data = {"format": 1, "version": version, "release": facts, "sections": {"options": options}}
        path.write_text(json.dumps(data))
        return path

    def test_one_more_release(self, history: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path / "dev.json", "0.12.0.dev1", {"--max-model-len": {"type": "human_int"}})
        catalog = load([file], folder=history)
        assert catalog.latest == "0.12.0.dev1"
        assert catalog.release("0.12.0.dev1").facts["python"] == ">=3.12"
        assert catalog.removed_in("options", "--device-ids") == "0.12.0.dev1"
        assert catalog.lifetime("options", "--max-model-len") == [("0.8.5", None)]
        assert catalog.release("0.11.0").has("options", "--device-ids")

    def test_a_release_in_between(self, history: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path / "own.json", "0.10.1", {"--max-model-len": {"type": "int"}})
        catalog = load([file], folder=history)
        assert catalog.lifetime("options", "--device-ids") == [("0.10.0", "0.10.1"), ("0.11.0", None)]
        assert catalog.release("0.10.1").section("options") == {"--max-model-len": {"type": "int"}}

    def test_bad_files_name_themselves(self, history: Path, tmp_path: Path) -> None:
        bad = tmp_path / "bad.json"
        for text in ("{", "[]", '{"format": 2}', '{"format": 1, "version": "0.1"}'):
            bad.write_text(text)
            with pytest.raises(CatalogError, match=r"bad\.json"):
                load([bad], folder=history)
        with pytest.raises(CatalogError, match=r"none\.json"):
            load([tmp_path / "none.json"], folder=history)
