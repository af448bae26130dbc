"""That the loop keeps its order, its limits and its counts, and can be stopped anywhere."""

import asyncio
import traceback
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any

import msgspec
import pytest

from crawler.discover.quota import (
    PageLimits,
    PageQuota,
    SitemapLimits,
    SitemapQuota,
)
from crawler.engine import Ending, Limits
from crawler.page import (
    Extract,
    Failure,
    FailureKind,
    Fetched,
    Link,
    LinkDetail,
    LinkKind,
    NotModified,
    Page,
    PageRecord,
    Repeat,
    Verdict,
)
from crawler.politeness.hours import Hours
from crawler.politeness.pace import Pace
from crawler.read.elements.hostile import MAX_TAGS
from crawler.read.html.lexbor import lexbor_extractor
from crawler.seams import NotTaken
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Lease, UrlState, VisitsSince
from frontier.memory.notes import MemoryNotes
from tests.unit.crawling import (
    QUICK,
    SEED,
    START,
    Event,
    Records,
    Rig,
    Rules,
    Site,
    Traced,
    failure,
    page,
    redirect,
    star,
)

UNREACHABLE = Verdict(allowed=False, reason="unreachable", asked=True, retry_after_s=5.0, message="connect: refused")
FORBIDDEN = Verdict(allowed=False, reason="robots")


@in_virtual_time
async def test_a_page_is_done_last_and_written_before_its_links_are_added() -> None:
    rig = Rig(star(2))
    await rig.run()
    assert rig.of(SEED) == ["lease", "robots", "fetch", "extract", "sink", "done"]
    written, done = rig.events.index(("sink", SEED)), rig.events.index(("done", SEED))
    assert written < rig.events.index(("add", "http://a.test/1")) < done


@in_virtual_time
async def test_pages_in_flight_take_each_step_together() -> None:
    rig = Rig(star(9))
    await rig.run(concurrency=4)
    names = [name for name, url in rig.events if url != SEED and name in ("robots", "fetch", "extract", "sink", "done")]
    runs = [name for name, _ in groupby(names)]
    assert len(runs) <= len(names) / 2, "they take turns"


@in_virtual_time
async def test_each_page_is_fetched_once_whoever_links_to_it() -> None:
    urls = [f"http://{host}.test/{number}" for host in "abc" for number in range(20)]
    rig = Rig({SEED: page(SEED, urls), **{url: page(url, urls) for url in urls}})
    engine = await rig.run(concurrency=8)
    assert Counter(rig.urls) == Counter([SEED, *urls])
    assert set(rig.web.asked.values()) == {1}
    assert engine.counters.links == 20 * 3 + 60 * 59
    assert engine.counters.admitted == 60


@in_virtual_time
async def test_no_more_fetches_are_out_than_the_concurrency() -> None:
    rig = Rig(star(50))
    rig.web.duration_s = 1.0
    await rig.run(concurrency=5)
    assert rig.web.most_busy == 5


@in_virtual_time
async def test_there_are_as_many_workers_as_have_work_and_one_that_waits() -> None:
    rig = Rig(star(50))
    rig.web.duration_s = 1.0
    async with rig.engine(concurrency=120) as engine:
        others = len(asyncio.all_tasks())
        running = asyncio.create_task(engine.run())
        await asyncio.sleep(0.5)
        assert rig.web.most_busy == 1
        assert len(asyncio.all_tasks()) == others + len({running}) + 2
        await asyncio.sleep(1)
        assert rig.web.most_busy == 49
        assert len(asyncio.all_tasks()) == others + len({running}) + 50
        assert await running is Ending.COMPLETE


@in_virtual_time
async def test_the_concurrency_changes_while_the_crawl_runs() -> None:
    rig = Rig(star(60))
    rig.web.duration_s = 1.0
    async with rig.engine(concurrency=2) as engine:
        running = asyncio.create_task(engine.run())
        await asyncio.sleep(5.5)
        assert rig.web.most_busy == 2
        engine.set_concurrency(7, spare=0)
        await asyncio.sleep(2)
        assert rig.web.most_busy == 7
        engine.set_concurrency(3, spare=0)
        await asyncio.sleep(2)
        rig.web.most_busy = 0
        assert await running is Ending.COMPLETE
    assert rig.web.most_busy == 3
    assert Counter(rig.urls) == dict.fromkeys(rig.web.asked, 1)
    assert len(rig.urls) == 60


@in_virtual_time
async def test_limits_change_while_the_crawl_runs_and_are_counted_from_its_beginning() -> None:
    rig = Rig(star(60))
    rig.web.duration_s = 1.0
    async with rig.engine(concurrency=2, limits=Limits(pages=5)) as engine:
        running = asyncio.create_task(engine.run())
        await asyncio.sleep(1.5)
        engine.set_limits(Limits())
        await asyncio.sleep(10)
        assert engine.counters.pages > 5
        engine.set_limits(Limits(pages=40, seconds=1000))
        assert await running is Ending.LIMIT
        assert engine.counters.pages == 40


@in_virtual_time
async def test_workers_that_wait_for_a_lease_keep_to_limits_that_are_lowered_meanwhile() -> None:
    rig = Rig(star(60))
    rig.web.duration_s = 1.0
    async with rig.engine(concurrency=30) as engine:
        running = asyncio.create_task(engine.run())
        await asyncio.sleep(0.5)  # one worker fetches the seed, the others wait
        engine.set_limits(Limits(pages=7))
        engine.set_concurrency(2, spare=0)
        assert await running is Ending.LIMIT
        assert engine.counters.pages == 7
    assert rig.web.most_busy == 2
    assert Counter(rig.urls) == dict(rig.web.asked)


@in_virtual_time
async def test_a_limit_that_is_reached_already_ends_the_crawl_and_its_leases_are_kept() -> None:
    for limits in (Limits(pages=3), Limits(seconds=2), Limits(bytes=1)):
        rig = Rig(star(60))
        rig.web.duration_s = 1.0
        async with rig.engine(concurrency=4) as engine:
            running = asyncio.create_task(engine.run())
            await asyncio.sleep(4.5)
            engine.set_limits(limits)
            assert await running is Ending.LIMIT
            assert Counter(rig.urls) == dict(rig.web.asked)


class Refusing(Records):
    """A sink that does not take what it gets first, by URL."""

    def __init__(self, events: list[Event], *, refusals: int) -> None:
        super().__init__(events)
        self.left = defaultdict[str, int](lambda: refusals)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self.left[record.url] -= 1
        if self.left[record.url] >= 0:
            raise NotTaken
        await super().write(page, record)


@in_virtual_time
async def test_what_a_sink_does_not_take_is_handed_back_and_comes_again() -> None:
    dead = "http://dead.test/"
    site: Site = {SEED: page(SEED, ["/a", "/forbidden", "/moved", dead]), "http://a.test/a": page("http://a.test/a")}
    site |= {"http://a.test/moved": redirect("http://a.test/moved", "/b"), dead: failure(dead, FailureKind.BAD_URL)}
    rig = Rig(site, verdicts={"http://a.test/forbidden": [FORBIDDEN]})
    rig.sink = Refusing(rig.events, refusals=2)
    engine = await rig.run(limits=Limits(pages=100))
    assert set(rig.urls) == {*site, "http://a.test/forbidden", "http://a.test/b"}
    assert Counter(rig.urls) == dict.fromkeys(rig.urls, 1)
    assert rig.of(SEED)[-6:] == ["lease", "robots", "fetch", "extract", "sink", "done"]
    assert rig.of(SEED).count("release") == 2
    assert (engine.counters.pages, engine.counters.failed) == (2, 1)
    assert engine.counters.excluded == {"robots": 1}
    assert all(record.attempts <= 1 for record in rig.sink.records)


@in_virtual_time
async def test_what_no_sink_takes_is_no_page_for_the_limit() -> None:
    rig = Rig(star(10))
    rig.sink = Refusing(rig.events, refusals=3)
    engine = await rig.run(Ending.LIMIT, limits=Limits(pages=4))
    assert len(rig.urls) == engine.counters.pages == 4


@in_virtual_time
async def test_a_full_disk_stops_the_crawl_and_leaves_the_page_pending() -> None:
    rig = Rig(star(30))
    rig.sink.room = 10
    async with rig.engine() as engine:
        with pytest.raises(ExceptionGroup) as raised:
            await engine.run()
        assert raised.value.subgroup(OSError) is not None
        assert not engine.counters.in_flight
    assert engine.counters.pages == rig.store.counters.done <= 10
    refused = next(url for name, url in reversed(rig.events) if name == "sink" and url not in rig.urls)
    entry = rig.store.reads.entry(refused)
    assert entry is not None
    assert entry.state is UrlState.PENDING
    rig.sink.room = 1000
    await rig.run()
    assert set(rig.urls) == set(star(30))
    assert len(rig.urls) - 30 <= 3


@in_virtual_time
async def test_a_component_that_is_cancelled_by_nobody_ends_the_crawl() -> None:
    class Dropped(Records):
        async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
            # So ends the wait for a connection whose task was cancelled, as that of a server that has gone.
            dropped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            dropped.cancel()
            await dropped

    rig = Rig(star(3))
    rig.sink = Dropped(rig.events)
    async with rig.engine() as engine:
        with pytest.raises(ExceptionGroup) as raised:
            async with asyncio.timeout(3600):
                await engine.run()
    [error] = raised.value.exceptions
    assert isinstance(error, RuntimeError)
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][-1] == "write"
    rig.sink = Records(rig.events)
    await rig.run()
    assert set(rig.urls) == set(star(3))


@in_virtual_time
async def test_an_engine_cancelled_at_any_moment_leaves_what_was_in_flight_to_the_next() -> None:
    site = star(12)
    site["http://a.test/3"] = redirect("http://a.test/3", "/13")
    site["http://a.test/13"] = page("http://a.test/13")
    site["http://a.test/4"] = [failure("http://a.test/4"), page("http://a.test/4")]
    asked = Verdict(allowed=True, reason="robots", asked=True)
    cancelled_at = 0
    for turns in range(1, 400):
        rig = Rig(
            site, verdicts={SEED: [asked, Verdict(allowed=True, reason="robots")], "http://a.test/5": [FORBIDDEN]}
        )
        async with rig.engine(concurrency=3) as engine:
            running = asyncio.ensure_future(engine.run())
            for _ in range(turns):
                await asyncio.sleep(0)
            if running.done():
                break
            cancelled_at += 1
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert not engine.counters.in_flight
        before = Counter(rig.urls)
        await rig.run(concurrency=3)
        after = Counter(rig.urls)
        assert set(after) == set(site)
        # What is written twice was in flight: at most one page for each worker.
        assert sum(after.values()) - len(after) <= 3
        assert before <= after
        assert rig.store.counters.done + rig.store.counters.excluded == len(site)
    assert cancelled_at > 50


@pytest.mark.parametrize("hosts", [1, 20])
def test_urls_that_nobody_is_asked_for_leave_turns_of_the_loop_to_others(
    hosts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forbidden(self: Rules, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        return FORBIDDEN

    async def written(self: Records, fetched: Fetched | None, record: PageRecord, /) -> None:
        """Waits for nothing, as a sink whose buffer has room."""

    async def done(self: Traced, lease: Lease, /, **rest: Any) -> None:
        await self._frontier.done(lease, **rest)

    monkeypatch.setattr(Rules, "allows", forbidden)
    monkeypatch.setattr(Records, "write", written)
    monkeypatch.setattr(Traced, "done", done)
    seeds = [f"http://{number % hosts}.test/{number}" for number in range(500)]
    settled = [0]

    async def watch(rig: Rig) -> None:
        while True:
            settled.append(rig.store.counters.excluded)
            await asyncio.sleep(0)

    @in_virtual_time
    async def crawl() -> None:
        rig = Rig({})
        async with rig.engine(concurrency=4, seeds=seeds) as engine:
            watching = asyncio.ensure_future(watch(rig))
            assert await engine.run() is Ending.COMPLETE
            watching.cancel()
        settled.append(rig.store.counters.excluded)

    crawl()
    assert settled[-1] == len(seeds)
    # One for each worker that may work at once.
    assert max(after - before for before, after in pairwise(settled)) <= 4


@pytest.mark.parametrize("limit", [1, 7, 20])
@pytest.mark.parametrize("concurrency", [1, 64])
def test_a_limit_of_pages_stops_at_exactly_that_many(limit: int, concurrency: int) -> None:
    @in_virtual_time
    async def crawl() -> None:
        site = star(60)
        for number in range(1, 30, 2):
            url = f"http://a.test/{number}"
            site[url] = redirect(url, f"/{number + 100}")
            site[f"http://a.test/{number + 100}"] = page(f"http://a.test/{number + 100}")
        site["http://a.test/2"] = page("http://a.test/2", status=404)
        rig = Rig({**site})
        rig.web.duration_s = 0.1
        runs = 0
        while True:
            async with rig.engine(concurrency=concurrency, limits=Limits(pages=limit)) as engine:
                ending = await engine.run()
            runs += 1
            assert engine.counters.pages <= limit
            if ending is Ending.COMPLETE:
                break
            assert engine.counters.pages == limit
        assert Counter(rig.urls) == Counter(site.keys())
        pages = sum(1 for record in rig.sink.records if record.status == 200)
        assert runs == -(-pages // limit)

    crawl()


@in_virtual_time
async def test_pages_of_others_do_not_use_up_the_place_of_a_redirect() -> None:
    """A worker whose fetch made no page gives its place back, although pages were made meanwhile."""
    site = star(4)
    site["http://a.test/1"] = [failure("http://a.test/1"), page("http://a.test/1")]
    rig = Rig({**site})
    rig.web.duration_s = 1.0
    engine = await rig.run(concurrency=4, limits=Limits(pages=4))
    assert engine.counters.pages == 4


@in_virtual_time
async def test_a_limit_that_is_reached_with_the_last_page_leaves_the_crawl_complete() -> None:
    rig = Rig(star(5))
    await rig.run(limits=Limits(pages=5))


@in_virtual_time
async def test_a_limit_of_bytes_is_overrun_by_no_more_than_what_is_in_flight() -> None:
    site = star(100)
    site |= {url: page(url, ["x" * 1000]) for url in list(site)[1:]}
    rig = Rig({**site})
    engine = await rig.run(Ending.LIMIT, concurrency=4, limits=Limits(bytes=20_000))
    assert 20_000 <= engine.counters.bytes_received < 20_000 + 4 * 1010


@in_virtual_time
async def test_a_limit_of_seconds_lets_what_is_in_flight_finish() -> None:
    rig = Rig(star(100))
    rig.web.duration_s = 2.0
    async with rig.engine(concurrency=4, limits=Limits(seconds=9.0)) as engine:
        assert await engine.run() is Ending.LIMIT
        assert asyncio.get_running_loop().time() == pytest.approx(10.0)
        assert not engine.counters.in_flight
    # The front page, then four at a time: begun at 0, 2, 4, 6 and 8 s.
    assert len(rig.urls) == engine.counters.pages == 1 + 4 * 4


@in_virtual_time
async def test_a_stopped_engine_finishes_what_is_in_flight_and_begins_nothing() -> None:
    rig = Rig(star(100))
    rig.web.duration_s = 2.0
    async with rig.engine(concurrency=4) as engine:
        asyncio.get_running_loop().call_later(3.0, engine.stop)
        assert await engine.run() is Ending.SIGNAL
        assert asyncio.get_running_loop().time() == pytest.approx(4.0)
    assert engine.counters.pages == 5
    engine = await rig.run()
    assert engine.counters.pages == 95
    assert Counter(rig.urls) == Counter(star(100).keys())


@in_virtual_time
async def test_a_stop_ends_workers_that_wait_for_a_place() -> None:
    rig = Rig(star(30))
    rig.web.duration_s = 1.0
    async with rig.engine(concurrency=20, limits=Limits(pages=3)) as engine:
        asyncio.get_running_loop().call_later(1.5, engine.stop)
        assert await engine.run() is Ending.SIGNAL
    assert engine.counters.pages <= 3


@in_virtual_time
async def test_a_failure_is_tried_again_and_then_given_up_with_its_reason() -> None:
    site = {SEED: page(SEED, ["/gone", "/flaky"])}
    rig = Rig(
        {
            **site,
            "http://a.test/gone": failure("http://a.test/gone", FailureKind.TIMEOUT),
            "http://a.test/flaky": [page("http://a.test/flaky", status=503), page("http://a.test/flaky")],
        }
    )
    engine = await rig.run()
    assert rig.web.asked["http://a.test/gone"] == 3
    by_url = {record.url: record for record in rig.sink.records}
    assert len(by_url) == len(rig.sink.records) == 3
    gone = by_url["http://a.test/gone"]
    assert (gone.state, gone.reason, gone.attempts) == ("failed", "timeout", 3)
    assert (by_url["http://a.test/flaky"].state, by_url["http://a.test/flaky"].attempts) == ("done", 2)
    assert engine.counters.failures == {"timeout": 3, "http-503": 1}
    assert (engine.counters.retries, engine.counters.failed, engine.counters.pages) == (3, 1, 2)


@in_virtual_time
async def test_a_page_that_always_breaks_off_is_tried_again_and_then_done_and_its_links_are_followed() -> None:
    torn = msgspec.structs.replace(page(SEED, ["/a"]), truncated="disconnect", message="closed before it was whole")
    rig = Rig({SEED: torn, "http://a.test/a": page("http://a.test/a")})
    engine = await rig.run()
    assert rig.web.asked == {SEED: 3, "http://a.test/a": 1}
    by_url = {record.url: record for record in rig.sink.records}
    record = by_url[SEED]
    assert (record.state, record.reason, record.truncated, record.attempts) == ("done", None, "disconnect", 3)
    assert record.message == "closed before it was whole"
    assert engine.counters.failures == {"disconnected": 3}
    assert (engine.counters.retries, engine.counters.failed, engine.counters.pages) == (2, 0, 2)
    assert engine.counters.truncated == {"disconnect": 1}


@in_virtual_time
async def test_pages_of_which_only_a_part_was_read_are_counted() -> None:
    xhtml = page(SEED, ["<b/>" * (MAX_TAGS + 1)], headers=[(b"Content-Type", b"application/xhtml+xml")])
    rig = Rig({SEED: xhtml})
    rig.extractor = lexbor_extractor()
    engine = await rig.run()
    assert (engine.counters.pages, engine.counters.read_in_part) == (1, 1)


@in_virtual_time
async def test_a_host_that_was_asked_for_robots_txt_rests_before_its_first_page() -> None:
    asked = Verdict(allowed=True, reason="robots", asked=True, duration_s=1.0)
    verdicts = {SEED: [asked, Verdict(allowed=True, reason="robots")]}
    rig = Rig(star(1), verdicts=verdicts, pace=Pace(min_delay_s=7.0, delay_factor=0.0))
    engine = await rig.run()
    assert rig.of(SEED) == ["lease", "robots", "release", "lease", "robots", "fetch", "extract", "sink", "done"]
    assert asyncio.get_running_loop().time() == pytest.approx(7.0)
    assert engine.counters.robots_asked == 1


@in_virtual_time
async def test_a_host_rests_from_its_answer_on_however_long_the_work_on_it_takes() -> None:
    loop = asyncio.get_running_loop()
    rig = Rig(star(3), pace=Pace(min_delay_s=7.0, delay_factor=0.0), per_host=1)
    rig.web.duration_s = 1.0
    rig.sink.duration_s = 3.0
    await rig.run()
    assert loop.time() == pytest.approx(1.0 + 7.0 + 1.0 + 7.0 + 1.0 + 3.0)


@in_virtual_time
async def test_what_robots_txt_forbids_is_recorded_and_not_fetched() -> None:
    rig = Rig(star(3), verdicts={"http://a.test/2": [FORBIDDEN]})
    engine = await rig.run()
    assert rig.of("http://a.test/2")[-4:] == ["lease", "robots", "sink", "done"]
    (record,) = (record for record in rig.sink.records if record.url == "http://a.test/2")
    assert (record.state, record.reason, record.status) == ("excluded", "robots", None)
    assert engine.counters.excluded == {"robots": 1}
    assert rig.store.counters.excluded == 1


@in_virtual_time
async def test_a_host_whose_robots_txt_cannot_be_had_is_asked_again_and_the_record_says_why_it_was_given_up() -> None:
    rig = Rig(star(1), verdicts={SEED: [UNREACHABLE]})
    engine = await rig.run()
    assert rig.of(SEED) == ["lease", "robots", "retry"] * 2 + ["lease", "robots", "sink", "done"]
    (record,) = rig.sink.records
    assert (record.state, record.reason, record.message) == ("excluded", "unreachable", "connect: refused")
    assert engine.counters.failures == {"robots-unreachable": 2}


@in_virtual_time
async def test_a_redirect_is_recorded_with_its_target_which_is_fetched_in_its_turn() -> None:
    rig = Rig({SEED: redirect(SEED, "http://b.test/x#y ü"), "http://b.test/x": page("http://b.test/x")})
    engine = await rig.run()
    first, second = rig.sink.records
    assert (first.status, first.redirect) == (301, "http://b.test/x#y%20%C3%BC")
    assert (second.url, second.via, second.depth) == ("http://b.test/x", SEED, 0)
    assert (engine.counters.redirects, engine.counters.pages, engine.counters.admitted) == (1, 1, 1)


@in_virtual_time
async def test_a_redirect_that_leads_nowhere_is_recorded_with_the_reason() -> None:
    rig = Rig({SEED: redirect(SEED, "mailto:a@b.test")})
    engine = await rig.run()
    (record,) = rig.sink.records
    assert record.refused == {"scheme": 1}
    assert engine.counters.refused == {"scheme": 1}


@in_virtual_time
async def test_links_of_a_page_that_is_not_there_are_not_followed() -> None:
    rig = Rig({SEED: page(SEED, ["/1"], status=404)})
    engine = await rig.run()
    assert rig.urls == [SEED]
    assert ("extract", SEED) not in rig.events
    assert engine.counters.pages == 0


@in_virtual_time
async def test_references_are_written_with_their_repeats_when_they_are_asked_for() -> None:
    links = ["/1", "/2", "/1#x", "/"]
    expected_links = ["http://a.test/1", "http://a.test/2", "http://a.test/1", "http://a.test/"]
    for references, expected in ((True, expected_links), (False, None)):
        rig = Rig({SEED: page(SEED, links)})
        await rig.run(references=references)
        assert rig.sink.records[0].references == expected


@in_virtual_time
async def test_details_of_links_are_written_when_they_are_asked_for() -> None:
    for asked, expected in ((True, [LinkDetail(url="http://a.test/1", kind="link", fragment="x")]), (False, None)):
        rig = Rig({SEED: page(SEED, ["/1#x"])})
        await rig.run(link_details=asked)
        assert rig.sink.records[0].link_details == expected


@in_virtual_time
async def test_counts_agree_with_the_records() -> None:
    site = star(40)
    for number in range(1, 10):
        url = f"http://a.test/{number}"
        site[url] = redirect(url, f"/{number + 200}")
    for number in range(10, 15):
        site[f"http://a.test/{number}"] = failure(f"http://a.test/{number}", FailureKind.PROTOCOL)
    verdicts = {f"http://a.test/{number}": [FORBIDDEN] for number in range(15, 19)}
    rig = Rig(site, verdicts=verdicts)
    async with rig.engine(concurrency=16) as engine:
        assert await engine.run() is Ending.COMPLETE
        stats = rig.store.counters
    records, counters = rig.sink.records, engine.counters
    assert counters.pages == sum(record.status == 200 for record in records) == 22
    assert counters.redirects == sum(record.redirect is not None for record in records) == 9
    assert counters.failed == sum(record.state == "failed" for record in records) == stats.failed == 5
    assert (
        sum(counters.excluded.values()) == sum(record.state == "excluded" for record in records) == stats.excluded == 4
    )
    assert counters.admitted + 1 == len(records) == stats.admitted == 49
    assert counters.responses == {200: 22, 301: 9, 404: 9}
    assert counters.bytes_received == sum(record.received_bytes or 0 for record in records)


@in_virtual_time
async def test_the_ledger_knows_what_became_of_each_url() -> None:
    rig = Rig({SEED: page(SEED, ["/1", "/2"], headers=[(b"ETag", b'"x"')]), "http://a.test/1": page("http://a.test/1")})
    await rig.run()
    seed = rig.store.reads.entry(SEED)
    missing = rig.store.reads.entry("http://a.test/2")
    assert seed is not None
    assert missing is not None
    assert (seed.state, seed.status, seed.etag) == (UrlState.DONE, 200, '"x"')
    assert (missing.state, missing.status, missing.via) == (UrlState.DONE, 404, SEED)


@in_virtual_time
async def test_a_page_is_fetched_again_only_if_it_has_changed() -> None:
    headers = [(b"ETag", b'"x"'), (b"Last-Modified", b"Sat, 01 Jan 2022 00:00:00 GMT")]
    current = NotModified(url=SEED, status=304, headers=[], fetched_at=START, duration_s=0.0)
    rig = Rig({SEED: [page(SEED, headers=headers), current, current]})
    async with rig.engine() as engine:
        parts = engine._components
        for _ in range(3):
            await engine.run()
            await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    told = [(request.etag, request.last_modified) for request in rig.web.requests]
    assert told == [(None, None), *[('"x"', "Sat, 01 Jan 2022 00:00:00 GMT")] * 3]


@in_virtual_time
async def test_a_page_that_fails_for_good_has_not_changed() -> None:
    rig = Rig({SEED: [page(SEED), *[page(SEED, ["/sorry"], status=500)] * 4]})
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    failed = rig.sink.records[-1]
    assert (failed.state, failed.status, failed.visit, failed.change) == ("failed", 500, 2, None)
    visited = rig.store.reads.entry(SEED)
    assert visited is not None
    assert visited.history == ()


@pytest.mark.parametrize("max_attempts", [1, 4])
@in_virtual_time
async def test_an_answer_without_a_body_does_not_count_if_the_archive_has_begun_anew_meanwhile(
    max_attempts: int,
) -> None:
    headers = [(b"ETag", b'"x"')]
    current = NotModified(url=SEED, status=304, headers=[], fetched_at=START, duration_s=0.0)
    rig = Rig({SEED: [page(SEED, headers=headers), current, page(SEED, headers=headers)]})
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        visited = rig.store.reads.entry(SEED)
        assert visited is not None
        began = visited.fetched_at or 0.0
        policy = msgspec.structs.replace(parts.policy_for(SEED), max_attempts=max_attempts)
        engine._pipeline._components = msgspec.structs.replace(
            parts, archive_began=lambda: VisitsSince(at=began), policy_for=lambda _: policy
        )
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    assert [request.etag for request in rig.web.requests] == [None, '"x"', None]
    settled = rig.store.reads.entry(SEED)
    assert settled is not None
    assert (settled.state, settled.status, settled.visits) == (UrlState.DONE, 200, 2)


@in_virtual_time
async def test_validators_that_are_too_long_to_be_sent_back_are_not_kept() -> None:
    headers = [(b"ETag", b'"%s"' % (b"x" * 1000)), (b"Last-Modified", b"y" * 1001)]
    rig = Rig({SEED: [page(SEED, headers=headers)] * 2})
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    assert [(request.etag, request.last_modified) for request in rig.web.requests] == [(None, None)] * 2
    settled = rig.store.reads.entry(SEED)
    assert settled is not None
    assert (settled.etag, settled.last_modified) == (None, None)


@pytest.mark.parametrize("truncated", ["time", "disconnect", "partial", "length", "encoding"])
@in_virtual_time
async def test_a_page_that_may_come_whole_the_next_time_is_asked_for_without_validators(truncated: str) -> None:
    headers = [(b"ETag", b'"x"'), (b"Last-Modified", b"Sat, 01 Jan 2022 00:00:00 GMT")]
    broken = msgspec.structs.replace(page(SEED, headers=headers), truncated=truncated)
    rig = Rig({SEED: [broken, page(SEED, headers=headers)]})
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    is_all_there_is = truncated in ("length", "encoding")
    told = [(request.etag, request.last_modified) for request in rig.web.requests]
    assert told[1] == (('"x"', "Sat, 01 Jan 2022 00:00:00 GMT") if is_all_there_is else (None, None))


class _Repeating:
    """Says of each page that it repeats another one."""

    def __init__(self, *, is_kept: bool) -> None:
        self._is_kept = is_kept

    async def judge(self, _extract: Extract, /, *, url: CrawlUrl) -> Repeat:
        return Repeat(refusal="canonical", is_kept=self._is_kept)


@pytest.mark.parametrize("is_kept", [True, False])
@in_virtual_time
async def test_a_page_whose_links_were_not_followed_is_asked_for_without_validators(is_kept: bool) -> None:
    """Otherwise a 304 would take it for one that was followed, also when the page that it repeats is gone."""
    rig = Rig({SEED: [page(SEED, headers=[(b"ETag", b'"x"')])] * 2})
    rig.repeats = _Repeating(is_kept=is_kept)
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    assert [request.etag for request in rig.web.requests] == [None, None]


@in_virtual_time
async def test_what_is_tried_again_is_asked_for_without_validators() -> None:
    headers = [(b"ETag", b'"x"'), (b"Last-Modified", b"Sat, 01 Jan 2022 00:00:00 GMT")]
    trouble = Failure(url=SEED, kind=FailureKind.PROTOCOL, message="", fetched_at=START, duration_s=0.0)
    rig = Rig({SEED: [page(SEED, headers=headers), trouble, page(SEED, headers=headers)]})
    async with rig.engine() as engine:
        await engine.run()
        parts = engine._components
        await parts.frontier.add(parts.discovery.seeds([SEED]), force=True)
        await engine.run()
    told = [request.etag for request in rig.web.requests]
    assert told == [None, '"x"', None]
    settled = rig.store.reads.entry(SEED)
    assert settled is not None
    assert (settled.state, settled.status, settled.etag) == (UrlState.DONE, 200, '"x"')


@in_virtual_time
async def test_what_is_in_flight_tells_its_stage() -> None:
    rig = Rig(star(1), pace=QUICK)
    rig.web.duration_s = 5.0
    async with rig.engine() as engine:
        running = asyncio.ensure_future(engine.run())
        await asyncio.sleep(1)
        (work,) = engine.counters.in_flight.values()
        assert (work.url, work.stage) == (SEED, "the server")
        await running


class Slow(Records):
    """A sink that takes long, such as a database whose server does not answer."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        await asyncio.sleep(60)
        await super().write(page, record)


@in_virtual_time
@pytest.mark.parametrize(
    ("seed", "verdicts"),
    [(SEED, []), (SEED, [FORBIDDEN]), ("a.test", [msgspec.structs.replace(FORBIDDEN, no_connection=True)])],
    ids=["fetched", "forbidden", "no-https"],
)
async def test_what_waits_for_a_sink_says_so(seed: str, verdicts: list[Verdict]) -> None:
    url = SEED if seed == SEED else "https://a.test/"
    rig = Rig(star(1), verdicts={url: verdicts} if verdicts else {})
    rig.sink = Slow(rig.events)
    async with rig.engine(seeds=[seed]) as engine:
        running = asyncio.ensure_future(engine.run())
        await asyncio.sleep(30)
        (work,) = engine.counters.in_flight.values()
        assert (work.url, work.stage) == (url, "the storing")
        await running


@in_virtual_time
async def test_sitemaps_that_robots_txt_names_are_read_where_wanted_and_count_as_no_pages() -> None:
    sitemap, hidden = "http://a.test/sitemap.xml", "http://a.test/hidden"
    site = star(3) | {sitemap: page(sitemap, [hidden]), hidden: page(hidden)}
    for wanted in (True, False):
        rig = Rig({**site})
        rig.rules.sitemaps = {SEED: [Link("/sitemap.xml", LinkKind.SITEMAP)]}
        engine = await rig.run(sitemaps=wanted)
        assert (hidden in rig.urls) is wanted
        assert (sitemap in rig.urls) is wanted
        assert engine.counters.pages == 3 + wanted


@in_virtual_time
async def test_a_host_that_has_given_enough_pages_is_asked_no_more_and_its_urls_say_why() -> None:
    rig = Rig(star(10))
    rig.quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=4))
    engine = await rig.run(concurrency=1)
    assert engine.counters.pages == 4
    assert engine.counters.excluded == {"pages-per-host": 6}
    assert [record.reason for record in rig.sink.records if record.state == "excluded"] == ["pages-per-host"] * 6
    assert sum(rig.web.asked.values()) == 4


@in_virtual_time
async def test_what_the_scope_refuses_by_the_time_of_its_turn_is_not_asked_for() -> None:
    rig = Rig(star(4))
    rig.quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=3))
    rig.refusal_while_waiting = lambda url: "excluded" if url.url.endswith("/2") else None
    engine = await rig.run()
    assert engine.counters.excluded == {"excluded": 1}
    (record,) = (record for record in rig.sink.records if record.state == "excluded")
    assert (record.url, record.reason) == ("http://a.test/2", "excluded")
    assert record.message == "the scope was changed while it waited"
    assert ("robots", "http://a.test/2") not in rig.events
    assert sorted(rig.web.asked) == ["http://a.test/", "http://a.test/1", "http://a.test/3"]


@in_virtual_time
async def test_the_choices_of_a_300_are_followed_and_count_for_the_quota() -> None:
    choices = [f"http://a.test/{number}" for number in range(9)]
    rig = Rig({url: page(url, choices, status=300) for url in [SEED, *choices]})
    rig.quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=4))
    engine = await rig.run(concurrency=1)
    assert sum(rig.web.asked.values()) == 4
    assert engine.counters.pages == 0


@pytest.mark.parametrize("is_sitemap", [False, True])
@in_virtual_time
async def test_visits_to_what_was_fetched_before_use_up_no_quota(is_sitemap: bool) -> None:
    other = "http://a.test/other"
    rig = Rig({SEED: page(SEED), other: page(other)})
    rig.quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=2))
    rig.sitemap_quota = SitemapQuota(MemoryNotes(), lambda _: SitemapLimits(per_host=2, bytes_per_host=10**9))
    async with rig.engine(concurrency=1) as engine:
        await engine.run()
        parts = engine._components
        [seed] = parts.discovery.seeds([SEED])
        kind = LinkKind.SITEMAP if is_sitemap else LinkKind.SEED
        urls = [msgspec.structs.replace(seed, url=url, canonical=url, kind=kind) for url in (SEED, other)]
        for _ in range(4):
            await parts.frontier.add(urls[:1], force=True)
            await engine.run()
        await parts.frontier.add(urls, force=True)
        await engine.run()
    assert rig.web.asked == {SEED: 6, other: 1}
    assert not engine.counters.excluded


@in_virtual_time
async def test_what_a_quota_refused_is_refused_again_when_it_is_visited_again() -> None:
    other = "http://a.test/other"
    rig = Rig({SEED: page(SEED, [other]), other: page(other)})
    rig.quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=1))
    async with rig.engine(concurrency=1) as engine:
        await engine.run()
        for _ in range(2):
            parts = engine._components
            await parts.frontier.add(parts.discovery.seeds([SEED, other]), force=True)
            await engine.run()
    assert rig.web.asked == {SEED: 3}
    assert engine.counters.excluded == {"pages-per-host": 3}


def tree(branches: int, levels: int) -> dict[str, Page]:
    """Sitemaps in levels, of which each but the last names so many; each names a page, too."""
    site = {SEED: page(SEED)}
    names = ["/0.xml"]
    for level in range(levels):
        below: list[str] = []
        for name in names:
            url = f"http://a.test{name}"
            inner = [name.replace(".xml", f"-{number}.xml") for number in range(branches)] if level < levels - 1 else []
            below += inner
            site[url] = page(url, [*inner, name.replace(".xml", ".html")])
            site[url.replace(".xml", ".html")] = page(url.replace(".xml", ".html"))
        names = below
    return site


def asked_sitemaps(rig: Rig) -> int:
    return sum(request.is_sitemap for request in rig.web.requests)


@in_virtual_time
async def test_the_sitemaps_of_a_host_are_bounded_and_those_left_say_why() -> None:
    rig = Rig({**tree(4, 4)})
    rig.rules.sitemaps = {SEED: [Link("/0.xml", LinkKind.SITEMAP)]}
    notes = MemoryNotes()
    rig.sitemap_quota = SitemapQuota(notes, lambda _: SitemapLimits(per_host=30, bytes_per_host=10**9))
    engine = await rig.run(sitemaps=True, concurrency=1)
    assert asked_sitemaps(rig) == 30
    assert engine.counters.excluded == {"sitemaps-per-host": 1 + 4 + 16 + 64 - 30}
    assert engine.counters.pages == 1 + 30
    again = SitemapQuota(notes, lambda _: SitemapLimits(per_host=30, bytes_per_host=10**9))
    assert again.refusal("http://a.test/more.xml") == "sitemaps-per-host"
    assert again.refusal("http://b.test/more.xml") is None


@in_virtual_time
async def test_a_deep_tree_of_sitemaps_keeps_no_pages_waiting() -> None:
    rig = Rig({**tree(10, 4), **star(40)})
    rig.rules.sitemaps = {SEED: [Link("/0.xml", LinkKind.SITEMAP)]}
    await rig.run(Ending.LIMIT, sitemaps=True, concurrency=1, limits=Limits(pages=45))
    assert 1 < asked_sitemaps(rig) <= 1 + 10
    await rig.run(sitemaps=True, concurrency=1)
    assert asked_sitemaps(rig) == 1 + 10 + 100 + 1000


@in_virtual_time
async def test_the_bytes_of_a_hosts_sitemaps_are_bounded() -> None:
    site = tree(4, 4)
    rig = Rig({**site})
    rig.rules.sitemaps = {SEED: [Link("/0.xml", LinkKind.SITEMAP)]}
    size = len(site["http://a.test/0.xml"].raw_body)
    rig.sitemap_quota = SitemapQuota(MemoryNotes(), lambda _: SitemapLimits(per_host=10**9, bytes_per_host=size + 1))
    engine = await rig.run(sitemaps=True, concurrency=1)
    assert asked_sitemaps(rig) == 2
    assert engine.counters.excluded == {"sitemap-bytes-per-host": 1 + 4 + 4 - 2}


@in_virtual_time
async def test_sitemaps_count_for_the_limit_of_bytes_and_none_is_begun_when_the_pages_are_fetched() -> None:
    site = tree(4, 4)
    rig = Rig({**site})
    rig.rules.sitemaps = {SEED: [Link("/0.xml", LinkKind.SITEMAP)]}
    engine = await rig.run(Ending.LIMIT, sitemaps=True, concurrency=8, limits=Limits(pages=3))
    assert engine.counters.pages == 3
    assert not rig.web.requests[-1].is_sitemap
    rig = Rig({**site})
    rig.rules.sitemaps = {SEED: [Link("/0.xml", LinkKind.SITEMAP)]}
    received = sum(len(site[f"http://a.test/{name}.xml"].raw_body) for name in ("0", "0-0"))
    await rig.run(Ending.LIMIT, sitemaps=True, concurrency=1, limits=Limits(bytes=received))
    assert asked_sitemaps(rig) == 2


# hosts that do not answer

DEAD = [f"http://dead.test/{number}" for number in range(40)]


def web_with(dead: Site) -> Site:
    """Two hosts of ten pages each, one of which links to all that is dead."""
    return {**star(10), **star(10, host="b.test"), SEED: page(SEED, [*star(10), "http://b.test/", *dead]), **dead}


@pytest.mark.parametrize("kind", [FailureKind.CONNECT, FailureKind.TIMEOUT])
@in_virtual_time
async def test_a_dead_host_is_tried_with_one_url_at_a_time_and_its_others_are_not_burnt(kind: FailureKind) -> None:
    rig = Rig(web_with({url: failure(url, kind) for url in DEAD}), per_host=1)
    engine = await rig.run(concurrency=8)
    asked = [url for name, url in rig.events if name == "fetch" and url in DEAD]
    assert len(asked) == 8
    assert len(set(asked)) == (3 if kind is FailureKind.CONNECT else 8)
    records = [record for record in rig.sink.records if record.url in DEAD]
    assert len(records) == 40
    assert {(record.state, record.reason) for record in records} == {("failed", kind.value)}
    unasked = [record for record in records if record.message and record.message.startswith("not asked for")]
    assert len(unasked) == 40 - len({record.url for record in records if record.fetched_at is not None})
    assert engine.counters.failed == rig.store.counters.failed == 40
    assert engine.counters.pages == 20


@in_virtual_time
async def test_a_host_that_answered_with_errors_is_not_dead_when_one_connection_is_lost() -> None:
    star_urls = list(star(30))
    broken = {url: page(url, status=500) for url in star_urls[1:10]}
    lost = {star_urls[10]: failure(star_urls[10], FailureKind.DISCONNECTED)}
    rig = Rig({**star(30), **broken, **lost}, per_host=1)
    engine = await rig.run(concurrency=1)
    assert set(rig.web.asked) == set(star_urls)
    assert engine.counters.pages == 30 - 9 - 1


@in_virtual_time
async def test_a_host_whose_bodies_broke_off_is_not_dead_when_one_connection_is_lost() -> None:
    star_urls = list(star(30))
    torn = {url: msgspec.structs.replace(page(url), truncated="disconnect") for url in star_urls[1:9]}
    lost = {star_urls[9]: failure(star_urls[9], FailureKind.DISCONNECTED)}
    rig = Rig({**star(30), **torn, **lost}, per_host=1)
    engine = await rig.run(concurrency=1)
    assert set(rig.web.asked) == set(star_urls)
    assert (engine.counters.pages, engine.counters.failed) == (30 - 1, 1)


@in_virtual_time
async def test_a_host_that_sends_no_more_than_headers_is_not_dead() -> None:
    star_urls = list(star(30))
    headers_only = {
        url: msgspec.structs.replace(failure(url, kind), answered=True)
        for url, kind in zip(star_urls[1:11], [FailureKind.DISCONNECTED, FailureKind.TIMEOUT] * 5, strict=True)
    }
    rig = Rig({**star(30), **headers_only}, per_host=1)
    engine = await rig.run(concurrency=1)
    assert set(rig.web.asked) == set(star_urls)
    assert (engine.counters.pages, engine.counters.failed) == (30 - 10, 10)


@in_virtual_time
async def test_a_dead_host_whose_robots_txt_cannot_be_had_is_excluded_whole() -> None:
    gone = Verdict(allowed=False, reason="unreachable", asked=True, retry_after_s=5.0, message="dns: no such name")
    rig = Rig(web_with({url: page(url) for url in DEAD}), verdicts={url: [gone] for url in DEAD}, per_host=1)
    engine = await rig.run(concurrency=8)
    records = [record for record in rig.sink.records if record.url in DEAD]
    assert {(record.state, record.reason) for record in records} == {("excluded", "unreachable")}
    assert len(records) == engine.counters.excluded["unreachable"] == 40
    assert engine.counters.failures["robots-unreachable"] == 5
    assert not any(url in DEAD for name, url in rig.events if name == "fetch")


@in_virtual_time
async def test_one_answer_closes_the_circuit_and_all_urls_are_fetched() -> None:
    dead: Site = {url: page(url) for url in DEAD}
    dead[DEAD[0]] = [failure(DEAD[0]), failure(DEAD[0]), page(DEAD[0])]
    rig = Rig(web_with(dead), per_host=1)
    async with rig.engine(concurrency=8) as engine:
        assert await engine.run() is Ending.COMPLETE
        assert rig.web.asked[DEAD[0]] == 3
        assert {rig.web.asked[url] for url in DEAD[1:]} == {1}
        assert engine.counters.pages == 60


@in_virtual_time
async def test_what_comes_for_a_dead_host_later_is_given_up_until_it_is_time_for_another_try() -> None:
    rig = Rig(web_with({url: failure(url) for url in DEAD}), per_host=1)
    await rig.run()
    late = [f"http://dead.test/late/{number}" for number in range(3)]
    async with rig.engine(seeds=[SEED, late[0], late[1]]) as engine:
        assert await engine.run() is Ending.COMPLETE
        assert not rig.web.asked.keys() & set(late)
        assert engine.counters.failed == 2
    await asyncio.sleep(200)  # longer than the longest rest of this crawl
    async with rig.engine(seeds=[SEED, late[2]]) as engine:
        assert await engine.run() is Ending.COMPLETE
        assert rig.web.asked[late[2]] == 1


@in_virtual_time
async def test_hosts_that_keep_a_crawl_waiting_take_no_turns_from_others() -> None:
    silent = [f"http://silent{number}.test/" for number in range(30)]
    quick = [f"http://quick{number}.test/{page}" for page in range(10) for number in range(10)]
    site: Site = {url: page(url) for url in [*quick, *silent]}
    rig = Rig({SEED: page(SEED, [*silent, *quick]), **site}, per_host=1)
    rig.web.durations_s = dict.fromkeys(silent, 1000.0)
    rig.web.duration_s = 0.01
    await rig.run(concurrency=4, spare=30)
    # Each silent host takes a turn for as long as patience lasts: half a second before anything is known.
    assert max(rig.sink.written_at[url] for url in quick) - START < 5.0
    assert min(rig.sink.written_at[url] for url in silent) - START >= 1000.0
    assert rig.web.most_busy <= 34


@in_virtual_time
async def test_no_more_than_the_spare_fetches_wait_beside_those_that_go_on() -> None:
    silent = [f"http://silent{number}.test/" for number in range(30)]
    rig = Rig({SEED: page(SEED, silent), **{url: page(url) for url in silent}}, per_host=1)
    rig.web.durations_s = dict.fromkeys(silent, 100.0)
    await rig.run(concurrency=4, spare=6)
    assert rig.web.most_busy == 10


# hours


@in_virtual_time
async def test_hosts_are_asked_at_their_hours_alone_also_after_a_restart() -> None:
    rig = Rig(star(6), pace=Pace(min_delay_s=1900.0, max_delay_s=1900.0), per_host=1)
    rig.hours = Hours("06:00-08:00")  # it begins at 22:13
    async with rig.engine(limits=Limits(seconds=3600.0)) as engine:
        assert await engine.run() is Ending.LIMIT
        assert not rig.web.asked
        stats = engine._components.frontier.describe()
        assert stats.next_wake_why == "its hours"
    await rig.run()
    hours = [datetime.fromtimestamp(at, UTC) for at in rig.sink.written_at.values()]
    assert [(moment.day, moment.hour) for moment in hours] == [(15, 6), (15, 6), (15, 7), (15, 7), (16, 6), (16, 6)]
