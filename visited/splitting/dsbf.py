"""The splitting Bloom filter: it grows without bound at a fixed false-positive rate."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import check_sequence
from visited.bits.kernel import ADD, TEST, Kernel, best_kernel
from visited.descriptor import Cost, Descriptor, Parameters, SeedOption
from visited.filters.loss_estimate import LossEstimate
from visited.full_disk import ignore_full_disk
from visited.protocol import CannotForget, SnapshotRefused, VisitedStats
from visited.snapshot import Snapshot, Value, read_snapshot, write_snapshot
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaf_list import LeafList
from visited.splitting.leaf_loading import leaf_table, load_leaves
from visited.splitting.leaf_plan import MIN_LEAF_BITS, LeafPlan
from visited.splitting.leaf_rebuild import LeafRebuild
from visited.splitting.leaves import Leaves
from visited.splitting.loss_sample import LossSample

BACKEND = "dsbf"
LEAF_BITS = 1 << 20

_MAX_PIECE = 512
_MIN_PIECE = 8
_SHARE_OF_BLOOM = 1.2
_LOSS = 0.55
"""Mean ratio of its rate to its bound, as `onceover compare` measures: its leaves are always nearly full."""
_LIST_BYTES_PER_URL = 8


class SplittingSet:
    """A tree of Bloom filters. The leading bits of a URL's hash choose its leaf, and a lookup reads only this leaf. So
    the rate of the tree is the mean rate of its leaves.

    When a leaf's fill approaches e^(1/k) it grows to 5/8, 6/8, 7/8 and 8/8 of a size, up to `leaf_bits`. Then it splits
    into two leaves of 5/8. Both read the leaf's fingerprints from a list on disk, 8 bytes per URL. On average the
    memory is 1.1 to 1.2 times that of a Bloom filter for this count. A rebuild is spread over many calls.

    A URL that was lost by a false positive is not in the list, and the leaf may accept it after the next rebuild. URLs
    that were called new are never called new again.
    """

    def __init__(
        self,
        *,
        capacity: int,
        error_rate: float,
        directory: Path | None = None,
        seed: int = 0,
        leaf_bits: int = LEAF_BITS,
        kernel: Kernel | None = None,
    ) -> None:
        """`capacity` is an estimate, which only sets the number of first leaves.

        `directory` holds the list, and nothing else may use it. Without one the list is a temporary file, and `dump`
        writes it too.
        """
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if not MIN_LEAF_BITS <= leaf_bits <= 1 << 32 or leaf_bits % 512:
            raise ValueError(
                f"leaf_bits must be a multiple of 512 from {MIN_LEAF_BITS:,} to {1 << 32:,}, found {leaf_bits:,};"
                f" {LEAF_BITS:,} is a good size"
            )
        self._shape = sizing.leaf_shape(capacity, leaf_bits, error_rate)
        self._plan = LeafPlan(leaf_bits=leaf_bits, split_fill=self._shape.split_fill)
        self._capacity = capacity
        self._error_rate = error_rate
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._list = LeafList(directory)
        self._images = None if directory is None else LeafImages(directory / "images")
        self._losses = LossEstimate(backend=BACKEND, capacity=None, error_rate=error_rate)
        self._reset()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_sequence(urls)
        verdicts: list[bool] = []
        while len(verdicts) < len(urls):
            # A piece may fill the leaves by a few per cent at most: between pieces we check which leaf is full.
            piece = min(_MAX_PIECE, max(_MIN_PIECE, self._losses.count >> 6))
            verdicts += self._add_piece(urls[len(verdicts) : len(verdicts) + piece])
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it. For inspection and comparison."""
        return [not verdict for verdict in self._probe(urls, np.empty(0, dtype=np.uint64), TEST)[0]]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a splitting Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        leaves = self._leaves
        bits = int(leaves.sizes.sum())
        ones = int(leaves.ones.sum())
        rebuild_bytes = self._rebuild.memory_bytes if self._rebuild else 0
        images = self._images.disk_bytes() if self._images else 0
        expected_lost, lost_sigma = self._estimate_loss()
        return VisitedStats(
            backend=BACKEND,
            count=self._losses.count,
            capacity=None,
            memory_bytes=leaves.memory_bytes + self._list.memory_bytes + rebuild_bytes + self._sample.memory_bytes,
            disk_bytes=self._list.file.size_bytes + images,
            fill=ones / bits,
            false_positive_rate=leaves.rate(self._shape.hashes),
            expected_lost=expected_lost,
            lost_sigma=lost_sigma,
            details={
                "bits": bits,
                "bits_set": ones,
                "hashes": self._shape.hashes,
                "leaves": len(leaves.bits),
                "depth": leaves.depth,
                "splits": len(leaves.bits) - leaves.first_leaves,
                "growths": self._rebuild_count,
                "list_bytes": self._list.file.size_bytes,
                "kernel": self._kernel.name,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        self._list.flush()
        tail = self._list.tail()
        if self._images and not len(tail):
            with ignore_full_disk():
                self._images.write_changed(self._leaves, self._list)
        write_snapshot(
            file,
            backend=BACKEND,
            parameters=self._parameters(),
            state={
                **self._losses.state(),
                "growths": self._rebuild_count,
                "list": self._list.file.identity.hex(),
                "list_bytes": self._list.file.size_bytes,
            },
            parts=[
                leaf_table(self._leaves).tobytes(),
                b"" if self._images else self._list.file.content(),
                tail.tobytes(),
                self._sample.dump(),
            ],
        )

    def load(self, file: BinaryIO, /) -> None:
        """Also cuts the list in the directory back to its length at the dump: later URLs are not in the snapshot."""
        self._reset()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        try:
            self._restore(snapshot)
        except SnapshotRefused:
            self._reset()
            raise

    def __len__(self) -> int:
        return self._losses.count

    async def aclose(self) -> None:
        self._list.close()

    def _reset(self) -> None:
        self._list.close()
        self._leaves = Leaves(first_leaves=self._shape.first_leaves, bits=self._plan.first_bits)
        self._rebuild: LeafRebuild | None = None
        self._rebuild_count = 0
        self._next_check_at = 0
        self._rate = 0.0
        self._count_at_rate = 0
        self._losses.reset()
        self._sample = LossSample(self._shape.hashes)

    def _probe(self, urls: Sequence[str], fresh: NDArray[np.uint64], mode: int) -> tuple[list[bool], int]:
        leaves = self._leaves
        return self._kernel.leaf_probe(
            urls, leaves.routes, leaves.bits, leaves.ones, self._shape.hashes, self._seed, fresh, mode
        )

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh = np.empty(len(urls), dtype=np.uint64)
        absent, new = self._probe(urls, fresh, ADD)
        if new:
            self._list.append(fresh[:new])
            self._losses.count_accepted(new, self._rate_now())
        self._sample.observe(fresh, new, self._leaves)
        if new or self._rebuild:
            self._continue_rebuild()
        return absent

    def _estimate_loss(self) -> tuple[float, float]:
        """The number of URLs that are still lost, and its standard deviation."""
        lost_once, count = self._losses.expected_lost, self._losses.count
        share, share_sigma = self._sample.lost_share()
        if count:
            # Lost URLs that were accepted later are among the accepted URLs, and do not stand for further losses.
            lost_once /= 1 + lost_once / count * (1 - share)
        return share * lost_once, math.hypot(self._losses.lost_sigma * math.sqrt(share), lost_once * share_sigma)

    def _rate_now(self) -> float:
        """The rate, up to a 1024th of the URLs old: it changes slowly, and computing it over all leaves takes long."""
        if self._losses.count - self._count_at_rate >= self._losses.count >> 10:
            self._rate = self._leaves.rate(self._shape.hashes)
            self._count_at_rate = self._losses.count
        return self._rate

    def _continue_rebuild(self) -> None:
        budget = self._kernel.fill_budget
        while budget > 0:
            if self._rebuild is None:
                # Checking all leaves takes as long as adding a few URLs, so we check when they have filled by a 4096th.
                if self._losses.count < self._next_check_at:
                    return
                mean_list = self._losses.count // len(self._leaves.bits) + 1
                sizes = self._plan.next_sizes(self._leaves, mean_list=mean_list, budget=budget)
                if not sizes:
                    self._next_check_at = self._losses.count + (self._losses.count >> 12) + 1
                    return
                self._rebuild = LeafRebuild(self._leaves, self._list, sizes_by_leaf=sizes, hashes=self._shape.hashes)
            budget = self._rebuild.advance(self._kernel, budget)
            if budget > 0:
                self._rebuild_count += self._rebuild.leaf_count
                self._rebuild = None

    def _restore(self, snapshot: Snapshot) -> None:
        # Snapshots of earlier versions have no sample, so three parts.
        if len(snapshot.parts) not in (3, 4) or len(snapshot.parts[0]) % 32 or len(snapshot.parts[2]) % 8:
            raise SnapshotRefused("expected a table of leaves and two lists of fingerprints in the snapshot")
        count = snapshot.integer("count")
        growths = snapshot.integer("growths")
        list_bytes = snapshot.integer("list_bytes")
        if list_bytes and self._images:
            self._list.open_at(bytes.fromhex(str(snapshot.state.get("list"))), list_bytes)
        elif list_bytes:
            self._list.open_content(snapshot.parts[1])
        self._list.append(np.frombuffer(snapshot.parts[2], dtype=np.uint64))
        if len(self._list) != count:
            raise SnapshotRefused("the snapshot and the list of fingerprints do not agree; rebuild it")
        leaves = load_leaves(
            np.frombuffer(snapshot.parts[0], dtype=np.int64).reshape(-1, 4),
            self._shape.first_leaves,
            self._list,
            self._images,
            hashes=self._shape.hashes,
            kernel=self._kernel,
        )
        if len(snapshot.parts) == 4:
            try:
                self._sample.load(snapshot.parts[3])
            except ValueError as error:
                raise SnapshotRefused(f"the snapshot's sample of losses can't be read: {error}") from error
        self._leaves = leaves
        self._rebuild_count = growths
        self._losses.restore(snapshot)
        self._rate = leaves.rate(self._shape.hashes)

    def _parameters(self) -> dict[str, Value]:
        return {
            "first_leaves": self._shape.first_leaves,
            "leaf_bits": self._shape.leaf_bits,
            "error_rate": self._error_rate,
            "hashes": self._shape.hashes,
            "hash": "murmur3_x64_128",
            "positions": "h1 prefix leaf, remixed h1 by changing steps",
            "seed": self._seed,
            "list": "directory" if self._images else "snapshot",
        }


def _make(parameters: Parameters, options: SeedOption) -> SplittingSet:
    return SplittingSet(
        capacity=parameters.capacity,
        error_rate=parameters.error_rate,
        seed=options.seed,
        directory=parameters.directory,
    )


def _cost(count: int, error_rate: float, _options: SeedOption) -> Cost:
    return Cost(
        memory_bytes=sizing.bits_for(count, error_rate) / 8 * _SHARE_OF_BLOOM,
        disk_bytes=count * _LIST_BYTES_PER_URL,
        false_positive_rate=error_rate,
        expected_lost=_LOSS * error_rate * count,
    )


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    options=SeedOption,
    needs=frozenset({"capacity"}),
    folder=BACKEND,
    cost=_cost,
    is_advised=True,
)
