"""Reads the heads of WARC records, whoever wrote them. Pure."""

import re
from typing import Final

import msgspec

from crawler.write.cdxj.lines import REVISIT, CaptureFacts, declared_type, moment_of

END: Final = b"\r\n\r\n"
_CAPTURES: Final = ("response", "revisit", "resource")
_OF_HTTP: Final = ("response", "revisit")
_IDENTICAL: Final = b"identical-payload-digest"
_FAILURE: Final = re.compile(rb"(?:^|\r\n)failure:")
_MOST_DIGITS: Final = 18
"""Of a status. Another crawler may have archived one of any length, and beyond 4,300 Python does not read them."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the head of a WARC record says, and that of the response in it."""

    kind: str
    url: str
    date: str
    digest: str | None
    """The digest of the payload."""
    has_payload_elsewhere: bool
    """Whether this is a revisit record of a payload that another record has."""
    refers_to: tuple[str, str] | None
    """URL and time of that, as 14 digits."""
    mime: str | None
    status: int | None
    tells_failure: bool
    """Whether this is a metadata record that says that the request failed, whatever the server had sent before."""

    @property
    def moment(self) -> str:
        """Its date as 14 digits."""
        return moment_of(self.date)

    def capture(self) -> CaptureFacts | None:
        """What an index says of the record; None if it is not a capture."""
        if self.kind not in _CAPTURES:
            return None
        mime = REVISIT if self.kind == "revisit" else self.mime
        return CaptureFacts(url=self.url, date=self.date, mime=mime, status=self.status, digest=self.digest)


def capture_of(content: bytes) -> CaptureFacts | None:
    """What an index says of a record, of which the first 512 KiB are enough; None if it is not a capture."""
    head, _, block = content.partition(END)
    fields = fields_of(head)
    if _text(fields.get(b"warc-type", b"")) not in _CAPTURES:  # as are most records; the rest takes time
        return None
    found = _head_of(fields, block)
    return None if found is None else found.capture()


def read_head(content: bytes) -> Head | None:
    """The head of a record, given its beginning; None if it is none of a URL."""
    head, _, block = content.partition(END)
    return _head_of(fields_of(head), block)


def _head_of(fields: dict[bytes, bytes], block: bytes) -> Head | None:
    url, date = _url(fields, b"warc-target-uri"), _text(fields.get(b"warc-date", b""))
    if not url or not date:
        return None
    kind = _text(fields.get(b"warc-type", b""))
    original, at = _url(fields, b"warc-refers-to-target-uri"), _text(fields.get(b"warc-refers-to-date", b""))
    status, of_payload = None, fields
    if _has_response(kind, fields):
        response = block.partition(END)[0]
        status, of_payload = _status(response), fields_of(response)
    digest = fields.get(b"warc-payload-digest")
    return Head(
        kind=kind,
        url=url,
        date=date,
        digest=None if digest is None else _text(digest),
        has_payload_elsewhere=kind == "revisit" and fields.get(b"warc-profile", b"").endswith(_IDENTICAL),
        refers_to=(original, moment_of(at)) if original and at else None,
        mime=declared_type(of_payload.get(b"content-type", b"")),
        status=status,
        tells_failure=kind == "metadata" and _FAILURE.search(block) is not None,
    )


def may_follow(before: bytes, head: bytes) -> bool:
    """Whether one archive may have both records: they name the same warcinfo record, as far as they name one."""
    names = _warcinfo_of(before), _warcinfo_of(head)
    return None in names or names[0] == names[1]


def _warcinfo_of(content: bytes) -> bytes | None:
    fields = fields_of(content.partition(END)[0])
    return fields.get(b"warc-record-id" if fields.get(b"warc-type") == b"warcinfo" else b"warc-warcinfo-id")


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """The fields after a first line by name, in lower case. The first of each name counts."""
    found: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        found.setdefault(name.strip().lower(), value.strip())
    return found


def _has_response(kind: str, fields: dict[bytes, bytes]) -> bool:
    """Whether the block of a record is of HTTP. Some writers leave its type out."""
    declared = fields.get(b"content-type", b"").lower()
    return b"application/http" in declared or (not declared and kind in _OF_HTTP)


def _status(response: bytes) -> int | None:
    words = response.partition(b"\r\n")[0].split(b" ", 2)
    return int(words[1]) if len(words) > 1 and len(words[1]) <= _MOST_DIGITS and words[1].isdigit() else None


def _url(fields: dict[bytes, bytes], name: bytes) -> str:
    return _text(fields.get(name, b"").strip(b"<>"))  # which wget writes, as WARC/1.0 has it


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
