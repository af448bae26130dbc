"""What a crawl does about pages that repeat others: whole crawls of a web with copies."""

import shutil
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.page import PageRecord
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.write.records import read_records
from crawler.write.warc_reader import Capture, captures
from tests.e2e.crawling import COMPLETE, LIMIT, Web, assert_told, onceover, setting
from tests.e2e.killing import Lines, growth, victim
from tests.e2e.operating import command_here

WORLD = WorldParams(seed=3, hosts=2, pages_per_host=40, page_bytes=4_000, duplicates=0.2, near_duplicates=0.3)
"""Its pages name the one whose body they have as their canonical one."""

Crawl = Callable[..., list[PageRecord]]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(WORLD) as port:
        yield port


@pytest.fixture
def crawl(port: int, tmp_path: Path) -> Crawl:
    def run(*settings: str, code: int = COMPLETE) -> list[PageRecord]:
        options = [*Web(port, WORLD).options, *setting("fetch.concurrency=1", "fetch.spare=0", *settings)]
        ended = onceover("crawl", *options, "--dir", "crawl", cwd=tmp_path)
        assert ended.code == code, ended.err
        if code == COMPLETE:
            assert_agrees(tmp_path / "crawl")
        records = tmp_path / "crawl" / "records"
        return list(read_records(records, last_only=True)) if records.exists() else []

    return run


def assert_agrees(crawl: Path) -> None:
    for what in ("verify", "fsck"):
        assert_told(command_here("inspect", str(crawl), what), COMPLETE)


def archived(folder: Path) -> set[str]:
    return {each.url for each in captures(folder, full_blocks=False) if isinstance(each, Capture)}


def test_near_duplicates_are_marked_and_everything_is_crawled(crawl: Crawl) -> None:
    records = crawl('duplicates.near="mark"')
    pages = {each.url: each for each in records if each.status == 200 and each.title}
    repeating = [each for each in pages.values() if each.near_duplicate_of is not None]
    assert len(pages) == 80
    assert 15 < len(repeating) < 50
    for each in repeating:
        assert each.near_duplicate_of is not None
        first = pages[each.near_duplicate_of]
        assert (first.title, first.near_duplicate_of) == (each.title, None)
        assert each.near_distance is not None
        assert (int(each.simhash or "", 16) ^ int(first.simhash or "", 16)).bit_count() == each.near_distance <= 3
    assert any(each.near_distance for each in repeating)
    assert all(each.not_followed is None and each.not_archived is None for each in records)


def test_near_duplicates_are_left_out_and_a_second_run_knows_them(crawl: Crawl, tmp_path: Path) -> None:
    first = crawl('duplicates.near="no-keep"', "limits.pages=40", "output.refusals=true", code=LIMIT)
    records = crawl('duplicates.near="no-keep"', "output.refusals=true")
    assert len(records) > len(first)
    left_out = {each.url: each for each in records if each.not_archived is not None}
    assert len(left_out) > 15
    assert archived(tmp_path / "crawl" / "warc").isdisjoint(left_out)
    for each in left_out.values():
        assert each.not_archived == each.not_followed == "near-duplicate"
        assert each.refused is not None
        assert each.refused["near-duplicate"] > 0
        assert any(reason == "near-duplicate" for _, reason in each.refusals or ())
    kept = [int(each.simhash, 16) for each in records if each.simhash and each.not_archived is None]
    assert all((one ^ other).bit_count() > 3 for one, other in combinations(kept, 2)), "a page was kept twice"
    lines = (tmp_path / "crawl" / "fingerprints" / "fingerprints.txt").read_text().splitlines()
    assert len(lines) == len(kept)
    shutil.rmtree(tmp_path / "crawl" / "frontier")
    repaired = onceover("inspect", "crawl", "fsck", "--repair", cwd=tmp_path)
    assert repaired.code == COMPLETE, repaired.out  # the links of what was left out are not missing


def test_pages_whose_canonical_page_the_crawl_has_are_left_out(crawl: Crawl, tmp_path: Path) -> None:
    records = crawl('duplicates.canonical="no-keep"', "output.link_details=true")
    left_out = {each.url: each for each in records if each.not_archived is not None}
    kept = {each.url for each in records if each.status == 200} - set(left_out)
    assert len(left_out) > 15
    assert archived(tmp_path / "crawl" / "warc").isdisjoint(left_out)
    for each in left_out.values():
        assert each.not_followed == "canonical"
        assert each.canonical in kept
        assert {link.refused for link in each.link_details or ()} >= {"canonical"}


def test_an_archive_without_records_agrees_with_the_ledger(crawl: Crawl, tmp_path: Path) -> None:
    assert crawl('duplicates.near="no-keep"', "output.records=false") == []


@pytest.mark.long
def test_whatever_moment_a_crawl_is_killed_at_each_text_is_kept(tmp_path: Path) -> None:
    web = msgspec.structs.replace(WORLD, hosts=6)
    settings = ('duplicates.near="no-keep"', "duplicates.near_distance=6", "output.warc_max_bytes=60_000")
    chance = Random(1)
    with victim(tmp_path, web, *settings) as crawl:
        for _ in range(15):
            moment = growth(Lines(crawl.log), by=chance.randrange(1, 30))
            if crawl.run(moment, after_s=chance.uniform(0.0, 0.02)) == COMPLETE:
                break
            crawl.tear(chance)
        assert crawl.run() == COMPLETE
    records = list(read_records(crawl.directory.records, last_only=True))
    in_archive = archived(crawl.directory.warc)
    left_out = [each for each in records if each.not_archived is not None]
    assert len(left_out) > 30
    assert {each.near_duplicate_of for each in left_out} <= in_archive
    assert {each.title for each in records} == {each.title for each in records if each.url in in_archive} | {None}
    assert_agrees(crawl.directory.path)
