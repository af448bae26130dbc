"""A WACZ file replays in the programs that people use for that. They are not ours, and not installed by `make`."""

import asyncio
import os
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import Browser, async_playwright
from playwright.async_api import Page as BrowserPage
from playwright.async_api import TimeoutError as TooLate

from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.warc_reader import Capture, captures
from tests.e2e.browsing import CHROMIUM, with_home
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled
from tests.ports import free_port

pytestmark = pytest.mark.long

REPLAYWEBPAGE: Final = os.environ.get("REPLAYWEBPAGE", "")
WAYBACK, MANAGER, VALIDATOR = (shutil.which(name) for name in ("wayback", "wb-manager", "wacz"))
needs_pywb = pytest.mark.skipif(
    WAYBACK is None or MANAGER is None, reason="needs pywb, in an environment of its own, on PATH"
)
HTML: Final = b"Content-Type: text/html"
TITLES: Final = {
    "http://a.test/": "Start",
    "http://a.test/old": "Of the earlier crawl",
    "http://a.test/copy": "Of the earlier crawl",
    "http://a.test/new": "New",
    "http://a.test/again": "New",
}
WORDS: Final = {"Start": "harbour", "Of the earlier crawl": "lighthouse", "New": "clocks"}
"""A word of the text of each page."""


def answer(seen: Seen) -> Script:
    title = TITLES[f"http://a.test{seen.target}"]
    links = (
        b"<a href=/old>1</a><a href=/copy>2</a><a href=/new>3</a><a href=/again>4</a>" if seen.target == "/" else b""
    )
    text = f"It was a bright cold day in April, and the {WORDS[title]} were there to see. " * 20
    return [
        page(b"<title>%b</title><nav>%b</nav><article><p>%b</article>" % (title.encode(), links, text.encode()), HTML)
    ]


@pytest.fixture(params=["inline", "at the export"])
async def wacz(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file of pages with their texts. Some have the body of an earlier crawl, and one that of another page."""
    is_inline = request.param == "inline"
    async with raw_server(answer) as server:
        await crawled(server, tmp_path / "earlier", {"crawl.seeds": ["http://a.test/old"]})
        settings = {
            "output.text": is_inline,
            "output.warc_text": is_inline,
            "output.warc_revisits": 9,
            "output.dedupe_against": [str(tmp_path / "earlier")],
            "fetch.concurrency": 1,
        }
        await crawled(server, tmp_path / "crawl", settings)
    found = [each for each in captures(tmp_path / "crawl" / "warc", full_blocks=True) if isinstance(each, Capture)]
    revisits = {each.url.rpartition("/")[2]: each.refers_to for each in found if each.kind == "revisit"}
    assert {name: to[0] for name, to in revisits.items() if to is not None} == {
        "old": "http://a.test/old",
        "copy": "http://a.test/old",
        "again": "http://a.test/new",
    }
    assert len([each for each in found if each.kind == "text"]) == (len(TITLES) if is_inline else 0)
    command = ["export", str(tmp_path / "crawl"), "--format", "wacz", "--to", str(tmp_path / "site.wacz")]
    ended = command_here(*command, *([] if is_inline else ["--text-by", "turbohtml"]))
    assert ended.code == 0, ended.err
    shutil.rmtree(tmp_path / "earlier")
    return tmp_path / "site.wacz"


@pytest.mark.skipif(VALIDATOR is None, reason="needs the command `wacz`, in an environment of its own, on PATH")
async def test_its_validator_finds_it_valid(wacz: Path) -> None:
    assert VALIDATOR is not None
    process = await asyncio.create_subprocess_exec(VALIDATOR, "validate", "-f", wacz, stdout=PIPE)
    told, _ = await process.communicate()
    assert (process.returncode, b"the passed WACZ is valid" in told) == (0, True), told.decode()


async def text_of(session: aiohttp.ClientSession, url: str) -> str:
    """What a server that may still be starting answers."""
    end = time.monotonic() + MAX_WAIT_S
    while True:
        try:
            async with session.get(url) as response:
                return await response.text()
        except aiohttp.ClientConnectionError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.2)


@asynccontextmanager
async def pywb(directory: Path, wacz: Path) -> AsyncIterator[str]:
    """Where pywb replays a file: what comes before the URL of a page."""
    assert WAYBACK is not None
    assert MANAGER is not None
    for arguments in (("init", "c"), ("add", "--unpack-wacz", "c", str(wacz))):
        managing = await asyncio.create_subprocess_exec(MANAGER, *arguments, cwd=directory, stdout=PIPE, stderr=PIPE)
        told = await managing.communicate()
        assert managing.returncode == 0, told
    port = free_port()
    serving = await asyncio.create_subprocess_exec(
        WAYBACK, "-p", str(port), "-b", "127.0.0.1", cwd=directory, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}/c/mp_/"
    finally:
        serving.terminate()
        await serving.wait()


@needs_pywb
async def test_pywb_replays_it(tmp_path: Path, wacz: Path) -> None:
    async with pywb(tmp_path, wacz) as replayed, aiohttp.ClientSession() as session:
        for url, title in TITLES.items():
            shown = await text_of(session, f"{replayed}{url}")
            assert f"<title>{title}</title>" in shown
            assert WORDS[title] in shown
        assert "URL Not Found" in await text_of(session, f"{replayed}http://a.test/none")


@needs_pywb
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
async def test_pywb_replays_a_page_with_what_its_scripts_have_loaded(tmp_path: Path) -> None:
    scripts: dict[str, Script] = {
        "/": [page(b"<title>empty</title><body><script src=/app.js></script><a href=/two>2</a>", HTML)],
        "/two": [page(b"<title>empty</title><body><script src=/app.js></script>", HTML)],
        "/app.js": [
            page(
                b"fetch('/data'+location.pathname).then(r=>r.json()).then(j=>{document.title=j.title})",
                b"Content-Type: text/javascript",
            )
        ],
        "/data/": [page(b'{"title": "one"}', b"Content-Type: application/json")],
        "/data/two": [page(b'{"title": "two"}', b"Content-Type: application/json")],
    }
    async with raw_server(scripts) as server:
        rendered = {"render.patterns": ["."], "scope.embeds": False}
        pages = await crawled(server, tmp_path / "crawl", rendered)
    assert {each.url: each.title for each in pages} == {"http://a.test/": "one", "http://a.test/two": "two"}
    ended = command_here("export", str(tmp_path / "crawl"), "--format", "wacz", "--to", str(tmp_path / "site.wacz"))
    assert ended.code == 0, ended.err
    async with pywb(tmp_path, tmp_path / "site.wacz") as replayed, async_playwright() as playwright:
        async with aiohttp.ClientSession() as session:
            await text_of(session, replayed)
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, env=with_home(tmp_path))
        for each in pages:
            shown = await browser.new_page()
            await shown.goto(f"{replayed}{each.url}", timeout=MAX_WAIT_S * 1000)
            end = time.monotonic() + MAX_WAIT_S
            while each.title not in [await frame.title() for frame in shown.frames]:
                assert time.monotonic() < end, [await frame.title() for frame in shown.frames]
                await asyncio.sleep(0.2)
        await browser.close()


@pytest.fixture(params=[1 << 30, 1])
def large(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr("crawler.export.wacz.packing._LARGE_BYTES", request.param)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
@pytest.mark.skipif(
    not REPLAYWEBPAGE, reason="needs the unpacked npm package replaywebpage, as the variable REPLAYWEBPAGE names it"
)
async def test_replaywebpage_shows_it_and_finds_words_of_its_texts(large: None, tmp_path: Path, wacz: Path) -> None:
    application = web.Application()
    application.router.add_get("/", answering(Path(REPLAYWEBPAGE) / "index.html"))
    application.router.add_get("/site.wacz", answering(wacz))
    application.router.add_static("/", REPLAYWEBPAGE)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, env=with_home(tmp_path))
            source = f"http://127.0.0.1:{port}/site.wacz"
            for url, title in TITLES.items():
                shown = await browser.new_page()
                await shown.goto(
                    f"http://127.0.0.1:{port}/?source={quote(source)}#view=pages&url={quote(url)}",
                    timeout=MAX_WAIT_S * 1000,
                )
                assert await title_of_replay(shown) == title
                await shown.close()
            await find_word(browser, f"http://127.0.0.1:{port}/?source={quote(source)}#view=pages", "lighthouse", 2)
            await browser.close()
    finally:
        await runner.cleanup()


def answering(path: Path) -> Callable[[web.Request], Awaitable[web.FileResponse]]:
    async def answer(_: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    return answer


async def title_of_replay(shown: BrowserPage) -> str:
    """The title of the page that is replayed, once there is one."""
    end = time.monotonic() + MAX_WAIT_S
    while time.monotonic() < end:
        for frame in shown.frames:
            if "mp_/" in frame.url and (title := await frame.title()):
                return title
        await asyncio.sleep(0.2)
    raise AssertionError(f"nothing is replayed, only {[frame.url for frame in shown.frames]}")


async def find_word(browser: Browser, view: str, word: str, pages: int) -> None:
    """Search until so many pages are found. A search that begins before all texts are loaded finds too little."""
    shown = await browser.new_page()
    await shown.goto(view, timeout=MAX_WAIT_S * 1000)
    box = shown.get_by_placeholder("Search by Page URL, Title, or Text")
    await box.wait_for(timeout=MAX_WAIT_S * 1000)
    found = shown.locator("wr-page-entry", has_text=word)
    end = time.monotonic() + MAX_WAIT_S
    while await found.count() != pages:
        assert time.monotonic() < end, await shown.locator("body").inner_text()
        await box.fill("")
        await box.fill(word)
        with suppress(TooLate):
            await found.nth(pages - 1).wait_for(timeout=5_000)
    await shown.close()
