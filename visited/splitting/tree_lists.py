"""What was added to the tree, on disk: the fingerprints of all URLs and, if asked, the URLs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from visited.bits.memory import Part
from visited.protocol import SnapshotRefused
from visited.snapshot import Snapshot, Value
from visited.splitting.block_file import BlockFile
from visited.splitting.fingerprint_list import FingerprintList, Fingerprints
from visited.splitting.url_list import UrlList


class TreeLists:
    """Both lists, which grow together. A snapshot holds their lengths, and what is not on disk."""

    def __init__(self, directory: Path | None, *, keeps_urls: bool) -> None:
        """Without a directory the files are temporary, and a snapshot holds their content."""
        self.fingerprints = FingerprintList(directory)
        self.urls = UrlList(directory) if keeps_urls else None
        self._has_directory = directory is not None

    def append(self, fingerprints: Fingerprints, urls: Sequence[str], verdicts: Sequence[bool]) -> None:
        """Add the fingerprints of the URLs that are new by their verdicts. Raises OSError."""
        self.fingerprints.append(fingerprints)
        if self.urls is not None:
            self.urls.append([url for url, is_new in zip(urls, verdicts, strict=True) if is_new])

    def flush(self) -> None:
        """Write what is in memory, unless the disk is full."""
        self.fingerprints.flush()
        if self.urls is not None:
            self.urls.flush()

    def state(self) -> dict[str, Value]:
        """What a snapshot must hold, besides `parts`."""
        files = {"list": self.fingerprints.file}
        if self.urls is not None:
            files["urls"] = self.urls.file
        identities: dict[str, Value] = {name: file.identity.hex() for name, file in files.items()}
        return identities | {f"{name}_bytes": file.size_bytes for name, file in files.items()}

    def parts(self) -> list[list[Part]]:
        """For each list the content of the file, if that is temporary, and the tail."""
        found: list[list[Part]] = [[self._content(self.fingerprints.file), self.fingerprints.tail().tobytes()]]
        if self.urls is not None:
            found.append([self._content(self.urls.file), self.urls.tail()])
        return found

    def restore(self, snapshot: Snapshot, parts: Sequence[Sequence[Part]]) -> None:
        """Open the files as they were at the snapshot. Later entries are cut off. Raises SnapshotRefused."""
        self._open(self.fingerprints.file, snapshot, "list", parts[0][0])
        self.fingerprints.begin(np.frombuffer(parts[0][1], dtype=np.uint64))
        if self.urls is not None:
            self._open(self.urls.file, snapshot, "urls", parts[1][0])
            self.urls.begin(bytes(parts[1][1]))
            if len(self.urls) != len(self.fingerprints):
                raise SnapshotRefused("the lists of URLs and of fingerprints do not agree; rebuild it")

    def close(self) -> None:
        """Close the files, and be empty."""
        self.fingerprints.close()
        if self.urls is not None:
            self.urls.close()

    @property
    def disk_bytes(self) -> int:
        return self.fingerprints.file.size_bytes + (0 if self.urls is None else self.urls.file.size_bytes)

    @property
    def memory_bytes(self) -> int:
        return self.fingerprints.memory_bytes + (0 if self.urls is None else self.urls.memory_bytes)

    def _content(self, file: BlockFile) -> Part:
        return b"" if self._has_directory else file.content()

    def _open(self, file: BlockFile, snapshot: Snapshot, name: str, content: Part) -> None:
        size_bytes = snapshot.integer(f"{name}_bytes")
        if not size_bytes:
            return
        if self._has_directory:
            file.open_at(bytes.fromhex(str(snapshot.state.get(name))), size_bytes)
        else:
            file.open_content(content)
