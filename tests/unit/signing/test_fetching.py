"""Signed requests on the wire, to real servers."""

import pytest
from yarl import URL

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from crawler.fetch.connect.routes import Routes
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsAtOnce, RobotsTxt
from crawler.page import Page, Redirect, Request
from crawler.politeness.pace import parse_retry_after
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from frontier.memory.notes import MemoryNotes
from tests.fetchers import Fetchers
from tests.signature_check import verify
from tests.unit.fetch.conftest import fetchers
from tests.unit.signing.signers import KEYS, signing

__all__ = ["fetchers"]
ASKS = b'Accept-Signature: sig1=("@authority" "signature-agent";key="sig1");created;tag="web-bot-auth"'


def url_of(seen: Seen) -> str:
    return f"http://{seen.header('host')}{seen.target}"


def is_signed(seen: Seen) -> bool:
    if seen.header("signature") is None:
        assert seen.header("signature-input") is None
        assert seen.header("signature-agent") is None
        return False
    verify(seen.method, url_of(seen), seen.header, KEYS)
    return True


def guarded(seen: Seen) -> Script:
    """A server that answers signed requests alone."""
    if seen.header("signature") is None:
        return [page(b"who are you?", ASKS, status=b"403 Forbidden")]
    return [page(b"User-agent: *\nDisallow: /private")]


async def test_each_hop_of_a_redirect_is_signed_for_its_own_host(fetchers: Fetchers) -> None:
    def answers(seen: Seen) -> Script:
        if seen.target == "/":
            return [page(b"", b"Location: http://b.test/there", status=b"302 Found")]
        return [page(b"there")]

    async with raw_server(answers) as server:
        place = f"127.0.0.1:{server.port}"
        fetcher = fetchers(hosts={"a.test": place, "b.test": place}, signing=signing())
        hop = await fetcher.fetch(Request(url="http://a.test/"))
        assert isinstance(hop, Redirect)
        end = await fetcher.fetch(Request(url=hop.location))
    assert isinstance(end, Page)
    assert [is_signed(seen) for seen in server.seen] == [True, True]
    first, second = [seen.header("signature") for seen in server.seen]
    assert first != second


async def test_a_challenged_request_is_marked_and_the_next_one_is_signed(fetchers: Fetchers) -> None:
    async with raw_server(guarded) as server:
        fetcher = fetchers(signing=signing(when_asked=True))
        first = await fetcher.fetch(Request(url=server.url()))
        second = await fetcher.fetch(Request(url=server.url()))
    assert isinstance(first, Page)
    assert isinstance(second, Page)
    assert (first.status, first.challenged) == (403, True)
    assert (second.status, second.challenged) == (200, False)
    assert [is_signed(seen) for seen in server.seen] == [False, True]


async def test_a_server_that_is_never_content_is_asked_once_more_and_not_again(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"no", ASKS, status=b"403 Forbidden")]}) as server:
        fetcher = fetchers(signing=signing(when_asked=True))
        answers = [await fetcher.fetch(Request(url=server.url())) for _ in range(3)]
    assert [isinstance(each, Page) and each.challenged for each in answers] == [True, False, False]


async def test_a_challenged_robots_txt_is_asked_for_again_after_a_rest_and_then_holds(fetchers: Fetchers) -> None:
    rests = []

    async def sleep(seconds: float) -> None:
        rests.append(seconds)

    async with raw_server(guarded) as server:
        fetcher = fetchers(signing=signing(when_asked=True))
        robots = RobotsTxt(fetcher, RobotsCache(MemoryNotes(), agent="a"), read_retry_after=parse_retry_after)
        verdict = await RobotsAtOnce(robots, rest_s=7.0, sleep=sleep).allows(server.url("/private"))
    assert not verdict.allowed
    assert rests == [7.0]
    assert server.targets == ["/robots.txt", "/robots.txt"]
    assert [is_signed(seen) for seen in server.seen] == [False, True]


@pytest.mark.parametrize(
    ("url", "hosts", "guard", "is_public"),
    [
        ("https://1.1.1.1/", {}, Guard(), True),
        ("https://10.0.0.1/", {}, Guard(allow_private=True), False),
        ("https://[::1]/", {}, Guard(allow_private=True), False),
        ("https://a.test/", {}, Guard(), True),
        ("https://a.test/", {"a.test": "127.0.0.1"}, Guard(), False),
        ("https://a.test/", {"a.test": "1.1.1.1"}, Guard(allow_private=True), True),
        ("https://localhost/", {}, Guard(allow_private=True), False),
        ("https://localhost/", {}, Guard(networks=["127.0.0.0/8"]), False),
        ("https://name.invalid/", {}, Guard(allow_private=True), False),
    ],
)
async def test_a_host_is_public_if_no_request_can_reach_another_address(
    url: str, hosts: dict[str, str], guard: Guard, is_public: bool
) -> None:
    network = Network(guard=guard, hosts=hosts)
    try:
        assert await network.is_public(URL(url)) == is_public
    finally:
        await network.aclose()


async def test_a_host_behind_a_proxy_is_not_public_because_the_proxy_may_know_other_names() -> None:
    routes = Routes(proxies={"*": "http://192.0.2.1:3128"})
    network = Network(guard=Guard(), routes=routes)
    try:
        assert not await network.is_public(URL("https://a.test/"))
        assert await network.is_public(URL("https://1.1.1.1/"))
    finally:
        await network.aclose()
