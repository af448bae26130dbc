"""What pages load when they are scrolled and clicked, in a real browser."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.page import Page
from crawler.testing.fetch.raw_server import CLOSE, Script, Seen, page
from tests.unit.render.rendering import QUICK, html, needs_chromium, rendering

pytestmark = needs_chromium

MORE = """<script>
let next = 0, busy = false;
const more = async () => {
  if (busy || next >= LAST) return;
  busy = true;
  const item = await (await fetch(`/items?${next++}`)).text();
  document.querySelector("#list").insertAdjacentHTML("beforeend", `<p style="height:900px">${item}</p>`);
  busy = false;
};
</script>"""


def listing(rest: str, *, last: int = 5, around: str = "<div id=list></div>") -> Script:
    return html(f"<!doctype html><body>{around}{MORE.replace('LAST', str(last))}{rest}")


AT_THE_END = "more();onscroll=()=>{if(scrollY+innerHeight>document.body.scrollHeight-50)more()}"
INNER = "<div id=list style='height:100vh;overflow-y:auto'></div>"
PAGES: dict[str, Script] = {
    "/endless": listing(f"<script>{AT_THE_END}</script>", last=1_000_000),
    "/list": listing(f"<script>{AT_THE_END}</script>"),
    "/smooth": listing(f"<style>html{{scroll-behavior:smooth}}</style><script>{AT_THE_END}</script>"),
    "/later": listing(f"<script>{AT_THE_END.replace('more()', 'setTimeout(more,100)')}</script>"),
    "/inner": listing("<script>more();document.querySelector('#list').onscroll=more</script>", around=INNER),
    "/clobbered": listing(
        "<form name=scrollingElement><input name=scrollTop></form><form name=querySelectorAll></form>"
        f"<script>{AT_THE_END}</script>"
    ),
    "/short": html("<body>short"),
    "/lazy": html("<body><div style='height:29000px'></div><img loading=lazy width=9 height=9 src=/picture>"),
    "/button": listing("<script>more()</script><button class=more onclick='more()'>More</button>"),
    "/fragment": listing(
        "<a class=more href='#' onclick='more()'>More</a><a class=more href='javascript:more()'>x</a>"
    ),
    "/gone": listing("<button class=more onclick='more();this.remove()'>More</button><button class=more disabled>x"),
    "/nothing": html('<body>0<button class=more onclick=\'document.body.append("click"+"ed")\'>More</button>'),
    "/traps": html(
        "<body>stays<a class=more href=/away>x</a><a href=/away><b class=more>x</b></a><form action=/sent>"
        "<button class=more>x</button><input type=submit class=more></form><form method=post action=/posted>"
        "<button class=more><i class=more>x</i></button></form><button class=more hidden>x</button>"
        "<button class=more disabled>x</button><map><area class=more href=/away></map>"
    ),
    "/goes": html("<body>stays<button class=more onclick=\"location='/away'\">x</button>"),
}


def answer(seen: Seen) -> Script:
    path, _, query = seen.target.partition("?")
    if path == "/items":
        return [page(f"<a href=/item/{query}>item {query}</a>".encode(), b"Content-Type: text/html")]
    return PAGES.get(path, [page(b"", status=b"404 Not Found")] if path == "/picture" else [CLOSE])


async def shown(path: str, tmp_path: Path, *, limits: Mapping[str, Any], **loads: Any) -> tuple[Page, list[str]]:
    """A page, and what the server was asked for."""
    limited = msgspec.structs.replace(QUICK, **limits)
    async with rendering(answer, tmp_path / "browsers", limits=limited, at_once=1, **loads) as web:
        return await web.page(path), web.server.targets


def items(got: Page) -> int:
    return got.body.count(b'<a href="/item/')


@pytest.mark.parametrize("path", ["/list", "/smooth", "/later", "/inner", "/clobbered"])
async def test_a_list_that_grows_when_it_is_scrolled_is_read_to_its_end(path: str, tmp_path: Path) -> None:
    got, _ = await shown(path, tmp_path, limits={"scroll": 100})
    assert (got.rendering, items(got)) == ("whole", 5)


async def test_without_scroll_a_page_is_read_as_it_is_shown_first(tmp_path: Path) -> None:
    got, _ = await shown("/list", tmp_path, limits={})
    assert (got.rendering, items(got)) == ("whole", 1)


@pytest.mark.parametrize(
    ("limits", "rendering", "most"),
    [
        ({"scroll": 3}, "whole", 5),
        ({"scroll": 100_000, "max_requests": 8}, "requests", 8),
        ({"scroll": 100_000, "max_bytes": 200}, "bytes", 8),
        ({"scroll": 100_000, "wait_s": 3.0}, "time", 30),
    ],
)
async def test_an_endless_list_ends_at_each_limit(
    limits: Mapping[str, Any], rendering: str, most: int, tmp_path: Path
) -> None:
    got, _ = await shown("/endless", tmp_path, limits=limits)
    assert got.rendering == rendering
    assert items(got) <= most


async def test_scrolling_a_page_that_does_not_scroll_changes_nothing(tmp_path: Path) -> None:
    got, targets = await shown("/short", tmp_path, limits={"scroll": 100, "click": ("button",), "wait": "load"})
    assert (got.rendering, targets) == ("whole", ["/short"])


@pytest.mark.parametrize(("scroll", "is_loaded"), [(0, False), (100, True)])
async def test_a_lazy_image_is_loaded_when_it_is_reached(scroll: int, is_loaded: bool, tmp_path: Path) -> None:
    got, targets = await shown("/lazy", tmp_path, limits={"scroll": scroll}, blocked=())
    assert got.rendering == "whole"
    assert ("/picture" in targets) == is_loaded


@pytest.mark.parametrize(("path", "expected"), [("/button", 5), ("/fragment", 5), ("/gone", 1)])
async def test_a_button_is_clicked_as_long_as_it_is_there(path: str, expected: int, tmp_path: Path) -> None:
    got, _ = await shown(path, tmp_path, limits={"click": ("#none", ".more"), "max_clicks": 7, "wait": "load"})
    assert (got.rendering, items(got)) == ("whole", expected)


async def test_clicks_are_limited(tmp_path: Path) -> None:
    got, _ = await shown("/nothing", tmp_path, limits={"click": (".more",), "max_clicks": 3, "scroll": 9})
    assert (got.rendering, got.body.count(b"clicked")) == ("whole", 3)


async def test_what_would_lead_away_is_not_clicked(tmp_path: Path) -> None:
    got, targets = await shown("/traps", tmp_path, limits={"click": (".more",)})
    assert (got.rendering, got.links, targets) == ("whole", (), ["/traps"])


async def test_a_click_that_leads_away_is_a_link_and_the_page_stays(tmp_path: Path) -> None:
    got, targets = await shown("/goes", tmp_path, limits={"click": (".more",), "max_clicks": 2})
    assert (got.rendering, targets) == ("whole", ["/goes"])
    assert [link.href for link in got.links] == ["http://www.site.test/away"]
    assert b"stays" in got.body


async def test_a_wrong_selector_is_named_once_and_costs_no_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = msgspec.structs.replace(QUICK, click=("a[",))
    with caplog.at_level(logging.WARNING, "crawler.render.fetcher"):
        async with rendering(answer, tmp_path / "browsers", limits=limits, at_once=1) as web:
            shown = [await web.page("/list") for _ in range(3)]
    assert [(got.rendering, items(got)) for got in shown] == [("whole", 1)] * 3
    first, last = (each.getMessage() for each in caplog.records if each.name == "crawler.render.fetcher")
    assert "/list can't be scrolled or clicked any further: " in first
    assert "'a[' is not a valid selector" in first
    assert last == "pages that could not be scrolled or clicked any further: 3"
