"""A crawl that gets more or fewer parts on its way, as a user does it."""

import signal
import time
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_division, record_directories
from crawler.page import LinkKind
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.e2e.crawling import (
    COMPLETE,
    LIMIT,
    REFUSED,
    TIMEOUT_S,
    Running,
    assert_sound,
    assert_told,
    onceover,
    started,
)
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, PartsOfWeb, in_parts

_reader = UrlReader()


def crawl_on(crawl: PartsOfWeb, parts: int, *more: str) -> int:
    """Crawl with so many parts."""
    options = msgspec.structs.replace(crawl, parts=parts).options
    ended = onceover(*options, "--json", *more, cwd=crawl.folder)
    assert "Traceback" not in ended.err, ended.err
    return ended.code


def divide(crawl: PartsOfWeb, parts: int) -> dict[str, object]:
    ended = onceover("parts", crawl.directory, "--into", str(parts), "--json", cwd=crawl.folder)
    assert_told(ended, COMPLETE)
    assert_sound(crawl.directory)
    return ended.json()


def pages(crawl: PartsOfWeb) -> list[str]:
    """The pages in all output, old and new."""
    return [
        _reader.seed(record.url).canonical
        for record in read_records(*record_directories(crawl.directory))
        if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
    ]


def test_a_crawl_that_gets_parts_and_loses_them_again_finds_each_page_once(tmp_path: Path) -> None:
    with in_parts(tmp_path) as crawl:
        assert crawl_on(crawl, 1, "--max-pages", "30") == LIMIT
        assert divide(crawl, 3)["parts_before"] == 1
        assert crawl_on(crawl, 1) == REFUSED  # the configuration has to say the same
        assert crawl_on(crawl, 3, "--max-pages", "30") == LIMIT
        assert divide(crawl, 2)["parts_before"] == 3
        assert divide(crawl, 1)["parts_before"] == 2
        assert crawl_on(crawl, 1) == COMPLETE
        assert sorted(pages(crawl)) == sorted(crawl.web.pages)
        assert_sound(crawl.directory)
        # A crawl without a configuration goes on with that of the last run.
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE


def test_a_crawl_that_was_killed_is_divided_and_goes_on(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED, parts=3) as crawl:
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            supervisor.process.kill()
        divide(crawl, 4)
        assert crawl_on(crawl, 4, *HURRIED) == COMPLETE
        # What was fetched but not settled when the crawl was killed is written again, and keeps its number.
        records = {(record.number, record.url) for record in read_records(*record_directories(crawl.directory))}
        assert len({number for number, _ in records}) == len({url for _, url in records}) == len(records)
        assert set(pages(crawl)) == crawl.web.pages


def _wait_until_begun(crawl: PartsOfWeb, command: Running) -> None:
    """Until the imports are over and it holds the crawl, or has ended."""
    lock = CrawlDirectory(crawl.directory).lock
    held = f"{command.pid} changes\n"
    while command.process.poll() is None and not (lock.exists() and lock.read_text() == held):
        time.sleep(0.001)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 40))])
def test_a_division_that_is_killed_again_and_again_loses_nothing(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    with in_parts(tmp_path) as crawl:
        assert crawl_on(crawl, 1, "--max-pages", "60") == LIMIT
        for into in (3, 1):
            kills, code, wait_s = 0, -signal.SIGKILL, 0.01
            while code == -signal.SIGKILL:
                with started("parts", crawl.directory, "--into", str(into), cwd=tmp_path) as command:
                    _wait_until_begun(crawl, command)
                    give_up_at = time.monotonic() + wait_s * dice.uniform(0.0, 1.0)
                    while command.process.poll() is None and time.monotonic() < give_up_at:
                        time.sleep(0.001)
                    command.process.kill()
                    code = command.process.wait(TIMEOUT_S)
                    kills += code == -signal.SIGKILL
                    wait_s *= 2.5
                    assert code in (COMPLETE, -signal.SIGKILL), command.err
            assert kills
            assert read_division(crawl.directory) is None
            assert_sound(crawl.directory)
        assert crawl_on(crawl, 1) == COMPLETE
        assert sorted(pages(crawl)) == sorted(crawl.web.pages)
