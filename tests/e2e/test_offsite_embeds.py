"""What pages show of other sites is fetched, and nothing more of these."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page
from tests.e2e.crawling import COMPLETE
from tests.e2e.operating import command_here
from tests.e2e.origins import host_name, linking, site

PAGES, IMAGES = "http://pages.web.test", "http://images.web.test"
SETTINGS = {
    "scope.within": "host",
    "scope.offsite_embeds": True,
    "output.links": True,
    "politeness.min_delay_s": 0.0,
}

WITH_DETAILS = SETTINGS | {"scope.check_external": True, "output.link_details": True, "output.warc": False}


def answer(_scheme: str, seen: Seen) -> Script:
    """The host of the images names a sitemap with all of its pages, and answers for an image with a page."""
    if host_name(seen) == "pages.web.test":
        is_robots = seen.target == "/robots.txt"
        links = f'<img src="{IMAGES}/shown"><a href="{IMAGES}/linked">x</a><a href="/">to the page itself</a>'
        body = b"" if is_robots else links.encode()
        return [page(body, b"Content-Type: text/plain" if is_robots else b"Content-Type: text/html")]
    match seen.target:
        case "/robots.txt":
            return [page(f"Sitemap: {IMAGES}/map.txt\n".encode(), b"Content-Type: text/plain")]
        case "/map.txt":
            return [page(f"{IMAGES}/listed\n".encode(), b"Content-Type: text/plain")]
    return linking("/linked")


async def targets_asked(folder: Path, *, warc: bool) -> set[str]:
    """What a whole crawl has asked of the host of the images."""
    async with site(folder, answer) as where:
        await where.crawl(f"{PAGES}/", settings=SETTINGS | {"output.warc": warc})
        return {seen.target for seen in where.asked("images.web.test")}


def lose_records_of_images(crawl: Path) -> None:
    [records] = (crawl / "records").iterdir()
    lines = records.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not json.loads(line)["url"].startswith(IMAGES)]
    records.write_text("".join(kept))
    shutil.copy(crawl.parent / "crawl.toml", crawl)


def test_an_embed_of_another_site_stays_one_if_the_frontier_is_rebuilt_from_the_links_of_pages(tmp_path: Path) -> None:
    assert asyncio.run(targets_asked(tmp_path, warc=False)) == {"/robots.txt", "/shown"}
    crawl = tmp_path / "crawl"
    shutil.rmtree(crawl / "frontier")
    lose_records_of_images(crawl)
    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    assert (rebuilt.code, rebuilt.out) == (COMPLETE, "2 URLs, 1 pending\n"), rebuilt.err
    assert asyncio.run(targets_asked(tmp_path, warc=False)) == {"/robots.txt", "/shown"}


def test_a_rebuild_tells_embeds_from_links_that_are_checked_by_the_details_of_links(tmp_path: Path) -> None:
    async def asked() -> set[tuple[str, str]]:
        async with site(tmp_path, answer) as where:
            await where.crawl(f"{PAGES}/", settings=WITH_DETAILS)
            return {(seen.method, seen.target) for seen in where.asked("images.web.test")}

    expected = {("GET", "/robots.txt"), ("GET", "/shown"), ("HEAD", "/linked")}
    assert asyncio.run(asked()) == expected
    crawl = tmp_path / "crawl"
    shutil.rmtree(crawl / "frontier")
    lose_records_of_images(crawl)
    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    assert (rebuilt.code, rebuilt.out) == (COMPLETE, "3 URLs, 2 pending\n"), rebuilt.err
    assert asyncio.run(asked()) == expected


@pytest.mark.parametrize("is_shown_first", [True, False], ids=["shown", "linked"])
def test_what_a_page_shows_and_links_to_is_both_in_a_rebuild(tmp_path: Path, is_shown_first: bool) -> None:
    shows, links = f'<img src="{IMAGES}/x">', f'<a href="{IMAGES}/x">x</a>'

    def answer_both(_scheme: str, seen: Seen) -> Script:
        is_robots = seen.target == "/robots.txt"
        body = b"" if is_robots else (shows + links if is_shown_first else links + shows).encode()
        return [page(body, b"Content-Type: text/plain" if is_robots else b"Content-Type: text/html")]

    async def asked() -> set[tuple[str, str]]:
        async with site(tmp_path, answer_both) as where:
            await where.crawl(f"{PAGES}/", settings=WITH_DETAILS)
            return {(seen.method, seen.target) for seen in where.asked("images.web.test")}

    before = asyncio.run(asked())
    assert ("GET", "/x") in before
    crawl = tmp_path / "crawl"
    shutil.rmtree(crawl / "frontier")
    lose_records_of_images(crawl)
    assert command_here("frontier", "rebuild", str(crawl), "--from-records").code == COMPLETE
    assert asyncio.run(asked()) == before


def test_a_page_that_embeds_itself_is_no_other_url_in_a_rebuild(tmp_path: Path) -> None:
    def answer_itself(_scheme: str, seen: Seen) -> Script:
        is_robots = seen.target == "/robots.txt"
        body = b"" if is_robots else b'<img src="/"><a href="/other">x</a>'
        return [page(body, b"Content-Type: text/plain" if is_robots else b"Content-Type: text/html")]

    async def crawl_it() -> None:
        async with site(tmp_path, answer_itself) as where:
            await where.crawl(f"{PAGES}/", settings=WITH_DETAILS)

    asyncio.run(crawl_it())
    crawl = tmp_path / "crawl"
    shutil.rmtree(crawl / "frontier")
    shutil.copy(tmp_path / "crawl.toml", crawl)
    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    assert (rebuilt.code, rebuilt.out) == (COMPLETE, "2 URLs, 0 pending\n"), rebuilt.err


@pytest.mark.parametrize("warc", [True, False], ids=["archive", "nothing-else"])
def test_an_embed_of_another_site_stays_one_if_it_is_fetched_again_because_its_record_is_lost(
    tmp_path: Path, warc: bool
) -> None:
    assert asyncio.run(targets_asked(tmp_path, warc=warc)) == {"/robots.txt", "/shown"}
    lose_records_of_images(tmp_path / "crawl")
    repaired = command_here("inspect", str(tmp_path / "crawl"), "fsck", "--refetch")
    assert asyncio.run(targets_asked(tmp_path, warc=warc)) == {"/shown"}, repaired.out
