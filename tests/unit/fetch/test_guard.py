from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.guard import Guard, special_use
from crawler.page import Failure, FailureKind, Request
from crawler.url.ports import Ports
from tests.fetchers import http_fetcher


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:808:808::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "no address",
        "",
    ],
)
def test_what_is_not_of_the_public_internet_is_refused(address: str) -> None:
    assert Guard().refusal(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.1",
        "168.63.129.17",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "193.99.144.80",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a02:2e0:3fe:1001:302::",
    ],
)
def test_the_public_internet_is_allowed(address: str) -> None:
    assert Guard().refusal(address) is None


@given(address=st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_however_it_is_wrapped(address: IPv4Address) -> None:
    plain = special_use(str(address))
    assert special_use(f"::ffff:{address}") == plain
    assert special_use(f"64:ff9b::{address}") == plain


@given(address=st.ip_addresses())
def test_private_by_the_standard_library_is_refused_here(address: object) -> None:
    for reason in ("is_private", "is_loopback", "is_link_local", "is_multicast", "is_unspecified"):
        if getattr(address, reason):
            assert special_use(str(address)), reason


def test_everything_can_be_opened() -> None:
    assert Guard(allow_private=True).refusal("127.0.0.1") is None


def test_networks_can_be_opened_and_the_others_stay_shut() -> None:
    guard = Guard(networks=["10.1.0.0/16", "fd00::/8"])
    assert guard.refusal("10.1.2.3") is None
    assert guard.refusal("::ffff:10.1.2.3") is None
    assert guard.refusal("fd12::1") is None
    assert guard.refusal("10.2.0.1") == "private"
    assert guard.refusal("fe80::1") == "link-local"


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="banana"):
        Guard(networks=["banana"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:22/", "https://127.0.0.1:6667/", "http://127.0.0.1:25/robots.txt"])
async def test_a_port_that_is_not_crawled_is_not_asked_whatever_leads_there(url: str) -> None:
    fetcher = http_fetcher(allow_private=True, allows_port=Ports().allow)
    try:
        fetched = await fetcher.fetch(Request(url=url))
    finally:
        await fetcher.aclose()
    assert isinstance(fetched, Failure)
    assert (fetched.kind, fetched.reached) == (FailureKind.PORT, False)
