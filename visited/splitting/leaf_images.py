"""The bits of leaves on disk, so that opening need not read the whole list.

An image is only a short cut. It holds the bits that the first so many runs of the list have set; what came later is
set again from the list. So a snapshot rewrites the images of those leaves alone that have changed much, and one that
is missing, damaged or newer than the snapshot is simply not used.
"""

from pathlib import Path

import msgspec

from visited.bits.memory import Memory
from visited.protocol import SnapshotRefused
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.splitting.leaf_list import LeafList
from visited.splitting.leaves import Leaves

_BACKEND = "dsbf-leaf"
# An eighth more bits than its image has: to read that share of the list again is cheaper than to write it each time.
_WORTH_WRITING = 1.125
# A dump must not hold up the crawl; the list makes up for what is left for the next one.
_MOST_AT_ONCE = 64


class Image(msgspec.Struct, frozen=True):
    """The bits that the first `runs` runs of the list have set in a leaf."""

    bits: Memory
    ones: int
    runs: int


class LeafImages:
    """One file for each leaf, in a directory that holds nothing else."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ones_written: dict[tuple[int, int, int], int] = {}

    def write_changed(self, leaves: Leaves, fingerprints: LeafList) -> int:
        """Write the leaves that have changed much since their image was written, the most changed first, and not too
        many in one call; return how many. All of the list must be in runs."""
        self._directory.mkdir(parents=True, exist_ok=True)
        if not self._ones_written:
            self._delete_foreign(leaves)
        for depth, index in {key[:2] for key in self._ones_written} - set(leaves.places):
            self._path(depth, index).unlink(missing_ok=True)
        written, changes = {}, []
        for (depth, index), bits, ones in zip(leaves.places, leaves.bits, leaves.ones.tolist(), strict=True):
            key = (depth, index, len(bits))
            written[key] = self._ones_written.get(key, 0)
            if ones > written[key] * _WORTH_WRITING:
                changes.append((ones / max(written[key], 1), key, bits, ones))
        changes.sort(key=lambda change: change[0], reverse=True)
        history = fingerprints.histories()[-1]
        for _, key, bits, ones in changes[:_MOST_AT_ONCE]:
            self._write(key[0], key[1], bits, ones, fingerprints, history)
            written[key] = ones
        self._ones_written = written
        return min(len(changes), _MOST_AT_ONCE)

    def read(
        self, depth: int, index: int, size_bytes: int, fingerprints: LeafList, histories: list[int]
    ) -> Image | None:
        """The image of a leaf, if there is one that fits this list; `histories` are the list's."""
        try:
            with self._path(depth, index).open("rb") as file:
                snapshot = read_snapshot(
                    file, backend=_BACKEND, parameters=self._parameters(depth, index, size_bytes, fingerprints)
                )
            image = Image(snapshot.parts[0], snapshot.integer("ones"), snapshot.integer("runs"))
            history = snapshot.integer("history")
        except (OSError, SnapshotRefused):
            return None
        if image.runs > fingerprints.run_count or len(image.bits) != size_bytes:
            return None
        if history != histories[image.runs]:
            # Of what was cut off after a crash.
            return None
        self._ones_written[depth, index, size_bytes] = image.ones
        return image

    def disk_bytes(self) -> int:
        """Bytes of the images known to be there."""
        return sum(size for (_, _, size), ones in self._ones_written.items() if ones)

    def _delete_foreign(self, leaves: Leaves) -> None:
        """Delete what an earlier set has left here."""
        names = {self._path(depth, index).name for depth, index in leaves.places}
        for path in self._directory.iterdir():
            if path.name not in names:
                path.unlink()

    def _write(self, depth: int, index: int, bits: Memory, ones: int, fingerprints: LeafList, history: int) -> None:
        path = self._path(depth, index)
        runs = fingerprints.run_count
        aside = path.with_suffix(".new")
        try:
            with aside.open("wb") as file:
                write_snapshot(
                    file,
                    backend=_BACKEND,
                    parameters=self._parameters(depth, index, len(bits), fingerprints),
                    state={"ones": ones, "runs": runs, "history": history},
                    parts=[bits],
                )
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def _parameters(self, depth: int, index: int, size_bytes: int, fingerprints: LeafList) -> dict[str, Value]:
        return {"depth": depth, "index": index, "bytes": size_bytes, "list": fingerprints.identity.hex()}

    def _path(self, depth: int, index: int) -> Path:
        return self._directory / f"{depth}-{index}.leaf"
