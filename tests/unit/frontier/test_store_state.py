"""A store as the state of a frontier, beside what the suite of all frontiers shows."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from crawler.testing.frontier.crawls import DONE, next_lease, no_lease_for, page, pages
from crawler.testing.loops import in_virtual_time
from frontier import KnownUrl, Outcome, StoreFailed, StoreFull, StoreRefused, UrlState
from frontier.backends import BACKENDS, descriptor
from frontier.descriptor import Parameters
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.store import LevelDBStore
from frontier.state import FrontierState
from frontier.states.store_state import StoreState
from frontier.terms import Terms
from tests.unit.frontier.crawls import leveldb
from visited.descriptor import checked_options
from visited.digests.exact import ExactSet

TERMS = Terms(identity={"rules": "1"})


def opened(name: str, directory: Path, terms: Terms = TERMS) -> FrontierState:
    chosen = descriptor(name)
    folder = directory / "frontier" if "directory" in chosen.needs else None
    return chosen.make(Parameters(terms=terms, directory=folder), checked_options(chosen.options, {}))


@pytest.mark.parametrize("name", BACKENDS)
async def test_an_operator_s_change_beside_an_open_frontier_is_refused(name: str, tmp_path: Path) -> None:
    state = opened(name, tmp_path)
    frontier = await state.open_frontier(ExactSet())
    with pytest.raises(ValueError, match="ask that"):
        await state.pause("rain")  # type: ignore[attr-defined]
    assert frontier.describe().paused is None
    await frontier.aclose()
    state.close()


@pytest.mark.parametrize("name", BACKENDS)
async def test_a_state_describes_the_frontier_that_is_open_over_it(name: str, tmp_path: Path) -> None:
    state = opened(name, tmp_path)
    frontier = await state.open_frontier(ExactSet())
    await frontier.add(pages(2, 2))
    await anext(frontier)
    assert state.describe() == frontier.describe()
    assert state.describe().in_process == 1
    await frontier.aclose()


@in_virtual_time
async def test_queues_of_a_crawl_that_may_have_moved_rest_first_whatever_the_time_is_on_this_machine(
    tmp_path: Path,
) -> None:
    loop = asyncio.get_running_loop()

    def on_machine(ahead_s: float) -> FrontierState:
        return descriptor("leveldb").make(
            Parameters(
                terms=TERMS,
                directory=tmp_path / "frontier",
                clock=lambda: 1e9 + ahead_s + loop.time(),
                before_write=lambda: None,
            ),
            checked_options(descriptor("leveldb").options, {}),
        )

    frontier = await on_machine(0).open_frontier(ExactSet())
    await frontier.add([page("a", "1"), page("a", "2")])
    await frontier.done(await next_lease(frontier), cooldown_s=60, outcome=DONE)
    await frontier.aclose()
    for ahead_s in (600, -600):
        frontier = await on_machine(ahead_s).open_frontier(ExactSet())
        assert await no_lease_for(frontier, 59)
        await frontier.aclose()


@in_virtual_time
async def test_time_goes_on_between_runs_after_the_clock_was_set_back(tmp_path: Path) -> None:
    loop, day_s = asyncio.get_running_loop(), 86_400.0

    def opened_by(ahead_s: float) -> FrontierState:
        return descriptor("leveldb").make(
            Parameters(terms=TERMS, directory=tmp_path / "frontier", clock=lambda: 1e9 + ahead_s + loop.time()),
            checked_options(descriptor("leveldb").options, {}),
        )

    frontier = await opened_by(400 * day_s).open_frontier(ExactSet())
    await frontier.add([page("a", "1"), page("a", "2")])
    await frontier.done(await next_lease(frontier), cooldown_s=7 * day_s, outcome=DONE)
    await frontier.aclose()
    for days_off in (1, 3, 3):  # which of the first is not known after the clock was set back
        await asyncio.sleep(days_off * day_s)
        frontier = await opened_by(0).open_frontier(ExactSet())
        assert await no_lease_for(frontier, 1)
        await frontier.aclose()
    await asyncio.sleep(day_s)
    frontier, opened_at = await opened_by(0).open_frontier(ExactSet()), loop.time()
    assert (await next_lease(frontier)).url == page("a", "2")
    assert loop.time() - opened_at < day_s
    await frontier.aclose()


@in_virtual_time
async def test_times_are_told_by_the_system_s_clock_after_that_was_set_back(tmp_path: Path) -> None:
    loop, day_s = asyncio.get_running_loop(), 86_400.0

    def opened_by(ahead_s: float) -> StoreState[LevelDBStore]:
        parameters = Parameters(terms=TERMS, directory=tmp_path / "frontier", clock=lambda: 1e9 + ahead_s + loop.time())
        state = descriptor("leveldb").make(parameters, checked_options(descriptor("leveldb").options, {}))
        assert isinstance(state, StoreState)
        return state

    def told(state: StoreState[LevelDBStore]) -> list[int]:
        """How long everything takes from now on, by the system's clock."""
        queues, known = list(state.queues()), [each for each in state.all_known() if isinstance(each, KnownUrl)]
        assert [state.queue(queue.key) for queue in queues] == queues
        assert [state.known(each.entry.canonical) for each in known] == known
        times = [each for queue in queues for each in (queue.wake_at, queue.health.probe_at)]
        times += [each.due_at for each in known if each.due_at is not None]
        times += [each.entry.due_ms / 1000 for each in known if each.entry.due_ms is not None]
        return [round(at - 1e9 - loop.time()) for at in times if at]

    frontier = await opened_by(400 * day_s).open_frontier(ExactSet())
    await frontier.add([page("a"), page("b")])
    revisited = msgspec.structs.replace(DONE, revisit_after_s=500, server_ok=False, dead_for_s=300)
    await frontier.done(await next_lease(frontier), cooldown_s=10, outcome=revisited)
    await frontier.retry(await next_lease(frontier), after_s=1000, cooldown_s=200)
    await frontier.aclose()
    state = opened_by(0)
    assert told(state) == [10, 300, 200, 1000, 500]
    frontier = await state.open_frontier(ExactSet())
    assert told(state) == [10, 300, 200, 1000, 500]
    shown = state.known("http://a.test/")
    assert shown is not None
    assert await frontier.status_of("http://a.test/") == shown.entry
    await frontier.aclose()


@pytest.mark.parametrize("name", BACKENDS)
def test_the_options_of_a_backend_are_checked(name: str) -> None:
    assert checked_options(descriptor(name).options, {}) == descriptor(name).options()


async def test_a_state_is_opened_on_its_terms(tmp_path: Path) -> None:
    state = opened("leveldb", tmp_path)
    frontier = await state.open_frontier(ExactSet())
    await frontier.add([page("a")])
    await frontier.aclose()
    with pytest.raises(StoreRefused, match="was crawled with rules = '1'"):
        opened("leveldb", tmp_path, Terms(identity={"rules": "2"}))
    (tmp_path / "other").mkdir()
    with pytest.raises(StoreFailed, match="it is empty, but the crawl has written output"):
        opened("leveldb", tmp_path / "other", Terms(identity={}, may_begin=False))


async def test_a_state_of_which_everything_was_forgotten_is_opened_though_it_is_empty(tmp_path: Path) -> None:
    frontier = await opened("leveldb", tmp_path).open_frontier(ExactSet())
    await frontier.add([page("a")])
    await frontier.done(await anext(frontier), cooldown_s=0, outcome=Outcome(state=UrlState.DONE))
    assert await frontier.forget([page("a").canonical]) == 1
    await frontier.aclose()
    opened("leveldb", tmp_path, Terms(identity={"rules": "1"}, may_begin=False)).close()


def test_notes_that_wait_for_space_are_listed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = leveldb(tmp_path)
    for key in ("robots a", "robots b", "hsts a"):
        store.notes.put(key, b"written")

    def full(_: Database) -> Batch:
        raise StoreFull("no space")

    monkeypatch.setattr(Database, "batch", full)
    store.notes.put("robots b", b"newer")
    store.notes.put("robots c", b"waits")
    assert dict(store.notes.items("robots ")) == {
        "robots a": b"written",
        "robots b": b"newer",
        "robots c": b"waits",
    }
    monkeypatch.undo()
    store.notes.write_rest()
    assert [key for key, _ in store.notes.items("")] == ["hsts a", "robots a", "robots b", "robots c"]
    store.close()


def test_notes_stay_in_memory_if_the_disk_is_full_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = leveldb(tmp_path)

    def full(_: Database) -> Batch:
        raise StoreFull("no space")

    monkeypatch.setattr(Database, "batch", full)
    store.notes.put("robots a", b"waits")
    store.notes.put("robots b", b"waits")
    with pytest.raises(StoreFull):
        store.notes.write_rest()
    assert dict(store.notes.items("")) == {"robots a": b"waits", "robots b": b"waits"}
    monkeypatch.undo()
    store.notes.write_rest()
    store.close()
    again = leveldb(tmp_path)
    assert dict(again.notes.items("")) == {"robots a": b"waits", "robots b": b"waits"}
    again.close()


def test_leveldb_needs_a_directory() -> None:
    with pytest.raises(ValueError, match="leveldb needs a directory"):
        descriptor("leveldb").make(Parameters(terms=TERMS), descriptor("leveldb").options())
