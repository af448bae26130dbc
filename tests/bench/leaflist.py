"""Where a splitting filter keeps its fingerprints: one file of sorted runs, beside a file for each leaf and LevelDB.

What counts is CPU time of the process, threads of LevelDB included: to write a fingerprint; to read those of one leaf,
which happens 6.5 times for each leaf's worth of new URLs; to write a leaf's halves again, where a split needs it. All
three have the same memory for what is not written yet.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import plyvel
from numpy.typing import NDArray

from tests.bench import report
from visited.splitting.fingerprint_list import FingerprintList, read_range

LEAF_CAPACITY = 54_690
"""URLs in a leaf of 128 KiB at a rate of 0.01 %."""
BATCH = 64
READS_PER_URL = 6.5 / LEAF_CAPACITY

Fingerprints = NDArray[np.uint64]


class Costs(msgspec.Struct, frozen=True):
    """CPU seconds, and bytes."""

    write_s: float
    """All fingerprints."""
    read_s: float
    """One leaf, median."""
    split_s: float
    disk_bytes: int


def timed(call: Callable[[], object]) -> float:
    """CPU seconds of the process."""
    began = time.process_time()
    call()
    return time.process_time() - began


def runs(fingerprints: Fingerprints, leaves: int, directory: Path) -> Costs:
    kept = FingerprintList(directory)

    def write() -> None:
        for batch in batches(fingerprints):
            kept.append(batch)
        kept.flush()

    def read(low: int, high: int) -> None:
        for run in range(kept.file.block_count):
            read_range(kept.file, run, low, high)

    written_s = timed(write)
    read_s = statistics.median(timed(partial(read, *span)) for span in spans(leaves))
    size_bytes = kept.file.size_bytes
    kept.close()
    return Costs(written_s, read_s, 0.0, size_bytes)


def files(fingerprints: Fingerprints, leaves: int, directory: Path) -> Costs:
    descriptors = [
        os.open(directory / f"{leaf}.leaf", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        for leaf in range(leaves)
    ]
    most = max(16, len(fingerprints) // 192 // leaves)
    tails = np.empty((leaves, most + BATCH), dtype=np.uint64)
    counts = np.zeros(leaves, dtype=np.int64)

    def flush(leaf: int) -> None:
        os.write(descriptors[leaf], tails[leaf, : counts[leaf]].tobytes())
        counts[leaf] = 0

    def write() -> None:
        for batch in batches(fingerprints):
            owners = (batch >> np.uint64(32)) * np.uint64(leaves) >> np.uint64(32)
            order = np.argsort(owners, kind="stable")
            concerned, starts, sizes = np.unique(owners[order], return_index=True, return_counts=True)
            places = counts[owners[order]] + np.arange(len(batch)) - np.repeat(starts, sizes)
            tails[owners[order], places] = batch[order]
            counts[concerned] += sizes
            for leaf in concerned[counts[concerned] >= most].tolist():
                flush(leaf)
        for leaf in range(leaves):
            flush(leaf)

    def read(leaf: int) -> Fingerprints:
        size_bytes = os.fstat(descriptors[leaf]).st_size
        return np.frombuffer(os.pread(descriptors[leaf], size_bytes, 0), dtype=np.uint64)

    def split() -> None:
        ascending = np.sort(read(0))
        for half in np.array_split(ascending, 2):
            directory.joinpath(f"{half[0]}.half").write_bytes(half.tobytes())

    written_s = timed(write)
    read_s = statistics.median(timed(partial(read, leaf)) for leaf in range(min(leaves, 20)))
    size_bytes = sum(os.fstat(descriptor).st_size for descriptor in descriptors)
    split_s = timed(split)
    for descriptor in descriptors:
        os.close(descriptor)
    return Costs(written_s, read_s, split_s, size_bytes)


def leveldb(fingerprints: Fingerprints, leaves: int, directory: Path) -> Costs:
    store = plyvel.DB(str(directory), create_if_missing=True, compression=None, lru_cache_size=8 << 20)
    tail = max(128, len(fingerprints) // 192)

    def write() -> None:
        for start in range(0, len(fingerprints), tail):
            keys = np.sort(fingerprints[start : start + tail]).astype(">u8").tobytes()
            with store.write_batch() as batch:
                for at in range(0, len(keys), 8):
                    batch.put(keys[at : at + 8], b"")

    def read(low: int, high: int) -> Fingerprints:
        found = store.iterator(start=low.to_bytes(8, "big"), stop=(high - 1).to_bytes(8, "big"), include_value=False)
        return np.frombuffer(b"".join(found), dtype=">u8").astype(np.uint64)

    written_s = timed(write)
    read_s = statistics.median(timed(partial(read, *span)) for span in spans(leaves))
    size_bytes = sum(path.stat().st_size for path in directory.iterdir())
    store.close()
    return Costs(written_s, read_s, 0.0, size_bytes)


def batches(fingerprints: Fingerprints) -> Iterator[Fingerprints]:
    for start in range(0, len(fingerprints), BATCH):
        yield fingerprints[start : start + BATCH]


def spans(leaves: int) -> list[tuple[int, int]]:
    """Ranges of some leaves."""
    return [(leaf * 2**64 // leaves, (leaf + 1) * 2**64 // leaves) for leaf in range(min(leaves, 20))]


LAYOUTS = {"runs": runs, "files": files, "leveldb": leveldb}


def main() -> None:
    asked = report.options(sys.modules[__name__].__doc__ or "")
    count = 1_000_000 if asked.quick else 10_000_000
    fingerprints = np.random.default_rng(asked.seed).integers(0, 2**64, count, dtype=np.uint64)
    figures: dict[str, float] = {}
    for name, layout in LAYOUTS.items():
        with tempfile.TemporaryDirectory(prefix="onceover-leaflist-") as directory:
            costs = layout(fingerprints, count // LEAF_CAPACITY, Path(directory))
        write_us = costs.write_s / count * 1e6
        figures[f"{name}_write_us"] = write_us
        figures[f"{name}_read_ms"] = costs.read_s * 1e3
        figures[f"{name}_total_us"] = write_us + (costs.read_s * READS_PER_URL + costs.split_s / LEAF_CAPACITY) * 1e6
        figures[f"{name}_bytes"] = costs.disk_bytes / count
    report.emit(figures, asked=asked, packages=("numpy", "plyvel"), meanings=MEANINGS)


MEANINGS = {
    name + kind: meaning
    for name in LAYOUTS
    for kind, meaning in {
        "_write_us": "per URL",
        "_read_ms": "the fingerprints of one leaf",
        "_total_us": "per URL that comes, with all reading and splitting that follows from it",
        "_bytes": "on disk, per URL",
    }.items()
}

if __name__ == "__main__":
    main()
