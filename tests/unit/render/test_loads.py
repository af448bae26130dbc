"""Which requests of a page are answered."""

from collections.abc import Sequence
from typing import Any

import pytest

from crawler.page import (
    Failure,
    FailureKind,
    Fetched,
    LoadAnswer,
    NotModified,
    Page,
    Preference,
    Redirect,
    Request,
    Verdict,
)
from crawler.render.loads import (
    MAX_REQUEST_CHARACTERS,
    Loaded,
    Loads,
    SubRequest,
    preflight_response,
    to_request,
    to_response,
)
from crawler.render.responses import ResponseCache


class Web:
    """Answers everything with the same, and remembers what was asked."""

    def __init__(self, fetched: Fetched) -> None:
        self.fetched = fetched
        self.asked: list[Request] = []

    async def fetch(self, request: Request, /) -> Fetched:
        self.asked.append(request)
        return self.fetched


class Forbidding:
    async def allows(self, url: str, /) -> Verdict:
        return Verdict(allowed="/private" not in url, reason="robots")


def asked(url: str = "http://a.test/x", *, method: str = "GET", kind: str = "Script", **headers: str) -> SubRequest:
    request = {
        "url": url,
        "method": method,
        "headers": {name.replace("_", "-"): text for name, text in headers.items()},
    }
    return SubRequest.of({"requestId": "1", "request": request, "resourceType": kind}, None)


def got(**more: Any) -> Page:
    fields: dict[str, Any] = {"status": 200, "headers": [], "body": b"text", "raw_body": b"packed"}
    return Page(url="http://a.test/x", fetched_at=0.0, duration_s=0.25, **(fields | more))


def loads(web: Web, **more: Any) -> Loads:
    return Loads(web, cache=ResponseCache(), clock=lambda: 0.0, **more)


@pytest.mark.parametrize(
    "refused",
    [
        asked(method="POST"),
        asked(method="HEAD"),
        asked(kind="Image"),
        asked(kind="Ping"),
        asked(kind="CSPViolationReport"),
        asked(kind="EventSource"),
        asked(kind="WebSocket"),
        asked(kind="Prefetch"),
        asked(kind="XHR", Accept="text/event-stream"),
        asked(kind="Fetch", Sec_Purpose="prefetch;prerender"),
        asked(kind="Other"),
        asked(kind="what comes with the next version"),
        asked("file:///etc/passwd"),
        asked("ftp://a.test/"),
        asked("chrome://version/"),
        asked("http://ads.test/"),
        asked("http://a.test/" + "x" * MAX_REQUEST_CHARACTERS),
        asked(X_Token="t" * MAX_REQUEST_CHARACTERS),
    ],
    ids=lambda request: str(request)[:200],
)
def test_some_requests_are_never_answered(refused: SubRequest) -> None:
    assert not loads(Web(got()), refuses=lambda url: "ads." in url).passes(refused)


@pytest.mark.parametrize("kind", ["Document", "Stylesheet", "Script", "XHR", "Fetch"])
def test_what_makes_a_document_is_loaded(kind: str) -> None:
    assert loads(Web(got())).passes(asked(kind=kind))


def test_a_request_may_be_as_long_as_pages_need() -> None:
    assert loads(Web(got())).passes(asked("http://a.test/" + "x" * 30_000, X_Token="t" * 30_000))


def test_what_is_blocked_is_configured() -> None:
    assert loads(Web(got()), blocked=()).passes(asked(kind="Image"))
    assert not loads(Web(got()), blocked=["script"]).passes(asked())


async def test_a_body_is_handed_over_decoded_and_its_headers_say_so() -> None:
    headers = [(b"Content-Encoding", b"gzip"), (b"content-length", b"6"), (b"X-A", b"b"), (b"Alt-Svc", b"h3")]
    answer, busy_s, trouble = await loads(Web(got(headers=headers))).load(asked())
    assert answer is not None
    assert (answer.status, answer.headers, answer.body) == (200, [("X-A", "b")], b"text")
    assert (busy_s, trouble) == (0.25, None)


@pytest.mark.parametrize(
    ("fetched", "trouble"),
    [
        (got(status=429, headers=[(b"Retry-After", b"7")]), LoadAnswer(429, "7")),
        (got(status=404), LoadAnswer(404, None)),
        (got(headers=[(b"Retry-After", b"7")]), LoadAnswer(200, "7")),
        (got(), None),
        (
            Redirect(
                url="http://a.test/x", status=307, headers=[], fetched_at=0.0, duration_s=0.0, location="/", asked=False
            ),
            None,
        ),
        (Failure(url="http://a.test/x", kind=FailureKind.TIMEOUT, message="", fetched_at=0.0, duration_s=1.0), None),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_a_server_says_of_its_load_is_told(fetched: Fetched, trouble: LoadAnswer | None) -> None:
    assert (await loads(Web(fetched)).load(asked())).trouble == trouble


async def test_what_robots_txt_forbids_is_not_asked_for() -> None:
    web = Web(got())
    careful = loads(web, robots=Forbidding())
    assert await careful.load(asked("http://a.test/private/x")) == Loaded(None)
    assert web.asked == []
    assert (await careful.load(asked()))[0] is not None


async def test_a_script_is_asked_for_once_and_data_each_time() -> None:
    web = Web(got())
    some = loads(web)
    for _ in range(3):
        await some.load(asked())
        await some.load(asked("http://a.test/data", kind="XHR"))
    assert [request.url for request in web.asked].count("http://a.test/x") == 1
    assert [request.url for request in web.asked].count("http://a.test/data") == 3


async def test_a_script_is_asked_for_from_each_origin() -> None:
    web = Web(got())
    some = loads(web)
    for origin in ("http://a.test", "http://b.test", "http://a.test"):
        await some.load(asked(Origin=origin))
    assert len(web.asked) == 2


def test_a_page_says_no_more_to_servers_than_its_scripts_do() -> None:
    request = to_request(
        asked(
            User_Agent="Mozilla", Cookie="a=b", Authorization="Bearer x", Sec_Fetch_Mode="cors", Range="bytes=0-",
            Via="x", Referer="http://a.test/", Accept="application/json", Origin="http://a.test", X_Token="t",
            X_Bad="ä", From="x@a.test", Signature="sig1=:AA==:", Signature_Input="sig1=()", Signature_Agent="x",
            X_HTTP_Method_Override="DELETE", X_Method_Override="PUT", X_HTTP_Method="POST",
        )
    )  # fmt: skip
    assert request.referer == "http://a.test/"
    assert dict(request.headers) == {"accept": "application/json", "origin": "http://a.test", "x-token": "t"}


@pytest.mark.parametrize(
    ("asked_for", "expected"),
    [
        ("http://user:word@a.test/@x", "http://a.test/@x"),
        ("https://user@a.test:8080/?a@b", "https://a.test:8080/?a@b"),
        ("http://a.test/u:p@b.test/", "http://a.test/u:p@b.test/"),
    ],
)
def test_a_page_can_send_no_login(asked_for: str, expected: str) -> None:
    assert asked(asked_for, kind="XHR").url == expected


def test_a_preflight_is_answered_without_asking_anybody() -> None:
    preflight = asked(
        method="OPTIONS",
        kind="XHR",
        Origin="http://a.test",
        Access_Control_Request_Method="GET",
        Access_Control_Request_Headers="x-token",
    )
    assert preflight.is_preflight
    answer = preflight_response(preflight)
    assert answer.status == 204
    assert ("Access-Control-Allow-Headers", "x-token") in answer.headers
    assert ("Access-Control-Allow-Origin", "http://a.test") in answer.headers
    assert not asked(method="OPTIONS").is_preflight


def test_a_redirect_is_handed_over_so_that_each_hop_is_judged() -> None:
    redirect = Redirect(
        url="http://a.test/x", status=302, headers=[(b"Location", b"/y")], location="/y", fetched_at=0.0, duration_s=0.0
    )
    answer = to_response(redirect)
    assert answer is not None
    assert (answer.status, answer.headers) == (302, [("Location", "/y")])


async def test_a_redirect_of_the_crawl_itself_passes_to_other_origins_as_in_browsers() -> None:
    redirect = Redirect.internal("http://a.test/x", "https://a.test/x", why=b"HSTS", now=0.0)
    answer, *_ = await loads(Web(redirect)).load(asked(kind="XHR", Origin="http://b.test"))
    assert answer is not None
    assert ("Location", "https://a.test/x") in answer.headers
    assert ("Access-Control-Allow-Origin", "http://b.test") in answer.headers
    assert ("Access-Control-Allow-Credentials", "true") in answer.headers
    same_origin, *_ = await loads(Web(redirect)).load(asked(kind="XHR"))
    assert same_origin is not None
    assert {name for name, _ in same_origin.headers} == {"Location", "Non-Authoritative-Reason"}


@pytest.mark.parametrize(
    "fetched",
    [
        got(truncated="length"),
        got(truncated="disconnect"),
        NotModified(url="http://a.test/x", status=304, headers=[], fetched_at=0.0, duration_s=0.0),
        Failure(url="http://a.test/x", kind=FailureKind.PRIVATE_ADDRESS, message="no", fetched_at=0.0, duration_s=0.0),
    ],
    ids=lambda fetched: type(fetched).__name__,
)
def test_what_is_no_whole_response_is_none_for_the_page(fetched: Fetched) -> None:
    assert to_response(fetched) is None


def keeps_all(_: Page | Redirect, /, *, of_origin: Sequence[Preference]) -> bool:
    return True


async def test_the_archive_gets_what_the_browser_gets() -> None:
    redirect = Redirect(
        url="http://a.test/x", status=302, headers=[], location="/y", fetched_at=0.0, duration_s=0.0, body=b"moved"
    )
    for fetched in (got(), got(status=404), redirect):
        response = (await loads(Web(fetched), keeps=keeps_all).load(asked(kind="XHR"))).response
        assert response is not None
        assert response.for_archive is fetched
    response = (await loads(Web(got())).load(asked(kind="XHR"))).response
    assert response is not None
    assert response.for_archive is None


async def test_the_archive_does_not_get_what_it_does_not_want_and_hears_what_the_origin_says() -> None:
    heard = []

    def keeps(response: Page | Redirect, /, *, of_origin: Sequence[Preference]) -> bool:
        heard.append((response.url, list(of_origin)))
        return False

    class Saying:
        async def allows(self, url: str, /) -> Verdict:
            return Verdict(allowed=True, reason="robots", preferences=[said])

    said = Preference(signal="content-signal", source="robots.txt", value="ai-train=no", refuses=("train-ai",))
    response = (await loads(Web(got()), keeps=keeps, robots=Saying()).load(asked())).response
    assert response is not None
    assert response.for_archive is None
    assert heard == [("http://a.test/x", [said])]


async def test_a_script_that_pages_share_is_the_same_for_the_archive_and_frees_the_memory_of_its_fetch() -> None:
    web = Web(got())
    some = loads(web, keeps=keeps_all)
    first, second = [(await some.load(asked())).response for _ in range(2)]
    assert first is not None
    assert second is not None
    assert first.for_archive is second.for_archive
    assert first.for_archive == web.fetched
    assert first.for_archive is not web.fetched


def test_a_request_that_was_too_long_to_be_read_does_not_pass() -> None:
    request = SubRequest.of({"requestId": "7"}, "session")
    assert (request.id, request.session, loads(Web(got())).passes(request)) == ("7", "session", False)
