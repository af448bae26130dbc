"""Cookies: sent back to the site that set them, kept over a restart, and told to nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from yarl import URL

from crawler.fetch.cookies import MAX_BYTES, MAX_PER_SITE, MAX_SENT_BYTES, MAX_SITE_BYTES, Cookies
from crawler.fetch.http import HttpFetcher
from crawler.page import Page, Redirect, Request
from crawler.testing.fetch.raw_server import RawServer, Script, Seen, page, raw_server
from frontier.memory.notes import MemoryNotes
from tests.fetchers import http_fetcher

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
async def serving(
    *set_cookies: str, wanted: bool = True, notes: MemoryNotes | None = None
) -> AsyncIterator[tuple[RawServer, HttpFetcher]]:
    """A server that sets cookies where `/set` is asked for; their characters are octets."""

    def script(seen: Seen) -> Script:
        headers = [f"Set-Cookie: {each}".encode("latin-1") for each in set_cookies] if seen.target == "/set" else []
        return [page(b"x", *headers)]

    async with raw_server(script) as server:
        fetcher = http_fetcher(
            hosts=dict.fromkeys(HOSTS, f"127.0.0.1:{server.port}"),
            cookies=wanted,
            cookie_jar=Cookies(notes or MemoryNotes()),
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
        redirect = await fetcher.fetch(Request(url="http://a.test/"))
        assert isinstance(redirect, Redirect)
        assert redirect.keeps_cookies
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


async def test_cookies_of_one_name_are_kept_for_each_path_that_they_come_from() -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    await told(cookies, "http://a.test/x/page", "id=1")
    await told(cookies, "http://a.test/y/page", "id=2")
    await told(cookies, "http://a.test/y/other", "id=3; Domain=.a.test; Path=/y/")
    for known in (cookies, Cookies(notes)):
        assert [known.header(URL(f"http://a.test/{path}/")) for path in "xyz"] == ["id=1", "id=3; id=2", None]


@pytest.mark.parametrize(
    "when",
    [
        "Max-Age=0",
        "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "expires = Thu, 01-Jan-70 00:00:00 GMT",
        "Expires=Thu, 01 Jan 1970 00:00:01 GMT",
        "Expires=Mon, 01 Jan 2001 00:00:00 GMT",
    ],
)
async def test_a_server_can_take_a_cookie_back(when: str) -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    await told(cookies, "http://a.test/", "a=1; Path=/")
    await told(cookies, "http://a.test/", f"a=; {when}; Path=/")
    assert cookies.header(URL("http://a.test/")) is None
    assert Cookies(notes).header(URL("http://a.test/")) is None


async def test_cookies_that_have_ended_take_no_place() -> None:
    cookies = Cookies(MemoryNotes())
    for number in range(MAX_PER_SITE):
        await told(cookies, "http://a.test/", f"c{number}=1; Path=/", f"c{number}=; Max-Age=0; Path=/")
    await told(cookies, "http://a.test/", "last=1")
    assert cookies.header(URL("http://a.test/")) == "last=1"


async def test_the_attributes_of_a_long_cookie_do_not_count() -> None:
    attributes = "; Expires=Sat, 01 Jan 2050 00:00:00 GMT; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax"
    for pair in (f"session={'x' * (MAX_BYTES - 7)}", "é" * (MAX_BYTES // 2)):
        cookies = Cookies(MemoryNotes())
        await told(cookies, "http://a.test/", f"{pair}{attributes}")
        assert cookies.header(URL("http://a.test/")) == pair
        await told(cookies, "http://a.test/", f"{pair}+{attributes}", f"b=2{attributes}; Note={'x' * MAX_BYTES}")
        assert cookies.header(URL("http://a.test/")) == pair


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
    await told(cookies, "http://a.test/", "c0=2; Path=/", "=", ";;;", "a=\x00")
    sent = cookies.header(URL("http://a.test/"))
    assert sent is not None
    assert sent.endswith("; c299=1; c0=2")


async def test_what_a_page_can_have_written_is_bounded_in_bytes() -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    await told(cookies, "https://a.test/", "login=1; Secure; Path=/")
    for number in range(100):
        await told(cookies, "https://a.test/", f"c{number}={'x' * 4000}; Path=/; Note={'x' * 4000}")
        written = notes.get("cookies a.test")
        assert written is not None
        assert len(written) <= MAX_SITE_BYTES + 1000
    for known in (cookies, Cookies(notes)):
        assert [cookie[:10] for cookie in (known.header(URL("https://a.test/")) or "").split("; ")] == [
            "login=1",
            "c92=xxxxxx",
            "c93=xxxxxx",
        ]
    await told(cookies, "https://a.test/", f"login={'x' * 4000}; Secure; Path=/; Note={'x' * 4000}")
    assert (cookies.header(URL("https://a.test/")) or "").startswith("login=xxxx")


async def test_a_cookie_that_is_too_large_with_its_url_is_not_kept() -> None:
    cookies = Cookies(MemoryNotes())
    await told(cookies, "http://a.test/", "a=1", "b=2")
    await told(cookies, f"http://a.test/?{'x' * MAX_SITE_BYTES}", "a=3", "b=4; Max-Age=0")
    assert cookies.header(URL("http://a.test/")) == "a=1"


async def test_a_cookie_that_does_not_change_is_not_written_again() -> None:
    class CountedNotes(MemoryNotes):
        written = 0

        def put(self, key: str, value: bytes, /) -> None:
            self.written += 1
            super().put(key, value)

    notes, clock = CountedNotes(), Clock()
    cookies = Cookies(notes, clock=clock)
    for _ in range(3):
        await told(cookies, "http://a.test/x", "a=1; Path=/", "b=2; Expires=Sat, 01 Jan 2050 00:00:00 GMT")
        clock.now += 60
    assert notes.written == 1
    for _ in range(2):
        await told(cookies, "http://a.test/x", "c=3; Max-Age=100")
        clock.now += 60
    assert notes.written == 3
    assert Cookies(notes, clock=clock).header(URL("http://a.test/")) == "a=1; b=2; c=3"


async def test_all_cookies_of_a_response_are_kept_up_to_what_a_site_may_have() -> None:
    cookies = Cookies(MemoryNotes())
    await told(cookies, "http://a.test/", *(f"c{number}=1" for number in range(MAX_PER_SITE + 2)))
    sent = "; ".join(f"c{number}=1" for number in range(2, MAX_PER_SITE + 2))
    assert MAX_PER_SITE == 180
    assert cookies.header(URL("http://a.test/")) == sent


async def test_no_more_is_sent_than_servers_take_in_one_header() -> None:
    cookies, url = Cookies(MemoryNotes()), "http://a.test/"
    await told(cookies, url, "session=1", *(f"c{number}={'x' * 4000}" for number in range(10)), "ä=2")
    sent = cookies.header(URL(url)) or ""
    assert [each.partition("=")[0] for each in sent.split("; ")] == ["session", "c0", "c1", "ä"]
    await told(cookies, url, f"fills={'x' * (MAX_SENT_BYTES - len(sent.encode()) - len('; fills='))}")
    sent = cookies.header(URL(url)) or ""
    assert sent.partition("; fills=")[1]
    assert len(f"Cookie: {sent}".encode()) == 8190


async def test_cookies_of_a_site_fit_beside_those_of_the_configuration() -> None:
    set_cookies = [f"Set-Cookie: c{number}={'x' * 2000}".encode() for number in range(4)]
    async with raw_server({"/": [page(b"x", *set_cookies)]}) as server:
        fetcher = http_fetcher(
            hosts={"a.test": f"127.0.0.1:{server.port}"},
            headers={"Cookie": f"k={'x' * 4000}"},
            cookies=True,
            cookie_jar=Cookies(MemoryNotes()),
        )
        for _ in range(2):
            await fetcher.fetch(Request(url="http://a.test/"))
        await fetcher.aclose()
        sent = server.seen[1].header("Cookie") or ""
        assert [each.partition("=")[0] for each in sent.split("; ")] == ["k", "c0", "c1"]


async def test_the_oldest_cookie_of_a_full_jar_makes_way_and_secure_ones_last() -> None:
    cookies = Cookies(MemoryNotes())
    await told(cookies, "https://a.test/", "safe=1; Secure; Path=/")
    for number in range(MAX_PER_SITE):
        await told(cookies, "https://a.test/", f"c{number}=1; Path=/")
    sent = cookies.header(URL("https://a.test/"))
    assert sent == "; ".join(["safe=1", *(f"c{number}=1" for number in range(1, MAX_PER_SITE))])


@pytest.mark.parametrize(
    ("set_cookie", "sent"),
    [
        ("name=M\xfcller", "a=1; b=2"),
        ("n\xfcme=x", "a=1; b=2"),
        ("name=M\xc3\xbcller", "a=1; name=M\xc3\xbcller; b=2"),
        ("name=x; Expires=Sat, 01 M\xe4r 2399 00:00:00 GMT", "a=1; name=x; b=2"),
        ("name=x; Path=/M\xfcller", "a=1; name=x; b=2"),
        ("name=x; Domain=m\xfcller.test", "a=1; name=x; b=2"),
        ("name=x; Comment=\xff\xfe", "a=1; name=x; b=2"),
    ],
)
async def test_octets_that_are_no_text_cost_one_cookie_at_most(set_cookie: str, sent: str) -> None:
    notes = MemoryNotes()
    async with serving("a=1", set_cookie, "b=2", notes=notes) as (server, fetcher):
        for path in ("/set", "/again"):
            assert isinstance(await fetcher.fetch(Request(url=f"http://www.a.test{path}")), Page)
        assert server.seen[1].header("Cookie") == sent
    async with serving(notes=notes) as (server, fetcher):
        await fetcher.fetch(Request(url="http://www.a.test/resumed"))
        assert server.seen[0].header("Cookie") == sent


@pytest.mark.parametrize("set_cookie", ["n=a\x01b", "n\x7f=a", "n=a; Path=/\x00", "n=a\tb", "n=a; Domain=\x02"])
async def test_a_header_with_a_control_character_costs_one_cookie(set_cookie: str) -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    url = URL("http://a.test/")
    cookies.learn(url, ["a=1; Path=/", set_cookie, "b=2\t; Path=/"])
    assert cookies.header(url) == Cookies(notes).header(url) == "a=1; b=2"


async def test_a_note_of_a_cookie_with_a_control_character_costs_no_other() -> None:
    notes = MemoryNotes()
    url = URL("http://a.test/")
    Cookies(notes).learn(url, ["a=1; Path=/", "b=2; Path=/!"])
    noted = notes.get("cookies a.test")
    assert noted is not None
    notes.put("cookies a.test", noted.replace(b"/!", b"/\0"))
    assert Cookies(notes).header(url) == "a=1"


@pytest.mark.parametrize(
    ("set_cookie", "sent"),
    [
        ('quote="a b"', 'quote="a b"'),
        ('quote=""', 'quote=""'),
        ('quote="', 'quote="'),
        (r'quote="a\"b\\c\073d"', r'quote="a\"b\\c\073d"'),
        ('quote="a; b"', 'quote="a'),
        ('quote=a "b" c', 'quote=a "b" c'),
        ("quote= a b ", "quote=a b"),
        ("quote=a,b=c", "quote=a,b=c"),
        ("quote=", "quote="),
    ],
)
async def test_a_value_is_sent_back_as_it_came(set_cookie: str, sent: str) -> None:
    notes = MemoryNotes()
    await told(Cookies(notes), "http://a.test/", f"{set_cookie}; Path=/")
    assert Cookies(notes).header(URL("http://a.test/")) == sent


@pytest.mark.parametrize(
    ("url", "set_cookie", "is_kept"),
    [
        ("https://a.test/", "__Host-a=1; Secure; Path=/", True),
        ("https://a.test/", "__host-a=1; secure ; path = /", True),
        ("https://a.test/", "__Host-a=1; Path=/", False),
        ("https://a.test/", "__Host-a=1; Secure", False),
        ("https://a.test/", "__Host-a=1; Secure; Path=/x", False),
        ("https://a.test/", "__Host-a=1; Secure; Path=/; Domain=a.test", False),
        ("https://a.test/", "__Host-a=1; Secure; Path=/; Domain=", True),
        ("http://a.test/", "__Host-a=1; Secure; Path=/", False),
        ("https://a.test/", "__Secure-a=1; Secure; Domain=a.test", True),
        ("https://a.test/", "__SECURE-a=1", False),
        ("http://a.test/", "__Secure-a=1; Secure", False),
        ("http://a.test/", "a=1; Secure", False),
        ("https://a.test/", "a=1; Secure", True),
        ("https://a.test/", "a=__Host-; Secured", True),
    ],
)
async def test_a_name_with_a_prefix_keeps_its_promise(url: str, set_cookie: str, is_kept: bool) -> None:
    cookies = Cookies(MemoryNotes())
    await told(cookies, url, set_cookie)
    assert (cookies.header(URL("https://a.test/")) is not None) == is_kept


async def test_an_address_is_a_site_of_its_own() -> None:
    cookies = Cookies(MemoryNotes())
    for host in ("192.0.2.1", "[2001:db8::1]"):
        await told(cookies, f"http://{host}/", "a=1; Path=/")
        assert cookies.header(URL(f"http://{host}:8080/")) == "a=1"
    assert cookies.header(URL("http://192.0.2.2/")) is None


async def test_the_cookies_in_memory_are_bounded_in_bytes_and_the_others_are_read_again() -> None:
    notes = MemoryNotes()
    cookies = Cookies(notes)
    most = 64_000_000 // (15 * 2 * 4000)  # sites with as many long cookies as are kept
    for number in range(most + 10):
        cookies.learn(URL(f"http://site{number}.test/"), [f"c{each}={'x' * 4000}; Max-Age=9999" for each in range(15)])
    assert most // 2 < len(cookies._sites) < most
    assert cookies._size_bytes == sum(site.size_bytes for site in cookies._sites.values())
    assert "site0.test" not in " ".join(cookies._sites)
    assert "c0=" in (cookies.header(URL("http://site0.test/")) or "")
