"""Reads the heads of WARC records, whoever wrote them. Pure."""

from typing import Final

import msgspec

_END: Final = b"\r\n\r\n"
_IDENTICAL: Final = "identical-payload-digest"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the head of a WARC record says, and that of the response in it."""

    kind: str
    url: str
    timestamp: str
    """14 digits."""
    digest: str | None
    """The digest of the payload."""
    has_payload_elsewhere: bool
    """Whether this is a revisit record of a payload that another record has."""
    refers_to: tuple[str, str] | None
    """URL and timestamp of that."""
    mime: str | None
    status: str | None
    tells_failure: bool = False
    """Whether this is a metadata record that says that the request failed, whatever the server had sent before."""


def read_head(content: bytes) -> Head | None:
    """The head of a record, given its beginning; None if it is none of a URL."""
    head, _, block = content.partition(_END)
    version, _, lines = head.partition(b"\r\n")
    fields = _fields(lines)
    url, date = fields.get("warc-target-uri", "").strip("<>"), fields.get("warc-date", "")
    if not version.startswith(b"WARC/") or not url or not date:
        return None
    kind = fields.get("warc-type", "")
    to, at = fields.get("warc-refers-to-target-uri", "").strip("<>"), fields.get("warc-refers-to-date", "")
    is_http = "application/http" in fields.get("content-type", "")
    mime, status = _of_response(block) if is_http else (_mime(fields.get("content-type")), None)
    return Head(
        kind=kind,
        url=url,
        timestamp=timestamp(date),
        digest=fields.get("warc-payload-digest"),
        has_payload_elsewhere=kind == "revisit" and fields.get("warc-profile", "").endswith(_IDENTICAL),
        refers_to=(to, timestamp(at)) if to and at else None,
        mime=mime,
        status=status,
        tells_failure=kind == "metadata" and "failure" in _fields(block),
    )


def timestamp(date: str) -> str:
    """A date of a WARC record, or a time in RFC 3339, as 14 digits."""
    return "".join(each for each in date[:19] if each.isdigit())


def _of_response(block: bytes) -> tuple[str | None, str | None]:
    status_line, _, lines = block.partition(_END)[0].partition(b"\r\n")
    words = status_line.decode("latin-1").split()
    status = words[1] if len(words) > 1 and words[1].isdecimal() else None
    return _mime(_fields(lines).get("content-type")), status


def _mime(content_type: str | None) -> str | None:
    return (content_type or "").partition(";")[0].strip().lower() or None


def _fields(lines: bytes) -> dict[str, str]:
    """The fields by name in lower case. The first field of a name counts."""
    fields: dict[str, str] = {}
    for line in lines.split(b"\r\n"):
        name, _, value = line.decode("utf-8", "replace").partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    return fields
