"""Canonical rules with one fault each."""

import msgspec

from crawler.testing import CanonicalRuleContract
from crawler.url.components import UrlComponents
from crawler.url.descriptor import Descriptor


def without_query(url: UrlComponents) -> UrlComponents:
    """A correct rule."""
    return msgspec.structs.replace(url, query=None)


def on_one_host(url: UrlComponents) -> UrlComponents:
    """Takes all sites for one."""
    return msgspec.structs.replace(url, host="same.test")


def longer(url: UrlComponents) -> UrlComponents:
    """Has another canonical form for its own."""
    return msgspec.structs.replace(url, path=f"{url.path}x")


def by_hash(url: UrlComponents) -> UrlComponents:
    """Names pages by a hash, for which Python has another seed in each process."""
    path = url.path if url.path[1:].isdigit() else f"/{abs(hash(url.path))}"
    return msgspec.structs.replace(url, path=path)


class TestGood(CanonicalRuleContract):
    FAILS = ()
    descriptor = Descriptor(name="good", make=lambda _: without_query, keeps_domain=True)


class TestOneHost(CanonicalRuleContract):
    FAILS = ("test_it_keeps_the_domain_if_it_says_so",)
    descriptor = Descriptor(name="one-host", make=lambda _: on_one_host, keeps_domain=True)


class TestLonger(CanonicalRuleContract):
    FAILS = ("test_it_makes_a_url_of_a_url", "test_it_makes_a_url_of_any_url")
    descriptor = Descriptor(name="longer", make=lambda _: longer)


class TestByHash(CanonicalRuleContract):
    FAILS = ("test_another_process_makes_the_same_urls",)
    descriptor = Descriptor(name="by-hash", make=lambda _: by_hash)
