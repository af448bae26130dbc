"""Page records, made of what is known of a URL."""

import base64
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.page import (
    Extract,
    Failure,
    FailureKind,
    Link,
    LinkKind,
    NotModified,
    Page,
    PageRecord,
    Redirect,
    Repeat,
    body_digest,
    body_sha1,
    digest_text,
    rfc3339,
)
from crawler.page.digests import digest_text_in_python
from crawler.record import (
    FoundLinks,
    dates,
    fetched_record,
    header_time,
    unfetched_record,
    w3c_time,
)
from crawler.record.dates import http_date
from crawler.record.page_records import resolved_url
from frontier import UrlState
from tests.unit.write.samples import NOON, lease, page

SUNDAY = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


def with_headers(*headers: tuple[bytes, bytes]) -> PageRecord:
    return fetched_record(lease(0), page(0, headers=headers))


def test_a_sitemap_without_urls_says_what_it_was_read_as() -> None:
    known = Extract(content_type="text/html", base_url="http://h/", links=[Link("a", LinkKind.LINK)])
    listing = msgspec.structs.replace(known, content_type="text/xml", links=[Link("a", LinkKind.LISTED)])
    cut = msgspec.structs.replace(known, error="ends in the middle")
    sitemap = msgspec.structs.replace(lease(0), url=msgspec.structs.replace(lease(0).url, kind="sitemap"))
    told = [fetched_record(sitemap, page(0), extract=each).message for each in (known, listing, cut)]
    assert told == ["no URL is listed in this sitemap, read as text/html", None, "ends in the middle"]
    assert fetched_record(lease(0), page(0), extract=known).message is None


def test_a_page_brings_every_field_that_is_known() -> None:
    fetched = msgspec.structs.replace(
        page(7, b"decoded body", raw_body=b"packed", truncated="length"),
        headers=[
            (b"Content-TYPE", b"Text/HTML ; charset=x"),
            (b"ETag", b' W/"a" '),
            (b"Last-Modified", b"Sun, 06 Nov 1994 08:49:37 GMT"),
            (b"Cache-Control", b"public, max-age=60"),
        ],
    )
    extract = Extract(
        content_type="application/xhtml+xml",
        base_url=fetched.url,
        charset="UTF-8",
        charset_source="bom",
        title="T",
        description="D",
        abstract="A",
        author="Au",
        language="de",
        canonical="http://h/c",
        error="stumbled",
    )
    record = fetched_record(
        lease(7, attempt=2),
        fetched,
        extract=extract,
        sha1=body_sha1(b"decoded body"),
        links=FoundLinks(references=("http://h/1",), refused={"scope": 2}),
        repeat=Repeat(duplicate_of="http://h/0"),
    )
    assert msgspec.to_builtins(record) == {
        "number": 7,
        "url": "http://h1.sim.test:8080/page/7?a=b",
        "resolved_url": "http://127.0.0.1:8080/page/7?a=b",
        "state": "done",
        "status": 200,
        "message": "stumbled",
        "depth": 2,
        "via": "http://h1.sim.test:8080/",
        "kind": "link",
        "anchor": "a page",
        "hit_count": 3,
        "weight": 0.0,
        "precedence": 128,
        "fetched_at": "2023-11-14T22:13:27.250Z",
        "duration_s": 0.0123,
        "attempts": 3,
        "ip": "127.0.0.1",
        "content_type": "application/xhtml+xml",
        "declared_type": "text/html",
        "charset": "UTF-8",
        "charset_source": "bom",
        "title": "T",
        "description": "D",
        "abstract": "A",
        "author": "Au",
        "language": "de",
        "canonical": "http://h/c",
        "size_bytes": 12,
        "received_bytes": 6,
        "truncated": "length",
        "digest": body_digest(b"decoded body"),
        "duplicate_of": "http://h/0",
        "last_modified": "1994-11-06T08:49:37Z",
        "etag": 'W/"a"',
        "expires_at": "2023-11-14T22:14:27.250Z",
        "references": ["http://h/1"],
        "refused": {"scope": 2},
    }


def test_what_is_not_known_is_left_out() -> None:
    bare = Page(url="http://h/", status=200, headers=[], fetched_at=NOON, duration_s=0.1, body=b"", raw_body=b"")
    record = msgspec.to_builtins(fetched_record(lease(1), bare))
    assert record["size_bytes"] == 0
    assert not {"resolved_url", "ip", "etag", "expires_at", "references", "refused", "content_type", "reason"} & set(
        record
    )


def test_a_page_without_links_in_scope_says_so() -> None:
    assert fetched_record(lease(1), page(1), links=FoundLinks(references=[])).references == []
    assert fetched_record(lease(1), page(1)).references is None


def test_a_digest_is_sha1_in_base_32() -> None:
    # The digest of nothing, as every web archive has it.
    assert body_digest(b"") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_a_damaged_digest_of_another_length_has_a_text() -> None:
    assert digest_text(b"1") == "sha1:GE======"


@given(st.binary(min_size=20, max_size=20))
def test_a_digest_is_written_in_base_32(sha1: bytes) -> None:
    written = "sha1:" + base64.b32encode(sha1).decode()
    assert digest_text(sha1) == digest_text_in_python(sha1) == written


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026", "2026-01-01T00:00:00Z"),
        ("2026-02", "2026-02-01T00:00:00Z"),
        (" 2026-02-03 ", "2026-02-03T00:00:00Z"),
        ("2026-02-03T10:20+02:00", "2026-02-03T08:20:00Z"),
        ("2026-02-03T10:20:30.45Z", "2026-02-03T10:20:30Z"),
        ("2026-02-03 10:20:60-0130", "2026-02-03T11:50:59Z"),
        ("2026-02-30", None),
        ("0001-01-01T00:00:00+09:00", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_dates_of_sitemaps_are_read_in_all_their_precisions(text: str | None, moment: str | None) -> None:
    assert w3c_time(text) == moment


def test_a_page_without_a_date_of_its_own_has_that_of_the_sitemap() -> None:
    found = lease(1)
    dated = msgspec.structs.replace(found, url=msgspec.structs.replace(found.url, last_modified="2026-02-03"))
    bare = Page(url="http://h/", status=200, headers=[], fetched_at=NOON, duration_s=0.1, body=b"", raw_body=b"")
    assert fetched_record(dated, bare).last_modified == "2026-02-03T00:00:00Z"
    told = msgspec.structs.replace(bare, headers=[(b"Last-Modified", b"Sun, 06 Nov 1994 08:49:37 GMT")])
    assert fetched_record(dated, told).last_modified == "1994-11-06T08:49:37Z"


def test_a_redirect_tells_where_to() -> None:
    redirect = Redirect(url="http://h/a", status=302, headers=[], fetched_at=NOON, duration_s=0.1, location="/b")
    assert fetched_record(lease(1), redirect).redirect == "/b"
    record = fetched_record(lease(1), redirect, redirect="http://h/b")
    assert (record.redirect, record.status, record.state) == ("http://h/b", 302, "done")


@pytest.mark.parametrize("status", [200, 300, 301, 302, 303, 304, 307, 308, 404])
def test_a_redirect_without_a_location_says_so(status: int) -> None:
    record = fetched_record(lease(1), msgspec.structs.replace(page(1), status=status))
    assert (record.message is not None and "Location" in record.message) == (status in {301, 302, 303, 307, 308})


def test_not_modified_is_done_without_a_body() -> None:
    current = NotModified(url="http://h/a", status=304, headers=[], fetched_at=NOON, duration_s=0.1)
    record = fetched_record(lease(1), current)
    assert (record.state, record.status, record.size_bytes, record.digest) == ("done", 304, None, None)


def test_a_failure_tells_how() -> None:
    failure = Failure(
        url="http://h/a", kind=FailureKind.DNS, message="no such name", fetched_at=NOON, duration_s=1.5, ip="::1"
    )
    record = fetched_record(lease(4, attempt=3), failure)
    assert (record.number, record.state, record.reason, record.message) == (4, "failed", "dns", "no such name")
    assert (record.attempts, record.fetched_at, record.duration_s) == (4, "2023-11-14T22:13:20.250Z", 1.5)
    assert record.resolved_url == "http://[::1]/a"
    assert record.status is None


def test_a_url_that_was_not_fetched_tells_why() -> None:
    record = unfetched_record(lease(5), reason="robots", message="Disallow: /page")
    assert (record.state, record.reason, record.message) == ("excluded", "robots", "Disallow: /page")
    assert (record.attempts, record.fetched_at, record.depth) == (0, None, 2)
    assert unfetched_record(lease(5), reason="robots-unreachable", state=UrlState.FAILED).state == "failed"


@pytest.mark.parametrize(
    ("url", "ip", "port", "expected"),
    [
        ("http://h/a?b", "10.0.0.1", 80, "http://10.0.0.1/a?b"),
        ("https://h/a", "10.0.0.1", 443, "https://10.0.0.1/a"),
        ("https://h/a", "10.0.0.1", 80, "https://10.0.0.1:80/a"),
        ("http://h:8080/a", "10.0.0.1", 8080, "http://10.0.0.1:8080/a"),
        ("http://h", "10.0.0.1", None, "http://10.0.0.1"),
        ("http://h?a=/b", "10.0.0.1", 80, "http://10.0.0.1?a=/b"),
        ("http://me:secret@h/a", "10.0.0.1", 80, "http://10.0.0.1/a"),
        ("http://h/a", "2001:db8::1", 81, "http://[2001:db8::1]:81/a"),
        ("http://h/a", None, 80, None),
        ("nonsense", "10.0.0.1", 80, None),
    ],
)
def test_a_resolved_url_has_the_address_for_the_host(
    url: str, ip: str | None, port: int | None, expected: str | None
) -> None:
    assert resolved_url(url, ip, port) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", SUNDAY),
        ("Sunday, 06-Nov-94 08:49:37 GMT", SUNDAY),
        ("Sun Nov  6 08:49:37 1994", SUNDAY),
        ("Sun, 06 Nov 1994 09:49:37 +0100", SUNDAY),
        ("Sun, 06 Nov 1994 08:49:60 GMT", SUNDAY.replace(second=59)),
        ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ("Sun, 36 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 0000 08:49:37 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2300", None),
        ("0", None),
        ("", None),
    ],
)
def test_http_dates_are_read_in_their_three_forms(text: str, expected: datetime | None) -> None:
    assert http_date(text) == expected


@given(st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (GMT|[+-]\d{4})"))
def test_no_date_whatever_it_says_raises(text: str) -> None:
    moment = http_date(text)
    assert moment is None or moment.utcoffset() == SUNDAY.utcoffset()


@pytest.mark.parametrize(
    ("headers", "after_s"),
    [
        ([(b"Cache-Control", b"max-age=90")], 90),
        ([(b"Cache-Control", b'Max-Age="90"')], 90),
        ([(b"Cache-Control", b"max-age=90"), (b"Age", b"30")], 60),
        ([(b"Cache-Control", b"max-age=90"), (b"Age", b"300")], 0),
        ([(b"Cache-Control", b"max-age=90"), (b"Age", b"soon")], 90),
        ([(b"Cache-Control", b"public"), (b"cache-control", b"max-age=5")], 5),
        ([(b"Cache-Control", b"max-age=90, no-cache")], 0),
        ([(b"Cache-Control", b"no-store")], 0),
        ([(b"Cache-Control", b"max-age=99999999999999999999")], 2**31),
        ([(b"Cache-Control", b"max-age=1"), (b"Expires", b"0")], 1),
        ([(b"Cache-Control", b"max-age=x"), (b"Expires", b"0")], 0),
        ([(b"Expires", b"0")], 0),
        ([(b"Expires", b"Sun, 06 Nov 1994 08:49:37 GMT")], 0),
        ([(b"Expires", b"Tue, 14 Nov 2023 22:23:20 GMT"), (b"Date", b"Tue, 14 Nov 2023 22:13:20 GMT")], 600),
        ([(b"Expires", b"Tue, 14 Nov 2023 22:13:30 GMT")], 9),
        ([(b"Cache-Control", b"public")], None),
        ([], None),
    ],
)
def test_a_page_expires_when_its_server_says(headers: list[tuple[bytes, bytes]], after_s: int | None) -> None:
    expected = None if after_s is None else rfc3339(NOON + after_s)
    assert with_headers(*headers).expires_at == expected


@pytest.mark.parametrize("value", [b"", b";", b"  ; charset=x"])
def test_an_empty_content_type_declares_nothing(value: bytes) -> None:
    assert with_headers((b"Content-Type", value)).declared_type is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"Cache-Control", b"Expires", b"Date", b"Age", b"Last-Modified", b"ETag"]),
            st.binary(max_size=40),
        )
    )
)
def test_no_header_whatever_it_says_stops_a_record(headers: list[tuple[bytes, bytes]]) -> None:
    record = with_headers(*headers)
    assert msgspec.json.decode(msgspec.json.encode(record), type=PageRecord) == record


@given(
    st.from_regex(
        r"[A-Z][a-z]{2}, [0-3][0-9] Nov [0-9 ]{4} [0-2]\d[:0.][0-6]\d[:0.][0-9 ]{2} (GMT|UTC)", fullmatch=True
    )
)
@example("Sun, 06 Nov 1994 08:49:60 GMT")
@example("Sun,  6 Nov 1994 08:49:37 GMT")
@example("Sun, 31 Nov 1994 08:49:37 GMT")
def test_the_usual_form_of_a_time_is_read_as_any_form(text: str) -> None:
    moment = http_date(text)
    expected = None if moment is None else f"{moment.replace(tzinfo=None).isoformat()}Z"
    assert header_time(text) == expected


def test_times_of_headers_are_remembered_in_bounded_memory() -> None:
    dates._cached_time.cache_clear()
    for text, expected in (
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Mon, 07 Nov 1994 08:49:60 GMT", "1994-11-07T08:49:59Z"),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("x" * 60_000, None),
        ("", None),
        (None, None),
    ):
        assert [header_time(text), header_time(text)] == [expected, expected]
    kept = dates._cached_time.cache_info()
    assert (kept.currsize, kept.hits, kept.maxsize) == (3, 3, 1000)
