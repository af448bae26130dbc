"""What becomes of pages in a real browser."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from crawler.page import WITH_DOCUMENT, LinkKind, LoadAnswer, Page, Redirect, Request
from crawler.render.limits import Limits
from crawler.render.loads import Loaded
from crawler.testing.fetch.raw_server import CLOSE, HANG, Script, Seen, page
from tests.unit.render.rendering import QUICK, Rendering, html, needs_chromium, rendering

pytestmark = needs_chromium

JSON = b"Content-Type: application/json"
SAY_WORD = ".then(r=>r.json()).then(j=>document.body.append(j.word))</script>"
IN_WORKER = "fetch('http://www.site.test/data.json').then(r=>r.json()).then(j=>postMessage(j.word))"
PAGES: dict[str, tuple[str, bytes]] = {
    "/script": ("<script src=/x.js></script><body>", b'<a href="/by-script">'),
    "/data": (f"<body><script>fetch('/data.json'){SAY_WORD}", b"told"),
    "/redirected": (f"<body><script>fetch('/to'){SAY_WORD}", b"told"),
    "/api": (
        (
            "<body><script>fetch('http://api.site.test/cors',{headers:{'X-Token':'t'}})"
            ".then(r=>r.text()).then(t=>document.body.append(t))</script>"
        ),
        b"of another origin",
    ),
    "/frame": ("<body><iframe src=/inner></iframe>", b"from the frame"),
    "/blob-worker": (
        (
            f"<body><script>const w=new Worker(URL.createObjectURL(new Blob([`{IN_WORKER}`])));"
            "w.onmessage=e=>document.body.append('worker '+e.data)</script>"
        ),
        b"worker told",
    ),
    "/later": (
        (
            "<body><script>onload=()=>fetch('/data.json').then(()=>fetch('/data.json'))"
            ".then(()=>document.body.append('at last'))</script>"
        ),
        b"at last",
    ),
    "/dialogs": (
        (
            "<body><script>alert(1);confirm(2);prompt(3);print();setInterval(()=>alert(4),1);"
            "document.body.append('undisturbed')</script>"
        ),
        b"undisturbed",
    ),
    "/away": ("<body>stays<script>onload=()=>location='/elsewhere'</script>", b"stays"),
    "/posts": (
        "<body>stays<form method=post action=/posted></form><script>onload=()=>document.forms[0].submit()</script>",
        b"stays",
    ),
    "/refresh": ("<meta http-equiv=refresh content='0;url=/refreshed'><body>stays", b"stays"),
    "/unwilling": (
        "<body>stays<script>onbeforeunload=e=>{e.preventDefault();return 'x'};onload=()=>location='/x'</script>",
        b"stays",
    ),
    "/live": ("<link rel=prefetch href=/next><body>stays<script>new EventSource('/events')</script>", b"stays"),
    "/popups": ("<body>stays<script>for(let i=0;i<30;i++)open('/popup'+i)</script>", b"stays"),
    "/downloads": (
        (
            "<body>stays<iframe src=/file></iframe><script>const a=document.createElement('a');a.download='x';"
            "a.href=URL.createObjectURL(new Blob(['x'.repeat(1e6)]));a.click()</script>"
        ),
        b"stays",
    ),
    "/service-worker": (
        (
            "<body><script>navigator.serviceWorker?.register('/x.js').catch(()=>0);"
            "document.body.append('goes on')</script>"
        ),
        b"goes on",
    ),
    "/files": (
        (
            "<body>stays<iframe src=file:///etc/passwd></iframe><script src=file:///etc/hosts></script>"
            "<iframe src=chrome://version></iframe><script>location='file:///etc/passwd'</script>"
        ),
        b"stays",
    ),
    "/redirect-loop": (
        "<body><script>fetch('/loop').catch(()=>document.body.append('given up'))</script>",
        b"given up",
    ),
    "/post": (
        "<body><script>fetch('/data.json',{method:'POST'}).catch(()=>document.body.append('refused'))</script>",
        b"refused",
    ),
    "/odd-status": (
        (
            "<body><script src=/520></script><script src=/299></script><script>fetch('/520')"
            ".then(r=>document.body.append(`status ${r.status}`))</script>"
        ),
        b"ran</body>",
    ),
    "/umlaut": (r"<body><script>document.body.append('\u00e4\ud83d\ude00 \ud800')</script>", "ä😀 \ufffd".encode()),
    "/lies": (
        (
            "<body><a href=/kept></a><img name=documentElement><img name=querySelectorAll><form name=head></form>"
            "<script>Object.defineProperty(Element.prototype,'outerHTML',{get(){return 'lies'}});"
            "String.prototype.slice=()=>'lies'</script>"
        ),
        b"/kept",
    ),
}
"""Pages that come to an end, each with what must stand in its document."""

SCRIPTS: dict[str, Script] = {
    **{path: html(text) for path, (text, _) in PAGES.items()},
    "/x.js": [page(b"onload=()=>document.body.innerHTML='<a href=/by-script>x</a>'", b"Content-Type: text/javascript")],
    "/data.json": [page(b'{"word":"told"}', JSON)],
    "/to": [page(b"", b"Location: /data.json", status=b"302 Found")],
    "/loop": [page(b"", b"Location: /loop", status=b"302 Found")],
    "/cors": [page(b"of another origin", b"Access-Control-Allow-Origin: *")],
    "/inner": html("<script>parent.document.body.append('from the frame')</script>"),
    "/299": [page(b"onload=()=>fetch('/520').then(()=>document.body.append('ran'))", status=b"299 \xff")],
    "/520": [page(b"", status=b"520 Web Server Returned an Unknown Error")],
    "/file": [page(b"file", b"Content-Type: application/octet-stream", b"Content-Disposition: attachment")],
    "/loop-forever": html("<body>x<script>while(true);</script>"),
    "/reloads": html("<body>stays<script>setInterval(()=>location.reload(),1)</script>"),
    "/blank": html("<body>x<script>location='about:blank'</script>"),
    "/greedy": html("<body>x<script>const a=[];while(true)a.push(new Uint8Array(1e7).fill(7))</script>"),
    "/asks": html("<body>x<script>let n=0;const f=()=>fetch('/data.json?'+n++).finally(f);f()</script>"),
    "/long": html("<body><script>document.body.append('\\u00e4'.repeat(100000))</script>"),
    "/overloads": html(
        "<body>x<script>for(const to of ['/429','/429','/404','http://cdn.site.test/429?'])fetch(to)</script>"
    ),
    "/429": [page(b"", b"Retry-After: 7", status=b"429 Too Many Requests")],
    "/404": [page(b"", status=b"404 Not Found")],
    "/429?": [page(b"", b"Retry-After: 70", status=b"429 Too Many Requests")],
    "/never-loaded": html("<body>so far<script src=/hang></script>"),
    "/goes": html("<body><script>location='/there'</script><a href=/behind>"),
    "/posts-at-once": html("<form method=post></form><script>document.forms[0].submit()</script><a href=/behind>"),
    "/stops": html("<body><script>stop()</script><a href=/behind>"),
}  # fmt: skip


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Rendering]:
    async with rendering(SCRIPTS, tmp_path / "browsers") as made:
        yield made


async def test_answers_of_its_host_that_ask_for_less_load_are_told_with_a_page(web: Rendering) -> None:
    got = await web.page("/overloads")
    assert set(got.troubled_loads) == {LoadAnswer(429, "7"), LoadAnswer(404, None)}
    assert len(got.troubled_loads) == 2
    assert (await web.page("/long")).troubled_loads == ()


async def test_a_page_tells_what_it_loaded_for_the_archive(tmp_path: Path) -> None:
    scripts = SCRIPTS | {
        "/some": html(
            "<script src=/x.js></script><img src=/picture><iframe src=/inner></iframe><script>"
            "const some=['/to','/404','/520','/gone'].map(url=>fetch(url).catch(()=>0));"
            "onload=()=>fetch('/x',{method:'POST'}).catch(()=>Promise.all(some)).then(()=>fetch('/big'))</script>"
        ),
        "/other": html("<script src=/x.js></script>"),
        "/gone": [CLOSE],
        "/big": [page(bytes(60_000), JSON)],
    }
    limits = msgspec.structs.replace(QUICK, max_bytes=50_000)
    async with rendering(scripts, tmp_path / "browsers", limits=limits, keeps=lambda *_, **__: True) as web:
        some, other = await web.page("/some"), await web.page("/other")
    assert some.rendering == "bytes"
    found = {each.url.removeprefix("http://www.site.test"): each.status for each in some.loads}
    assert found == {"/x.js": 200, "/to": 302, "/data.json": 200, "/404": 404, "/520": 520, "/inner": 200}
    assert len(some.loads) == len(found)
    [script] = other.loads
    assert script is next(each for each in some.loads if each.url.endswith("/x.js"))


async def test_what_a_page_loaded_is_freed_with_the_page(tmp_path: Path) -> None:
    scripts = {"/": html("<script>fetch('/data.json')</script>"), "/data.json": [page(b"{}", JSON)]}
    async with rendering(scripts, tmp_path / "browsers", keeps=lambda *_, **__: True) as web:
        gc.disable()
        try:
            got = await web.page("/")
            loaded = weakref.ref(got.loads[0])
            del got
            assert loaded() is None
        finally:
            gc.enable()


async def test_a_page_whose_scripts_end_its_parsing_stays_as_received(web: Rendering) -> None:
    links = {"/goes": ["http://www.site.test/there"], "/posts-at-once": [], "/stops": []}
    for path, expected in links.items():
        got = await web.page(path)
        assert got.rendering == "left", path
        assert got.body is got.raw_body
        assert [link.href for link in got.links] == expected
    assert web.server.targets == list(links)


async def test_a_page_of_http_stays_one(tmp_path: Path) -> None:
    text = "<body><script>fetch('http://cdn.example.com/data.json').then(()=>document.body.append(location))</script>"
    scripts = SCRIPTS | {"/": html(text), "/data.json": [page(b"{}", JSON, b"Access-Control-Allow-Origin: *")]}
    async with rendering(scripts, tmp_path / "browsers", at_once=1) as web:
        # Chromium upgrades names below a public suffix alone, and .test is none.
        got = await web.page("/", host="www.example.com")
    assert b"</script>http://www.example.com/</body>" in got.body
    assert b"<base" not in got.body


@pytest.mark.parametrize(
    "holding",
    [
        "<script src=/hang></script>",
        "<link rel=stylesheet href=/hang><script>1</script>",
        "<script src=/hang></script><script src=/hang?2></script>",
        "<script>const r=new XMLHttpRequest();r.open('GET','/hang',false);try{r.send()}catch{}</script>",
        "<script src=/hang></script><script>setInterval(()=>fetch('/hang?'+Math.random()),20)</script>",
    ],
)
async def test_what_never_comes_does_not_keep_the_rest_of_a_page_from_being_read(holding: str, tmp_path: Path) -> None:
    def script_for(seen: Seen) -> Script:
        rest = "<script>document.write('<a href=/written></a>')</script><a href=/behind>"
        return [HANG] if seen.target.startswith("/hang") else html(f"<head>{holding}</head><body>{rest}")

    limits = msgspec.structs.replace(QUICK, wait_s=1.0)
    async with rendering(script_for, tmp_path / "browsers", limits=limits) as web:
        got = await web.page("/")
    assert got.rendering == "time"
    assert b'<a href="/written"></a>' in got.body
    assert b'<a href="/behind">' in got.body


async def test_pages_become_what_their_scripts_make_of_them(web: Rendering) -> None:
    pages = dict(zip(PAGES, await asyncio.gather(*map(web.page, PAGES)), strict=True))
    assert {path: got.rendering for path, got in pages.items()} == dict.fromkeys(PAGES, "whole")
    for path, (text, expected) in PAGES.items():
        assert expected in pages[path].body, path
        assert pages[path].raw_body == text.encode()
        assert b"passwd:" not in pages[path].body
        assert b"root:" not in pages[path].body
    assert {link.href for link in pages["/away"].links} == {"http://www.site.test/elsewhere"}
    assert pages["/away"].links[0].kind is LinkKind.REFRESH
    assert pages["/posts"].links == ()
    assert {link.href for link in pages["/refresh"].links} == {"http://www.site.test/refreshed"}
    assert {link.href for link in pages["/popups"].links} == {f"http://www.site.test/popup{n}" for n in range(30)}
    asked = {target.partition("?")[0] for target in web.server.targets}
    assert asked == {*PAGES, "/x.js", "/data.json", "/to", "/loop", "/cors", "/inner", "/file", "/299", "/520"}
    assert {seen.header("User-Agent") for seen in web.server.seen} == {"onceover/1.0"}
    assert [seen.header("X-Token") for seen in web.server.seen if seen.target == "/cors"] == ["t"]
    # One script, for all who load it.
    assert web.server.targets.count("/x.js") == 1


HARD: dict[str, tuple[str, dict[str, float]]] = {
    "/loop-forever": ("hung", {"wait_s": 0.1, "timeout_s": 1.5}),
    "/blank": ("left", {}),
    "/reloads": ("whole time hung", {"wait_s": 0.5, "timeout_s": 5.0}),
    "/greedy": ("memory", {"max_memory_bytes": 500_000_000}),
    "/asks": ("requests", {"max_requests": 20}),
    "/data": ("bytes", {"max_bytes": 5}),
    "/long": ("length", {"max_document_bytes": 50_001}),
    "/never-loaded": ("time", {"wait_s": 0.5}),
}
"""Pages that take too much, with their outcome (what comes first counts) and the limit that finds it."""


@pytest.mark.parametrize("path", HARD)
async def test_what_a_page_takes_is_bounded_and_its_end_has_a_name(path: str, tmp_path: Path) -> None:
    outcomes, limits = HARD[path]
    limited = msgspec.structs.replace(QUICK, **limits)
    release = asyncio.Event()
    scripts = {**SCRIPTS, "/hang": [release.wait]}
    async with rendering(scripts, tmp_path / "browsers", limits=limited, at_once=1) as web:
        got = await web.page(path)
        assert got.rendering in outcomes.split()
        if got.rendering not in WITH_DOCUMENT:
            assert got.body is got.raw_body
        elif got.rendering == "length":
            assert got.body.decode("utf-8-sig").endswith("ä")
            assert len(got.body) <= 50_001 + len("\ufeff".encode())
        release.set()
        if got.rendering not in WITH_DOCUMENT:
            # The next page has a browser that is well.
            web.fetcher._limits = QUICK
            assert (await web.page("/script")).rendering == "whole"
    assert not web.profiles.exists()


async def test_only_whole_html_is_rendered(tmp_path: Path) -> None:
    text = b"<script>document.title='rendered'</script>"
    scripts: dict[str, Script] = {
        "/json": [page(text, JSON)],
        "/sitemap": [page(b"<?xml version='1.0'?><urlset><url><loc>http://www.site.test/a</loc></url></urlset>",
                          b"Content-Type: text/html")],
        "/list": [page(b"http://www.site.test/a\n", b"Content-Type: text/html")],
        "/missing": [page(text, b"Content-Type: text/html", status=b"404 Not Found")],
        "/download": [page(text, b"Content-Type: text/html", b"Content-Disposition: attachment; filename=x")],
        "/unknown": [page(text, b"Content-Type: text/html", b"Content-Disposition: Download ; filename=x")],
        "/reset": [page(text, b"Content-Type: text/html", status=b"205 Reset Content")],
        "/inline": [page(text, b"Content-Type: text/html", b"Content-Disposition: Inline; filename=x")],
        "/no-type": [page(text, b"Content-Type: text/html", b"Content-Disposition: filename=x")],
        "/empty": [page(b"", b"Content-Type: text/html")],
        "/redirect": [page(text, b"Content-Type: text/html", b"Location: /", status=b"301 Moved")],
        "/odd-status": [page(text, b"Content-Type: text/html", status=b"299 Odd")],
        "/xhtml": [page(b"<html xmlns='http://www.w3.org/1999/xhtml'><script>document.title='x'</script></html>",
                        b"Content-Type: application/xhtml+xml; charset=utf-8")],
    }  # fmt: skip
    async with rendering(scripts, tmp_path / "browsers", at_once=1) as web:
        for path in ("/json", "/sitemap", "/list", "/missing", "/download", "/unknown", "/reset", "/empty"):
            got = await web.page(path)
            assert got.rendering is None, path
            assert got.body is got.raw_body
        for path in ("/inline", "/no-type", "/odd-status", "/xhtml"):
            assert (await web.page(path)).rendering == "whole", path
        assert isinstance(await web.fetcher.fetch(Request(url="http://www.site.test/redirect")), Redirect)


async def test_cancelled_it_ends_the_browser(tmp_path: Path) -> None:
    limits = Limits(timeout_s=300.0, wait_s=300.0)
    async with rendering({"/": html("<script src=/hang></script>"), "/hang": [asyncio.Event().wait]},
                         tmp_path / "browsers", limits=limits, at_once=1) as web:  # fmt: skip
        task = asyncio.ensure_future(web.page("/"))
        while "/hang" not in web.server.targets:
            web.server.asked.clear()
            await web.server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(web.profiles.iterdir()) == []


async def test_a_browser_that_dies_is_replaced_and_its_page_rendered_in_another(tmp_path: Path) -> None:
    killed: list[int] = []

    async with rendering({"/": html("<body><script src=/x.js></script>")}, tmp_path / "browsers", at_once=1) as web:
        browser = web.fetcher._browsers._idle[0]

        async def answered(asked: object) -> Loaded:
            if not killed:
                killed.append(browser._process.pid or 0)
                browser.devtools.post("Browser.crash")
                await asyncio.Event().wait()
            return Loaded(None, 1.0)

        web.fetcher._loads.load = answered  # type: ignore[assignment, method-assign]
        got = await web.page("/")
        assert killed
        assert got.rendering == "whole"
        assert isinstance(got, Page)
        assert web.fetcher._browsers._idle != [browser]
