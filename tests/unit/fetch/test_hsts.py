"""HSTS: who wants https alone is asked by nothing else, until that runs out."""

from pathlib import Path

import pytest

from crawler.fetch.connect.routes import Routes
from crawler.fetch.hsts import StrictTransport
from crawler.page import Page, Redirect, Request
from crawler.testing.fetch.raw_server import page, raw_server
from frontier.memory.notes import MemoryNotes
from tests.certificates import issued
from tests.fetchers import http_fetcher
from tests.unit.fetch.test_cookies import Clock


class CountingNotes(MemoryNotes):
    """Counts how often something is stored."""

    puts = 0

    def put(self, key: str, value: bytes, /) -> None:
        self.puts += 1
        super().put(key, value)


def after(header: str, *, url: str = "https://www.a.test/") -> StrictTransport:
    hsts = StrictTransport(MemoryNotes(), clock=Clock())
    hsts.learn(url, header)
    return hsts


@pytest.mark.parametrize(
    ("url", "upgrade"),
    [
        ("http://www.a.test/x?y", "https://www.a.test/x?y"),
        ("http://www.a.test:8080/", "https://www.a.test:8080/"),
        ("http://www.a.test./", "https://www.a.test./"),
        ("http://sub.www.a.test/", None),
        ("http://a.test/", None),
        ("https://www.a.test/", None),
    ],
)
def test_only_the_scheme_of_its_own_urls_changes(url: str, upgrade: str | None) -> None:
    assert after("max-age=60").upgrade(url) == upgrade


def test_subdomains_follow_where_that_is_said() -> None:
    hsts = after("Max-Age=60 ; IncludeSubDomains; preload", url="https://a.test/")
    assert hsts.upgrade("http://www.a.test/") == "https://www.a.test/"
    assert hsts.upgrade("http://nota.test/") is None


@pytest.mark.parametrize(
    "header",
    [
        "",
        "max-age=",
        "max-age=x",
        "includeSubDomains",
        "max-age=1; max-age=2",
        "max-age=60; Max-Age=x; includeSubDomains",
        "max-age=60; includeSubDomains; INCLUDESUBDOMAINS",
        "max-age=-1",
        "max-age=0",
    ],
)
def test_what_says_nothing_or_too_much_changes_nothing(header: str) -> None:
    assert after(header).upgrade("http://www.a.test/") is None


@pytest.mark.parametrize("host", ["192.0.2.1", "[2001:db8::1]"])
def test_addresses_have_none(host: str) -> None:
    assert after("max-age=60; includeSubDomains", url=f"https://{host}/").upgrade(f"http://{host}/") is None


def test_it_is_kept_over_a_restart_until_it_runs_out_or_is_taken_back() -> None:
    notes, clock = MemoryNotes(), Clock()
    StrictTransport(notes, clock=clock).learn("https://a.test/", 'max-age="3600"')
    resumed = StrictTransport(notes, clock=clock)
    assert resumed.upgrade("http://a.test/") is not None
    resumed.learn("https://a.test/", "max-age=0")
    assert resumed.upgrade("http://a.test/") is None
    resumed.learn("https://a.test/", "max-age=3600")
    clock.now += 3600
    assert resumed.upgrade("http://a.test/") is None


def test_a_short_policy_is_renewed_and_taken_back_at_once() -> None:
    clock = Clock()
    clock.now = 1_700_000_000 // 3600 * 3600.0
    hsts = StrictTransport(MemoryNotes(), clock=clock)
    hsts.learn("https://a.test/", "max-age=600")
    clock.now += 500
    hsts.learn("https://a.test/", "max-age=600")
    clock.now += 500
    assert hsts.upgrade("http://a.test/") is not None
    hsts.learn("https://a.test/", "max-age=0")
    assert hsts.upgrade("http://a.test/") is None
    hsts.learn("https://a.test/", "max-age=600")
    assert hsts.upgrade("http://a.test/") is not None


def test_a_policy_that_each_response_repeats_is_seldom_stored() -> None:
    notes, clock = CountingNotes(), Clock()
    hsts = StrictTransport(notes, clock=clock)
    for _ in range(1000):
        hsts.learn("https://a.test/", "max-age=31536000")
        clock.now += 60
    assert notes.puts == 1


async def test_an_http_url_becomes_a_redirect_once_the_server_has_said_so(tmp_path: Path) -> None:
    tls, authorities = issued("a.test", tmp_path)
    async with raw_server({"/": [page(b"x", b"Strict-Transport-Security: max-age=3600")]}, tls=tls) as server:
        for verified in (False, True):
            fetcher = http_fetcher(
                hosts={"a.test": f"127.0.0.1:{server.port}"},
                authorities=[authorities],
                routes=Routes(unverified=() if verified else ("a.test",)),
                hsts=StrictTransport(MemoryNotes()),
            )
            assert isinstance(await fetcher.fetch(Request(url="https://a.test/")), Page)
            connections = server.connections
            answered = await fetcher.fetch(Request(url="http://a.test/#x"))
            await fetcher.aclose()
            if verified:
                assert isinstance(answered, Redirect)
                assert (answered.status, answered.location, answered.asked) == (307, "https://a.test/#x", False)
                assert server.connections == connections
            else:
                assert not isinstance(answered, Redirect)  # whoever can't be verified could lock out a site
