"""Whether the owner of a site can reach whoever crawls it."""

import pytest

from config.contact import has_contact, owned_by_others
from config.schema.fetch import DEFAULT_USER_AGENT


@pytest.mark.parametrize(
    "user_agent",
    [
        "onceover/1.0 (+https://library.se/crawler)",
        "onceover/1.0 (http://192.0.2.1/)",
        "mybot (someone@library.se)",
        "mybot/2 mailto:someone+bots@library.se",
        "Mozilla/5.0 (compatible; x; +http://www.x.io/bot.html)",
    ],
)
def test_a_url_or_an_e_mail_address_is_a_contact(user_agent: str) -> None:
    assert has_contact(user_agent)


@pytest.mark.parametrize(
    "user_agent",
    [
        DEFAULT_USER_AGENT,
        "onceover/1.0",
        "Mozilla/5.0 (X11; Linux x86_64)",
        "bot (+https://localhost/about)",
        "bot (+https://crawler.test/)",
        "bot (me@example.com)",
        "bot (https://intranet/)",
        "bot (+https://)",
        "@",
    ],
)
def test_a_name_alone_or_a_placeholder_is_no_contact(user_agent: str) -> None:
    assert not has_contact(user_agent)


def test_a_long_text_is_searched_for_a_contact_in_linear_time() -> None:
    assert not has_contact("a." * 1_000_000)
    assert has_contact("a" * 1000 + "@crawler.org")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/",
        "http://127.9.9.9/",
        "http://127.1/",
        "http://0x7f.1:8080/",
        "127.1:8080",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]:8080/",
        "http://[::ffff:7f00:1]/",
        "http://localhost/",
        "http://LOCALHOST:81/x",
        "http://a.b.localhost/",
        "http://h00017.sim.test/",
        "http://sim.test./",
        "https://docs.example.org/",
        "https://example.com/",
        "http://x.invalid/",
        "http://mirror.library.se/",
        "http://deep.in.library.se/",
        "http://München.de/",
        "http://xn--mnchen-3ya.de/",
        "http://www.bücher.se/",
        "not a url",
        "http://[bad/",
        "",
    ],
)
def test_nobody_needs_to_be_reached_for_this_machine_and_reserved_names(url: str) -> None:
    hosts = {"mirror.library.se": "127.0.0.1:80", "*.in.library.se": "[::1]:8080"}
    hosts |= {"münchen.de": "127.0.0.1", "*.xn--bcher-kva.se": "127.0.0.1"}
    assert owned_by_others([url], hosts=hosts) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://library.se/",
        "https://www.library.se:8443/a?b#c",
        "https://user:pass@library.se/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://10.1/",
        "http://[2001:db8::1]/",
        "http://mytest/",
        "http://nottest.se/",
        "http://myexample.org/",
        "http://far.in.library.se/",
    ],
)
def test_others_may_have_to_be_reached_everywhere_else(url: str) -> None:
    hosts = {"*.in.library.se": "127.0.0.1", "far.in.library.se": "192.0.2.1:80", "www.library.se": "192.0.2.1"}
    assert owned_by_others(["http://a.test/", url, "https://other.se/"], hosts=hosts) == url


def test_a_static_address_for_all_names_leaves_nobody_to_be_reached() -> None:
    assert owned_by_others(["https://library.se/"], hosts={"*": "127.0.0.1:8080"}) is None
    assert owned_by_others(["https://library.se/"], hosts={"*": "127.0.0.1", "*.se": "192.0.2.1"}) is not None
