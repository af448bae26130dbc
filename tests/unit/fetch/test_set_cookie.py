"""Set-Cookie headers: read as browsers do, and sent where they belong."""

import pytest
from yarl import URL

from crawler.fetch.cookies import Cookies
from crawler.fetch.set_cookie import read_cookie_date
from frontier.memory.notes import MemoryNotes

A = "http://a.test/"
SECURE = "https://a.test/"


def sent(at: str, *said: tuple[str, str]) -> str | None:
    """The header Cookie of a request, after these responses, by URL and Set-Cookie; the same after a restart."""
    notes = MemoryNotes()
    cookies = Cookies(notes)
    for url, set_cookie in said:
        cookies.learn(URL(url, encoded=True), [set_cookie])
    header = cookies.header(URL(at, encoded=True))
    assert Cookies(notes).header(URL(at, encoded=True)) == header
    return header


@pytest.mark.parametrize(
    ("url", "set_cookie", "at"),
    [
        (A, "a=1; Domain=.A.Test", "http://www.a.test/"),
        (A, "a=1; Domain=b.test; Domain=a.test", "http://www.a.test/"),
        ("http://a.test/p%20q/x", "a=1; Path=/p%20q", "http://a.test/p%20q/y"),
        ("http://a.test/p%20q/x", "a=1", "http://a.test/p%20q/y"),
        ("http://a.test/p%2Fq", "a=1", "http://a.test/other"),
        ("http://a.test/x/y?z=/q/r", "a=1", "http://a.test/x/"),
        ("http://a.test/x/y", "a=1", "http://a.test/x"),
        (A, "a=1; Path=/x", "http://a.test/x/y"),
        (A, "a=1; Path=x", A),
        (A, "a=1; Max-Age=0; Max-Age=100", A),
        (A, "a=1; Expires=0", A),
        (A, "a=1; Max-Age=99999999999999999999999", A),
        ("http://127.0.0.1/", "a=1; Domain=127.0.0.1", "http://127.0.0.1:8080/"),
        ("http://a.test./", "a=1", "http://a.test./"),
    ],
)
def test_a_cookie_is_sent_to_where_it_belongs(url: str, set_cookie: str, at: str) -> None:
    assert sent(at, (url, set_cookie)) == "a=1"


@pytest.mark.parametrize(
    ("url", "set_cookie", "at"),
    [
        (A, "a=1", "http://www.a.test/"),
        (A, "a=1; Domain=www.a.test", A),
        (A, "a=1; Domain=a.test.", A),
        ("http://nota.test/", "a=1; Domain=a.test", "http://nota.test/"),
        ("http://1.127.0.0.1/", "a=1; Domain=127.0.0.1", "http://1.127.0.0.1/"),
        (A, "a=1; Path=/x", "http://a.test/xy"),
        (A, "a=1; Path=/x/", "http://a.test/x"),
        (A, "a=1; Path=/x", "http://a.test/X"),
        (A, "a=1; Max-Age=100; Max-Age=0", A),
        (A, "a=1; Expires=Thu, 01-Jan-2015 00:00:00 UTC", A),
        (A, "a=1; Expires=Thu Jan  1 2015 00:00:00 GMT+0000", A),
        (A, "a=1; Expires=Thu, 1 Jan 2015 0:0:0 GMT", A),
        (SECURE, "a=1; Secure=no", A),
        (A, "=__Host-a=1", A),
        (A, "__Secure-a", A),
        (A, "=", A),
        (A, "; Path=/", A),
    ],
)
def test_a_cookie_is_sent_nowhere_else(url: str, set_cookie: str, at: str) -> None:
    assert sent(at, (url, set_cookie)) is None


@pytest.mark.parametrize("set_cookie", ["1", "=1", " = 1 ; Path=/", "1; Domain=a.test"])
def test_a_cookie_without_a_name_is_sent_as_its_value(set_cookie: str) -> None:
    assert sent(A, (A, "a=0"), (A, set_cookie)) == "a=0; 1"


def test_a_cookie_without_a_name_replaces_another_one() -> None:
    assert sent(A, (A, "1"), (A, "a=0"), (A, "=2; Path=/"), (A, "b=; Path=/")) == "2; a=0; b="


@pytest.mark.parametrize("name", ["a[b]", "a@b:c", "$a", "path", "a b", "é"])
def test_a_name_may_have_any_letters(name: str) -> None:
    assert sent(A, (A, f"{name}=1; Path=/")) == f"{name}=1"


def test_all_cookies_of_one_name_are_sent_the_most_specific_path_first() -> None:
    said = [(A, "a=1; Domain=a.test"), (A, "b=2; Path=/"), (A, "a=3; Path=/x")]
    assert sent("http://a.test/x/", *said) == "a=3; a=1; b=2"


@pytest.mark.parametrize("changed", ["a=2; Path=/", "a=; Max-Age=0; Path=/", "a=2; Domain=a.test", "a=2; Path=/x"])
def test_what_comes_over_http_does_not_replace_a_cookie_of_https(changed: str) -> None:
    assert sent("https://a.test/x", (SECURE, "a=1; Secure; Path=/"), (A, changed)) == "a=1"


def test_beside_a_cookie_of_https_others_are_kept() -> None:
    said = [(A, "a=0; Path=/"), (SECURE, "a=1; Secure; Path=/x"), (A, "a=2; Path=/"), (A, "b=3")]
    assert sent("https://a.test/x", *said) == "a=1; a=2; b=3"


def test_a_cookie_that_came_before_one_of_https_outlives_a_restart() -> None:
    said = [(A, "a=0; Path=/"), (A, "a=1; Path=/x"), (SECURE, "a=2; Secure; Path=/")]
    assert sent("https://a.test/x", *said) == "a=1; a=2"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Thu, 01 Jan 1970 00:00:01 GMT", 1.0),
        ("Thu, 01-Jan-70 00:00:00 GMT", 0.0),
        ("Wed, 31-Dec-69 23:59:59 GMT", 3155759999.0),
        ("2001 feb 3 4:5:6 and more", 981173106.0),
        ("Sun Nov  6 08:49:37 1994", 784111777.0),
        ("Mon, 01 Jan 1601 00:00:00 GMT", -11644473600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253402300799.0),
        ("Mon, 01 Jan 1600 00:00:00 GMT", None),
        ("Sat, 31 Feb 2026 00:00:00 GMT", None),
        ("Sat, 01 Feb 2026 24:00:00 GMT", None),
        ("Sat, 01 Feb 20266 00:00:00 GMT", None),
        ("Sat, 01 Feb 2026", None),
        ("", None),
    ],
)
def test_dates_are_read_in_any_form(text: str, seconds: float | None) -> None:
    assert read_cookie_date(text) == seconds
