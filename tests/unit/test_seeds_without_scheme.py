"""Seeds without a scheme: which are read, and when http is tried for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from config import ConfigError, owned_by_others
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.page import Failure, FailureKind, LinkKind, Redirect
from crawler.politeness.plain_http import redirect_to_http
from crawler.url.seeds import read_seed
from crawler.url.urls import UrlReader
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.revisiting import UrlsAgain
from frontier import CrawlUrl, LedgerEntry, UrlState

READER = UrlReader()
FAILED = Failure(
    url="https://a.test/", kind=FailureKind.CONNECT, message="m", fetched_at=1.0, duration_s=0.5, no_connection=True
)


def discovery() -> ScopedDiscovery:
    return ScopedDiscovery(urls=READER, scope=Scope(within="host", seeds=[]))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        (" Example.ORG. ", "https://example.org./"),
        ("example.org:8443/path?q=a:b@c", "https://example.org:8443/path?q=a:b@c"),
        ("example.org?x#y", "https://example.org/?x"),
        ("localhost", "https://localhost/"),
        ("localhost:8080", "https://localhost:8080/"),
        ("127.0.0.1:8080/x", "https://127.0.0.1:8080/x"),
        ("[::1]:8080", "https://[::1]:8080/"),
        ("bücher.de", "https://xn--bcher-kva.de/"),
        ("пример.рф/а", "https://xn--e1afmkfd.xn--p1ai/%D0%B0"),
        ("web.a.test", "https://web.a.test/"),
        ("example.co.uk", "https://example.co.uk/"),
    ],
)
def test_a_host_without_a_scheme_is_read_as_https(text: str, url: str) -> None:
    target, has_scheme = read_seed(READER, text)
    assert (target.url, has_scheme) == (url, False)
    (queued,) = discovery().seeds([text])
    assert (queued.url, queued.kind, queued.anchor) == (url, LinkKind.SEED, text.strip())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "has no scheme; write 'https://foo/'"),
        ("intranet:8080", "has no scheme; write 'https://intranet:8080/'"),
        (
            "seeds.txt",
            "has no scheme, and no top-level domain .txt is known; if it is a host, write 'https://seeds.txt/'",
        ),
        ("x.orgg:80/a", "no top-level domain .orgg is known; if it is a host, write 'https://x.orgg:80/a'"),
        ("1.5", "has no scheme, and is no full address; if it is a host, write 'https://1.0.0.5/'"),
        ("//example.org/x", "has no scheme; write 'https://example.org/x'"),
        ("me@example.org", "has no scheme; write"),
        ("mailto:me@example.org", "found 'mailto'"),
        ("ftp://example.org/", "found 'ftp'"),
        ("tel:112", "has no scheme; write"),
        ("example.org:99999", "is not a URL"),
        ("example.org:8x", "has no scheme|is not a URL|found"),
        ("/index.html", "'/index.html' is a path: expected a URL such as"),
        ("../seeds.txt", "is a path"),
        ("a b.org", "not a URL"),
        ("http://a.test/ https://b.test/", "holds several URLs"),
        ("a.test\tHTTP://b.test/", "holds several URLs"),
    ],
)
def test_what_may_be_a_mistake_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_seed(READER, text)


@pytest.mark.parametrize(
    "written", ["https://me:secret@a.test/x", "http:\\\\me@a.test\\x#y", "HTTP://:secret@a.test?@", "me:secret@a.test/"]
)
def test_a_seed_with_a_login_is_refused_and_the_login_not_repeated(written: str) -> None:
    with pytest.raises(ValueError, match=r"'https?://a\.test/.*' has a login.*fetch\.logins") as refused:
        read_seed(READER, written)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "written",
    [
        "ftp://me:secret@a.test/",
        "me:se/secret@a.test",
        "https//me:secret@a.test",
        "https://me:a secret@a b.test/",
        "http://me:secret@[::1/",
        "//me:secret@a.test/",
        '"https://me:secret@a.test/"',
        "<https://me:secret@a.test/>",
        "https://me:secret@a.test/ https://b.test/",
        "https://a.test/ https://me:secret@b.test/",
        "view-source:https://me:secret@a.test/",
        f"ftp://me:{'secret' * 30}@a.test/",
    ],
)
def test_what_can_not_be_crawled_is_quoted_without_its_password(written: str) -> None:
    with pytest.raises(ValueError, match=r"expected|write") as refused:
        read_seed(READER, written)
    assert "secret" not in str(refused.value)


def test_an_address_of_mail_is_quoted_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"'mailto:me@a\.test' can't be crawled"):
        read_seed(READER, "mailto:me@a.test")


@pytest.mark.parametrize(
    "written", ["https://a.test/@me", "https://a.test?a@b", "https://@a.test/", "https://a.test/#@"]
)
def test_what_is_no_login_is_read(written: str) -> None:
    assert read_seed(READER, written)[0].host == "a.test"


def test_a_long_text_is_read_in_time_proportional_to_its_length() -> None:
    # In quadratic time, this would take an hour.
    slashes = "/" * 500_000
    for text in ("a." * 250_000 + "@", "a" * 500_000 + "@", "." * 500_000, slashes, f"ftp:{slashes}", "a:" * 250_000):
        with pytest.raises(ValueError, match=r"has no scheme|is not a URL|is a path|can't be crawled"):
            read_seed(READER, text)


def test_a_scheme_that_is_written_is_kept_and_the_port_of_https_is_one() -> None:
    for text in ("http://example.org/", "https://example.org/", "example.org:443"):
        target, has_scheme = read_seed(READER, text)
        assert has_scheme
        assert target.url in ("http://example.org/", "https://example.org/")
        assert [url.anchor for url in discovery().seeds([text])] == [None]


@given(
    st.one_of(st.text(max_size=30), st.from_regex(r"[a-z.\[\]:0-9@/?#\\ -]{0,12}(\.org|\.se|:80|/x)?", fullmatch=True))
)
def test_the_need_of_a_contact_is_seen_for_each_seed_that_is_read(text: str) -> None:
    try:
        target, has_scheme = read_seed(READER, text)
    except ValueError:
        return
    if not has_scheme:
        assert target.url.startswith("https://")
        assert target == READER.seed(f"https://{text.strip()}")
    if owned_by_others([target.url], hosts={}) is not None and not text.strip().startswith("http"):
        assert owned_by_others([text], hosts={}) == text


@pytest.mark.parametrize(
    "text", ["x.orgg", "mysite.tml", "seeds.txt", "http://li brary.se/", "http://library.se:99999/"]
)
def test_what_is_wrong_with_a_seed_is_told_before_a_contact_is_asked_for(text: str) -> None:
    bad = load(None, overrides=[f"crawl.seeds=['{text}']"])
    with pytest.raises(ConfigError, match=r"crawl\.seeds: seed '.* (has no scheme|is a path|is not a URL)"):
        check_configuration(bad)
    both = load(None, overrides=[f"crawl.seeds=['{text}', 'library.se']"])
    with pytest.raises(ConfigError) as refused:
        check_configuration(both)
    assert [problem.key for problem in refused.value.problems] == ["crawl.seeds", "fetch.user_agent"]
    assert "because library.se may belong to others" in refused.value.problems[1].message


@pytest.mark.parametrize(
    ("state", "reason", "anchors"),
    [
        (UrlState.DONE, "no-https", ["A.test", "b.test/"]),  # the second was added by a command
        (UrlState.FAILED, "dns", ["A.test", None]),
        (UrlState.EXCLUDED, "robots", ["A.test", None]),
        (UrlState.DONE, None, [None, None]),
    ],
)
def test_a_later_visit_tries_http_unless_https_has_answered(
    state: UrlState, reason: str | None, anchors: list[str | None]
) -> None:
    again = UrlsAgain(load(None, overrides=["crawl.seeds=['A.test', 'https://c.test/']"]))
    entries = [
        LedgerEntry(canonical=f"https://{host}.test/", state=state, number=1, found_at=0.0, reason=reason, kind="seed")
        for host in "ab"
    ]
    assert [url and url.anchor for url in map(again.url, entries)] == anchors
    linked = again.url(replace(entries[0], reason="dns", kind="link"))
    assert linked is not None
    assert linked.anchor is None


def seed(text: str = "a.test") -> CrawlUrl:
    (url,) = discovery().seeds([text])
    return url


def test_http_is_tried_only_for_a_seed_without_scheme_whose_connection_failed() -> None:
    redirect = redirect_to_http(seed("a.test:8080/x?y"), FAILED, now=7.0)
    assert redirect is not None
    assert (redirect.status, redirect.location, redirect.asked) == (307, "http://a.test:8080/x?y", False)
    assert redirect_to_http(seed(), replace(FAILED, no_connection=False), now=7.0) is None
    assert redirect_to_http(seed("https://a.test/"), FAILED, now=7.0) is None
    assert redirect_to_http(replace(seed(), kind=LinkKind.LINK), FAILED, now=7.0) is None


def test_https_is_not_lost_if_http_leads_back_to_it() -> None:
    found, first = discovery(), seed()
    redirect = redirect_to_http(first, FAILED, now=7.0)
    assert redirect is not None
    plain = found.redirect(redirect, parent=first)
    assert isinstance(plain, CrawlUrl)
    assert (plain.url, plain.queue_key, plain.anchor) == ("http://a.test/", first.queue_key, "a.test")
    back = Redirect(url=plain.url, status=301, headers=[], location="https://a.test/", fetched_at=1.0, duration_s=0.1)
    again = found.redirect(back, parent=plain)
    assert isinstance(again, CrawlUrl)
    assert (again.url, again.anchor) == ("https://a.test/", None)
    assert again.canonical not in (first.canonical, plain.canonical)
    assert redirect_to_http(again, FAILED, now=7.0) is None
