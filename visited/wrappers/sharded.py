"""Several visited sets as one: a URL's hash chooses its set."""

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from visited.batch import check_sequence
from visited.bits.kernel import Kernel, best_kernel
from visited.protocol import DiskFull, LocalSet, SnapshotRefused, VisitedStats, clear_set, is_prompt, list_urls
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "sharded"

# Must differ from the seed of the sets: otherwise each set would only get URLs with similar hashes.
_SEED = 0x5EED_0F5A


class ShardedSet:
    """N visited sets. The set of a URL is number hash mod N. The sets are asked one after the other."""

    def __init__(self, shards: Sequence[LocalSet], *, kernel: Kernel | None = None) -> None:
        if not shards:
            raise ValueError("expected at least one visited set, found none")
        self._shards = list(shards)
        self.is_prompt = all(map(is_prompt, shards))
        self._kernel = kernel or best_kernel()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_sequence(urls)
        verdicts = [False] * len(urls)
        completed: list[tuple[LocalSet, list[int]]] = []
        for shard, places in self._split(urls):
            try:
                answers = await shard.add_many([urls[place] for place in places])
            except DiskFull:
                for before, its_places in completed:
                    await before.forget_many([urls[place] for place in its_places if verdicts[place]])
                raise
            completed.append((shard, places))
            for place, new in zip(places, answers, strict=True):
                verdicts[place] = new
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        known = [False] * len(urls)
        for shard, places in self._split(urls):
            for place, is_known in zip(places, shard.has_many([urls[place] for place in places]), strict=True):
                known[place] = is_known
        return known

    def urls(self) -> Iterator[str]:
        """List the URLs of all sets. Raises `CannotList` if they do not keep them."""
        return chain.from_iterable(map(list_urls, self._shards))

    async def forget_many(self, urls: Sequence[str], /) -> int:
        return sum([await shard.forget_many([urls[place] for place in places]) for shard, places in self._split(urls)])

    def describe(self) -> VisitedStats:
        parts = [shard.describe() for shard in self._shards]
        capacities = [part.capacity for part in parts]
        fills = [part.fill for part in parts]
        shards = len(parts)
        return VisitedStats(
            backend=BACKEND,
            count=sum(part.count for part in parts),
            capacity=sum(each for each in capacities if each is not None) if None not in capacities else None,
            memory_bytes=sum(part.memory_bytes for part in parts),
            disk_bytes=sum(part.disk_bytes for part in parts),
            fill=sum(each for each in fills if each is not None) / shards if None not in fills else None,
            false_positive_rate=sum(part.false_positive_rate for part in parts) / shards,
            expected_lost=sum(part.expected_lost for part in parts),
            rate_sigma=math.hypot(*(part.rate_sigma for part in parts)) / shards,
            lost_sigma=math.hypot(*(part.lost_sigma for part in parts)),
            details={
                "shards": shards,
                "shard_backend": parts[0].backend,
                "fewest_in_a_shard": min(part.count for part in parts),
                "most_in_a_shard": max(part.count for part in parts),
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state={})
        for shard in self._shards:
            shard.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        loaded = 0
        try:
            read_snapshot(file, backend=BACKEND, parameters=self._parameters())
            for shard in self._shards:
                shard.load(file)
                loaded += 1
        except SnapshotRefused as refusal:
            for shard in self._shards:
                clear_set(shard)
            raise SnapshotRefused(f"shard {loaded} of {len(self._shards)}: {refusal}") from refusal

    def __len__(self) -> int:
        return sum(map(len, self._shards))

    async def aclose(self) -> None:
        for shard in self._shards:
            await shard.aclose()

    def _split(self, urls: Sequence[str]) -> list[tuple[LocalSet, list[int]]]:
        """Return the shards that have URLs in the batch, each with the places of its URLs, in order."""
        check_sequence(urls)
        hashes = array("Q", bytes(16 * len(urls)))
        self._kernel.hash_many(urls, _SEED, hashes)
        places: list[list[int]] = [[] for _ in self._shards]
        for place, first_half in enumerate(hashes[::2]):
            places[first_half % len(places)].append(place)
        return [(shard, its_places) for shard, its_places in zip(self._shards, places, strict=True) if its_places]

    def _parameters(self) -> dict[str, Value]:
        return {"shards": len(self._shards), "hash": "murmur3_x64_128", "seed": _SEED}
