"""That guide words decide what a crawl of a whole web fetches first."""

from pathlib import Path
from statistics import mean

import pytest

from config import load, toml_value
from crawler.discover.focus import Focus
from crawler.disk.directory import CrawlDirectory
from crawler.page import LinkKind, PageRecord
from crawler.simweb.params import WorldParams
from crawler.simweb.server import serve
from crawler.simweb.world import World
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records

WORDS = ("glacier", "harbor", "meteor", "ocean")


async def crawled(params: WorldParams, words: tuple[str, ...], directory: Path) -> list[PageRecord]:
    """The records of all pages, in the order in which they were fetched."""
    directory.mkdir()
    async with serve(World(params)) as server:
        file = directory / "crawl.toml"
        # One at a time, so that the order is that of the choices.
        file.write_text(
            '[crawl]\nseeds = ["http://h00000.sim.test/"]\n[scope]\nwithin = "domain"\nsitemaps = false\n'
            f"[focus]\nwords = {toml_value(list(words))}\n[output]\nlinks = true\nwarc = false\n"
            "[politeness]\nmin_delay_s = 0\ndelay_factor = 0\n"
            f'[fetch]\nconcurrency = 1\nhosts = {{ "*.sim.test" = "127.0.0.1:{server.port}" }}\n'
        )
        with CrawlDirectory(directory / "crawl") as opened:
            async with open_crawl(load(file), opened) as crawl:
                await crawl.engine.run()
    records = [each for each in read_records(directory / "crawl" / "records") if each.status == 200]
    assert len(records) == params.hosts * params.pages_per_host
    return records


def places_of_promising(records: list[PageRecord]) -> list[float]:
    """At which part of the crawl each page was fetched in whose URL a guide word stands."""
    focus = Focus(dict.fromkeys(WORDS, 1.0))
    return [place / len(records) for place, record in enumerate(records) if focus.of_text(record.url)]


@pytest.mark.parametrize(("hosts", "pages"), [(1, 400), (10, 40)])
async def test_pages_that_guide_words_promise_are_fetched_much_earlier(hosts: int, pages: int, tmp_path: Path) -> None:
    params = WorldParams(seed=5, hosts=hosts, pages_per_host=pages, page_bytes=1_000, links_per_page=10)
    plain = places_of_promising(await crawled(params, (), tmp_path / "plain"))
    focused = places_of_promising(await crawled(params, WORDS, tmp_path / "focused"))
    assert len(plain) == len(focused) >= 4
    assert mean(focused) < 0.5 * mean(plain)


async def test_no_page_of_a_host_is_fetched_before_a_known_one_of_more_weight(tmp_path: Path) -> None:
    params = WorldParams(seed=6, hosts=1, pages_per_host=200, page_bytes=1_000, links_per_page=10)
    records = await crawled(params, WORDS, tmp_path / "focused")
    precedences = {record.url: record.precedence or 0 for record in records}
    assert len(set(precedences.values())) > 3
    waiting: dict[str, int] = {}
    known: set[str] = set()
    for record in records:
        known.add(record.url)
        waiting.pop(record.url, None)
        assert precedences[record.url] <= min(waiting.values(), default=255), record.url
        new = [url for url in record.references or () if url in precedences and url not in known]
        known.update(new)
        waiting.update((url, precedences[url]) for url in new)
    assert waiting == {}
    assert {record.kind for record in records[1:]} == {LinkKind.LINK}
