"""How a request is written, and which connections it can use."""

import ssl

import aiohttp
import pytest
from yarl import URL

from crawler.fetch.connect.requests import HttpRequest

PROXY = URL("http://proxy.test:3128")


def test_a_request_begins_with_its_path_and_host() -> None:
    request = HttpRequest("GET", URL("http://a.test:8080/p%20q?x=%C3%A9#part", encoded=True), {"Accept": "*/*"})
    assert request.serialized() == b"GET /p%20q?x=%C3%A9 HTTP/1.1\r\nHost: a.test:8080\r\nAccept: */*\r\n\r\n"


def test_a_proxy_is_asked_for_the_whole_url_of_http_but_not_of_https() -> None:
    plain = HttpRequest("GET", URL("http://a.test/p"), {}, proxy=PROXY)
    assert plain.serialized().startswith(b"GET http://a.test/p HTTP/1.1\r\n")
    assert HttpRequest("GET", URL("https://a.test/p"), {}, proxy=PROXY).serialized().startswith(b"GET /p HTTP/1.1\r\n")


def test_a_login_in_the_url_is_sent_as_a_header_unless_there_is_one() -> None:
    url = URL("http://anna:se%20cret@a.test/")
    request = HttpRequest("GET", url, {})
    assert request.headers["Authorization"] == aiohttp.encode_basic_auth("anna", "se cret")
    assert str(request.url) == "http://a.test/"
    assert HttpRequest("GET", url, {"Authorization": "Bearer x"}).headers["Authorization"] == "Bearer x"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nX: y", "a\0"])
def test_a_header_that_would_begin_another_one_is_never_written(value: str) -> None:
    with pytest.raises(ValueError, match="header"):
        HttpRequest("GET", URL("http://a.test/"), {"Referer": value}).serialized()


def test_a_url_of_another_scheme_is_refused() -> None:
    with pytest.raises(aiohttp.NonHttpUrlClientError):
        HttpRequest("GET", URL("ftp://a.test/"), {})


def test_only_requests_that_go_the_same_way_share_a_connection() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    url = URL("https://a.test/")
    ways = [
        HttpRequest("GET", url, {}),
        HttpRequest("GET", url, {}, ssl=context),
        HttpRequest("GET", url, {}, proxy=PROXY),
        HttpRequest("GET", url, {}, proxy=PROXY, proxy_headers={"Proxy-Authorization": "Basic eA=="}),
        HttpRequest("GET", URL("http://a.test/"), {}),
        HttpRequest("GET", URL("https://a.test:444/"), {}),
        HttpRequest("GET", URL("https://b.test/"), {}),
    ]
    assert len({way.connection_key for way in ways}) == len(ways)
    assert HttpRequest("GET", URL("https://a.test/other"), {"A": "b"}).connection_key == ways[0].connection_key
