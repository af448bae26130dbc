"""Cookies: sent back to the site that set them, kept over a restart, and told to nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from yarl import URL

from crawler.fetch.cookies import MAX_BYTES, MAX_PER_SITE, Cookies
from crawler.fetch.http import HttpFetcher
from crawler.page import Page, Redirect, Request
from frontier.memory import MemoryNotes
from tests.fetchers import http_fetcher
from tests.servers import RawServer, Script, Seen, page, raw_server

HOSTS = ("www.a.test", "sub.www.a.test", "b.test", "a.co.uk", "b.co.uk")


class Clock:
    """Seconds since 1970, as they are set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


async def told(cookies: Cookies, url: str, *set_cookies: str) -> None:
    cookies.learn(URL(url), set_cookies)


@asynccontextmanager
async def serving(*set_cookies: str, wanted: bool = True) -> AsyncIterator[tuple[RawServer, HttpFetcher]]:
    """A server that sets cookies where `/set` is asked for."""

    def script(seen: Seen) -> Script:
        headers = [f"Set-Cookie: {each}".encode() for each in set_cookies] if seen.target == "/set" else []
        return [page(b"x", *headers)]

    async with raw_server(script) as server:
        fetcher = http_fetcher(
            hosts=dict.fromkeys(HOSTS, f"127.0.0.1:{server.port}"), cookies=wanted, cookie_jar=Cookies(MemoryNotes())
        )
        try:
            yield server, fetcher
        finally:
            await fetcher.aclose()


async def test_a_cookie_is_sent_back_and_stands_in_no_record() -> None:
    async with serving("a=1; Path=/", "b=2") as (server, fetcher):
        for path in ("/set", "/again"):
            answered = await fetcher.fetch(Request(url=f"http://www.a.test{path}"))
            assert isinstance(answered, Page)
            assert "Cookie" not in dict(answered.request_headers)
        assert [seen.header("Cookie") for seen in server.seen] == [None, "a=1; b=2"]


async def test_without_being_asked_for_none_is_kept() -> None:
    async with serving("a=1; Path=/", wanted=False) as (server, fetcher):
        for path in ("/set", "/again"):
            await fetcher.fetch(Request(url=f"http://www.a.test{path}"))
        assert [seen.header("Cookie") for seen in server.seen] == [None, None]


@pytest.mark.parametrize("domain", ["", "; Domain=www.a.test", "; Domain=a.test", "; Domain=test", "; Domain=b.test"])
async def test_none_is_ever_sent_to_another_site(domain: str) -> None:
    async with serving(f"a=1; Path=/{domain}") as (server, fetcher):
        await fetcher.fetch(Request(url="http://www.a.test/set"))
        await fetcher.fetch(Request(url="http://b.test/"))
        await fetcher.fetch(Request(url="http://sub.www.a.test/"))
        assert server.seen[1].header("Cookie") is None
        assert server.seen[2].header("Cookie") == (None if domain in ("", "; Domain=b.test") else "a=1")


async def test_a_cookie_for_a_public_suffix_is_sent_to_nobody_else() -> None:
    async with serving("a=1; Path=/; Domain=co.uk") as (server, fetcher):
        await fetcher.fetch(Request(url="http://a.co.uk/set"))
        await fetcher.fetch(Request(url="http://b.co.uk/"))
        assert server.seen[1].header("Cookie") is None


async def test_a_cookie_that_comes_with_a_redirect_goes_where_it_leads() -> None:
    def script(seen: Seen) -> Script:
        if seen.target == "/":
            return [page(b"", b"Location: /in", b"Set-Cookie: seen=1", status=b"302 Found")]
        return [page(b"x")]

    async with raw_server(script) as server:
        fetcher = http_fetcher(
            hosts={"a.test": f"127.0.0.1:{server.port}"}, cookies=True, cookie_jar=Cookies(MemoryNotes())
        )
        assert isinstance(await fetcher.fetch(Request(url="http://a.test/")), Redirect)
        await fetcher.fetch(Request(url="http://a.test/in"))
        await fetcher.aclose()
        assert server.seen[1].header("Cookie") == "seen=1"


async def test_a_configured_cookie_stays_beside_them() -> None:
    async with raw_server({"/": [page(b"x", b"Set-Cookie: a=1")]}) as server:
        fetcher = http_fetcher(
            hosts={"a.test": f"127.0.0.1:{server.port}"},
            headers={"Cookie": "k=v"},
            cookies=True,
            cookie_jar=Cookies(MemoryNotes()),
        )
        for _ in range(2):
            await fetcher.fetch(Request(url="http://a.test/"))
        await fetcher.aclose()
        assert [seen.header("Cookie") for seen in server.seen] == ["k=v", "k=v; a=1"]


async def test_cookies_outlive_a_restart_and_grow_old_meanwhile() -> None:
    notes, clock = MemoryNotes(), Clock()
    await told(
        Cookies(notes, clock=clock),
        "https://www.a.test/x/",
        "session=1; Path=/",
        "hour=2; Max-Age=3600; Path=/",
        "gone=3; Max-Age=60; Path=/",
        "locked=4; Secure; Path=/",
        "session=5; Path=/",
    )
    clock.now += 600
    resumed = Cookies(notes, clock=clock)
    assert resumed.header(URL("http://www.a.test/")) == "session=5; hour=2"
    assert resumed.header(URL("https://www.a.test/")) == "session=5; hour=2; locked=4"
    clock.now += 3600
    assert Cookies(notes, clock=clock).header(URL("http://www.a.test/")) == "session=5"


async def test_a_server_can_take_a_cookie_back() -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    await told(cookies, "http://a.test/", "a=1; Path=/")
    await told(cookies, "http://a.test/", "a=; Max-Age=0; Path=/")
    assert cookies.header(URL("http://a.test/")) is None
    assert Cookies(notes).header(URL("http://a.test/")) is None


async def test_what_a_site_may_have_kept_is_bounded() -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    await told(cookies, "http://a.test/", f"long={'x' * MAX_BYTES}")
    assert cookies.header(URL("http://a.test/")) is None
    for number in range(0, 300, 10):
        await told(cookies, "http://a.test/", *(f"c{each}=1; Path=/" for each in range(number, number + 10)))
    for known in (cookies, Cookies(notes)):
        sent = known.header(URL("http://a.test/"))
        assert sent is not None
        assert len(sent.split("; ")) == MAX_PER_SITE
    await told(cookies, "http://a.test/", "c0=2; Path=/", "garbage", "=", ";;;", "a=\x00")
    sent = cookies.header(URL("http://a.test/"))
    assert sent is not None
    assert sent.startswith("c0=2; ")


async def test_an_address_is_a_site_of_its_own() -> None:
    cookies = Cookies(MemoryNotes())
    for host in ("192.0.2.1", "[2001:db8::1]"):
        await told(cookies, f"http://{host}/", "a=1; Path=/")
        assert cookies.header(URL(f"http://{host}:8080/")) == "a=1"
    assert cookies.header(URL("http://192.0.2.2/")) is None
