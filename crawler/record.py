"""Page records, from what is known of a URL once it is settled. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

from crawler.page import Extract, Failure, Fetched, LinkKind, Page, PageRecord, Redirect, Response, digest_text
from frontier import Lease, UrlState

_WANTED = frozenset({b"content-type", b"last-modified", b"etag", b"cache-control", b"expires", b"date", b"age"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_IMF_LENGTH = len("Sun, 06 Nov 1994 08:49:37 GMT")
_MAX_AGE_S = 2**31
_NOTHING = Extract(content_type="", base_url="")


_OF_SITEMAPS = frozenset({LinkKind.LISTED, LinkKind.SITEMAP, LinkKind.FEED})


def fetched_record(
    lease: Lease,
    fetched: Fetched,
    /,
    *,
    extract: Extract | None = None,
    references: Sequence[str] | None = None,
    refused: Mapping[str, int] | None = None,
    refusals: Sequence[tuple[str, str]] | None = None,
    redirect: str | None = None,
    sha1: bytes | None = None,
    duplicate_of: str | None = None,
) -> PageRecord:
    """The record of a URL that was asked for, whatever came of it.

    `references` are the canonical URLs of the links in scope, repeats included, `redirect` the absolute target of a
    redirect (by default the Location as it stands). `sha1` is that of the body, where there is one.
    """
    if isinstance(fetched, Failure):
        return _failure_record(lease, fetched)
    url = lease.url
    known = extract or _NOTHING
    headers = _headers(fetched)
    body, raw_body = (fetched.body, fetched.raw_body) if isinstance(fetched, Page | Redirect) else (None, None)
    if redirect is None and isinstance(fetched, Redirect):
        redirect = fetched.location
    return PageRecord(
        number=lease.number,
        url=url.url,
        resolved_url=resolved_url(fetched.url, fetched.ip, fetched.port),
        state=_word(UrlState.DONE),
        status=fetched.status,
        message="; ".join(filter(None, _messages(lease, fetched, extract))) or None,
        depth=url.depth,
        via=url.via,
        kind=url.kind,
        anchor=url.anchor,
        hit_count=lease.hit_count,
        weight=url.weight,
        precedence=url.precedence,
        fetched_at=rfc3339(fetched.fetched_at),
        duration_s=round(fetched.duration_s, 6),
        attempts=url.attempt + 1,
        ip=fetched.ip,
        redirect=redirect,
        content_type=known.content_type or None,
        declared_type=_media_type(headers.get(b"content-type")),
        charset=known.charset,
        charset_source=known.charset_source,
        title=known.title,
        description=known.description,
        abstract=known.abstract,
        author=known.author,
        language=known.language,
        canonical=known.canonical,
        noindex=known.noindex,
        size_bytes=None if body is None else len(body),
        received_bytes=None if raw_body is None else len(raw_body),
        truncated=fetched.truncated if isinstance(fetched, Page) else None,
        rendering=fetched.rendering if isinstance(fetched, Page) else None,
        digest=None if sha1 is None else digest_text(sha1),
        duplicate_of=duplicate_of,
        last_modified=header_time(headers.get(b"last-modified")) or w3c_time(url.last_modified),
        etag=headers.get(b"etag"),
        expires_at=_expires_at(headers, fetched.fetched_at),
        references=None if references is None else list(references),
        refused=dict(refused) if refused else None,
        refusals=[(url, str(reason)) for url, reason in refusals] if refusals else None,
    )


def _messages(lease: Lease, fetched: Fetched, extract: Extract | None) -> Iterator[str | None]:
    """What a person should know of a page that was fetched."""
    if isinstance(fetched, Page):
        yield fetched.message
    if extract is None:
        return
    yield extract.error
    is_sitemap = lease.url.kind == LinkKind.SITEMAP
    if is_sitemap and extract.error is None and not any(link.kind in _OF_SITEMAPS for link in extract.links):
        yield f"no URL is listed in this sitemap, read as {extract.content_type}"


def unfetched_record(
    lease: Lease, /, *, reason: str, state: UrlState = UrlState.EXCLUDED, message: str | None = None
) -> PageRecord:
    """The record of a URL that no server was asked for, as by robots.txt."""
    url = lease.url
    return PageRecord(
        number=lease.number,
        url=url.url,
        state=_word(state),
        reason=reason,
        message=message,
        depth=url.depth,
        via=url.via,
        kind=url.kind,
        anchor=url.anchor,
        hit_count=lease.hit_count,
        weight=url.weight,
        precedence=url.precedence,
        attempts=url.attempt,
    )


def rfc3339(seconds: float, /) -> str:
    """Seconds since 1970 as RFC 3339, UTC, with milliseconds."""
    second, microsecond = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_to_the_second(second)}.{microsecond // 1000:03}Z"


@lru_cache(maxsize=16)
def _to_the_second(second: int) -> str:
    # Many pages are fetched in each.
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]


def resolved_url(url: str, ip: str | None, port: int | None, /) -> str | None:
    """The URL with its authority replaced by the address that answered; None where the address is not known.

    The port is left out where it is the scheme's own. Aliases of one server have the same resolved URL.
    """
    scheme, separator, rest = url.partition("://")
    if ip is None or not separator:
        return None
    end = min((position for mark in "/?#" if (position := rest.find(mark)) >= 0), default=len(rest))
    authority = f"[{ip}]" if ":" in ip else ip
    if port is not None and port != _DEFAULT_PORTS.get(scheme):
        authority = f"{authority}:{port}"
    return f"{scheme}://{authority}{rest[end:]}"


def http_date(text: str, /) -> datetime | None:
    """An HTTP date (RFC 9110, section 5.6.7, and the older forms) in UTC; None if it is none."""
    try:
        if len(text) == _IMF_LENGTH and text.endswith(" GMT"):
            return datetime(
                int(text[12:16]),
                _MONTHS[text[8:11]],
                int(text[5:7]),
                int(text[17:19]),
                int(text[20:22]),
                min(int(text[23:25]), 59),  # leap seconds
                tzinfo=UTC,
            )
        moment = parsedate_to_datetime(text)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        return None
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        return None


def _failure_record(lease: Lease, failure: Failure) -> PageRecord:
    url = lease.url
    return PageRecord(
        number=lease.number,
        url=url.url,
        resolved_url=resolved_url(failure.url, failure.ip, None),
        state=_word(UrlState.FAILED),
        reason=failure.kind.value,
        message=failure.message,
        depth=url.depth,
        via=url.via,
        kind=url.kind,
        anchor=url.anchor,
        hit_count=lease.hit_count,
        weight=url.weight,
        precedence=url.precedence,
        fetched_at=rfc3339(failure.fetched_at),
        duration_s=round(failure.duration_s, 6),
        attempts=url.attempt + 1,
        ip=failure.ip,
    )


def _headers(response: Response) -> dict[bytes, str]:
    """The first of each header that a record needs, by lower-case name; Cache-Control whole."""
    found: dict[bytes, str] = {}
    for name, value in response.headers:
        key = name.lower()
        if key in _WANTED:
            text = value.decode("latin-1").strip()
            if key not in found:
                found[key] = text
            elif key == b"cache-control":
                found[key] = f"{found[key]}, {text}"
    return found


def _expires_at(headers: Mapping[bytes, str], fetched_at: float) -> str | None:
    """When the response goes stale (RFC 9111, section 4.2), by max-age, else Expires; None where it does not say."""
    lifetime_s = _lifetime_s(headers, fetched_at)
    if lifetime_s is None:
        return None
    age = headers.get(b"age", "0")
    age_s = min(int(age[:11]), _MAX_AGE_S) if age.isdecimal() and age.isascii() else 0
    return rfc3339(fetched_at + max(0, lifetime_s - age_s))


def _lifetime_s(headers: Mapping[bytes, str], fetched_at: float) -> int | None:
    directives = headers.get(b"cache-control")
    if directives:
        said = dict(_directive(part) for part in directives.lower().split(","))
        if "no-store" in said or "no-cache" in said:
            return 0
        max_age = said.get("max-age", "")
        if max_age.isdecimal() and max_age.isascii():
            return min(int(max_age[:11]), _MAX_AGE_S)
    expires = headers.get(b"expires")
    if expires is None:
        return None
    until = http_date(expires)
    if until is None:  # as "0" or "-1", which mean: already stale
        return 0
    since = http_date(headers.get(b"date", "")) or datetime.fromtimestamp(fetched_at, UTC)
    return min(max(0, (until - since) // timedelta(seconds=1)), _MAX_AGE_S)


def _directive(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name.strip(), value.strip(' \t"')


def header_time(text: str | None) -> str | None:
    moment = http_date(text) if text else None
    return None if moment is None else moment.isoformat()[:-6] + "Z"


_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)


def w3c_time(text: str | None, /) -> str | None:
    """The moment of a date as sitemaps write it (https://www.w3.org/TR/NOTE-datetime), in UTC as records write it; the
    beginning of a year, a month or a day that is not told closer. None if it is none."""
    match = _W3C_DATE.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part or low) for part, low in zip(match.groups(), _LOWEST, strict=False)
    )
    try:
        zone = datetime.strptime(match[7].replace(":", ""), "%z").tzinfo if match[7] else UTC
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat()[:-6] + "Z"


_LOWEST = (1, 1, 1, 0, 0, 0)


def _media_type(text: str | None) -> str | None:
    return (text.partition(";")[0].strip().lower() or None) if text else None


def _word(state: UrlState) -> str:
    return state.name.lower()
