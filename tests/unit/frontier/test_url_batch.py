"""URLs that are made when they are needed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from crawler.testing.frontier.crawls import page
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, UrlBatch, canonicals_of
from frontier.transitions.checks import check_urls
from tests.unit.frontier.crawls import Crawl
from visited.digests.exact import ExactSet

URLS = [page("a", str(number)) for number in range(5)]


class Maker:
    """Makes the URLs, and notes which it has made."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, place: int, count: int) -> CrawlUrl:
        self.made.append(place)
        return structs.replace(URLS[place], link_count=count)


def batch(make: Maker) -> UrlBatch:
    return UrlBatch([url.canonical for url in URLS], [1, 2, 3, 4, 5], make)


def test_a_batch_is_a_sequence_of_urls() -> None:
    expected = [structs.replace(url, link_count=count) for count, url in enumerate(URLS, 1)]
    made = batch(Maker())
    assert made == expected
    assert made == batch(Maker())
    assert list(reversed(made)) == expected[::-1]
    assert (len(made), bool(made), bool(made[5:])) == (5, True, False)
    assert (made[0], made[4], made[-1], made[-5]) == (expected[0], expected[4], expected[4], expected[0])
    for piece in (slice(1, 3), slice(2, None), slice(-2, None), slice(3, 99), slice(4, 2)):
        assert made[piece] == expected[piece]
        assert made[1:][piece] == expected[1:][piece]
    assert made[2:][0] == expected[2]


@pytest.mark.parametrize("place", [5, -6])
def test_there_is_no_url_beyond_its_end(place: int) -> None:
    with pytest.raises(IndexError):
        batch(Maker())[place]


def test_it_is_cut_into_pieces_only() -> None:
    with pytest.raises(ValueError, match="cut into pieces"):
        batch(Maker())[::2]


def test_a_url_is_made_when_it_is_asked_for() -> None:
    make = Maker()
    made = batch(make)
    assert canonicals_of(made[1:]) == [url.canonical for url in URLS[1:]]
    check_urls(made)
    assert make.made == []
    assert made[2:][1].url == URLS[3].url
    assert make.made == [3]


def test_canonical_forms_that_are_not_ascii_are_checked() -> None:
    with pytest.raises(ValueError, match="can't be encoded"):
        check_urls(UrlBatch(["http://a.test/\ud800"], [1], lambda *_: page("a", "\ud800")))
    check_urls(UrlBatch(["http://a.test/é"], [1], lambda *_: page("a", "é")))


@in_virtual_time
async def test_a_visited_set_that_answers_for_fewer_urls_ends_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer_for_one(_self: ExactSet, urls: Sequence[str], /) -> list[bool]:
        return [True for _ in urls][:1]

    monkeypatch.setattr(ExactSet, "add_many", answer_for_one)
    async with Crawl(tmp_path).opened() as frontier:
        for urls in (URLS, batch(Maker())):
            with pytest.raises(ValueError, match="shorter"):
                await frontier.add(urls)
