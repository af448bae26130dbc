"""Writes an index in compressed blocks, so that replay reads only those that it needs.

`index.cdx.gz` has the lines, each block as a gzip member. `index.idx` says where each block is, and how it begins.
"""

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from crawler.export.wacz.package import Package

_LINES: Final = 1024
"""The number of lines in a block."""
_NAME: Final = "index.cdx.gz"


class _Block(msgspec.Struct, frozen=True):
    offset: int
    length: int
    digest: str
    filename: str = _NAME


def write_index(package: Package, lines: Iterable[bytes]) -> None:
    """Write the sorted lines of a CDXJ index. Of each block, a hundred bytes stay in memory until the end."""
    table = [b"!meta 0 " + msgspec.json.encode({"format": "cdxj-gzip-1.0", "filename": _NAME}) + b"\n"]
    with package.member(f"indexes/{_NAME}", stored=True) as target:
        for first, block in _blocks(iter(lines)):
            digest = f"sha256:{hashlib.sha256(block).hexdigest()}"
            prefix = first.partition(b" {")[0]
            table.append(prefix + b" " + msgspec.json.encode(_Block(target.size, len(block), digest)) + b"\n")
            target.write(block)
    with package.member("indexes/index.idx") as target:
        for line in table:
            target.write(line)


def _blocks(lines: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The first line of each block, and the block compressed."""
    while block := list(islice(lines, _LINES)):
        yield block[0], gzip.compress(b"".join(block), mtime=0)
