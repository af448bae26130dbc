"""Reads the leaves of a snapshot back: their bits come from the images and, where these are behind, from the list."""

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import Kernel
from visited.protocol import SnapshotRefused
from visited.splitting.fingerprint_list import FingerprintList, read_runs
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaves import Leaves

_ALL = (1 << 64) - 1


def leaf_table(leaves: Leaves) -> NDArray[np.int64]:
    """The rows (depth, index, bits, ones) of a snapshot."""
    return np.column_stack([np.array(leaves.places, dtype=np.int64), leaves.sizes, leaves.ones])


def load_leaves(
    table: NDArray[np.int64],
    first_leaves: int,
    fingerprints: FingerprintList,
    images: LeafImages | None,
    *,
    hashes: int,
    kernel: Kernel,
) -> Leaves:
    """Make the leaves of a snapshot's table and fill them. Raises SnapshotRefused."""
    places = [(row[0], row[1]) for row in table.tolist()]
    try:
        leaves = Leaves(places, table[:, 2].tolist(), first_leaves)
    except ValueError as error:
        raise SnapshotRefused(f"the snapshot's leaves are no tree: {error}") from error
    _fill(leaves, fingerprints, images, hashes=hashes, kernel=kernel)
    if leaves.ones.tolist() != table[:, 3].tolist():
        raise SnapshotRefused("the snapshot and the list of fingerprints do not agree; rebuild it")
    return leaves


def _fill(
    leaves: Leaves, fingerprints: FingerprintList, images: LeafImages | None, *, hashes: int, kernel: Kernel
) -> None:
    file = fingerprints.file
    first_run = 0 if images is None else _read_images(leaves, fingerprints, images)
    lows = leaves.lows()
    arrays = [leaves.bits[leaf] for leaf in leaves.order]
    counts = np.zeros((len(arrays), 2), dtype=np.int64)
    # Earlier runs are read too, because this checks them: a later rebuild relies on them.
    for run, part in enumerate(read_runs(file)):
        if run < first_run:
            counts[:, 1] += np.diff(np.searchsorted(part, lows), append=len(part))
        else:
            # Some leaves already have these bits from their image; setting them again changes nothing.
            kernel.leaves_fill([part], lows, _ALL, arrays, counts, hashes)
    kernel.leaves_fill([fingerprints.tail()], lows, _ALL, arrays, counts, hashes)
    leaves.counts[leaves.order] += counts


def _read_images(leaves: Leaves, fingerprints: FingerprintList, images: LeafImages) -> int:
    """Set the bits of the images. Returns the number of runs that all images include."""
    history = fingerprints.file.history_checksums()
    first_run = fingerprints.file.block_count
    for leaf, (depth, index) in enumerate(leaves.places):
        image = images.read(depth, index, len(leaves.bits[leaf]), fingerprints.file, history)
        if image is not None:
            leaves.replace(leaf, image.bits, np.array([image.ones, 0]))
        first_run = min(first_run, image.runs if image is not None else 0)
    return first_run
