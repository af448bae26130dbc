"""When a changed setting holds, and that a change is made whole or not at all."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from config import Config, ConfigError, Loaded, load, settings
from config.loading.blocks import block_kinds
from crawler.disk.directory import CrawlDirectory
from crawler.operate.settings.changing import reader_of_settings, reader_of_start
from crawler.operate.settings.plan import Plan, make_plan, next_settings
from crawler.operate.settings.start import Start, with_page_limit
from crawler.wiring.live.effect import effect_of

BEGUN = ['crawl.seeds=["http://a.test/"]', 'fetch.user_agent="tests/1.0 (us@our.site)"']


def loaded(*more: str) -> Loaded:
    return load(None, overrides=[*BEGUN, *more], environ={})


def plan(
    before: Loaded, after: Loaded, *, running: Loaded | None = None, lacks: Mapping[str, str] | None = None
) -> Plan:
    return make_plan(before, running or before, after, lacks=lacks or {})


@pytest.mark.parametrize("key", [*settings(), *block_kinds()])
def test_of_each_setting_it_is_decided_when_a_change_holds(key: str) -> None:
    found = effect_of(key, Config(), Config())
    assert (found.reason is None) == (found.when == "now")


def test_what_holds_at_once_is_merged_into_what_runs_and_the_rest_waits_for_the_next_start() -> None:
    found = plan(loaded(), loaded("politeness.min_delay_s=9", "visited.recent=7", "limits.pages=5"))
    assert {each.key: each.holds for each in found.changes} == {
        "politeness.min_delay_s": "now",
        "visited.recent": "restart",
        "limits.pages": "now",
    }
    assert (found.running.config.politeness.min_delay_s, found.running.config.limits.pages) == (9, 5)
    assert found.running.config.visited == loaded().config.visited
    assert found.recorded.config.visited.recent == 7


def test_what_waits_for_the_next_start_is_known_with_the_value_that_holds_until_then() -> None:
    before, after = loaded("visited.recent=5"), loaded("visited.recent=7", "limits.pages=5", "daemon.keep_runs=2")
    found = plan(before, after)
    assert [(each.key, each.was, each.now, each.holds) for each in next_settings(found.running, found.recorded)] == [
        ("visited.recent", "5", "7", "restart")
    ]
    back = plan(after, before, running=found.running)
    assert next_settings(back.running, back.recorded) == []


def test_a_setting_that_returns_to_what_still_holds_does_so_at_once() -> None:
    found = plan(loaded("visited.recent=7"), loaded(), running=loaded())
    assert [(each.key, each.holds) for each in found.changes] == [("visited.recent", "now")]


def test_all_that_can_not_be_changed_is_told_at_once_and_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(
        '[crawl]\nseeds = ["http://a.test/"]\ndirectory = "x"\n[frontier]\nbackend = "memory"\nqueue_by = "domain"\n'
    )
    with pytest.raises(ConfigError) as refused:
        plan(loaded("crawl.directory=y"), load(file, environ={}))
    told = {problem.key: problem.where for problem in refused.value.problems}
    assert told == {"frontier.backend": f"{file}:5", "frontier.queue_by": f"{file}:6", "crawl.directory": None}
    assert 'It is "leveldb", and would be "memory"' in str(refused.value)
    assert "--rebuild" in str(refused.value)


def test_queues_by_host_and_by_address_are_the_same_and_change_at_a_restart() -> None:
    found = plan(loaded(), loaded("frontier.queue_by=ip"))
    assert [each.holds for each in found.changes] == ["restart"]


def test_hosts_get_more_queues_at_a_restart() -> None:
    found = plan(loaded(), loaded('frontier.parallel_queues=["a.test:4"]'))
    assert [each.holds for each in found.changes] == ["restart"]


def test_blocks_change_at_once_unless_the_queues_are_made_with_them(tmp_path: Path) -> None:
    def with_site(line: str) -> Loaded:
        file = tmp_path / "site.toml"
        file.write_text(f'[[site]]\nmatch = ["a.test"]\n{line}\n')
        return load(file, overrides=[*BEGUN, "crawl.directory=x"], environ={})

    before = loaded("crawl.directory=x", "crawl.name=site")
    found = plan(before, with_site("politeness.min_delay_s = 5"))
    assert {each.holds for each in found.changes} == {"now"}
    assert found.running.config.site == found.recorded.config.site
    found = plan(before, with_site("politeness.per_host = 5"))
    assert {each.holds for each in found.changes} == {"restart"}
    assert found.running.config.site == ()


def test_a_frontier_that_can_not_change_its_budgets_gets_them_at_the_next_start() -> None:
    key = "frontier.total_budget"
    found = plan(loaded(), loaded(f"{key}=5"), lacks={key: "its frontier can't change it"})
    assert [(each.holds, each.reason) for each in found.changes] == [("restart", "its frontier can't change it")]
    assert found.running.config.frontier.total_budget is None


def test_settings_of_comparisons_are_no_change_of_a_crawl() -> None:
    assert plan(loaded(), loaded("compare.scale=0.5")).changes == []


def test_what_a_start_has_read_can_be_read_again(tmp_path: Path) -> None:
    directory = CrawlDirectory(tmp_path / "crawl")
    directory.path.mkdir()
    file = tmp_path / "site.toml"
    file.write_text('[crawl]\nseeds = ["http://a.test/"]\n[limits]\npages = 9\n')
    start = Start(configuration=str(file), directory="d", settings=["fetch.timeout_s=7"], seeds=["http://b.test/"])
    directory.write_configuration("", start=start.encode())
    assert Start.read_from(directory) == start
    config = start.load(directory, named="d").config
    assert (config.crawl.directory, config.crawl.seeds, config.fetch.timeout_s) == ("d", ("http://b.test/",), 7)
    limited = with_page_limit(start.load(directory, named="d"), 3)
    assert (limited.config.limits.pages, limited.lasting.limits.pages) == (3, 9)
    for damaged in (b"", b"{", b"\xff", b'{"preset":"\xff"}'):
        directory.write_configuration("", start=damaged)
        assert Start.read_from(directory) is None


def test_a_lost_configuration_is_named_with_what_to_do(tmp_path: Path) -> None:
    directory = CrawlDirectory(tmp_path)
    for read in (reader_of_settings(directory, ["fetch.timeout_s=3"]), reader_of_start(directory, Start())):
        with pytest.raises(
            ConfigError, match="restore it, or stop the crawl and run `onceover crawl CONFIG --dir "
        ) as lost:
            read(loaded())
        assert lost.value.problems[0].where == str(tmp_path / "crawl.toml")


def when_the_page_says() -> dict[str, str]:
    """When a change of each setting holds, by the table in docs/control.md."""
    page = (Path(__file__).parents[2] / "docs" / "control.md").read_text(encoding="utf-8")
    table = page.partition("| settings | when a change holds |\n|---|---|\n")[2].partition("\n\n")[0]
    said: dict[str, str] = {}
    for row in table.splitlines():
        named, when = row.strip("| ").split(" | ")
        section, is_without = "", False
        for token in re.findall(r"`[\w.]+`|, except|;", named):
            is_without = token == ", except" or (is_without and token != ";")
            name = token.strip("`")
            section = name.partition(".")[0] if "." in name else section
            keys = [each for each in settings() if each in (name, f"{section}.{name}")]
            for key in keys or [each for each in settings() if each.startswith(f"{name}.")]:
                section = key.partition(".")[0]
                said.pop(key) if is_without else said.update({key: re.split("[,:]", when)[0]})
    return said


def test_the_page_on_control_says_when_each_change_holds() -> None:
    said, other = when_the_page_says(), loaded("frontier.queue_by=domain").config
    words = {"now": "at once", "never": "never", "restart": None}
    real = {key: words[effect_of(key, Config(), other).when] for key in settings() if not key.startswith("compare.")}
    assert {key: said.get(key) for key in real} == real
