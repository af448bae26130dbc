"""What warcio 1.8 promises, as far as it is used here."""

from collections.abc import Iterator
from typing import BinaryIO, Literal

from warcio.recordloader import ArcWarcRecord

class ArchiveIterator:
    record: ArcWarcRecord | None
    err_count: int
    def __init__(
        self,
        fileobj: BinaryIO,
        no_record_parse: bool = False,
        verify_http: bool = False,
        arc2warc: bool = False,
        ensure_http_headers: bool = False,
        block_size: int = ...,
        check_digests: bool | Literal["raise", "log"] = False,
    ) -> None: ...
    def __iter__(self) -> Iterator[ArcWarcRecord]: ...
    def __next__(self) -> ArcWarcRecord: ...
    def get_record_offset(self) -> int: ...
    def get_record_length(self) -> int: ...
    def close(self) -> None: ...

class WARCIterator(ArchiveIterator): ...
