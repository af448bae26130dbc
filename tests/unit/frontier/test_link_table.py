"""Both tables of link counts: what is added comes out again, once, in whatever order."""

import gc
import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.testing.timeouts import MAX_WAIT_S
from frontier.link_table.table import (
    LinkTable,
    PythonLinkTable,
    make_link_table,
    python_digest,
    url_digest,
)
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.parametrize("make", [make_link_table, PythonLinkTable], ids=["best", "python"])
Make = Callable[[], LinkTable]


def names(count: int) -> list[str]:
    return [f"http://h{number % 7}.test/{number}" for number in range(count)]


def all_of(table: LinkTable) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    while len(table):
        for digest, count in table.take(1000, 0)[0]:
            assert digest not in found
            found[digest] = count
    return found


@given(seed=st.integers(0, 2**32))
def test_a_table_counts_as_a_dictionary_does(make: Make, seed: int) -> None:
    chance, table, expected = Random(seed), make(), Counter[str]()
    urls = [*names(chance.choice((3, 60, 400))), "", "http://a.test/\ud800", "http://ü.test/"]
    for _ in range(chance.randrange(60)):
        batch = chance.choices(urls, k=chance.randrange(100))
        links = [chance.choice((0, 1, 1, 5, 2**40)) for _ in batch]
        table.add(batch, links)
        for url, more in zip(batch, links, strict=True):
            expected[url] += more
        if chance.random() < 0.3:
            url = chance.choice(urls)
            assert table.pop(url) == expected.pop(url, 0)
        if chance.random() < 0.3:
            taken, _ = table.take(chance.randrange(50), chance.choice((0, 2, 6)))
            by_digest = {url_digest(url): url for url in urls}
            assert all(count == expected.pop(by_digest[digest]) for digest, count in taken)
            if chance.random() < 0.5:
                table.put_back(taken)
                expected.update({by_digest[digest]: count for digest, count in taken})
        url = chance.choice(urls)
        assert table.get(url) == expected[url]
        assert len(table) == len(+expected)
    assert all_of(table) == {url_digest(url): count for url, count in expected.items() if count}


def test_a_round_passes_each_url_and_takes_those_with_few_links(make: Make) -> None:
    table, urls = make(), names(1000)
    table.add(urls, [number % 3 + 1 for number in range(1000)])
    few: list[tuple[bytes, int]] = []
    is_end, steps = False, 0
    while not is_end:
        taken, is_end = table.take(10, 3)
        assert len(taken) <= 10
        few += taken
        steps += 1
    assert steps in (67, 68)
    assert sorted(few) == sorted((url_digest(url), n % 3 + 1) for n, url in enumerate(urls) if n % 3 < 2)
    assert len(table) == 333


def test_after_rewinding_a_round_passes_all_again(make: Make) -> None:
    table, urls = make(), names(100)
    table.add(urls, [5] * 100)
    taken, is_end = table.take(50, 0)
    assert (len(taken), is_end) == (50, False)
    table.put_back(taken)
    table.rewind()
    assert (len(table.take(1000, 0)[0]), len(table)) == (100, 0)


def test_a_table_that_shrinks_and_grows_loses_nothing(make: Make) -> None:
    table, urls, expected = make(), names(5000), Counter[bytes]()
    found: Counter[bytes] = Counter()
    for start in range(0, 5000, 250):
        table.add(urls[start : start + 250], [1] * 250)
        expected.update(map(url_digest, urls[start : start + 250]))
        for digest, count in table.take(200, 0)[0]:
            found[digest] += count
    found.update(all_of(table))
    assert found == expected


def test_a_count_that_does_not_fit_stays_the_largest(make: Make) -> None:
    table = make()
    table.add(["a", "a", "a"], [2**63 - 1] * 3)
    table.add(["a"], [1])
    assert (table.get("a"), len(table)) == (2**64 - 1, 1)


def test_a_digest_is_the_same_everywhere(make: Make) -> None:
    assert url_digest("http://a.test/").hex() == "3157e262ce8eb693d95aa279780d48f1"
    for url in ("", "http://a.test/", "http://ü.test/", "\ud800", "x" * 1000):
        assert url_digest(url) == python_digest(url)
        table = make()
        table.add([url], [3])
        assert table.take(10, 0) == ([(url_digest(url), 3)], True)


def test_a_crowd_is_taken_first_and_outside_of_the_round(make: Make) -> None:
    table, urls = make(), names(100)
    table.add(urls, [1] * 100)
    expected = {url_digest(url): 1 for url in urls}
    assert not table.is_crowded()
    crowd = {b"\xf0" + bytes(7) + number.to_bytes(8, "big"): 7 for number in range(9000)}
    table.put_back(list(crowd.items()))
    assert table.is_crowded() is not isinstance(table, PythonLinkTable)
    if table.is_crowded():
        taken, is_end = table.take(6000, 3)
        assert len(taken) == 6000
        assert set(taken) <= crowd.items()
        assert not is_end
        assert not table.is_crowded()
        table.put_back(taken)
        assert table.is_crowded()
    assert all_of(table) == expected | crowd


class AddsWhenCollected:
    """Garbage that adds links to a table when it is collected, as any other code may that the collector runs."""

    def __init__(self, table: LinkTable) -> None:
        self._itself, self._table = self, table

    def __del__(self) -> None:
        self._table.add([f"http://late.test/{number}" for number in range(120)], [1] * 120)


@pytest.fixture
def collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.enable()


@pytest.mark.usefixtures("collector")
def test_what_the_garbage_collector_runs_may_add_links_while_others_are_taken(make: Make) -> None:
    for most in range(1, 60):
        table, urls = make(), names(40)
        table.add(urls, [1] * 40)
        gc.collect()
        gc.disable()
        AddsWhenCollected(table)
        gc.set_threshold(most)
        gc.enable()
        taken = table.take(30, 0)[0]
        gc.disable()
        gc.collect()
        found = taken + table.take(1000, 0)[0] + table.take(1000, 0)[0]
        assert len(found) == len(set(found)) == 160


def test_what_the_garbage_collector_runs_may_add_links_while_others_are_added(make: Make) -> None:
    """In a process of its own: a table without an empty slot would be searched for ever."""
    program = f"""
import gc
from frontier.link_table.table import LinkTable, {make.__name__}
{inspect.getsource(AddsWhenCollected)}
gc.freeze()
for most in range(1, 40):
    table = {make.__name__}()
    gc.collect()
    gc.disable()
    AddsWhenCollected(table)
    gc.set_threshold(most)
    gc.enable()
    table.add([f"http://h.test/\\ud800{{number}}" for number in range(400)], [1] * 400)
    gc.disable()
    gc.collect()
    assert len(table) == 520, len(table)
"""
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True, timeout=MAX_WAIT_S)


def test_compiled_code_loses_no_count_for_want_of_memory(make: Make) -> None:
    memory = pytest.importorskip("_testcapi")
    if isinstance(make(), PythonLinkTable):
        pytest.skip("Python may refuse memory anywhere")
    for refused in range(80):
        table = make()
        table.add(names(20), [1] * 20)
        taken: list[tuple[bytes, int]] = []
        memory.set_nomemory(refused, refused + 1)
        try:
            taken = table.take(15, 0)[0]
        except MemoryError:
            continue
        finally:
            memory.remove_mem_hooks()
            assert len(table) + len(taken) == 20
