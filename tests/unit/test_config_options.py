"""The names and the options of visited sets in a configuration: where they come from, and what is refused."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import msgspec
import pytest

from config import COMPARE_BACKENDS, load, render_show, render_toml, settings, settings_of
from config.backends import OwnBackends
from config.loading.values import options_of
from crawler.wiring.comparing.blocks import competitors
from tests.e2e.crawling import USAGE, assert_told
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import make
from tests.unit.test_config_loader import MINIMAL, SEED, problems_of, written
from visited.backends import BACKENDS, PEERS, REMOTE

HASHED = f"{MINIMAL}[visited]\nbackend = 'per-site'\n[visited.options]\nsite_bytes = '8 KiB'\nfilters = 40\n"


def test_every_visited_set_can_be_chosen_for_a_crawl() -> None:
    assert settings()["visited.backend"].choices == (*BACKENDS, *REMOTE, "auto")
    for name in BACKENDS:
        assert load(None, overrides=[f"visited.backend={name}"], require_seeds=False).config.visited.backend == name


def test_a_comparison_takes_every_visited_set_and_those_of_other_libraries() -> None:
    assert (*BACKENDS, *REMOTE, *PEERS) == COMPARE_BACKENDS


def test_options_are_read_from_a_file_with_their_lines(tmp_path: Path) -> None:
    path = written(tmp_path, HASHED)
    loaded = load(path)
    assert loaded.config.visited.options == {"site_bytes": 8192, "filters": 40}
    assert loaded.origins["visited.options.filters"] == f"{path}:{HASHED.count(chr(10))}"
    assert load(written(tmp_path, render_toml(loaded.config), name="as-run.toml")).config == loaded.config


@pytest.mark.parametrize(
    ("overrides", "environ"),
    [
        (["visited.options.filters=7"], {}),
        ([], {"ONCEOVER_VISITED__OPTIONS__FILTERS": "7"}),
        (["visited.options={filters=7}"], {"ONCEOVER_VISITED__OPTIONS__FILTERS": "8"}),
        ([], {"ONCEOVER_VISITED__OPTIONS": "{filters=7}"}),
    ],
)
def test_an_option_from_elsewhere_overrides_that_of_the_file(
    overrides: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    loaded = load(written(tmp_path, HASHED), overrides=overrides, environ=environ)
    assert loaded.config.visited.options == {"site_bytes": 8192, "filters": 7}
    rows = {row.key: (row.value, row.origin.partition(" ")[0]) for row in render_show(loaded)}
    assert rows["visited.options.filters"] == ("7", "--set" if overrides else "environment")
    assert "visited.options" not in rows


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            "filtres = 3",
            ":6: visited.options.filtres: unknown option of per-site; did you mean visited.options.filters?",
        ),
        (
            "zzz = 3",
            ":6: visited.options.zzz: unknown option of per-site; it has by, site_bytes, filters, seed, shards",
        ),
        ("filters = 0", ":6: visited.options.filters: expected a whole number, 1 to 1_000_000_000, found 0"),
        ("filters = 'many'", ":6: visited.options.filters: expected a whole number, 1 to 1_000_000_000, found "),
        ("seed = 1\nshards = [2]", ":7: visited.options.shards: expected a whole number, 1 to 4096, found [2]"),
        ("hashes = 3", ":6: visited.options.hashes: unknown option of per-site; "),
        ("site_bytes = 100", ":6: visited.options.site_bytes: expected a multiple of 8 bytes, 64 B to 1 GiB, as a "),
    ],
)
def test_a_wrong_option_is_refused_with_its_line(lines: str, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{MINIMAL}[visited]\nbackend = 'per-site'\n[visited.options]\n{lines}\n")
    [found] = problems_of(path)
    assert found.startswith(f"crawl.toml{problem}")


def test_a_number_that_is_no_multiple_is_refused_by_the_right_one() -> None:
    [found] = problems_of(None, overrides=[SEED, "visited.backend=dsbf", "visited.options.leaf_bits=8193"])
    assert found.endswith("leaf_bits: expected a multiple of 512, 8192 to 4_294_967_296, found 8193")


@pytest.mark.parametrize(
    ("backend", "option", "problem"),
    [
        ("bloom", "hashes=3", "expected bits or bits_per_url beside hashes = 3, found neither"),
        ("six-seeds", "bits=1000", "bits must be a power of two from 64 to 2^31, found 1,000"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(backend: str, option: str, problem: str) -> None:
    overrides = [SEED, f"visited.backend={backend}", f"visited.options.{option}"]
    assert problems_of(None, overrides=overrides) == [f"--set: visited.options: {problem}"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("backend = 'per-site'\noptions = { filtres = 3 }", ":5: compare.set[1].options.filtres: unknown option of "),
        ("backend = 'per-site'\n[compare.set.options]\nfilters = 0", ":6: compare.set[1].options.filters: expected "),
        ("backend = 'bloom'\noptions.hashes = 3", ":5: compare.set[1].options: expected bits or bits_per_url beside "),
        (
            "backend = 'rbloom'\noptions.seed = 3",
            ":5: compare.set[1].options.seed: unknown option of rbloom; it has shards",
        ),
        ("options.seed = 3", ":3: compare.set[1]: expected backend, "),
    ],
)
def test_a_set_of_a_comparison_takes_options_of_its_backend_alone(lines: str, problem: str, tmp_path: Path) -> None:
    [found] = problems_of(written(tmp_path, f"{MINIMAL}[[compare.set]]\n{lines}\n"))
    assert found.startswith(f"crawl.toml{problem}")


def test_options_of_a_set_of_a_comparison_are_kept(tmp_path: Path) -> None:
    text = f"{MINIMAL}[[compare.set]]\nbackend = 'per-site'\nfilters = 9\noptions = {{ site_bytes = '8 KiB' }}\n"
    loaded = load(written(tmp_path, text))
    assert loaded.config.compare.set[0].options == {"site_bytes": 8192}
    assert load(written(tmp_path, render_toml(loaded.config), name="as-run.toml")).config == loaded.config
    [entered] = competitors(loaded.config.compare.set)
    assert (entered.all_options["site_bytes"], entered.all_options["filters"]) == (8192, 9)


def test_the_name_of_an_unknown_set_is_refused_with_the_closest_known_one() -> None:
    [problem] = problems_of(None, overrides=[SEED, "visited.backend=blom"])
    assert problem.endswith('found "blom"; did you mean "bloom"?')
    [problem] = problems_of(None, overrides=[SEED, "visited.backend=redis", "visited.options.x=1"])
    assert 'found "redis"' in problem


def test_auto_has_no_options() -> None:
    [problem] = problems_of(None, overrides=[SEED, "visited.backend=auto", "visited.options.seed=1"])
    assert problem == "--set: visited.options.seed: unknown option; auto has none"


def test_a_set_that_keeps_files_is_refused_for_a_frontier_in_memory() -> None:
    overrides = [SEED, "visited.backend=exact-leveldb", "frontier.backend=memory"]
    [problem] = problems_of(None, overrides=overrides)
    assert problem == ("--set: visited.backend: exact-leveldb keeps files, and frontier.backend = memory writes none")


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_option_has_a_meaning_and_its_default_is_valid(backend: str) -> None:
    for setting in options_of(OwnBackends().find("visited", backend), "visited.options").values():
        assert setting.meaning.endswith(".")
        assert not setting.required


def test_a_configuration_is_read_without_numpy() -> None:
    code = "import sys, config; config.load(None, require_seeds=False); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_set_with_dir_alone_changes_an_option_of_the_backend_of_that_crawl(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    text = (crawl / "crawl.toml").read_text()
    before, section, after = text.partition("[visited]")
    (crawl / "crawl.toml").write_text(before + section + after.replace('backend = "exact"', 'backend = "per-site"', 1))
    ended = command_here("crawl", "--dir", str(crawl), "--set", "visited.options.by=nobody")
    assert_told(ended, USAGE, "visited.options.by: expected", "nobody")


def test_an_empty_text_is_refused_with_what_was_expected() -> None:
    [problem] = problems_of(None, overrides=[SEED, "visited.backend=redis-exact", "visited.options.url="])
    assert problem.endswith('visited.options.url: expected text, not empty, found ""')


Metres = NewType("Metres", int)
First = Literal["first"]


@pytest.mark.parametrize(
    ("hint", "kind", "choices"),
    [
        (First | Literal["second"], "choice", ("first", "second")),
        (Annotated[int, "a note for another library", msgspec.Meta(ge=1)], "int", ()),
        (tuple, "texts", ()),
        (Metres, "int", ()),
        (tuple[Metres, ...], "ints", ()),
    ],
)
def test_an_option_of_a_plug_in_has_any_type_that_a_setting_can_have(
    hint: Any, kind: str, choices: tuple[str, ...]
) -> None:
    options = msgspec.defstruct("Options", [("option", hint)])
    [setting] = settings_of(options, "visited.options")
    assert (setting.kind, setting.choices) == (kind, choices)
