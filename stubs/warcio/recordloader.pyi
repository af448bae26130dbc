"""What warcio 1.8 promises, as far as it is used here."""

from typing import Protocol

from warcio.statusandheaders import StatusAndHeaders

class _Stream(Protocol):
    def read(self, length: int = ..., /) -> bytes: ...
    def readline(self, length: int = ..., /) -> bytes: ...

class _DigestChecker:
    passed: bool | None
    problems: list[str]

class ArcWarcRecord:
    format: str
    rec_type: str
    rec_headers: StatusAndHeaders
    raw_stream: _Stream
    http_headers: StatusAndHeaders | None
    content_type: str
    length: int | None
    payload_length: int
    digest_checker: _DigestChecker
    def content_stream(self) -> _Stream: ...
