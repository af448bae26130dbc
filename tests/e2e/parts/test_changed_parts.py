"""Settings of a crawl in parts that change while it runs: all its parts change, or none does."""

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from crawler.control.replies import SettingChange
from tests.e2e.crawling import COMPLETE, USAGE, Ended, assert_sound, assert_told, onceover
from tests.e2e.operating import command_here, is_listening
from tests.e2e.parts.in_parts import PartsOfWeb, assert_fetched_once, crossed, host_of, in_parts, send

PACED = ("politeness.min_delay_s=6", "politeness.robots=false")
"""Each host has ten pages, so such a crawl takes most of a minute, unless it is told to hurry."""

ASKING = "asking all parts whether they can take over a changed configuration"


def changes(reply: Ended) -> dict[str, str]:
    return {each.key: each.holds for each in msgspec.convert(reply.json()["changes"], list[SettingChange])}


def assert_repeats_are_of(crawl: PartsOfWeb, killed: int) -> None:
    """No page was asked for twice but what was in flight in the part that was killed twice."""
    asked = Counter((each.host, each.target) for each in crawl.requests())
    hosts = {host_of(record.url) for record in crawl.records()[killed]}
    repeated = Counter({host: count - 1 for (host, _), count in asked.items() if count > 1})
    assert {host.partition(":")[0] for host in repeated} <= hosts
    assert max(repeated.values(), default=0) <= 2


def test_settings_reach_all_parts_or_none_also_if_one_is_killed_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[limits]\npages = 1_000\n")
    with in_parts(tmp_path, *PACED, parts=3) as crawl, crawl.started("site.toml") as supervisor:
        directory, log = str(crawl.directory), crawl.directory / "logs" / "crawl.log"
        crawl.wait_until_all_crawl(supervisor)
        supervisor.wait_until(partial(is_listening, crawl.directory), "socket")
        before = (crawl.directory / "crawl.toml").read_text()
        wrong = command_here("set", directory, "fetch.timeout_s=31", 'scope.exclude=["("]')
        assert_told(wrong, USAGE, "scope.exclude", "'('")
        assert_told(command_here("set", directory, "crawl.parts=2"), USAGE, "onceover parts DIR --into N")
        assert_told(command_here("set", directory, "fetch.timeout_s=31", "--dry-run"), COMPLETE)
        assert (crawl.directory / "crawl.toml").read_text() == before

        # The part can't answer, so the command waits for it until it is killed.
        killed = crawl.pid(1)
        assert killed is not None
        send(killed, signal.SIGSTOP)
        asked = log.read_text().count(ASKING)
        with ThreadPoolExecutor() as others:
            setting = others.submit(
                partial(onceover, "set", directory, "fetch.timeout_s=31", "limits.pages=500", cwd=tmp_path)
            )
            supervisor.wait_until(lambda: log.read_text().count(ASKING) > asked, "question to all parts")
            send(killed, signal.SIGKILL)
            told = setting.result()
        assert_told(told, COMPLETE)
        assert told.out == 'fetch.timeout_s is 31.0; it was "1 min"\nlimits.pages is 500; it was 1000\n'

        file.write_text(
            '[limits]\npages = 200\n[frontier]\nmax_attempts = 7\n[fetch]\nuser_agent = "us/2.0 (us@our.site)"\n'
        )
        reloaded = command_here("reload", directory, "--json")
        assert changes(reloaded) == {
            "limits.pages": "now",
            "frontier.max_attempts": "now",
            "fetch.timeout_s": "now",
            "fetch.user_agent": "restart",
        }
        waiting = command_here("status", directory, "--json").json()["next_settings"]
        assert [each.key for each in msgspec.convert(waiting, list[SettingChange])] == ["fetch.user_agent"]
        # A part that starts again works with what holds in the others, and not with what holds from the next start.
        part = crawl.directory / "part-1"
        supervisor.wait_until(lambda: crawl.pid(1) not in (None, killed) and is_listening(part), "new process")
        again = crawl.pid(1)
        assert again is not None
        assert_told(command_here("pause", directory), COMPLETE)
        send(again, signal.SIGKILL)
        # A part that does not run at this moment adds its seeds when it does.
        seeds = ["http://h00000.test/", *(f"http://h{number:05}.test/new" for number in range(1, 9))]
        seeded = command_here("set", directory, f"crawl.seeds={msgspec.json.encode(seeds).decode()}")
        assert_told(seeded, COMPLETE)
        file.write_text("[limits\n")
        supervisor.signal(signal.SIGHUP)
        supervisor.wait_until(lambda: "can't be reloaded, and nothing was changed" in log.read_text(), "refusal")
        # A part that died while the crawl was paused waits with the others.
        supervisor.wait_until(lambda: crawl.pid(1) not in (None, again) and is_listening(part), "the part again")
        assert command_here("status", directory, "--json").json()["paused"] is not None
        assert_told(command_here("set", directory, "politeness.min_delay_s=0"), COMPLETE)
        assert_told(command_here("resume", directory), COMPLETE)
        assert_told(supervisor.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert set(seeds) <= {record.url for part in crawl.records() for record in part}
        assert crossed(crawl.records()) > 0
        assert_repeats_are_of(crawl, 1)
        assert 'user_agent = "us/2.0' in (crawl.directory / "crawl.toml").read_text()
        for number in range(3):
            assert_sound(crawl.directory / f"part-{number}")
