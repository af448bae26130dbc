"""Settings of a crawl that change while it runs, and that the same commands work when it does not."""

import signal
from pathlib import Path

import msgspec

from crawler.control.replies import SettingChange
from frontier import FrontierStats
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    LIMIT,
    STOPPED,
    USAGE,
    Web,
    assert_sound,
    assert_told,
    fetched,
    onceover,
    records,
    setting,
    started,
)
from tests.e2e.operating import SLOW, Operated, command_here, operated
from tests.unit.write.samples import archived

STILL = setting("politeness.min_delay_s=600", "politeness.delay_factor=0", "politeness.max_delay_s=600")
"""After its first page a host rests for longer than the test takes."""
PACED = setting("politeness.min_delay_s=3")
"""Such a crawl is complete after 24 seconds and more, so it can be met on its way however busy the machine is."""
QUICK = ["politeness.min_delay_s=0", "politeness.max_delay_s=1"]


def changes(reply: dict[str, object]) -> dict[str, str]:
    return {each.key: each.holds for each in msgspec.convert(reply["changes"], list[SettingChange])}


def recorded(directory: Path) -> str:
    return (directory / "crawl.toml").read_text()


def test_a_new_pace_holds_for_the_rests_that_begin_after_it(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED, *setting("scope.within=any")) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 8, "requests")
        slowed = here.do("set", "politeness.min_delay_s=600", "politeness.max_delay_s=600", "--json")
        assert changes(slowed.json()) == {"politeness.min_delay_s": "now", "politeness.max_delay_s": "now"}
        assert 'min_delay_s = "10 min"' in recorded(here.directory)

        def all_rest() -> bool:
            frontier = msgspec.convert(here.status()["frontier"], FrontierStats)
            return not (frontier.in_process or frontier.ready_queues) and (frontier.next_wake_s or 0) > 100

        here.crawl.wait_until(all_rest, "rest of all hosts")
        asked = here.requests()
        # A rest that has begun lasts as long as it was told to.
        assert_told(here.do("set", *QUICK), COMPLETE)
        assert here.requests() == asked
        here.do("stop")
        assert here.crawl.wait().code == STOPPED
    assert_sound(here.directory)


def test_limits_scope_and_concurrency_hold_at_once_and_leases_are_kept(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 3, "requests")
        here.do("pause")
        told = here.do("set", "limits.pages=30", "fetch.concurrency=3", "fetch.spare=0", "scope.max_depth=1")
        assert_told(told, COMPLETE)
        assert told.out.splitlines() == [
            "scope.max_depth is 1; it was 20",
            "fetch.concurrency is 3; it was 64",
            "fetch.spare is 0; it was 500",
            "limits.pages is 30; it was unset",
        ]
        here.hurry()
        here.do("resume")
        ended = here.crawl.wait()
    assert ended.code in (LIMIT, COMPLETE)
    assert set(fetched(here.directory).values()) == {1}
    found = records(here.directory)
    assert len(fetched(here.directory)) <= 30
    assert "too-deep" in {reason for each in found for reason in each.refused or {}}
    infos = [each.payload.decode() for each in archived(here.directory / "warc") if each.kind == "warcinfo"]
    assert "setting: fetch.concurrency = 3\r\n" not in infos[0]
    assert "setting: fetch.concurrency = 3\r\n" in infos[-1]
    assert_sound(here.directory)


def test_a_limit_that_is_reached_already_ends_the_crawl(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(fetched(here.directory)) > 5, "pages")
        assert here.do("set", "limits.pages=5").out == "limits.pages is 5; it was unset\n"
        assert here.crawl.wait().code == LIMIT
    assert_sound(here.directory)


def test_an_exclusion_holds_for_urls_that_wait_already(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 3, "requests")
        here.do("pause")
        here.wait_until_drained()
        waiting = set(here.look("next", "h00000.sim.test", "--limit", "100").out.split())
        assert waiting
        assert_told(here.do("set", "scope.exclude=http://h00000.sim.test/"), COMPLETE)
        asked = len(here.requests())
        here.hurry()
        here.do("resume")
        assert_told(here.crawl.wait(), COMPLETE)
        assert not [each for each in here.requests()[asked:] if each.host == "h00000.sim.test"]
    excluded = {each.url for each in records(here.directory) if each.reason == "excluded"}
    assert waiting <= excluded
    assert_sound(here.directory)


def test_budgets_retire_hosts_and_let_them_go_on(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 8, "requests")
        assert_told(here.do("pause"), COMPLETE)
        assert_told(here.do("set", "frontier.total_budget=1"), COMPLETE)
        assert "because its budget is spent" in here.do("top").out
        assert_told(here.do("set", "frontier.total_budget=1000"), COMPLETE)
        assert "because its budget is spent" not in here.do("top").out
        here.hurry()
        assert_told(here.do("resume"), COMPLETE)
        assert_told(here.crawl.wait(), COMPLETE)
    assert fetched(here.directory) == dict.fromkeys(here.web.pages, 1)


def test_one_wrong_setting_keeps_all_from_changing(tmp_path: Path) -> None:
    with operated(tmp_path, *STILL) as here:
        before = recorded(here.directory)
        wrong = here.do("set", *QUICK, "fetch.timout_s=3", "fetch.concurrency=many")
        assert_told(wrong, USAGE, "2 problems", "fetch.timout_s: unknown key; did you mean fetch.timeout_s?", '"many"')
        assert_told(
            here.do("set", "politeness.min_delay_s=5", 'scope.exclude=["("]'), USAGE, "onceover: scope.exclude: '('"
        )
        fixed = here.do("set", *QUICK, "frontier.queue_by=domain", "crawl.directory=elsewhere", "compare.scale=0.5")
        assert_told(fixed, USAGE, "compare.scale: can't be changed in a crawl")
        fixed = here.do("set", *QUICK, "frontier.queue_by=domain", "crawl.directory=elsewhere")
        assert_told(fixed, USAGE, "frontier.queue_by: can't be changed in this crawl", "--rebuild", "elsewhere")
        assert "nothing has changed" in here.do("set", "politeness.min_delay_s=600").out
        checked = here.do("set", "fetch.timeout_s=7", "--dry-run")
        assert_told(checked, COMPLETE)
        assert checked.out.endswith("Nothing was changed: this was --dry-run.\n")
        assert recorded(here.directory) == before
        later = here.do("set", "fetch.user_agent=us/1.0 (us@our.site)")
        assert_told(later, COMPLETE)
        assert "This holds from the next start, because sites and their robots.txt know the crawl by it" in later.out
        assert "To start again: onceover stop" in later.out
        here.do("stop", "--now")


def test_the_file_is_read_again_and_an_edit_of_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[politeness]\nmin_delay_s = 1\n")
    with operated(tmp_path, "site.toml", *STILL) as here:
        # Begun with other settings than the file has, which win over it, as at a start.
        assert here.do("reload").out == "nothing has changed\n"
        file.write_text("[scope]\nmax_depth = \n")
        broken = here.do("reload")
        assert_told(broken, USAGE, "site.toml:2", "not valid TOML")
        file.write_text("[scope]\nmax_deph = 3\n[fetch]\nconcurrency = 0\n")
        broken = here.do("reload")
        assert_told(broken, USAGE, "2 problems", "site.toml:2", "did you mean scope.max_depth?", "site.toml:4")
        file.write_text("[scope]\nmax_depth = 3\n[fetch]\nconcurrency = 9\n[visited]\nrecent = 9\n")
        reloaded = here.do("reload", "--json").json()
        assert reloaded["file"] == str(file)
        assert changes(reloaded) == {
            "scope.max_depth": "now",
            "fetch.concurrency": "now",
            "visited.recent": "restart",
        }
        assert "max_depth = 3" in recorded(here.directory)
        here.do("stop", "--now")
        assert here.crawl.wait().code == STOPPED
        assert_sound(here.directory)
        file.write_text("[scope]\nmax_depth = 4\n")
        reloaded = here.do("reload", "--json").json()
        assert (reloaded["running"], changes(reloaded)["scope.max_depth"]) == (False, "restart")
        assert "max_depth = 4" in recorded(here.directory)


def test_new_seeds_are_added_by_a_reload(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"http://h00000.{SLOW.domain}/\n")
    file = tmp_path / "site.toml"
    file.write_text('[crawl]\nseed_files = ["seeds.txt"]\n')
    with (
        operated(tmp_path) as served,
        started("crawl", *_without_seed(served.web), "--dir", "b", cwd=tmp_path) as crawl,
    ):
        here = Operated(tmp_path, served.web, tmp_path / "requests.jsonl", crawl)
        here.directory = tmp_path / "b"
        here.wait_until_listening()
        here.do("pause")
        new = f"http://h00000.{SLOW.domain}/a-new-seed"
        seeds.write_text(f"http://h00000.{SLOW.domain}/\n{new}\n")
        assert "1 seed is new" in here.do("reload").out
        assert here.look("url", new, "--json").json()["state"] == "pending"
        here.do("stop")


def _without_seed(web: Web) -> list[str]:
    options = web.options
    return ["site.toml", *options[options.index("--set") :], *STILL]


def test_sighup_reloads_a_crawl_and_the_log_tells_what_changed(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("")
    with operated(tmp_path, "site.toml", *STILL) as here:
        log = here.directory / "logs" / "crawl.log"
        file.write_text("[scope]\nmax_depth = 3\n")
        here.crawl.signal(signal.SIGHUP)
        here.crawl.wait_until(lambda: "reload: scope.max_depth is 3; it was 20" in log.read_text(), "reload")
        file.write_text("max_depth = 3\n")
        here.crawl.signal(signal.SIGHUP)
        here.crawl.wait_until(lambda: "can't be reloaded, and nothing was changed" in log.read_text(), "refusal")
        here.do("stop", "--now")


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 5, "requests")
        assert_told(here.do("pause"), COMPLETE)
        assert_told(here.do("set", "fetch.timeout_s=9", "limits.pages=3", *QUICK), COMPLETE)
        here.crawl.signal(signal.SIGKILL)
        here.crawl.process.wait()
        assert_told(here.do("resume"), COMPLETE)
        before = len(fetched(here.directory))
        again = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
        assert_told(again, LIMIT, "Resuming")
        assert "Changed" not in again.err
        assert "timeout_s = 9.0" in recorded(here.directory)
        assert before <= len(fetched(here.directory)) <= before + 3
    assert_sound(here.directory)


def test_limits_of_one_run_stay_those_of_that_run(tmp_path: Path) -> None:
    with operated(tmp_path, "--max-pages", "30", *PACED) as here:
        assert_told(here.do("set", "fetch.timeout_s=9"), COMPLETE)
        assert here.do("reload").out == "nothing has changed\n"
        here.hurry()
        assert here.crawl.wait().code == LIMIT
        assert "pages = 30" not in recorded(here.directory)
    assert here.do("set", "limits.pages=3").out == "limits.pages is 3; it was unset\n"


def test_a_crawl_that_does_not_run_is_changed_with_the_same_words(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "5", cwd=tmp_path).code == LIMIT
    directory = str(tmp_path / "crawl")
    told = command_here("set", directory, "limits.pages=3", "fetch.timeout_s=9")
    assert told.out == 'fetch.timeout_s is 9.0; it was "1 min"\nlimits.pages is 3; it was unset\n'
    assert_told(command_here("set", directory, "urls.rules=[]"), USAGE, "urls.rules: can't be changed in this crawl")
    assert_told(command_here("set", directory, 'scope.include=["("]'), USAGE, "scope.include")
    assert command_here("set", directory, "limits.pages=3").out == "nothing has changed\n"
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == LIMIT
    assert len(fetched(tmp_path / "crawl")) == 8
    # It was started with --dir alone, so its own file is read again.
    own = tmp_path / "crawl" / "crawl.toml"
    own.write_text(own.read_text().replace("timeout_s = 9.0", "timeout_s = zz", 1))
    assert_told(command_here("reload", directory), USAGE, "crawl.toml:", "not valid TOML")


def test_what_can_not_be_done_says_what_to_do(tmp_path: Path) -> None:
    nowhere = command_here("set", str(tmp_path / "none"), "fetch.timeout_s=3")
    assert nowhere.code not in (COMPLETE, FAILED)
    assert "there is no crawl in" in nowhere.err
    assert_told(command_here("set", str(tmp_path)), USAGE, "KEY=VALUE")
