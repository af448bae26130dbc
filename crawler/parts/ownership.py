"""Decides which part of a crawl a queue belongs to.

All queues of a registered domain belong to one part, so that pace, robots.txt and cookies are local. The queues of a
host that is spread over several (`frontier.parallel_queues`) are spread over the parts too.

The hash is part of the format of a crawl: the directories of its parts rely on it.
"""

from functools import lru_cache
from hashlib import blake2b

from crawler.url.hosts import domain_of_site, split_port
from frontier import MAX_PARTS

_KEYS_REMEMBERED = 65_536
_MULTIPLIER = 2862933555777941757
_MASK = (1 << 64) - 1


def jump_hash(key: int, buckets: int, /) -> int:
    """The bucket of a 64-bit key. When buckets are added, a key keeps its bucket or moves to a new one.

    Source: Lamping and Veach, A Fast, Minimal Memory, Consistent Hash Algorithm, 2014 (arXiv:1406.2294)."""
    bucket, following = -1, 0
    while following < buckets:
        bucket = following
        key = (key * _MULTIPLIER + 1) & _MASK
        following = int((bucket + 1) * ((1 << 31) / ((key >> 33) + 1)))
    return bucket


def owner_key(queue_key: str, /) -> str:
    """What the owner of a queue is computed from: its registered domain without port, in SURT order as in the queue
    key; for one of several parallel queues of a host, the whole queue key."""
    site, _, suffix = queue_key.partition("#")
    return queue_key if suffix.isdecimal() else split_port(domain_of_site(site))[0]


class Ownership:
    """The owners of queues in a crawl of `parts` parts, which are numbered from 0."""

    def __init__(self, parts: int) -> None:
        if not 1 <= parts <= MAX_PARTS:
            raise ValueError(f"a crawl has 1 to {MAX_PARTS} parts, got {parts}")
        self.parts = parts
        self.owner = lru_cache(maxsize=_KEYS_REMEMBERED)(self._owner)
        """The part that a queue belongs to, by queue key. It is asked once for each link."""

    def _owner(self, queue_key: str) -> int:
        digest = blake2b(owner_key(queue_key).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return jump_hash(int.from_bytes(digest, "big"), self.parts)
