"""The record of a URL, once it is settled."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from crawler.page import (
    NO_USAGE,
    REDIRECTS,
    SITEMAP,
    Content,
    Extract,
    Failure,
    Fetched,
    LinkDetail,
    LinkKind,
    Page,
    PageRecord,
    Redirect,
    Repeat,
    Usage,
    digest_text,
    rfc3339,
)
from crawler.record.changes import change_since
from crawler.record.dates import header_time, w3c_time
from crawler.record.headers import expires_at, media_type, record_headers, validator
from frontier import Lease, UrlState

_DONE = UrlState.DONE.name.lower()
_FAILED = UrlState.FAILED.name.lower()
_EXCLUDED = UrlState.EXCLUDED.name.lower()
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")
_FRAGMENT = "!#$%&'(*)+,/:;=?@[\\]^{|}"
"""What stands unescaped in a fragment beside letters, digits and `-._~`."""
_LISTED_IN_SITEMAPS = frozenset({LinkKind.LISTED, LinkKind.SITEMAP, LinkKind.FEED})
_CONTENT = (
    "title description abstract author simhash near_duplicate_of near_distance link_details main_text markdown json_ld"
    " open_graph anchors broken_fragments"
).split()


class FoundLinks(msgspec.Struct, frozen=True, gc=False):
    """What the record says of a page's links."""

    references: Sequence[str] | None = None
    """Canonical URLs of the links in scope, repeats included."""
    details: Sequence[LinkDetail] | None = None
    refused: Mapping[str, int] | None = None
    refusals: Sequence[tuple[str, str]] | None = None


_NO_LINKS = FoundLinks()


def fetched_record(
    lease: Lease,
    fetched: Fetched,
    /,
    *,
    extract: Extract | None = None,
    content: Content | None = None,
    links: FoundLinks = _NO_LINKS,
    redirect: str | None = None,
    sha1: bytes | None = None,
    repeat: Repeat | None = None,
) -> PageRecord:
    """The record of a URL that was fetched, successfully or not.

    `redirect` is the absolute target of a redirect, and the record adds the fragment of the Location; without it, the
    record has the Location as it stands. `sha1` is the digest of the body.
    """
    if isinstance(fetched, Failure):
        return _failure_record(lease, fetched)
    headers = record_headers(fetched)
    # In pieces: Python makes a dictionary for a call with more than 15 keywords, which is slow.
    record = replace(
        _record_of_lease(lease, _DONE),
        resolved_url=resolved_url(fetched.url, fetched.ip, fetched.port),
        status=fetched.status,
        fetched_at=rfc3339(fetched.fetched_at),
        duration_s=round(fetched.duration_s, 6),
        attempts=lease.url.attempt + 1,
        ip=fetched.ip,
        declared_type=media_type(headers.get(b"content-type")),
        digest=None if sha1 is None else digest_text(sha1),
        change=change_since(lease, fetched, sha1),
        last_modified=header_time(headers.get(b"last-modified")) or w3c_time(lease.url.last_modified),
        etag=validator(headers.get(b"etag")),
        expires_at=expires_at(headers, fetched.fetched_at),
    )
    if isinstance(fetched, Page):
        record = replace(
            record,
            message=_message(lease, fetched, extract, content),
            size_bytes=len(fetched.body),
            received_bytes=len(fetched.raw_body),
            truncated=fetched.truncated,
            rendering=fetched.rendering,
            references=None if links.references is None else list(links.references),
            link_details=None if links.details is None else list(links.details),
            refused=dict(links.refused) if links.refused else None,
            refusals=_written(links.refusals) if links.refusals else None,
        )
    elif isinstance(fetched, Redirect):
        record = replace(
            record,
            message=fetched.message or None,
            redirect=fetched.location if redirect is None else _with_fragment(redirect, fetched.location),
            size_bytes=len(fetched.body),
            received_bytes=len(fetched.raw_body),
            refused=dict(links.refused) if links.refused else None,
            refusals=_written(links.refusals) if links.refusals else None,
        )
    if extract is not None:
        record = _with_extract(record, extract)
    if repeat is not None:
        record = _with_repeat(record, repeat)
    return record if content is None else _with_content(record, content)


def unfetched_record(
    lease: Lease, /, *, reason: str, state: UrlState = UrlState.EXCLUDED, message: str | None = None
) -> PageRecord:
    """The record of a URL for which no request was sent; robots.txt may have disallowed it, for example."""
    record = _record_of_lease(lease, state.name.lower())
    return replace(record, reason=reason, message=message, attempts=lease.url.attempt)


def with_usage(record: PageRecord, usage: Usage, /) -> PageRecord:
    """The record of a page with what its site says about its use."""
    if usage is NO_USAGE:
        return record
    return replace(record, refused_for=list(usage.refused_for) or None, preferences=list(usage.preferences))


def without_content(record: PageRecord, /, *, reason: str, message: str | None) -> PageRecord:
    """The record of a page that was fetched and is not kept: without anything of its content but its links."""
    nothing: dict[str, Any] = dict.fromkeys(_CONTENT)
    message = "; ".join(filter(None, (message, record.message)))
    return replace(record, **nothing, state=_EXCLUDED, reason=reason, message=message or None, not_archived=reason)


def _with_fragment(url: str, location: str) -> str:
    fragment = location.strip().partition("#")[2]
    # Escaped by the URL standard, as in the details of links.
    written = fragment.translate(_NOT_IN_URLS)
    return f"{url}#{quote(written, safe=_FRAGMENT, errors='replace')}" if written else url


def _failure_record(lease: Lease, failure: Failure) -> PageRecord:
    return replace(
        _record_of_lease(lease, _FAILED),
        resolved_url=resolved_url(failure.url, failure.ip, None),
        reason=failure.kind.value,
        message=failure.message,
        fetched_at=rfc3339(failure.fetched_at),
        duration_s=round(failure.duration_s, 6),
        attempts=lease.url.attempt + 1,
        ip=failure.ip,
    )


def _record_of_lease(lease: Lease, state: str) -> PageRecord:
    """What is known before the fetch."""
    url = lease.url
    return PageRecord(
        number=lease.number,
        url=url.url,
        state=state,
        depth=url.depth,
        via=url.via,
        kind=url.kind,
        anchor=url.anchor,
        hit_count=lease.hit_count,
        weight=url.weight,
        precedence=url.precedence,
        visit=1 if url.last_visit is None else url.last_visit.visits + 1,
    )


def _with_extract(record: PageRecord, extract: Extract) -> PageRecord:
    return replace(
        record,
        content_type=extract.content_type or None,
        charset=extract.charset,
        charset_source=extract.charset_source,
        title=extract.title,
        description=extract.description,
        abstract=extract.abstract,
        author=extract.author,
        language=extract.language,
        canonical=extract.canonical,
        noindex=extract.noindex,
        simhash=None if extract.simhash is None else f"{extract.simhash:016x}",
    )


def _written(refusals: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(url, str(reason)) for url, reason in refusals]


def _with_repeat(record: PageRecord, repeat: Repeat) -> PageRecord:
    return replace(
        record,
        duplicate_of=repeat.duplicate_of,
        near_duplicate_of=repeat.near_duplicate_of,
        near_distance=repeat.near_distance,
        not_followed=repeat.refusal,
        not_archived=None if repeat.is_kept else repeat.refusal,
    )


def _with_content(record: PageRecord, content: Content) -> PageRecord:
    return replace(
        record,
        main_text=content.text,
        markdown=content.markdown,
        anchors=content.anchors,
        broken_fragments=content.broken_fragments,
        json_ld=content.json_ld,
        open_graph=content.open_graph,
    )


def _message(lease: Lease, page: Page, extract: Extract | None, content: Content | None) -> str | None:
    """What people should know about a page that was fetched."""
    if page.message is None and content is None and page.status < 300 and lease.url.kind != SITEMAP:
        return None if extract is None else extract.error or None  # of most pages, nothing
    found = [page.message]
    if page.status in REDIRECTS:
        found.append("a redirect that leads nowhere: its Location is missing or empty")
    if extract is not None:
        found.append(extract.error)
        if content is not None:
            found += content.troubles
        is_sitemap = lease.url.kind == SITEMAP
        if is_sitemap and extract.error is None and not any(link.kind in _LISTED_IN_SITEMAPS for link in extract.links):
            found.append(f"no URL is listed in this sitemap, read as {extract.content_type}")
    return "; ".join(filter(None, found)) or None


def resolved_url(url: str, ip: str | None, port: int | None, /) -> str | None:
    """The URL with its host replaced by the address that answered; None if the address is not known.

    It has no port if that is the default port of the scheme. Aliases of one server have the same resolved URL.
    """
    scheme, separator, rest = url.partition("://")
    if ip is None or not separator:
        return None
    known = rest.partition("/")[0]
    if "?" in known or "#" in known:  # not in a serialised URL
        known = re.split("[?#]", known, maxsplit=1)[0]
    return _resolved_origin(scheme, ip, port) + rest[len(known) :]


@lru_cache(maxsize=1000)
def _resolved_origin(scheme: str, ip: str, port: int | None) -> str:
    authority = f"[{ip}]" if ":" in ip else ip
    if port is not None and port != _DEFAULT_PORTS.get(scheme):
        authority = f"{authority}:{port}"
    return f"{scheme}://{authority}"
