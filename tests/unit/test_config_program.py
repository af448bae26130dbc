"""Values that a program gives are those of a file: the same checks, the same messages."""

from pathlib import Path
from typing import Any

import pytest

from config import Config, ConfigError, Limits, load, values_of

SEEDS = {"crawl.seeds": ["http://a.test/"]}


def loaded(values: Any, **options: Any) -> Config:
    return load(None, tables=[("set", {**SEEDS, **values})], **options).config


@pytest.mark.parametrize(
    "values",
    [
        {"limits.pages": 5, "fetch.hosts": {"*.a.test": "127.0.0.1"}},
        {"limits": {"pages": 5}, "fetch": {"hosts": {"*.a.test": "127.0.0.1"}}},
        {"limits": {"pages": 5}, "fetch.hosts.*.a.test": "127.0.0.1"},
    ],
)
def test_values_have_keys_or_stand_in_tables(values: dict[str, Any]) -> None:
    config = loaded(values)
    assert config.limits.pages == 5
    assert config.fetch.hosts == {"*.a.test": "127.0.0.1"}


def test_values_may_be_of_types_that_a_file_does_not_have() -> None:
    config = loaded(
        {
            "crawl.directory": Path("crawls") / "a",
            "scope.exclude": ("a", "b"),
            "scope.ports": {8080},
            "limits.bytes": "10 MB",
            "limits.pages": None,
        }
    )
    assert config.crawl.directory == "crawls/a"
    assert config.scope.exclude == ("a", "b")
    assert config.scope.ports == (8080,)
    assert config.limits == Limits(bytes=10_000_000)


def test_blocks_and_options_may_be_given() -> None:
    config = loaded(
        {
            "site": [{"match": ["a.test"], "politeness": {"min_delay_s": 3}}],
            "visited.backend": "bloom",
            "visited.options.seed": 7,
        }
    )
    assert [(site.match, site.overrides) for site in config.site] == [(("a.test",), {"politeness.min_delay_s": 3.0})]
    assert config.visited.options == {"seed": 7}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limits.page": 1}, "set: limits.page: unknown key; did you mean limits.pages?"),
        ({"limit.pages": 1}, "set: unknown section [limit]; did you mean [limits]?"),
        ({"limits.pages": "many"}, 'set: limits.pages: expected a whole number, 1 to 1_000_000_000_000, found "many"'),
        ({"limits": 5}, "set: limits: expected a section, [limits], found one value"),
        ({5: "limits"}, 'set: expected keys such as "limits.pages", found 5'),
        ({"extends": "broad"}, "set: extends: a preset can't be named here; give its name as `preset`"),
        ({"visited.options.sed": 1}, "set: visited.options.sed: unknown option of exact; it has shards"),
        (
            {"site": [{"match": ["a.test"], "politeness": {"robot": True}}]},
            "set: site[1].politeness.robot: unknown key",
        ),
        (
            {"fetch": {"timeout_s": 1}, "fetch.timeout_s.x": 2},
            "set: fetch.timeout_s.x: this key and a part of it are given; give one of them",
        ),
    ],
)
def test_a_wrong_value_is_told_as_of_a_file(values: dict[Any, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(values)
    assert message in str(refused.value)


def test_values_override_the_environment_and_options_override_values() -> None:
    environ = {"ONCEOVER_LIMITS__PAGES": "3", "ONCEOVER_LIMITS__SECONDS": "4"}
    config = loaded({"limits.pages": 5}, environ=environ, options={"crawl.name": ("--name", "a")})
    assert (config.limits.pages, config.limits.seconds, config.crawl.name) == (5, 4.0, "a")


def test_limits_of_a_program_are_for_this_run() -> None:
    found = load(None, tables=[("set", {**SEEDS, "limits.pages": 5, "fetch.timeout_s": 7})])
    assert found.config.limits.pages == 5
    assert found.lasting.limits.pages is None
    assert found.lasting.fetch.timeout_s == 7


def test_a_configuration_becomes_the_values_from_which_it_is_loaded_again() -> None:
    config = loaded(
        {
            "site": [{"match": ["a.test"], "politeness.hours": None, "fetch": {"headers": {"X-A": "b"}}}],
            "compare": {"set": [{"backend": "bloom"}], "work": [{"name": "w", "distinct": 1000}]},
            "visited.backend": "bloom",
            "visited.options": {"seed": 7},
            "fetch.hosts": {"a.test": "127.0.0.1"},
            "scope.exclude": ["x"],
        }
    )
    assert load(None, tables=[("Config", values_of(config))]).config == config
    assert values_of(Config()) == {}
