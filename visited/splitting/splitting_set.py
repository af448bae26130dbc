"""The splitting Bloom filter: it grows without bound at a fixed false-positive rate."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import check_sequence
from visited.bits.kernel import ADD, TEST, Kernel, best_kernel
from visited.full_disk import ignore_full_disk
from visited.protocol import CannotForget, CannotList, SnapshotRefused, VisitedStats
from visited.snapshot import Snapshot, Value, read_snapshot, write_snapshot
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaf_loading import leaf_table, load_leaves
from visited.splitting.leaf_plan import MIN_LEAF_BITS, fixed_plan, growing_plan
from visited.splitting.leaf_rebuild import LeafGrowth
from visited.splitting.leaves import Leaves
from visited.splitting.tree_lists import TreeLists
from visited.splitting.tree_losses import TreeLosses

BACKEND = "dsbf"
LEAF_BITS: Final = 1 << 20
MAX_LEAF_BITS: Final = 1 << 32
SplitAt = Literal["fill", "count"]
Lists = Literal["fingerprints", "urls"]

_MAX_PIECE = 512
_MIN_PIECE = 8


class SplittingSet:
    """A tree of Bloom filters. The leading bits of a URL's hash choose its leaf, and a lookup reads only this leaf. So
    the rate of the tree is the mean rate of its leaves.

    When a leaf's fill approaches e^(1/k) it grows to 5/8, 6/8, 7/8 and 8/8 of a size, up to `leaf_bits`. Then it splits
    into two leaves of 5/8. Both read the leaf's fingerprints from a list on disk, 8 bytes per URL. On average the
    memory is 1.1 to 1.2 times that of a Bloom filter for this count. A rebuild is spread over many calls.

    With `split_at="count"` it is the filter of the literature: each leaf has `leaf_bits`, and splits into two such
    leaves when it holds u = -m·ln(1 - e^(1/k))/k URLs. The memory is 1 to 2 times that of a Bloom filter.

    A URL that was lost by a false positive is not in the list, and the leaf may accept it after the next rebuild. URLs
    that were called new are never called new again.
    """

    is_prompt: Final = True

    def __init__(
        self,
        *,
        capacity: int,
        error_rate: float,
        directory: Path | None = None,
        seed: int = 0,
        leaf_bits: int = LEAF_BITS,
        split_at: SplitAt = "fill",
        lists: Lists = "fingerprints",
        kernel: Kernel | None = None,
    ) -> None:
        """`capacity` is an estimate, which only sets the number of first leaves.

        `directory` holds the lists, and nothing else may use it. Without one they are temporary files, and `dump`
        writes them too. With `lists="urls"` there is a list of the URLs, too.
        """
        sizing.check(capacity, error_rate, seed)
        if not MIN_LEAF_BITS <= leaf_bits <= MAX_LEAF_BITS or leaf_bits % 512:
            raise ValueError(
                f"leaf_bits must be a multiple of 512 from {MIN_LEAF_BITS:,} to {MAX_LEAF_BITS:,}, found"
                f" {leaf_bits:,}; {LEAF_BITS:,} is a good size"
            )
        self._shape = sizing.leaf_shape(capacity, leaf_bits, error_rate)
        self._plan = (
            growing_plan(leaf_bits=leaf_bits, split_fill=self._shape.split_fill)
            if split_at == "fill"
            else fixed_plan(leaf_bits=leaf_bits, leaf_capacity=self._shape.leaf_capacity)
        )
        self._error_rate = error_rate
        self._seed = seed
        self._split_at = split_at
        self._kernel = kernel or best_kernel()
        self._lists = TreeLists(directory, keeps_urls=lists == "urls")
        self._images = None if directory is None else LeafImages(directory / "images")
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
        return [not verdict for verdict in self._probe(urls, np.empty(0, dtype=np.uint64), TEST)[0]]

    def urls(self) -> Iterator[str]:
        """List the URLs that were called new, in this order. Raises `CannotList` unless the set keeps them."""
        if self._lists.urls is None:
            raise CannotList('dsbf keeps fingerprints of its URLs; with the option lists = "urls" it keeps the URLs')
        return chain.from_iterable(self._lists.urls.read())

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a splitting Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        leaves, lists = self._leaves, self._lists
        bits = int(leaves.sizes.sum())
        ones = int(leaves.ones.sum())
        images = self._images.disk_bytes() if self._images else 0
        expected_lost, lost_sigma = self._losses.estimate()
        memory = (leaves, lists, self._growth, self._losses.sample)
        return VisitedStats(
            backend=BACKEND,
            count=self._losses.count,
            capacity=None,
            memory_bytes=sum(each.memory_bytes for each in memory),
            disk_bytes=lists.disk_bytes + images,
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
                "growths": self._growth.count,
                "most_in_a_leaf": int(leaves.urls.max()),
                "leaf_capacity": self._shape.leaf_capacity,
                "list_bytes": lists.disk_bytes,
                "kernel": self._kernel.name,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        self._lists.flush()
        # The sample comes between the lists, because the list of URLs was added later.
        fingerprints, *urls = self._lists.parts()
        parts = [leaf_table(self._leaves).tobytes(), *fingerprints, self._losses.sample.dump(), *chain(*urls)]
        if self._images and not len(self._lists.fingerprints.tail()):
            with ignore_full_disk():
                self._images.write_changed(self._leaves, self._lists.fingerprints)
        write_snapshot(
            file,
            backend=BACKEND,
            parameters=self._parameters(),
            state={**self._losses.state(), "growths": self._growth.count, **self._lists.state()},
            parts=parts,
        )

    def load(self, file: BinaryIO, /) -> None:
        """Also cuts the lists in the directory back to their length at the dump: later URLs are not in the snapshot."""
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
        self._lists.close()

    def _reset(self) -> None:
        hashes, first = self._shape.hashes, self._shape.first_leaves
        self._lists.close()
        self._leaves = Leaves([(0, index) for index in range(first)], [self._plan.sizes[0]] * first, first)
        self._growth = LeafGrowth(self._plan, hashes=hashes, kernel=self._kernel)
        self._losses = TreeLosses(backend=BACKEND, error_rate=self._error_rate, hashes=hashes)

    def _probe(self, urls: Sequence[str], fresh: NDArray[np.uint64], mode: int) -> tuple[list[bool], int]:
        leaves = self._leaves
        return self._kernel.leaf_probe(
            urls, leaves.routes, leaves.bits, leaves.counts, self._shape.hashes, self._seed, fresh, mode
        )

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh = np.empty(len(urls), dtype=np.uint64)
        absent, new = self._probe(urls, fresh, ADD)
        if new:
            self._lists.append(fresh[:new], urls, absent)
        self._losses.observe(fresh, new, self._leaves)
        if new or self._growth.is_rebuilding:
            self._growth.advance(self._leaves, self._lists.fingerprints, count=self._losses.count)
        return absent

    def _restore(self, snapshot: Snapshot) -> None:
        parts = snapshot.parts
        expected = 4 if self._lists.urls is None else 6
        if len(parts) != expected or len(parts[0]) % 32 or len(parts[2]) % 8:
            raise SnapshotRefused("expected a table of leaves and two lists of fingerprints in the snapshot")
        growths = snapshot.integer("growths")
        self._lists.restore(snapshot, [parts[1:3], parts[4:6]])
        if len(self._lists.fingerprints) != snapshot.integer("count"):
            raise SnapshotRefused("the snapshot and the list of fingerprints do not agree; rebuild it")
        leaves = load_leaves(
            np.frombuffer(parts[0], dtype=np.int64).reshape(-1, 4),
            self._shape.first_leaves,
            self._lists.fingerprints,
            self._images,
            hashes=self._shape.hashes,
            kernel=self._kernel,
        )
        try:
            self._losses.restore(snapshot, parts[3], leaves)
        except ValueError as error:
            raise SnapshotRefused(f"the snapshot's sample of losses can't be read: {error}") from error
        self._leaves = leaves
        self._growth.count = growths

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
            "split_at": self._split_at,
            "lists": None if self._lists.urls is None else "urls",
        }
