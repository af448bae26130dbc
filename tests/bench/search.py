"""How fast `onceover search` reads records into its index, and finds pages in it, beside `grep` over the same records.

    python -m tests.bench.search [--quick] [--json]

All times are processor time. The texts have words by Zipf's law, 300 in each on average. Each query has two words, one
frequent and one rare. For `archived_pages_per_s` records have no text, so it is read from the archive: pages of 8 KB of
the simulated web.
"""

import random
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from crawler.page import PageRecord
from crawler.read.content.reading import read_content
from crawler.search.searching import Search
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.bench.report import emit, options, tell
from tests.e2e.crawling import Web, onceover
from tests.unit.export.written import write_crawl

PAGES: Final = 100_000
WORDS_PER_PAGE: Final = 300
VOCABULARY: Final = 50_000
QUERIES: Final = 20
MEANINGS: Final = {
    "records_mb_per_s": "records read into the index, with their texts",
    "pages_per_s": "the same in pages",
    "archived_pages_per_s": "the same if texts are read from the archive",
    "index_per_text": "size of the index over that of the texts",
    "query_ms": "a query, median",
    "ratio_grep": "time of grep for a rare word over that of a query",
}


def main(pages: int, *, seed: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        return _of_records(Path(name) / "crawl", pages, seed) | _of_archive(Path(name), pages // 50)


def _of_records(directory: Path, pages: int, seed: int) -> dict[str, float]:
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 10))) for _ in range(VOCABULARY)]
    shares = [1 / rank for rank in range(1, VOCABULARY + 1)]
    pool = drawn.choices(words, shares, k=2_000_000)
    texts = 0

    def record(number: int) -> PageRecord:
        nonlocal texts
        begin = drawn.randrange(len(pool) - 2 * WORDS_PER_PAGE)
        text = " ".join(pool[begin : begin + drawn.randint(1, 2 * WORDS_PER_PAGE)])
        texts += len(text)
        return PageRecord(
            number=number,
            url=f"http://h{number % 100}.test/{number}",
            state="done",
            status=200,
            depth=1,
            kind="link",
            fetched_at="2026-11-20T18:38:16.352Z",
            title=" ".join(pool[begin : begin + 5]),
            main_text=text,
        )

    write_crawl(directory, map(record, range(pages)))
    [records] = (directory / "records").iterdir()
    tell(f"{pages:,} records of {records.stat().st_size / 1e6:.0f} MB")
    find = _searching(directory)
    read_s = _seconds(lambda: find("nothing"))
    asked = [f"{words[drawn.randrange(20)]} {words[drawn.randrange(1000, 2000)]}" for _ in range(QUERIES)]
    query_s = statistics.median(_seconds(partial(find, query)) for query in asked)
    rare = asked[0].split()[1]
    grep = ["grep", "-c", "-w", rare, str(records)]
    grep_s = _seconds(partial(subprocess.run, grep, check=False, capture_output=True))
    return {
        "records_mb_per_s": records.stat().st_size / 1e6 / read_s,
        "pages_per_s": pages / read_s,
        "index_per_text": (directory / "search.sqlite").stat().st_size / texts,
        "query_ms": query_s * 1000,
        "ratio_grep": grep_s / query_s,
    }


def _of_archive(folder: Path, pages: int) -> dict[str, float]:
    params = WorldParams(seed=1, hosts=max(1, pages // 50), pages_per_host=50)
    with running(params) as port:
        ended = onceover("crawl", *Web(port, params).options, "--dir", "archived", cwd=folder, timeout_s=600)
    assert ended.code == 0, ended.err
    found: list[int] = []
    find = _searching(folder / "archived")
    read_s = _seconds(lambda: found.append(find("nothing")))
    return {"archived_pages_per_s": found[0] / read_s}


def _searching(directory: Path) -> Callable[[str], int]:
    """A function that searches, and says how many pages were searched."""
    search = Search(
        directory,
        directory / "search.sqlite",
        read_content=read_content,
        on_progress=lambda *_: None,
        on_damage=lambda *_: None,
        say=lambda _: None,
    )
    return lambda query: search.find(query, limit=10).searched


def _seconds(work: Callable[[], object]) -> float:
    """Of processor time, here and in processes that were waited for."""
    begun = _processor_s()
    work()
    return _processor_s() - begun


def _processor_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    asked = options(__doc__ or "")
    emit(main(PAGES // 10 if asked.quick else PAGES, seed=asked.seed), asked=asked, meanings=MEANINGS)
