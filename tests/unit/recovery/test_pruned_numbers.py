"""Numbers of output that was deleted on purpose are not given again."""

from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import Pruned, PrunedFile, write_numbers, write_pruned
from crawler.page.number_set import NumberSet
from tests.unit.operate.stored_crawls import EACH, HOSTS, SETTLED, StoredCrawl, make, url_of

HIGHEST = 5000


def prune(crawl: StoredCrawl, output: str) -> None:
    """As if a file with one page had been deleted, and the frontier had lost what came after it."""
    directory, numbers = CrawlDirectory(crawl.directory), NumberSet()
    numbers.add(HIGHEST)
    name = f"{output}/00001.jsonl"
    write_numbers(directory, name, numbers)
    file = PrunedFile(
        name=name, bytes=1, records=1, first=None, last=None, digest="", reason="", pruned_at="", is_deleted=True
    )
    write_pruned(directory, Pruned(files=[file]))


def number_of_url(crawl: StoredCrawl, url: str) -> int:
    ended = crawl.look("url", url, "--json")
    assert ended.code == 0, ended.err
    return int(str(ended.json()["number"]))


@pytest.mark.parametrize("output", ["records", "warc"])
@pytest.mark.parametrize("command", ["rebuild", "refetch"])
def test_no_number_of_pruned_output_is_given_again(command: str, output: str, tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    prune(crawl, output)
    if command == "rebuild":
        assert crawl.run("frontier", "rebuild", "DIR", "--from-records").code == 0
        queued = url_of(HOSTS[0], SETTLED)
    else:
        assert crawl.look("fsck", "--refetch").code == 0
        queued = url_of(HOSTS[0], EACH)
        assert crawl.do("add", queued, "--force").code == 0
    assert number_of_url(crawl, queued) > HIGHEST
