"""A WACZ file replays in the programs that people use for that. They are not ours, and not installed by `make`."""

import asyncio
import os
import shutil
import socket
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import Page as BrowserPage
from playwright.async_api import async_playwright

from crawler.export.wacz.packing import WaczExport, export_wacz
from tests.e2e.browsing import CHROMIUM
from tests.unit.export.test_wacz import archived_crawl
from tests.unit.write.samples import page

pytestmark = pytest.mark.long

REPLAYWEBPAGE: Final = os.environ.get("REPLAYWEBPAGE", "")
WAYBACK, MANAGER = shutil.which("wayback"), shutil.which("wb-manager")
PATIENCE_S: Final = 120.0
SAME: Final = b"<html><title>Seen before</title><body>the same</body></html>"
PAGES: Final = (page(1, SAME), page(2, SAME), page(3, b"<html><title>Other</title></html>"))
TITLES: Final = {PAGES[0].url: "Seen before", PAGES[1].url: "Seen before", PAGES[2].url: "Other"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def packed(folder: Path) -> Path:
    """A WACZ file with these pages, of which one is a revisit."""
    crawl = await archived_crawl(folder / "crawl", *PAGES, max_bytes=1, duplicates=9)
    export = WaczExport(
        directory=crawl,
        part=None,
        crawl="site",
        earlier=(),
        may_lack=False,
        overwrite=False,
        now=time.time(),
        software="test",
    )
    export_wacz(export, folder / "site.wacz", lambda text: None, lambda file, at, why: None)
    return folder / "site.wacz"


async def text_of(session: aiohttp.ClientSession, url: str) -> str:
    """What a server that may still be starting answers."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            async with session.get(url) as response:
                return await response.text()
        except aiohttp.ClientConnectionError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.2)


@pytest.mark.skipif(WAYBACK is None or MANAGER is None, reason="needs pywb, in an environment of its own, on PATH")
async def test_pywb_replays_it(tmp_path: Path) -> None:
    wacz = await packed(tmp_path)
    assert WAYBACK is not None
    assert MANAGER is not None
    for arguments in (("init", "c"), ("add", "--unpack-wacz", "c", str(wacz))):
        managing = await asyncio.create_subprocess_exec(MANAGER, *arguments, cwd=tmp_path, stdout=PIPE, stderr=PIPE)
        told = await managing.communicate()
        assert managing.returncode == 0, told
    port = free_port()
    serving = await asyncio.create_subprocess_exec(
        WAYBACK, "-p", str(port), "-b", "127.0.0.1", cwd=tmp_path, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        async with aiohttp.ClientSession() as session:
            for url, title in TITLES.items():
                assert f"<title>{title}</title>" in await text_of(session, f"http://127.0.0.1:{port}/c/mp_/{url}")
            missing = await text_of(session, f"http://127.0.0.1:{port}/c/mp_/{PAGES[0].url}/none")
            assert "URL Not Found" in missing
    finally:
        serving.terminate()
        await serving.wait()


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
@pytest.mark.skipif(
    not REPLAYWEBPAGE, reason="needs the unpacked npm package replaywebpage, as the variable REPLAYWEBPAGE names it"
)
@pytest.mark.parametrize("large_bytes", [1 << 30, 1])
async def test_replaywebpage_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int) -> None:
    monkeypatch.setattr("crawler.export.wacz.packing._LARGE_BYTES", large_bytes)
    wacz = await packed(tmp_path)
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
            browser = await playwright.chromium.launch(executable_path=CHROMIUM)
            for url, title in TITLES.items():
                shown = await browser.new_page()
                source = f"http://127.0.0.1:{port}/site.wacz"
                await shown.goto(f"http://127.0.0.1:{port}/?source={quote(source)}#view=pages&url={quote(url)}")
                assert await title_of_replay(shown) == title
                await shown.close()
            await browser.close()
    finally:
        await runner.cleanup()


def answering(path: Path) -> Callable[[web.Request], Awaitable[web.FileResponse]]:
    async def answer(_: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    return answer


async def title_of_replay(shown: BrowserPage) -> str:
    """The title of the page that is replayed, once there is one."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for frame in shown.frames:
            if "mp_/" in frame.url and (title := await frame.title()):
                return title
        await asyncio.sleep(0.2)
    raise AssertionError(f"nothing is replayed, only {[frame.url for frame in shown.frames]}")
