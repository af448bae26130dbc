"""Screenshots of pages, taken by a real browser."""

import asyncio
import os
import signal
import struct
from pathlib import Path
from typing import Any

import msgspec

from crawler.page import Page, Screenshot
from crawler.render.screenshots import MAX_PIXELS, take_screenshots
from crawler.testing.fetch.raw_server import Script
from tests.unit.render.rendering import QUICK, html, needs_chromium, rendering

pytestmark = needs_chromium

KINDS = ("view", "fullPage", "thumbnail")
TOP = "<!doctype html><body style='margin:0;background:white'>"
PAGES: dict[str, Script] = {
    "/short": html(TOP + "short"),
    "/high": html(
        TOP + "<div style='height:3000px'></div><script>document.title=`${innerWidth} ${innerHeight}`</script>"
    ),
    "/endless": html(TOP + "<div style='height:10000000px'></div>"),
    "/noise": html(
        TOP + "<canvas id=c width=1900 height=1000></canvas><script>const x=c.getContext('2d'),"
        "d=x.createImageData(1900,1000);for(let i=0;i<d.data.length;i++)d.data[i]=Math.random()*256;"
        "x.putImageData(d,0,0)</script>"
    ),
    "/waits": html(
        TOP + "<script>onresize=()=>{const x=new XMLHttpRequest();x.open('GET','/hang',false);x.send()}</script>"
    ),
    "/away": html(TOP + "<script>onresize=()=>{location='/elsewhere';open('/opened')}</script>"),
}


async def shown(path: str, tmp_path: Path, *, kinds: tuple[str, ...] = KINDS, **limits: Any) -> Page:
    limited = msgspec.structs.replace(QUICK, screenshots=kinds, **limits)
    async with rendering(PAGES, tmp_path / "browsers", limits=limited, at_once=1) as web:
        return await web.page(path)


def size(screenshot: Screenshot) -> tuple[int, int]:
    """The width and height of an image."""
    image = screenshot.image
    if screenshot.media_type == "image/png":
        assert image.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", image[16:24])
        return width, height
    assert (image[:2], image[-2:]) == (b"\xff\xd8", b"\xff\xd9")
    at = 2
    while image[at + 1] not in (0xC0, 0xC2):
        at += 2 + int.from_bytes(image[at + 2 : at + 4])
    height, width = struct.unpack(">HH", image[at + 5 : at + 9])
    return width, height


async def test_a_page_is_shown_as_its_window_as_a_whole_and_small(tmp_path: Path) -> None:
    got = await shown("/high", tmp_path, scroll=10)
    assert (got.rendering, [each.failure for each in got.screenshots]) == ("whole", [None] * 3)
    assert b"<title>1920 1080</title>" in got.body
    assert [(each.kind, each.media_type, size(each)) for each in got.screenshots] == [
        ("view", "image/png", (1920, 1080)),
        ("fullPage", "image/jpeg", (1920, 3000)),
        ("thumbnail", "image/jpeg", (640, 360)),
    ]


async def test_no_screenshot_is_taken_unless_it_is_wanted(tmp_path: Path) -> None:
    assert (await shown("/short", tmp_path, kinds=())).screenshots == ()


async def test_a_page_of_any_height_has_a_bounded_image(tmp_path: Path) -> None:
    got = await shown("/endless", tmp_path, kinds=("fullPage",))
    assert size(got.screenshots[0]) == (1920, MAX_PIXELS // 1920)


async def test_an_image_that_is_too_large_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    got = await shown("/noise", tmp_path, kinds=("view", "thumbnail"), max_document_bytes=1_000_000)
    view, thumbnail = got.screenshots
    assert (got.rendering, view.image, view.failure) == ("whole", b"", "it has more than 1000000 bytes")
    assert size(thumbnail) == (640, 360)


async def test_a_browser_that_dies_at_a_screenshot_costs_the_page_nothing(tmp_path: Path) -> None:
    scripts = {**PAGES, "/hang": [asyncio.Event().wait]}
    limits = msgspec.structs.replace(QUICK, screenshots=("fullPage", "view"))
    async with (
        rendering(scripts, tmp_path / "browsers", limits=limits, at_once=1) as web,
        asyncio.TaskGroup() as tasks,
    ):
        rendered = tasks.create_task(web.page("/waits"))
        while "/hang" not in web.server.targets:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.02)
        [browser] = web.fetcher._browsers._lent
        os.killpg(browser._process.pid or 0, signal.SIGKILL)
        got = await rendered
    assert got.rendering == "whole"
    assert b"onresize" in got.body
    assert got.screenshots[-1].failure == "it ended"


async def test_screenshots_end_with_the_time_of_the_page() -> None:
    async def hang(*_: object, **__: object) -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    until = asyncio.get_running_loop().time()
    taken = await take_screenshots(KINDS, hang, hang, max_bytes=9, until=until)
    assert [(each.kind, each.failure) for each in taken] == [(kind, "the time of the page was over") for kind in KINDS]


async def test_scripts_that_react_to_a_screenshot_change_nothing(tmp_path: Path) -> None:
    got = await shown("/away", tmp_path)
    assert got.rendering == "whole"
    assert [each.failure for each in got.screenshots] == [None] * 3
