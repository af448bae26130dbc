"""Writes the members of a WACZ file, with their digests."""

import hashlib
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Final, Self

import msgspec

WACZ_VERSION: Final = "1.1.1"
DIGEST_FILE: Final = "datapackage-digest.json"
PACKAGE_FILE: Final = "datapackage.json"
_FIRST: Final = (1980, 1, 1, 0, 0, 0)
_LAST: Final = (2107, 12, 31, 23, 59, 58)
_EMPTY_FIELD: Final = b"\xfe\xca\x00\x00"
"""The extra field 0xCAFE, which marks JAR files and which all readers skip."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A member, as `datapackage.json` names it."""

    name: str
    path: str
    hash: str
    bytes: int


class Member:
    """A member that is being written."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> None:
        self._target.write(data)
        self._sha256.update(data)
        self.size += len(data)

    @property
    def hash(self) -> str:
        return f"sha256:{self._sha256.hexdigest()}"


class Package:
    """A WACZ file that is being written. The end of its context ends the file."""

    def __init__(self, file: BinaryIO, *, is_large: bool) -> None:
        """`is_large` allows members of 2 GiB and more."""
        self._is_large = is_large
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)
        # ZIP knows no other years. The clock of a machine without a battery may begin in 1970.
        self._made = min(max(time.gmtime()[:6], _FIRST), _LAST)
        self.resources: list[Resource] = []

    @contextmanager
    def member(self, path: str, *, stored: bool = False) -> Iterator[Member]:
        """A member to write, compressed unless it is `stored`."""
        with self._open(path, stored=stored) as target:
            member = Member(target)
            yield member
        name = path.rpartition("/")[2].lower()
        self.resources.append(Resource(name=name, path=path, hash=member.hash, bytes=member.size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def finish(self, facts: dict[str, Any]) -> None:
        """Write what describes all members, with `facts` about the archive. Nothing may follow."""
        package = {"profile": "data-package", "wacz_version": WACZ_VERSION, **facts, "resources": self.resources}
        content = msgspec.json.format(msgspec.json.encode(package))
        digest = {"path": PACKAGE_FILE, "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"}
        for path, text in ((PACKAGE_FILE, content), (DIGEST_FILE, msgspec.json.format(msgspec.json.encode(digest)))):
            with self._open(path, stored=False) as target:
                target.write(text)

    def _open(self, path: str, *, stored: bool) -> IO[bytes]:
        info = zipfile.ZipInfo(path, self._made)
        info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        if self._is_large:
            # The heads of members are then longer. wabac.js expects that only if the central directory has a field too.
            info.extra = _EMPTY_FIELD
        return self._zip.open(info, "w", force_zip64=self._is_large)
