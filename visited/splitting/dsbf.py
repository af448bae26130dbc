"""The splitting Bloom filter: it grows without bound, and its rate does not."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import check_sequence
from visited.bits.kernel import (
    ADD,
    TEST,
    Kernel,
    best_kernel,
)
from visited.filters.loss_estimate import LossEstimate
from visited.full_disk import put_off_without_room
from visited.protocol import CannotForget, SnapshotRefused, VisitedStats
from visited.snapshot import Snapshot, Value, read_snapshot, write_snapshot
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaf_list import LeafList
from visited.splitting.leaf_plan import LEAST_LEAF_BITS, LeafPlan
from visited.splitting.leaf_rebuild import LeafRebuild
from visited.splitting.leaves import Leaves
from visited.splitting.stand_ins import StandIns

BACKEND = "dsbf"
LEAF_BITS = 1 << 20

_PIECE = 512
_LEAST_PIECE = 8


class SplittingSet:
    """A tree of Bloom filters: a URL belongs to one leaf, by the leading bits of its hash, so a lookup reads one leaf,
    and the rate of the whole is that of its leaves.

    When a leaf's fill nears e^(1/k) it grows in place, by 5/8, 6/8, 7/8 and 8/8 of a size, up to `leaf_bits`; then it
    splits in two leaves of 5/8. Both read the leaf's fingerprints again, from a list on disk, 8 bytes per URL. Memory
    is 1.1 to 1.2 times that of a Bloom filter made for the count, in the mean. Rebuilding is spread over many calls.

    A URL that was swallowed by a false positive is not in the list; after the next rebuild it may well be accepted. The
    promise is kept for those that were called new.
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
        """`capacity` is an estimate, and only sets the number of first leaves. `directory` is for this set alone and
        holds its list; without one it is a temporary file, and `dump` writes the list too."""
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if not LEAST_LEAF_BITS <= leaf_bits <= 1 << 32 or leaf_bits % 512:
            raise ValueError(
                f"leaf_bits must be a multiple of 512 from {LEAST_LEAF_BITS:,} to {1 << 32:,}, found {leaf_bits:,};"
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
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_sequence(urls)
        verdicts: list[bool] = []
        while len(verdicts) < len(urls):
            # Between two looks at the leaves no more may come than fills them by some percent.
            piece = min(_PIECE, max(_LEAST_PIECE, self._losses.count >> 6))
            verdicts += self._add_piece(urls[len(verdicts) : len(verdicts) + piece])
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        return [not verdict for verdict in self._probe(urls, np.empty(0, dtype=np.uint64), TEST)[0]]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a splitting Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        leaves = self._leaves
        bits = int(leaves.sizes.sum())
        ones = int(leaves.ones.sum())
        growing = self._regrowth.memory_bytes if self._regrowth else 0
        images = self._images.disk_bytes() if self._images else 0
        expected_lost, lost_sigma = self._loss()
        return VisitedStats(
            backend=BACKEND,
            count=self._losses.count,
            capacity=None,
            memory_bytes=leaves.memory_bytes + self._list.memory_bytes + growing + self._stand_ins.memory_bytes,
            disk_bytes=self._list.disk_bytes + images,
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
                "growths": self._growths,
                "list_bytes": self._list.disk_bytes,
                "kernel": self._kernel.name,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        self._list.flush()
        tail = self._list.tail()
        if self._images and not len(tail):
            with put_off_without_room():
                self._images.write_changed(self._leaves, self._list)
        table = np.array(self._leaves.places, dtype=np.int64)
        write_snapshot(
            file,
            backend=BACKEND,
            parameters=self._parameters(),
            state={
                **self._losses.state(),
                "growths": self._growths,
                "list": self._list.identity.hex(),
                "list_bytes": self._list.disk_bytes,
            },
            parts=[
                np.column_stack([table, self._leaves.sizes, self._leaves.ones]).tobytes(),
                b"" if self._images else self._list.content(),
                tail.tobytes(),
                self._stand_ins.dump(),
            ],
        )

    def load(self, file: BinaryIO, /) -> None:
        """The list in the directory is cut back to what it was at the dump: what came later is not in the snapshot."""
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        try:
            self._restore(snapshot)
        except SnapshotRefused:
            self._empty()
            raise

    def __len__(self) -> int:
        return self._losses.count

    async def aclose(self) -> None:
        self._list.forget()

    def _empty(self) -> None:
        self._list.forget()
        self._leaves = Leaves(first_leaves=self._shape.first_leaves, bits=self._plan.first_bits)
        self._regrowth: LeafRebuild | None = None
        self._growths = 0
        self._next_look = 0
        self._rate = 0.0
        self._count_at_rate = 0
        self._losses.reset()
        self._stand_ins = StandIns(self._shape.hashes)

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
        self._stand_ins.see(fresh, new, self._leaves)
        if new or self._regrowth:
            self._rebuild_a_little()
        return absent

    def _loss(self) -> tuple[float, float]:
        """What is still lost, and its standard deviation."""
        swallowed, count = self._losses.expected_lost, self._losses.count
        share, share_sigma = self._stand_ins.lost_share()
        if count:
            # What was swallowed and is accepted by now is among the accepted, and does not stand for further ones.
            swallowed /= 1 + swallowed / count * (1 - share)
        return share * swallowed, math.hypot(self._losses.lost_sigma * math.sqrt(share), swallowed * share_sigma)

    def _rate_now(self) -> float:
        """The rate as it was some additions ago: it moves slowly, and adding it up over all leaves takes long."""
        if self._losses.count - self._count_at_rate >= self._losses.count >> 10:
            self._rate = self._leaves.rate(self._shape.hashes)
            self._count_at_rate = self._losses.count
        return self._rate

    def _rebuild_a_little(self) -> None:
        budget = self._kernel.fill_budget
        while budget > 0:
            if self._regrowth is None:
                # A look at all leaves takes as long as some URLs; between two, leaves fill by a four-thousandth.
                if self._losses.count < self._next_look:
                    return
                mean_list = self._losses.count // len(self._leaves.bits) + 1
                sizes = self._plan.next_sizes(self._leaves, mean_list=mean_list, budget=budget)
                if not sizes:
                    self._next_look = self._losses.count + (self._losses.count >> 12) + 1
                    return
                self._regrowth = LeafRebuild(self._leaves, self._list, sizes_by_leaf=sizes, hashes=self._shape.hashes)
            budget = self._regrowth.advance(self._kernel, budget)
            if budget > 0:
                self._growths += self._regrowth.leaf_count
                self._regrowth = None

    def _restore(self, snapshot: Snapshot) -> None:
        # Until stand-ins were kept there were three parts.
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
        table = np.frombuffer(snapshot.parts[0], dtype=np.int64).reshape(-1, 4)
        leaves = _leaves_from(table, self._shape.first_leaves)
        self._fill(leaves)
        if leaves.ones.tolist() != table[:, 3].tolist() or len(self._list) != count:
            raise SnapshotRefused("the snapshot and the list of fingerprints do not agree; rebuild it")
        if len(snapshot.parts) == 4:
            try:
                self._stand_ins.load(snapshot.parts[3])
            except ValueError as error:
                raise SnapshotRefused(f"the snapshot's stand-ins can't be read: {error}") from error
        self._leaves = leaves
        self._growths = growths
        self._losses.restore(snapshot)
        self._rate = leaves.rate(self._shape.hashes)

    def _fill(self, leaves: Leaves) -> None:
        """Set the bits of leaves from their images and, for what these lack, from the list."""
        histories = self._list.histories() if self._images else []
        first_run = self._list.run_count
        for leaf, (depth, index) in enumerate(leaves.places):
            size_bytes = len(leaves.bits[leaf])
            image = self._images.read(depth, index, size_bytes, self._list, histories) if self._images else None
            if image is not None:
                leaves.replace(leaf, image.bits, image.ones)
            first_run = min(first_run, image.runs if image is not None else 0)
        lows = np.array([leaves.span(leaf)[0] for leaf in leaves.order], dtype=np.uint64)
        arrays = [leaves.bits[leaf] for leaf in leaves.order]
        ones = np.zeros(len(arrays), dtype=np.int64)
        # Some leaves get again what their image has; that changes nothing.
        for run, fingerprints in enumerate(self._list.runs()):
            # The earlier ones are read too, to see that they are whole: a later rebuilding relies on it.
            if run >= first_run:
                self._kernel.leaves_fill([fingerprints], lows, (1 << 64) - 1, arrays, ones, self._shape.hashes)
        self._kernel.leaves_fill([self._list.tail()], lows, (1 << 64) - 1, arrays, ones, self._shape.hashes)
        leaves.ones[leaves.order] += ones

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


def _leaves_from(table: NDArray[np.int64], first_leaves: int) -> Leaves:
    """Empty leaves from the rows (depth, index, bits, ones) of a snapshot, in their order."""
    try:
        return Leaves.from_places([(row[0], row[1]) for row in table.tolist()], table[:, 2].tolist(), first_leaves)
    except ValueError as error:
        raise SnapshotRefused(f"the snapshot's leaves are no tree: {error}") from error
