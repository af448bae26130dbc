"""What every canonical rule promises."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import pytest
from ada_url import normalize_url
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.testing.processes import Report, run_apart
from crawler.url.components import Rule, UrlComponents, split_url
from crawler.url.descriptor import Descriptor
from crawler.url.urls import domain_of

URLS: Final = (
    *("http://example.org/", "https://www.example.org/", "http://example.org:8080/", "https://192.0.2.1/a"),
    *("http://[2001:db8::1]/", "http://xn--bcher-kva.example/", "http://example.org./", "http://localhost/"),
    *(
        "https://e.org/a",
        "https://e.org/a/",
        "https://e.org/a//b",
        "https://e.org/index.html",
        "https://e.org/A/B.HTML",
    ),
    *("https://e.org/?", "https://e.org/?a", "https://e.org/?a=", "https://e.org/?a=1&a=2", "https://e.org/?b=1&a=2"),
    *("https://e.org/?&&a=1&", "https://e.org/a?utm_source=x&b=1", "https://e.org/a?b=1&fbclid=x", "https://e.org/??a"),
    *("https://e.org/a;jsessionid=0123456789abcdef?b=1", "https://e.org/a?PHPSESSID=0123456789abcdef0123456789abcdef"),
    *("https://e.org/%7Ea", "https://e.org/%7ea", "https://e.org/%41%2F", "https://e.org/%", "https://e.org/%%34%31"),
    *("https://e.org/ä?ö=ü", "https://e.org/a b?c d", "https://e.org/a?q=http://x.org/?y=1", "https://e.org/a?b;c;d"),
    "https://e.org/" + "a/" * 500,
    "https://e.org/?" + "&".join(f"p{number}={number}" for number in range(500)),
)
_HOSTS: Final = ("e.org", "www.e.org", "www2.e.org", "e.org.", "192.0.2.1", "[2001:db8::1]")
_PIECES: Final = (
    *(
        "a",
        "B",
        "/",
        "//",
        ".",
        "..",
        "index.html",
        "%41",
        "%2f",
        "%",
        ";",
        "jsessionid=",
        "=",
        "&",
        "?",
        "+",
        "(S(",
        "))",
    ),
    *("utm_id", "sid", "0123456789abcdef0123456789abcdef", "é", "\U0001f600", "'", "|", "~", "-", "1"),
)
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=8).map("".join)
_RANDOM_URLS = st.builds(
    "{}://{}{}/{}?{}".format,
    st.sampled_from(("http", "https")),
    st.sampled_from(_HOSTS),
    st.sampled_from(("", ":8080", ":443")),
    _TEXTS,
    _TEXTS,
)


class CanonicalRuleContract:
    """What every canonical rule promises, whatever it removes."""

    descriptor: Descriptor | None = None
    options: Mapping[str, object] = {}
    """The options of the descriptor."""

    def make_rule(self) -> Rule:
        if self.descriptor is None:
            pytest.fail(f"expected a `descriptor` or a method `make_rule` in {type(self).__name__}, found neither")
        return self.descriptor.make(msgspec.convert(self.options, self.descriptor.options))

    def test_it_makes_a_url_of_a_url(self) -> None:
        rule = self.make_rule()
        for url in URLS:
            assert_canonical(rule, components(url))

    def test_it_makes_a_url_of_any_url(self) -> None:
        rule = self.make_rule()

        @settings(deadline=None, suppress_health_check=list(HealthCheck))
        @given(_RANDOM_URLS)
        def check(url: str) -> None:
            assert_canonical(rule, components(url))

        check()

    def test_it_depends_on_the_url_alone(self) -> None:
        urls = [components(url) for url in URLS]
        rule = self.make_rule()
        expected = [rule(url) for url in urls]
        assert _apply(rule, urls[::-1])[::-1] == expected
        assert _apply(self.make_rule(), urls) == expected

    def test_another_process_makes_the_same_urls(self) -> None:
        """A crawl that is resumed must know its URLs again. What Python seeds anew in each process would betray itself:
        a hash, and the order of a set."""
        rule = self.make_rule()
        for url, there in zip(URLS, run_apart(self._report_urls), strict=True):
            here = str(rule(components(url)))
            assert here == there, f"{url} becomes {here} in one process and {there} in another"

    def _report_urls(self, report: Report) -> None:
        rule = self.make_rule()
        for url in URLS:
            report(str(rule(components(url))))

    def test_it_keeps_the_domain_if_it_says_so(self) -> None:
        if self.descriptor is None or not self.descriptor.keeps_domain:
            pytest.skip("it does not say that it keeps the domain")
        rule = self.make_rule()
        for url in URLS:
            canonical = str(rule(components(url)))
            assert domain_of(canonical) == domain_of(normalize_url(url)), f"{canonical} has not the domain of {url}"


def assert_canonical(rule: Rule, url: UrlComponents) -> None:
    """The result must be a URL, and its own canonical form."""
    canonical = rule(url)
    assert isinstance(canonical, UrlComponents)
    assert split_url(str(canonical)) == canonical, f"{canonical} is not of the form scheme://host[:port]/path[?query]"
    assert rule(canonical) == canonical, f"the canonical form of {canonical} is another one"


def components(text: str) -> UrlComponents:
    """A URL as a rule gets it: serialised as the standard says, without its fragment."""
    found = split_url(normalize_url(text).partition("#")[0])
    assert found is not None
    return found


def _apply(rule: Rule, urls: Sequence[UrlComponents]) -> list[UrlComponents]:
    return [rule(url) for url in urls]
