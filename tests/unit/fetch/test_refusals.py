"""Every spelling of an address that must not be fetched, and every way to it: all are refused by default."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from crawler.fetch.connect.lookup.answers import NameCacheLimits
from crawler.fetch.http import HttpFetcher
from crawler.page import Failure, FailureKind, Fetched, Page, Redirect, Request
from crawler.testing.fetch.raw_server import page, raw_server
from crawler.url.urls import UrlReader, join
from tests.fetchers import http_fetcher
from tests.unit.fetch.test_names import FakeDns

LOOPBACK = """
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 2130706433 017700000001 0x7f000001 0X7F000001 0x7f.1 0x7f.0.0.1
0177.1 0177.0.0.1 0177.0x0.0.1 127.0x0.0x0.01 %31%32%37.0.0.1 127%2e0%2e0%2e1 １２７.０.０.１ 127。0。0。1
⑫⑦.0.0.1 [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:FFFF:127.0.0.1]
[::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::1] [2001:0:7f00:1::1]
""".split()
OTHERS = """
0 0.0.0.0 0x0 [::] 10.1 0xa.1 012.1 167772161 172.16.1 0300.0250.1 192.168.257 3232235777 169.254.169.254 0xa9fea9fe
2852039166 0251.0376.0251.0376 [::ffff:a9fe:a9fe] [fd00:ec2::254] 100.100.100.200 168.63.129.16 [fe80::1] [fc00::1]
[fec0::1] [ff02::1] 224.1 255.255.255.255 198.18.1 192.0.2.1
""".split()


@asynccontextmanager
async def fetching(answers: Mapping[str, list[str]] | None = None) -> AsyncIterator[HttpFetcher]:
    dns = FakeDns()
    dns.answers = dict(answers or {})
    fetcher = http_fetcher(resolver=dns)
    try:
        yield fetcher
    finally:
        await fetcher.aclose()


def refused(fetched: Fetched) -> bool:
    return isinstance(fetched, Failure) and fetched.kind is FailureKind.PRIVATE_ADDRESS and not fetched.reached


def test_there_are_enough_of_them() -> None:
    assert len({*LOOPBACK, *OTHERS}) >= 40


@pytest.mark.parametrize("host", [*LOOPBACK, *OTHERS])
async def test_no_spelling_of_a_private_address_is_fetched(host: str) -> None:
    """As a crawl reads it: by the WHATWG standard."""
    async with raw_server({"/": [page(b"secret")]}) as server, fetching() as fetcher:
        url = UrlReader().seed(f"http://{host}:{server.port}/").url
        assert refused(await fetcher.fetch(Request(url=url))), url
        assert server.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["10.0.0.1", "169.254.169.254"], ["64:ff9b::7f00:1"], ["0.0.0.0"]],
)
async def test_no_name_of_a_private_address_is_fetched(addresses: list[str]) -> None:
    async with raw_server({"/": [page(b"secret")]}) as server, fetching({"inside.test": addresses}) as fetcher:
        assert refused(await fetcher.fetch(Request(url=server.url(host="inside.test"))))
        assert server.connections == 0


@pytest.mark.parametrize("location", ["http://{}/", "//{}/", "http://user@{}/", r"http:\\{}/", "http:{}/"])
async def test_no_redirect_to_a_private_address_is_fetched(location: str) -> None:
    answered = Redirect(
        url="http://outside.test/", status=302, headers=[], fetched_at=0.0, duration_s=0.0, location=location
    )
    async with raw_server({"/": [page(b"secret")]}) as server, fetching() as fetcher:
        target = join("https://outside.test/", answered.location.format(f"127.1:{server.port}"))
        assert target is not None
        assert refused(await fetcher.fetch(Request(url=target))), target
        assert server.connections == 0


async def test_a_name_that_turns_from_a_public_address_to_a_private_one_is_refused() -> None:
    """The opened network stands for the public: the first answer is fetched, the second is not."""
    dns = FakeDns(turns_test=["127.0.0.1"])
    fetcher = http_fetcher(resolver=dns, allow_networks=["127.0.0.1/32"])
    fetcher._network._names._limits = NameCacheLimits(ttl_s=0.0)
    async with raw_server({"/": [page(b"public", b"Connection: close")]}) as server:
        url = server.url(host="turns.test")
        assert isinstance(await fetcher.fetch(Request(url=url)), Page)
        dns.answers["turns.test"] = ["127.0.0.2"]
        assert refused(await fetcher.fetch(Request(url=url)))
        assert server.connections == 1
        await fetcher.aclose()
