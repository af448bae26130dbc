"""Which part owns a queue: golden vectors, because directories rely on them."""

from collections import Counter
from itertools import pairwise

import pytest

from crawler.parts.ownership import Ownership, jump_hash, owner_key
from frontier import MAX_PARTS


@pytest.mark.parametrize(
    ("key", "buckets", "bucket"),
    # As other implementations have them.
    [(1, 1, 0), (42, 57, 43), (0xDEAD10CC, 1, 0), (0xDEAD10CC, 666, 361), (256, 1024, 520)],
)
def test_the_hash_is_the_published_one(key: int, buckets: int, bucket: int) -> None:
    assert jump_hash(key, buckets) == bucket


def test_more_buckets_move_keys_only_to_new_buckets() -> None:
    for key in range(0, 1 << 64, (1 << 64) // 500 + 1):
        buckets = [jump_hash(key, count) for count in range(1, 40)]
        assert all(after in (before, count) for count, (before, after) in enumerate(pairwise(buckets), 1))


@pytest.mark.parametrize(
    ("queue_key", "key"),
    [
        ("org,example", "org,example"),
        ("org,example,www", "org,example"),
        ("org,example,www:8080", "org,example"),
        ("uk,co,example,www", "uk,co,example"),
        ("org,example#/a/2", "org,example"),
        ("org,example,www#2", "org,example,www#2"),
        ("io,github,someone", "io,github,someone"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_a_queue_belongs_where_its_domain_does(queue_key: str, key: str) -> None:
    assert owner_key(queue_key) == key
    if queue_key != key:
        assert Ownership(7).owner(queue_key) == Ownership(7).owner(key)


GOLDEN = {
    "org,example": (0, 0, 2, 4, 4),
    "org,example,www:8080": (0, 0, 2, 4, 4),
    "uk,co,example,www": (0, 0, 2, 6, 46),
    "com,example,docs#3": (0, 0, 2, 2, 33),
    "de,xn--mnchen-3ya": (0, 0, 0, 3, 22),
    "io,github,someone": (0, 1, 1, 1, 25),
    "127.0.0.1:8080": (0, 1, 1, 1, 39),
    "[::1]": (0, 0, 0, 0, 10),
    "localhost": (0, 0, 0, 4, 32),
}


@pytest.mark.parametrize("queue_key", GOLDEN)
def test_the_owners_never_change(queue_key: str) -> None:
    assert tuple(Ownership(parts).owner(queue_key) for parts in (1, 2, 3, 8, 64)) == GOLDEN[queue_key]


def test_all_parts_own_about_as_many_domains() -> None:
    for parts in (2, 3, 8):
        counts = Counter(Ownership(parts).owner(f"org,example{number}") for number in range(8_000))
        assert len(counts) == parts
        assert max(counts.values()) < 1.15 * min(counts.values())


def test_a_crawl_has_at_least_one_part_and_not_too_many() -> None:
    assert Ownership(1).owner("org,example") == 0
    for parts in (0, -1, MAX_PARTS + 1):
        with pytest.raises(ValueError, match="1 to 1024"):
            Ownership(parts)
