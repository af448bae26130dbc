"""The stored URLs of a crawl, divided anew among its parts."""

import asyncio
import shutil
from pathlib import Path
from random import Random

import plyvel
import pytest

from crawler.testing.frontier.crawls import DONE
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, Place, StoreFailed, StoreRefused, UrlState
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.format import keys
from frontier.queues.settings import QueueSettings
from frontier.records import Counters
from frontier.regroup import sources
from frontier.regroup.regroup import abandon, regroup
from frontier.values import Budgets
from tests.unit.frontier.regrouping import OF_RECORDS, Divided, url_at

SETTINGS = QueueSettings(budgets=Budgets(total=200))


async def crawl(divided: Divided, urls: int, hosts: int) -> None:
    """A crawl with URLs in every state."""
    dice = Random(1)
    frontier = await divided.open(settings=SETTINGS)
    for first in range(0, urls, 500):
        await frontier.add(
            [
                url_at(f"h{dice.randrange(hosts)}", f"{number}", precedence=dice.choice((1, 128)), depth=number % 7)
                for number in range(first, min(urls, first + 500))
            ]
        )
    for number in range(min(urls // 2, 4 * hosts)):
        lease = await anext(frontier)
        match number % 8:
            case 0:
                await frontier.retry(lease, after_s=3600.0 + number, cooldown_s=1.0, reason="no-answer")
            case 1:
                await frontier.retry(lease, after_s=None, cooldown_s=60.0, reason="status-503", answered=True)
            case 2:
                failed = Outcome(state=UrlState.FAILED, reason="status-404", status=404, fetched_at=1.5)
                await frontier.done(lease, cooldown_s=1.0, outcome=failed)
            case 3:
                excluded = Outcome(state=UrlState.EXCLUDED, reason="robots")
                await frontier.done(lease, cooldown_s=0.0, outcome=excluded)
            case _:
                await frontier.add([url_at(f"h{dice.randrange(hosts)}", f"{number}") for number in range(20)])
                done = Outcome(state=UrlState.DONE, status=200, digest=b"x" * 20, etag='"e"', fetched_at=2.5)
                await frontier.done(lease, cooldown_s=1.0, outcome=done)
    await frontier.retire("test,h0")
    await frontier.set_budget("test,h1", 7)
    await frontier.aclose()
    store = divided.open_store()
    for host in range(hosts):
        store.notes.put(f"robots h{host}", b"allow %d" % host)
    store.marks.set_paused("for the night")
    store.close()


@in_virtual_time
async def test_a_crawl_that_is_divided_and_put_together_again_is_the_same(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 8_000, 120)
    before, counters, turns = divided.content(), divided.counters(), divided.turns()
    assert counters.retrying > 10
    assert counters.retired_queues
    done = await divided.divide(4)
    assert (done.urls, done.retrying) == (counters.admitted, counters.retrying)
    assert divided.content() == before
    divided.check()
    each = [
        len({key for key in before if key[:1] == b"L"} & set(plain_keys(place.directory))) for place in divided.parts
    ]
    assert min(each) > 500
    check_sums(divided.counters(), counters)
    with divided.stores() as stores:
        assert {store.marks.paused for store in stores} == {"for the night"}
    await divided.divide(1)
    assert divided.content() == before
    assert divided.turns() == turns
    divided.check()
    check_sums(divided.counters(), counters)


def check_sums(found: Counters, expected: Counters) -> None:
    for name in (*OF_RECORDS, *sources.OF_FIRST):
        assert getattr(found, name) == getattr(expected, name), name


def plain_keys(directory: Path) -> list[bytes]:
    database = plyvel.DB(str(directory))
    try:
        return list(database.iterator(include_value=False))
    finally:
        database.close()


def test_each_kind_of_record_and_each_counter_has_its_place() -> None:
    assert {bytes([space]) for space in sources._SPACES} == keys.SPACES
    assert {space for name, space in vars(keys).items() if name.endswith("_SPACE")} == keys.SPACES
    begin_anew = ("next_number", "next_turn", "journal_end", "batches", "allowance")
    named = (*OF_RECORDS, *sources.OF_FIRST, *sources.OF_HIGHEST, *begin_anew, "earlier")
    assert sorted(named) == sorted(Counters.__struct_fields__)


class Killed(Exception):
    pass


@in_virtual_time
async def test_it_goes_on_wherever_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 300, 12)
    monkeypatch.setattr("frontier.regroup.filling._RECORDS_TOGETHER", 40)
    before = divided.content()
    write, left = Database.write, 0

    def write_or_die(database: Database, batch: Batch) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        write(database, batch)

    monkeypatch.setattr(Database, "write", write_or_die)
    for parts in (3, 1):
        kills, is_complete, job = 0, False, divided.job(parts)
        while not is_complete:
            # Two lives end after each number of writes, where the one before has come to.
            left = kills // 2
            try:
                await regroup(job)
                is_complete = True
            except Killed:
                kills += 1
        assert kills > 10
        left = 1_000_000
        divided.follow(job)
        assert divided.content() == before
        divided.check()
    left = 1_000_000


@in_virtual_time
async def test_a_crawl_that_is_being_divided_can_t_be_opened_until_that_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 300, 12)
    before, job = divided.content(), divided.job(3)
    with monkeypatch.context() as patched:
        patched.setattr("frontier.regroup.regroup._check", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await regroup(job)
    for place in (*job.sources, *job.targets):
        divided.parts = [place]
        with pytest.raises(StoreRefused, match="being divided among other parts"):
            divided.open_store()
    divided.parts = list(job.sources)
    abandon(job)
    assert divided.content() == before
    divided.check()
    assert not any(target.directory.exists() for target in job.targets)


@in_virtual_time
async def test_a_note_of_no_declared_kind_refuses_before_anything_has_changed(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 30, 3)
    store = divided.open_store()
    store.notes.put("horoscope h1", b"good")
    store.close()
    with pytest.raises(StoreRefused, match="horoscope h1"):
        await regroup(divided.job(2))
    divided.check()


@in_virtual_time
async def test_a_damaged_source_refuses(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 300, 12)
    copy = tmp_path / "copy"
    for key, value, message in (
        (b"Lhttp://h1.test/x", b"\xc1", "Lhttp://h1.test/x"),
        (b"Ltest:unknown", b"", "Ltest:unknown"),
        (b"Mhoroscope", b"", "Mhoroscope"),
        (b"Zx", b"", "of kind b'Z'"),
    ):
        shutil.copytree(divided.parts[0].directory, copy)
        database = plyvel.DB(str(divided.parts[0].directory))
        database.put(key, value)
        database.close()
        job = divided.job(2)
        with pytest.raises((StoreFailed, StoreRefused), match=message):
            await regroup(job)
        abandon(job)
        shutil.rmtree(divided.parts[0].directory)
        copy.rename(divided.parts[0].directory)
    divided.check()


@in_virtual_time
async def test_links_on_their_way_are_admitted_where_they_belong(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 200, 20)
    await divided.divide(3)
    urls = [url_at(f"h{number % 40}", f"new-{number}") for number in range(400)]
    known = divided.urls()
    own = 0
    for number in range(3):
        frontier = await divided.open(number)
        own += await frontier.add(urls[number::3])
        await frontier.aclose()
    done = await divided.divide(2)
    assert done.links == done.new == 400 - own > 100
    assert divided.urls() == known | {url.canonical for url in urls}
    divided.check()
    await divided.divide(1)
    assert divided.urls() == known | {url.canonical for url in urls}
    divided.check()


@in_virtual_time
async def test_a_link_that_has_arrived_is_not_counted_again(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 200, 20)
    await divided.divide(2)
    urls = [url_at(f"h{number % 40}", f"new-{number}") for number in range(100)]
    frontiers = [await divided.open(number) for number in range(2)]
    await frontiers[0].add(urls)
    sender, receiver = (frontier.part_links for frontier in frontiers)
    assert sender is not None
    assert receiver is not None
    parcels = sender.parcels(1, 1, sender.waiting(1))
    await receiver.admit(0, Place(sender.incarnation, len(parcels)), parcels)
    for frontier in frontiers:
        await frontier.aclose()
    before = divided.states()
    done = await divided.divide(1)
    assert done.links == 0
    assert divided.states() == before


@in_virtual_time
async def test_after_a_crash_the_queues_of_all_parts_rest(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    frontier = await divided.open()
    await frontier.add([url_at(f"h{number}", "1") for number in range(20)])
    await anext(frontier)
    dead = tmp_path / "dead"
    shutil.copytree(divided.parts[0].directory, dead)
    await frontier.aclose()
    shutil.rmtree(divided.parts[0].directory)
    dead.rename(divided.parts[0].directory)
    await divided.divide(3)
    frontiers = [await divided.open(number, rest_after_crash_s=60.0) for number in range(3)]
    started = asyncio.get_running_loop().time()
    for frontier in frontiers:
        lease = await anext(frontier)
        await frontier.done(lease, cooldown_s=0.0, outcome=DONE)
        assert asyncio.get_running_loop().time() >= started + 60.0
    for frontier in frontiers:
        await frontier.aclose()


@in_virtual_time
async def test_a_quarantined_record_is_kept_with_its_queue(tmp_path: Path) -> None:
    divided = Divided(tmp_path)
    await crawl(divided, 400, 12)
    postponed, pending = (next(iter(divided.records(space))) for space in (b"R", b"P"))
    database = plyvel.DB(str(divided.parts[0].directory))
    for key in (postponed, pending):
        database.put(key, b"\xc1")
    database.close()
    store = divided.open_store()
    assert len(store.reads.due(1 << 50, limit=1)) == 1
    store.reads.pending_urls(pending[1:-9].decode(), after=-1, limit=1)
    store.close()
    assert set(divided.records(b"X")) == {b"X" + postponed, b"X" + pending}
    before = divided.content()
    for parts in (4, 1):
        await divided.divide(parts)
        assert divided.content() == before
        divided.check()
