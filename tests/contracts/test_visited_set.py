"""What every visited set promises, run over each of them."""

import io
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.unit.visited.sets import SETS, Maker
from visited import CannotForget, SnapshotRefused, VisitedSet

Make = Callable[[], VisitedSet]


@pytest.fixture(params=list(SETS), ids=str)
def maker(request: pytest.FixtureRequest) -> Maker:
    return SETS[request.param]


@pytest.fixture
def make(maker: Maker, tmp_path: Path) -> Make:
    """Makes the same set again and again, as a crawl does when it is resumed."""
    return lambda: maker(tmp_path)


def urls_of(start: int, stop: int) -> list[str]:
    return [f"https://h{number % 17}.example/päge/{number}?q={number * 7}" for number in range(start, stop)]


async def left_by(visited: VisitedSet) -> io.BytesIO:
    """The snapshot of a set that is closed then."""
    file = io.BytesIO()
    visited.dump(file)
    await visited.aclose()
    file.seek(0)
    return file


async def snapshot_of(make: Make, urls: list[str]) -> io.BytesIO:
    visited = make()
    await visited.add_many(urls)
    return await left_by(visited)


def loaded(make: Make, file: io.BytesIO) -> VisitedSet:
    visited = make()
    visited.load(file)
    return visited


async def test_a_url_is_new_once(make: Make) -> None:
    visited = make()
    urls = urls_of(0, 500)
    assert await visited.add_many(urls) == [True] * 500
    assert await visited.add_many(urls) == [False] * 500
    assert len(visited) == 500
    await visited.aclose()


async def test_a_url_that_stands_twice_in_a_batch_is_new_once(make: Make) -> None:
    visited = make()
    one, two = urls_of(0, 2)
    assert await visited.add_many([one, two, one, one, two]) == [True, True, False, False, False]
    assert len(visited) == 2
    await visited.aclose()


async def test_an_empty_batch_changes_nothing(make: Make) -> None:
    visited = make()
    assert await visited.add_many([]) == []
    assert len(visited) == 0
    await visited.aclose()


async def test_any_string_is_a_url_to_it(make: Make) -> None:
    visited = make()
    strange = [
        "",
        " ",
        "a\x00b",
        "é",
        "e\u0301",
        "\ud800",
        "\udcff\ud800",
        "😀",
        "a" * 100_000,
        "http://x/\n",
        "http://\udcff/",
    ]
    assert await visited.add_many(strange) == [True] * len(strange)
    assert await visited.add_many(tuple(reversed(strange))) == [False] * len(strange)
    again = loaded(make, await left_by(visited))
    assert await again.add_many(strange) == [False] * len(strange)
    await again.aclose()


async def test_what_is_no_list_of_strings_is_refused_and_changes_nothing(make: Make) -> None:
    visited = make()
    with pytest.raises(TypeError, match="expected str for each URL, found int at 1"):
        await visited.add_many(["http://a/", 7])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="found one str"):
        await visited.add_many("http://a/")
    for made, name in ((iter(["http://a/"]), "list_iterator"), ({"http://a/"}, "set"), ({"http://a/": 1}, "dict")):
        with pytest.raises(TypeError, match=f"expected a sequence of URLs, found {name}; make a list of it"):
            await visited.add_many(made)  # type: ignore[arg-type]
        with pytest.raises((TypeError, CannotForget), match=r"expected a sequence of URLs, found|can't forget"):
            await visited.forget_many(made)  # type: ignore[arg-type]
    assert len(visited) == 0
    assert await visited.add_many(["http://a/"]) == [True]
    await visited.aclose()


async def test_the_way_urls_are_cut_into_batches_does_not_matter(make: Make, maker: Maker, tmp_path: Path) -> None:
    chance = random.Random(3)
    urls = [chance.choice(urls_of(0, 900)) for _ in range(2_000)]
    whole = await make().add_many(urls)
    other = maker(tmp_path / "other")
    pieces: list[bool] = []
    position = 0
    while position < len(urls):
        size = chance.randint(1, 90)
        pieces += await other.add_many(urls[position : position + size])
        position += size
    assert pieces == whole
    await other.aclose()


async def test_stats_add_up(make: Make) -> None:
    visited = make()
    before = visited.describe()
    assert before.count == 0
    assert before.expected_lost == 0
    await visited.add_many(urls_of(0, 800))
    stats = visited.describe()
    assert stats.count == len(visited) == 800
    assert stats.memory_bytes > 0
    assert 0 <= stats.false_positive_rate < 0.02
    assert 0 <= stats.expected_lost < 8
    assert stats.fill is None or 0 < stats.fill < 1
    assert stats.backend
    assert msgspec.json.decode(msgspec.json.encode(stats), type=type(stats)) == stats
    await visited.aclose()


async def test_forgotten_urls_are_new_again_or_it_says_that_it_can_not_forget(make: Make) -> None:
    visited = make()
    urls = urls_of(0, 300)
    await visited.add_many(urls)
    try:
        assert await visited.forget_many([*urls[:100], *urls_of(5_000, 5_100)]) == 100
    except CannotForget:
        assert len(visited) == 300
        assert await visited.add_many(urls) == [False] * 300
    else:
        assert len(visited) == 200
        assert await visited.forget_many(urls[:100]) == 0
        assert await visited.add_many(urls) == [True] * 100 + [False] * 200
        assert await visited.forget_many([urls[0], urls[0]]) == 1
    await visited.aclose()


async def test_a_snapshot_keeps_the_promise(make: Make) -> None:
    first = make()
    urls = urls_of(0, 700)
    await first.add_many(urls)
    stats = first.describe()
    second = loaded(make, await left_by(first))
    assert len(second) == 700
    again = second.describe()
    assert (again.count, again.fill) == (stats.count, stats.fill)
    assert again.false_positive_rate == stats.false_positive_rate
    assert again.expected_lost == stats.expected_lost
    assert await second.add_many(urls) == [False] * 700
    assert await second.add_many(urls_of(700, 720)) == [True] * 20
    await second.aclose()


async def test_what_came_after_a_snapshot_is_not_in_it(make: Make) -> None:
    first = make()
    await first.add_many(urls_of(0, 400))
    file = io.BytesIO()
    first.dump(file)
    await first.add_many(urls_of(400, 1_200))
    await first.aclose()
    file.seek(0)
    second = loaded(make, file)
    assert len(second) == 400
    assert await second.add_many(urls_of(0, 1_200)) == [False] * 400 + [True] * 800
    await second.aclose()


async def test_a_snapshot_of_the_empty_set_is_one(make: Make) -> None:
    visited = loaded(make, await snapshot_of(make, []))
    assert await visited.add_many(urls_of(0, 5)) == [True] * 5
    await visited.aclose()


async def test_two_snapshots_in_one_file_are_read_one_after_the_other(make: Make) -> None:
    file = await snapshot_of(make, urls_of(0, 10))
    file = io.BytesIO(file.getvalue() + b"what follows")
    visited = loaded(make, file)
    assert file.read() == b"what follows"
    await visited.aclose()


async def test_a_torn_snapshot_is_refused_and_leaves_the_set_empty(make: Make) -> None:
    data = (await snapshot_of(make, urls_of(0, 300))).getvalue()
    chance = random.Random(4)
    for size in [0, 5, 16, 24, len(data) - 1, *(chance.randrange(len(data)) for _ in range(10))]:
        visited = make()
        await visited.add_many(urls_of(1_000, 1_010))
        with pytest.raises(SnapshotRefused, match=r".+"):
            visited.load(io.BytesIO(data[:size]))
        assert len(visited) == 0
        assert await visited.add_many(urls_of(0, 20)) == [True] * 20
        await visited.aclose()


async def test_a_snapshot_with_one_changed_byte_is_refused(make: Make) -> None:
    data = (await snapshot_of(make, urls_of(0, 300))).getvalue()
    chance = random.Random(5)
    for place in [0, 17, 21, 30, len(data) - 1, *(chance.randrange(len(data)) for _ in range(20))]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        visited = make()
        with pytest.raises(SnapshotRefused, match=r".+"):
            visited.load(io.BytesIO(damaged))
        assert len(visited) == 0
        await visited.aclose()


async def test_the_snapshot_of_another_backend_is_refused(make: Make, tmp_path: Path) -> None:
    own = make()
    name = own.describe().backend
    for number, other in enumerate(SETS.values()):
        foreign = other(tmp_path / str(number))
        is_foreign = foreign.describe().backend != name
        file = await left_by(foreign)
        if is_foreign:
            with pytest.raises(SnapshotRefused, match="backend"):
                own.load(file)
    await own.aclose()


async def test_closing_twice_is_harmless(make: Make) -> None:
    visited = make()
    await visited.add_many(urls_of(0, 3))
    await visited.aclose()
    await visited.aclose()
