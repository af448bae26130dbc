"""A crawl comes back to its pages, and finds again what it was told to forget."""

import re
import signal
import time
from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from crawler.page import PageRecord
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, LIMIT, Web, assert_sound, assert_told, onceover, setting
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import serving, write

BY_PAGE = defaultdict[str, list[PageRecord]]


def records(crawl: Path) -> BY_PAGE:
    found: BY_PAGE = defaultdict(list)
    for record in read_records(crawl / "records", last_only=True):
        found[record.url].append(record)
    return found


def test_pages_are_asked_for_again_and_forgotten_ones_are_found_again(tmp_path: Path, web: Web) -> None:
    crawl, options = tmp_path / "crawl", [*web.options, "--dir", "crawl", *setting("visited.backend=bloom")]
    assert_told(onceover("crawl", *options, cwd=tmp_path), COMPLETE)
    first = records(crawl)
    pages = {url for url, (record,) in first.items() if record.status == 200 and record.kind != "sitemap"}
    assert len(pages) >= 30
    assert "wait already" not in command_here("recrawl", str(crawl)).out
    assert command_here("recrawl", str(crawl)).out.startswith("0 of ")
    time.sleep(1.1)  # two visits within a second tell nothing of how often a page changes
    again = onceover("crawl", *options, cwd=tmp_path)
    assert_told(again, COMPLETE)
    assert "the frontier is older than the output" not in again.err
    second = records(crawl)
    for url in pages:
        before, after = second[url]
        assert (after.status, after.visit, after.change) == (304, 2, "not modified")
        assert (before.visit, before.change, after.duplicate_of) == (1, None, None)
        assert (after.kind, after.depth) == (before.kind, before.depth)
        assert after.number > before.number
    gone = [records for records in second.values() if records[0].status == 404]
    assert gone
    assert {record.change for _, record in gone} == {"gone"}
    assert_sound(crawl)

    page = min(pages)
    told = command_here("inspect", str(crawl), "url", page).out
    assert "visits  2\n" in told
    assert "it had not changed for" in told

    host = "http://h00001.sim.test/"
    assert command_here("forget", str(crawl), "--host", "h00001.sim.test").code == COMPLETE
    assert_sound(crawl)
    command_here("recrawl", str(crawl), "--whole")
    assert_told(onceover("crawl", *options, cwd=tmp_path), COMPLETE)
    third = records(crawl)
    assert third.keys() == first.keys()
    for url in pages:
        last = third[url][-1]
        expected = (200, 1, None) if url.startswith(host) else (200, 3, "unchanged")
        assert (last.status, last.visit, last.change) == expected
        assert last.duplicate_of != url
    assert_sound(crawl)

    # With a schedule, the crawl goes on by itself, until a limit ends it.
    often = setting(
        'recrawl.schedule="adaptive"', "recrawl.interval_s=1", "recrawl.min_interval_s=1", "recrawl.stay=true"
    )
    visits = len(pages) + 5
    limited = onceover("crawl", *options, *often, "--max-pages", str(visits), cwd=tmp_path)
    assert limited.code in (COMPLETE, LIMIT), limited.err  # there may be nothing left to fetch at that moment
    fourth = records(crawl)
    assert sum(len(fourth[url]) - len(third[url]) for url in pages) >= visits
    assert {fourth[url][-1].change for url in pages} <= {"not modified", "unchanged"}
    assert_sound(crawl)


def test_a_crawl_with_a_schedule_says_at_its_end_when_the_next_visit_is_due(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl", *setting('recrawl.schedule="fixed"', "recrawl.interval_s=1 w")]
    first, second = (onceover("crawl", *options, cwd=tmp_path) for _ in range(2))
    assert_told(first, COMPLETE)
    assert re.search("next visit  due in (6 d 23 h|7 d)\n", first.out)
    assert re.search("next visit  due in (6 d 23 h|7 d)\n", second.out)
    assert "nothing was left to fetch" in second.out
    assert re.search("next visit  due in (6 d 23 h|7 d)\n", onceover("status", "crawl", cwd=tmp_path).out)
    for command in (("crawl", *web.options, "--dir", "once"), ("status", "once")):
        assert "next visit" not in onceover(*command, cwd=tmp_path).out


CHANGING = WorldParams(
    seed=5,
    hosts=2,
    pages_per_host=10,
    links_per_page=8,
    page_bytes=1_000,
    change_every_s=3.0,
    change_spread=5,
    fleeting=0.5,
)


def test_what_has_changed_is_fetched_again_and_what_has_gone_is_marked(tmp_path: Path) -> None:
    crawl, world = tmp_path / "crawl", World(CHANGING)
    seconds = [f"recrawl.{each}_s=1" for each in ("interval", "min_interval", "max_interval")]
    often = setting('recrawl.schedule="fixed"', *seconds, "recrawl.stay=true")
    with running(CHANGING) as port:
        options = Web(port, CHANGING).options
        ended = onceover("crawl", *options, *often, "--dir", "crawl", "--max-pages", "90", cwd=tmp_path)
    assert ended.code in (COMPLETE, LIMIT), ended.err
    assert_sound(crawl)
    found = records(crawl)
    told: Counter[str] = Counter()
    for number in range(CHANGING.pages_per_host):
        for host in range(CHANGING.hosts):
            visits = found[world.url(host, number)]
            assert [record.visit for record in visits] == list(range(1, len(visits) + 1))
            for before, after in pairwise(visits):
                versions = [_version_during(world, host, number, record) for record in (before, after)]
                if None in versions or before.status not in (200, 304):
                    continue
                was, now = versions
                if after.status in (404, 410):
                    assert now == "missing"
                else:
                    expected = "not modified" if was == now else "changed"
                    assert after.change == expected, (before, after)
                    told[expected] += 1
            for first, second in pairwise(visits):
                is_gone = first.status == second.status in (404, 410)
                assert (second.change == "gone") == is_gone
                told["gone"] += is_gone
    assert min(told[each] for each in ("not modified", "changed", "gone")) >= 3, told


def _version_during(world: World, host: int, number: int, record: PageRecord) -> object:
    """The version of a page that a record is of; None if it changed during the fetch."""
    assert record.fetched_at is not None
    assert record.duration_s is not None
    began_at = datetime.fromisoformat(record.fetched_at).timestamp()
    moments = (began_at - 0.002, began_at + record.duration_s + 0.002)  # the record has milliseconds
    first, last = (world.facts(host, number, now=moment) for moment in moments)
    if first.noise != last.noise:
        return None
    return "missing" if first.missing else first.noise


def test_a_complete_crawl_of_the_daemon_comes_back_when_it_gets_a_schedule(tmp_path: Path, web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", web)
    with serving(home) as served:
        served.wait_until_complete("a")
        write(home, "a", web, '[recrawl]\nschedule = "fixed"\ninterval_s = 1')
        served.daemon.signal(signal.SIGHUP)
        served.wait(lambda: any(len(each) > 2 for each in records(served.directory("a")).values()), "visits")
        served.end()
    assert_sound(served.directory("a"))
