from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.repeats.similar import (
    IS_COMPILED,
    MAX_DISTANCE,
    MOST_READ,
    PythonSimilarIndex,
    SimilarIndex,
    make_similar_index,
)

FINGERPRINT = st.integers(0, 2**64 - 1)
BITS = st.lists(st.integers(0, 63), max_size=12, unique=True).map(lambda bits: sum(1 << bit for bit in bits))
MAKERS = [make_similar_index, PythonSimilarIndex]


def by_comparing_all(fingerprints: list[int], asked: int, distance: int) -> list[tuple[int, int]]:
    bits = [((each ^ asked).bit_count(), place) for place, each in enumerate(fingerprints)]
    return sorted(each for each in bits if each[0] <= distance)


@pytest.mark.parametrize("make", MAKERS)
@given(first=FINGERPRINT, changes=st.lists(BITS, max_size=60), change=BITS)
@settings(max_examples=150)
def test_all_near_fingerprints_are_found_and_no_others(
    make: type[SimilarIndex], first: int, changes: list[int], change: int
) -> None:
    index, added = make(), []
    for each in changes:
        index.add(first ^ each)
        added.append(first ^ each)
    for distance in range(MAX_DISTANCE + 1):
        assert index.near(first ^ change, distance) == by_comparing_all(added, first ^ change, distance)


@pytest.mark.parametrize("make", MAKERS)
def test_many_can_be_added_at_once(make: type[SimilarIndex]) -> None:
    chance = Random(1)
    added = [chance.getrandbits(64) for _ in range(40_000)]
    index = make()
    index.extend(b"".join(each.to_bytes(8, "little") for each in added))
    index.add(7)
    assert len(index) == 40_001
    for place in (0, 16_383, 16_384, 39_999):
        assert index.near(added[place] ^ 0b1011, 3) == [(3, place)]
    assert index.near(7, 0) == [(0, 40_000)]


@pytest.mark.parametrize("make", MAKERS)
def test_of_fingerprints_that_were_made_for_one_chain_only_the_last_are_looked_through(
    make: type[SimilarIndex],
) -> None:
    chance, index = Random(2), make()
    near, far = 0xABCD, 0xFFFF_FFFF_FFFF_ABCD
    index.add(far ^ 1 << 60)
    index.add(near)
    for _ in range(MOST_READ):
        index.add(chance.getrandbits(48) << 16 | 0xABCD)
    index.add(near ^ 1 << 40)
    # It is found by the blocks that others do not share, and once.
    assert index.near(near, 1) == [(0, 1), (1, MOST_READ + 2)]
    assert index.near(far, 1) == [(1, 0)]
    for block in range(1, 4):
        for _ in range(MOST_READ + 1):
            index.add(chance.getrandbits(64) & ~(0xFFFF << 16 * block) | near & 0xFFFF << 16 * block)
    for _ in range(MOST_READ):
        index.add(chance.getrandbits(48) << 16 | 0xABCD)
    assert index.near(near, 1) == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("distance", [-1, MAX_DISTANCE + 1])
def test_a_distance_that_the_tables_do_not_serve_is_refused(make: type[SimilarIndex], distance: int) -> None:
    with pytest.raises(ValueError, match="0 to 8 bits"):
        make().near(1, distance)


def test_an_index_is_compiled_where_tests_run() -> None:
    assert IS_COMPILED
    assert not isinstance(make_similar_index(), PythonSimilarIndex)
