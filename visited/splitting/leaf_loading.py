"""Reads the leaves of a snapshot back: their bits come from the images and, where these are behind, from the list."""

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import Kernel
from visited.protocol import SnapshotRefused
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaf_list import LeafList
from visited.splitting.leaves import Leaves

_ALL = (1 << 64) - 1


def leaf_table(leaves: Leaves) -> NDArray[np.int64]:
    """The rows (depth, index, bits, ones) of a snapshot."""
    return np.column_stack([np.array(leaves.places, dtype=np.int64), leaves.sizes, leaves.ones])


def load_leaves(
    table: NDArray[np.int64],
    first_leaves: int,
    fingerprints: LeafList,
    images: LeafImages | None,
    *,
    hashes: int,
    kernel: Kernel,
) -> Leaves:
    """Make the leaves of a snapshot's table and fill them. Raises SnapshotRefused."""
    places = [(row[0], row[1]) for row in table.tolist()]
    try:
        leaves = Leaves.from_places(places, table[:, 2].tolist(), first_leaves)
    except ValueError as error:
        raise SnapshotRefused(f"the snapshot's leaves are no tree: {error}") from error
    _fill(leaves, fingerprints, images, hashes=hashes, kernel=kernel)
    if leaves.ones.tolist() != table[:, 3].tolist():
        raise SnapshotRefused("the snapshot and the list of fingerprints do not agree; rebuild it")
    return leaves


def _fill(leaves: Leaves, fingerprints: LeafList, images: LeafImages | None, *, hashes: int, kernel: Kernel) -> None:
    file = fingerprints.file
    first_run = 0 if images is None else _read_images(leaves, fingerprints, images)
    lows = np.array([leaves.span(leaf)[0] for leaf in leaves.order], dtype=np.uint64)
    arrays = [leaves.bits[leaf] for leaf in leaves.order]
    ones = np.zeros(len(arrays), dtype=np.int64)
    # Some leaves already have these bits from their image; setting them again changes nothing.
    for run, part in enumerate(file.runs()):
        # Earlier runs are read too, because this checks them: a later rebuild relies on them.
        if run >= first_run:
            kernel.leaves_fill([part], lows, _ALL, arrays, ones, hashes)
    kernel.leaves_fill([fingerprints.tail()], lows, _ALL, arrays, ones, hashes)
    leaves.ones[leaves.order] += ones


def _read_images(leaves: Leaves, fingerprints: LeafList, images: LeafImages) -> int:
    """Set the bits of the images. Returns the number of runs that all images include."""
    history = fingerprints.file.history_checksums()
    first_run = fingerprints.file.run_count
    for leaf, (depth, index) in enumerate(leaves.places):
        image = images.read(depth, index, len(leaves.bits[leaf]), fingerprints.file, history)
        if image is not None:
            leaves.replace(leaf, image.bits, image.ones)
        first_run = min(first_run, image.runs if image is not None else 0)
    return first_run
