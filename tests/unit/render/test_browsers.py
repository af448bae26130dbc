"""That browsers are lent one page at a time, replaced when they had enough, and all ended."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from crawler.render.browser import Browser, BrowserRefused, find_browser
from crawler.render.browsers import PAGES_EACH, Browsers


class Fakes:
    """Starts browsers that are none."""

    def __init__(self) -> None:
        self.started: list[object] = []
        self.ended: list[object] = []
        self.at_once = 0

    async def start(self, profile: Path) -> Browser:
        assert profile.is_absolute()
        profile.mkdir(parents=True)
        fake = Fake(self, profile)
        self.started.append(fake)
        return cast(Browser, fake)


class Fake:
    def __init__(self, fakes: Fakes, profile: Path) -> None:
        self.pages = 0
        self.devtools = SimpleNamespace(gone=asyncio.get_running_loop().create_future())
        self._fakes = fakes
        self._profile = profile

    async def end(self) -> None:
        if self not in self._fakes.ended:
            self._profile.rmdir()
            self._fakes.ended.append(self)


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture
async def browsers(fakes: Fakes, tmp_path: Path) -> AsyncIterator[Browsers]:
    made = Browsers(fakes.start, tmp_path / "browsers", at_once=2)
    yield made
    await made.aclose()
    await made.aclose()
    assert len(fakes.ended) == len(fakes.started)
    assert not (tmp_path / "browsers").exists()


async def test_what_a_killed_crawl_left_is_removed(browsers: Browsers, tmp_path: Path) -> None:
    (tmp_path / "browsers" / "7" / "Default").mkdir(parents=True)
    await browsers.open()
    assert [path.name for path in (tmp_path / "browsers").iterdir()] == ["1"]


async def test_a_browser_serves_one_page_at_a_time_and_no_more_are_started_than_may_be(
    browsers: Browsers, fakes: Fakes
) -> None:
    busy: set[int] = set()

    async def page() -> None:
        async with browsers.lend() as browser:
            assert id(browser) not in busy
            busy.add(id(browser))
            fakes.at_once = max(fakes.at_once, len(busy))
            await asyncio.sleep(0)
            busy.discard(id(browser))

    await asyncio.gather(*(page() for _ in range(20)))
    assert fakes.at_once == 2
    assert len(fakes.started) == 2


async def test_a_browser_is_replaced_after_so_many_pages(browsers: Browsers, fakes: Fakes) -> None:
    for _ in range(PAGES_EACH + 1):
        async with browsers.lend():
            pass
    assert (len(fakes.started), len(fakes.ended)) == (2, 1)


async def test_a_browser_that_is_given_up_is_ended(browsers: Browsers, fakes: Fakes) -> None:
    async with browsers.lend() as browser:
        browser.devtools.gone.set_result("it hangs")
    assert len(fakes.ended) == 1


async def test_browsers_that_die_while_nobody_uses_them_are_not_lent(browsers: Browsers, fakes: Fakes) -> None:
    async with browsers.lend() as one, browsers.lend() as other:
        pass
    for browser in (one, other):
        browser.devtools.gone.set_result("it ended")
    async with browsers.lend() as browser:
        assert browser not in (one, other)
    assert (len(fakes.started), len(fakes.ended)) == (3, 2)


async def test_a_browser_whose_page_was_broken_off_is_ended(browsers: Browsers, fakes: Fakes) -> None:
    begun = asyncio.Event()

    async def page() -> None:
        async with browsers.lend():
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(page())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(fakes.ended) == len(fakes.started)


def test_a_browser_that_is_not_there_is_told_with_what_to_install() -> None:
    with pytest.raises(BrowserRefused, match=r"'no-such-browser'.*apt-get install chromium"):
        find_browser("no-such-browser")
