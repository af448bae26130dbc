"""The bits of leaves on disk, so that opening need not read the whole list.

An image only saves time. It holds the bits that the first runs of the list have set; the bits of later runs are set
again from the list. So a snapshot rewrites only the images of leaves that have changed much, and an image that is
missing, damaged or newer than the snapshot is not used.
"""

from pathlib import Path

import msgspec

from visited.bits.memory import Memory
from visited.protocol import SnapshotRefused
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.splitting.block_file import BlockFile
from visited.splitting.fingerprint_list import FingerprintList
from visited.splitting.leaves import Leaves

_BACKEND = "dsbf-leaf"
# Write an image when its leaf has an eighth more bits: reading this share of the list again costs less than writing.
_MIN_GROWTH = 1.125
# A dump must not delay the crawl. The next dump writes the other images; until then the list has their bits.
_MAX_AT_ONCE = 64


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

    def write_changed(self, leaves: Leaves, fingerprints: FingerprintList) -> int:
        """Write the leaves that have changed much since their last image, at most 64, and return how many.

        Begins with the leaves that have changed most. The whole list must be in runs.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        if not self._ones_written:
            self._delete_foreign(leaves)
        for depth, index in {key[:2] for key in self._ones_written} - set(leaves.places):
            self._path(depth, index).unlink(missing_ok=True)
        written, changes = {}, []
        for (depth, index), bits, ones in zip(leaves.places, leaves.bits, leaves.ones.tolist(), strict=True):
            key = (depth, index, len(bits))
            written[key] = self._ones_written.get(key, 0)
            if ones > written[key] * _MIN_GROWTH:
                changes.append((ones / max(written[key], 1), key, bits, ones))
        changes.sort(key=lambda change: change[0], reverse=True)
        history = fingerprints.file.history_checksums()[-1]
        for _, key, bits, ones in changes[:_MAX_AT_ONCE]:
            self._write(key[0], key[1], bits, ones, fingerprints.file, history)
            written[key] = ones
        self._ones_written = written
        return min(len(changes), _MAX_AT_ONCE)

    def read(
        self, depth: int, index: int, size_bytes: int, file: BlockFile, history_checksums: list[int]
    ) -> Image | None:
        """Read the image of a leaf. None unless it fits the file with these checksums."""
        try:
            with self._path(depth, index).open("rb") as image_file:
                snapshot = read_snapshot(
                    image_file, backend=_BACKEND, parameters=self._parameters(depth, index, size_bytes, file)
                )
            image = Image(snapshot.parts[0], snapshot.integer("ones"), snapshot.integer("runs"))
            history = snapshot.integer("history")
        except (OSError, SnapshotRefused):
            return None
        if image.runs > file.block_count or len(image.bits) != size_bytes:
            return None
        if history != history_checksums[image.runs]:
            # It includes runs that were cut off after a crash.
            return None
        self._ones_written[depth, index, size_bytes] = image.ones
        return image

    def disk_bytes(self) -> int:
        """The size of the images that this object has read or written."""
        return sum(size for (_, _, size), ones in self._ones_written.items() if ones)

    def _delete_foreign(self, leaves: Leaves) -> None:
        """Delete the images of an earlier set."""
        names = {self._path(depth, index).name for depth, index in leaves.places}
        for path in self._directory.iterdir():
            if path.name not in names:
                path.unlink()

    def _write(self, depth: int, index: int, bits: Memory, ones: int, file: BlockFile, history: int) -> None:
        path = self._path(depth, index)
        aside = path.with_suffix(".new")
        try:
            with aside.open("wb") as image_file:
                write_snapshot(
                    image_file,
                    backend=_BACKEND,
                    parameters=self._parameters(depth, index, len(bits), file),
                    state={"ones": ones, "runs": file.block_count, "history": history},
                    parts=[bits],
                )
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def _parameters(self, depth: int, index: int, size_bytes: int, file: BlockFile) -> dict[str, Value]:
        return {"depth": depth, "index": index, "bytes": size_bytes, "list": file.identity.hex()}

    def _path(self, depth: int, index: int) -> Path:
        return self._directory / f"{depth}-{index}.leaf"
