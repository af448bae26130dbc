"""The visited sets of this package: a name for each, and the place of its descriptor.

To add a set, write its file, with a descriptor beside the class, and add a line here. Configuration, documentation,
crawl, comparison, advice and tests read this list. `REMOTE` are sets on a server, which several crawls may share.
`PEERS` are sets of other libraries, for comparison alone.

A descriptor is imported when it is asked for. So a program that only needs the names does not import NumPy.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Final

from visited.descriptor import Descriptor

BACKENDS: Final = {
    "exact": "visited.digests.exact:DESCRIPTOR",
    "dsbf": "visited.splitting.dsbf:DESCRIPTOR",
    "bloom": "visited.filters.bloom:DESCRIPTOR",
    "blocked": "visited.filters.blocked:DESCRIPTOR",
    "counting": "visited.filters.counting:COUNTING_4",
    "counting-8": "visited.filters.counting:COUNTING_8",
    "counting-32": "visited.filters.counting:COUNTING_32",
    "exact-leveldb": "visited.digests.exact_leveldb:DESCRIPTOR",
    "per-site": "visited.baselines.per_site:DESCRIPTOR",
    "raw": "visited.baselines.raw_urls:DESCRIPTOR",
    "fingerprints": "visited.baselines.fingerprints:DESCRIPTOR",
    "six-seeds": "visited.baselines.six_seeds:DESCRIPTOR",
    "mitz-32": "visited.baselines.mitz_32:DESCRIPTOR",
    "salted-md5": "visited.baselines.salted_md5:DESCRIPTOR",
}
"""The module and the name of each descriptor, in the order in which advice prefers them; the literature's come last."""

REMOTE: Final = {
    "redis-exact": "visited.redis.exact:DESCRIPTOR",
    "redis-bloom": "visited.redis.bloom:DESCRIPTOR",
    "redis-dsbf": "visited.redis.dsbf:DESCRIPTOR",
    "redis-set": "visited.redis.literature:SET",
    "redis-keys": "visited.redis.literature:KEYS",
}
"""The same for sets on a server."""

PEERS: Final = {
    "python-set": "visited.peers:PYTHON_SET",
    "rbloom": "visited.peers:RBLOOM",
    "fastbloom-rs": "visited.peers:FASTBLOOM",
    "pybloom-live": "visited.peers:PYBLOOM",
    "pybloom-live-scalable": "visited.peers:PYBLOOM_SCALABLE",
    "redisbloom": "visited.peers:REDISBLOOM",
}
"""The same for sets of other libraries."""


@cache
def descriptor(name: str) -> Descriptor:
    """The descriptor of a set. Raises KeyError if there is none of that name."""
    module, _, attribute = {**BACKENDS, **REMOTE, **PEERS}[name].partition(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Descriptor)
    return found


def descriptors() -> Iterator[Descriptor]:
    """The descriptors of our local sets, in their order."""
    return map(descriptor, BACKENDS)
