"""Blocks `[[site]]`: what they may hold, where their values come from, and how they are shown and written."""

import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from config import ConfigError, Loaded, Site, json_schema, load, render_show, render_toml
from config.settings import settings
from tests.unit.test_config_loader import MINIMAL, problems_of, written

BLOCKS = """
[[site]]
match = ["*.example.org"]
politeness.min_delay_s = "5 s"

[[site]]
match = [
  "www.example.org",
  "https://example.net/slow/",
]

[site.politeness]
min_delay_s = 8
max_delay_s = 9
"""


def loaded_blocks(directory: Path) -> Loaded:
    return load(written(directory, MINIMAL + BLOCKS))


def test_each_block_holds_what_it_sets(tmp_path: Path) -> None:
    assert loaded_blocks(tmp_path).config.site == (
        Site(match=("*.example.org",), overrides={"politeness.min_delay_s": 5.0}),
        Site(
            match=("www.example.org", "https://example.net/slow/"),
            overrides={"politeness.min_delay_s": 8.0, "politeness.max_delay_s": 9.0},
        ),
    )


def test_where_blocks_match_the_later_of_those_given_goes_before_and_is_named(tmp_path: Path) -> None:
    loaded = loaded_blocks(tmp_path)
    there = loaded.of_sites([0, 1])
    assert (there.config.politeness.min_delay_s, there.config.politeness.max_delay_s) == (8.0, 9.0)
    assert there.origins["politeness.min_delay_s"] == f"{tmp_path}/crawl.toml:15, site[2]"
    assert there.origins["politeness.delay_factor"] == "default"
    turned = loaded.of_sites([1, 0])
    assert (turned.config.politeness.min_delay_s, turned.config.politeness.max_delay_s) == (5.0, 9.0)
    assert turned.origins["politeness.min_delay_s"] == f"{tmp_path}/crawl.toml:6, site[1]"
    assert loaded.of_sites([]).config.politeness == loaded.config.politeness


def test_blocks_of_a_preset_come_before_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.loading.files.preset_text", lambda _: '[[site]]\nmatch = ["a.test"]\n')
    loaded = load(written(tmp_path, f'extends = "broad"\n{MINIMAL}{BLOCKS}'))
    assert [site.match[0] for site in loaded.config.site] == ["a.test", "*.example.org", "www.example.org"]
    assert loaded.origins["site[1].match"] == "preset broad:2"


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("[[site]]\n", "crawl.toml:3: site[1]: expected match, a list of texts, each a host, a domain as "),
        ("[[site]]\nmatch = 'a.test'\n", "crawl.toml:4: site[1].match: expected a list of texts, each a host, "),
        ("[site]\nmatch = ['a.test']\n", "crawl.toml:3: site: expected blocks, each under [[site]], found one table"),
        ("[[sight]]\nmatch = ['a.test']\n", "crawl.toml:3: unknown block [[sight]]; there are [[site]]"),
        (
            "[[site]]\nmatch = ['a.test']\npoliteness.min_delay = 1\n",
            "crawl.toml:5: site[1].politeness.min_delay: unknown key; did you mean politeness.min_delay_s?",
        ),
        (
            "[[site]]\nmatch = ['a.test']\nmin_delay_s = 1\n",
            "crawl.toml:5: site[1].min_delay_s: unknown key; did you mean politeness.min_delay_s?",
        ),
        (
            "[[site]]\nmatch = ['a.test']\nmatches = 1\n",
            "crawl.toml:5: site[1].matches: unknown key; did you mean match?",
        ),
        (
            "[[site]]\nmatch = ['a.test']\nzzz = 1\n",
            "crawl.toml:5: site[1].zzz: unknown key; [[site]] can set match, ",
        ),
        (
            "[[site]]\nmatch = ['a.test']\nfrontier.backend = 'memory'\n",
            "crawl.toml:5: site[1].frontier.backend: this setting is the same for the whole crawl; ",
        ),
        (
            "[[site]]\nmatch = ['a.test']\n[[site]]\nmatch = ['b.test']\npoliteness.min_delay_s = -1\n",
            "crawl.toml:7: site[2].politeness.min_delay_s: expected a duration, 0 s to 1 d, ",
        ),
        (
            "[[site]]\nmatch = ['a.test']\npoliteness.min_delay_s = 60\n",
            "crawl.toml:5, site[1]: politeness.min_delay_s: expected at most politeness.max_delay_s, which is 30 ",
        ),
    ],
)
def test_what_a_block_can_not_hold_is_refused_with_its_place(tmp_path: Path, block: str, problem: str) -> None:
    [found] = problems_of(written(tmp_path, MINIMAL + block))
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("environ", "override", "problem"),
    [
        ({"ONCEOVER_SITE__MATCH": "a.test"}, [], "environment ONCEOVER_SITE__MATCH: site.match: [[site]] is a block, "),
        (
            {},
            ["site[1].match=a.test"],
            "--set: site[1].match: [[site]] is a block, which only a configuration file can",
        ),
    ],
)
def test_blocks_can_only_be_written_in_files(
    tmp_path: Path, environ: dict[str, str], override: list[str], problem: str
) -> None:
    [found] = problems_of(written(tmp_path, MINIMAL), environ=environ, overrides=override)
    assert found.startswith(problem)


def test_blocks_are_shown_behind_the_settings(tmp_path: Path) -> None:
    rows = render_show(loaded_blocks(tmp_path))
    assert [(row.key, row.value, row.origin.removeprefix(f"{tmp_path}/")) for row in rows[len(settings()) :]] == [
        ("site[1].match", '["*.example.org"]', "crawl.toml:5"),
        ("site[1].politeness.min_delay_s", "5.0", "crawl.toml:6"),
        ("site[2].match", '["www.example.org", "https://example.net/slow/"]', "crawl.toml:9"),
        ("site[2].politeness.min_delay_s", "8.0", "crawl.toml:15"),
        ("site[2].politeness.max_delay_s", "9.0", "crawl.toml:16"),
    ]
    assert [row.key for row in render_show(loaded_blocks(tmp_path).of_sites([0]))] == list(settings())


def test_blocks_that_are_written_load_as_the_same_blocks(tmp_path: Path) -> None:
    config = loaded_blocks(tmp_path).config
    text = render_toml(config)
    assert load(written(tmp_path, text), require_seeds=False).config == config
    assert list(Draft202012Validator(json_schema()).iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize(
    "block",
    ["[[site]]", "[[site]]\nmatch = 'a.test'", "[site]\nmatch = ['a.test']", "[[site]]\nmatch = ['a.test']\nzzz = 1"],
)
def test_the_json_schema_refuses_the_same_blocks(tmp_path: Path, block: str) -> None:
    assert list(Draft202012Validator(json_schema()).iter_errors(tomllib.loads(block))) != []
    with pytest.raises(ConfigError):
        load(written(tmp_path, block), require_seeds=False)
