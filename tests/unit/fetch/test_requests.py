"""How a request is written, and which connections it can use."""

import ssl
from base64 import b64encode

import aiohttp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from crawler.fetch.connect.requests import HttpRequest, SentUrl

PROXY = URL("http://proxy.test:3128")
PARTS = st.sampled_from(
    ["http://", "https://", "ftp://", "a.test", "[::1]", "1.2.3.4", ":80", ":8080", ":443", ":", ":x"]
)
RESTS = st.text("/?#@:%aA0é \\[]&=.\"'\n", max_size=8)


@given(st.lists(st.one_of(PARTS, RESTS), max_size=6).map("".join))
@example("http://a.test:8080/p?#f")
@example("http://a.test/p?")
@example("http://anna:secret@a.test/p?q")
@example("HTTP://A.Test/P")
@example('http://a.test//p/../q?x="é"')
def test_a_url_is_sent_as_yarl_reads_it(text: str) -> None:
    whole_text = text.partition("#")[0]
    try:
        whole = URL(whole_text, encoded=True)
        expected = (whole.scheme, whole.raw_host or "", whole.port, whole.host_port_subcomponent)
    except ValueError:
        with pytest.raises(aiohttp.InvalidURL):
            SentUrl(text)
        return
    sent = SentUrl(text)
    origin = sent.origin
    assert (origin.scheme, origin.host, origin.port, origin.host_header) == expected
    is_dropped_by_yarl = whole_text.endswith("?") and not whole.raw_query_string
    assert sent.target == whole.raw_path_qs + ("?" if is_dropped_by_yarl else "")
    assert sent.whole.raw_path_qs == sent.target
    assert (origin.key.host, origin.key.port, origin.key.is_ssl) == (expected[1], expected[2], expected[0] == "https")


def test_the_origin_of_urls_is_parsed_once() -> None:
    assert SentUrl("http://a.test/p").origin is SentUrl("http://a.test/q?r#s").origin
    assert SentUrl("http://a.test/p").origin is not SentUrl("https://a.test/p").origin


def test_a_request_begins_with_its_path_and_host() -> None:
    request = HttpRequest("GET", SentUrl("http://a.test:8080/p%20q?x=%C3%A9#part"), {"Accept": "*/*"})
    assert request.serialize() == b"GET /p%20q?x=%C3%A9 HTTP/1.1\r\nHost: a.test:8080\r\nAccept: */*\r\n\r\n"


def test_a_proxy_is_asked_for_the_whole_url_of_http_but_not_of_https() -> None:
    plain = HttpRequest("GET", SentUrl("http://a.test/p"), {}, proxy=PROXY)
    assert plain.serialize().startswith(b"GET http://a.test/p HTTP/1.1\r\n")
    assert (
        HttpRequest("GET", SentUrl("https://a.test/p"), {}, proxy=PROXY).serialize().startswith(b"GET /p HTTP/1.1\r\n")
    )


@pytest.mark.parametrize(
    ("login", "octets"),
    [("an%3Ana:p", b"an:na:p"), ("%FF:%e2%82%ac", b"\xff:\xe2\x82\xac"), (":p", b":p"), ("100%:p", b"100%:p")],
)
def test_a_login_in_the_url_may_have_any_octets(login: str, octets: bytes) -> None:
    request = HttpRequest("GET", SentUrl(f"http://{login}@a.test/"), {})
    assert request.headers["Authorization"] == f"Basic {b64encode(octets).decode()}"


def test_a_login_in_the_url_is_sent_as_a_header_unless_there_is_one() -> None:
    url = SentUrl("http://anna:se%20cret@a.test/")
    request = HttpRequest("GET", url, {})
    assert request.headers["Authorization"] == aiohttp.encode_basic_auth("anna", "se cret")
    assert str(request.url) == "http://a.test/"
    assert HttpRequest("GET", url, {"Authorization": "Bearer x"}).headers["Authorization"] == "Bearer x"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nX: y", "a\0"])
def test_a_header_that_would_begin_another_one_is_never_written(value: str) -> None:
    with pytest.raises(ValueError, match="header"):
        HttpRequest("GET", SentUrl("http://a.test/"), {"Referer": value}).serialize()


def test_a_url_of_another_scheme_is_refused() -> None:
    with pytest.raises(aiohttp.NonHttpUrlClientError):
        HttpRequest("GET", SentUrl("ftp://a.test/"), {})


def test_only_requests_that_go_the_same_way_share_a_connection() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    url = SentUrl("https://a.test/")
    ways = [
        HttpRequest("GET", url, {}),
        HttpRequest("GET", url, {}, ssl=context),
        HttpRequest("GET", url, {}, proxy=PROXY),
        HttpRequest("GET", url, {}, proxy=PROXY, proxy_headers={"Proxy-Authorization": "Basic eA=="}),
        HttpRequest("GET", SentUrl("http://a.test/"), {}),
        HttpRequest("GET", SentUrl("https://a.test:444/"), {}),
        HttpRequest("GET", SentUrl("https://b.test/"), {}),
    ]
    assert len({way.connection_key for way in ways}) == len(ways)
    assert HttpRequest("GET", SentUrl("https://a.test/other"), {"A": "b"}).connection_key == ways[0].connection_key
