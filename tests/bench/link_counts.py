"""What it costs to count the links to known URLs: `python -m tests.bench.link_counts [--quick] [--json]`.

Each page links to 36 known URLs of its host: to 26 that all of its pages link to, and to 10 others, the older the more
often. All of it is the frontier's thread's processor time; at 1,429 pages/s (`tests.bench.crawl`) a page of 8 KB
takes 0.7 ms. A tenth of the memory has as much to write as ten million known URLs have.
"""

import random
import tempfile
import time
from pathlib import Path

from frontier import CrawlUrl
from frontier.leveldb.store import LevelDBStore
from frontier.link_table.table import MAX_COUNTS
from frontier.terms import Terms
from frontier.transitions.link_counts import LinkCounts
from tests.bench.report import emit, options, tell

HOSTS = 2000
MENU, OTHERS = 26, 10
PAGES_PER_S = 1429
MEANINGS = {
    "count_us_per_page": "to add links up in memory, with a million known URLs",
    "write_us_per_page": "to write those for which there is no memory (goal, with the one before: 3 % of a page)",
    "longest_write_ms": "for which a write held the event loop",
    "write_us_per_page_50k": "with 50,000 known URLs, of which none has to be written before the end",
    "count_us_per_page_tenth": "the same as above with a million known URLs and a tenth of the memory: to add up",
    "write_us_per_page_tenth": "to write",
    "longest_write_ms_tenth": "for which a write held the event loop",
    "write_all_us_per_url": "to write the rest at the end, or after ten minutes",
}


class Measured:
    """One crawl's worth of counting."""

    def __init__(self, *, urls: int, pages: int, seed: int, max_counts: int = MAX_COUNTS) -> None:
        chance = random.Random(seed)
        known = [_url(number) for number in range(urls)]
        each = urls // HOSTS
        counting = writing = self.longest_s = 0.0
        with tempfile.TemporaryDirectory() as directory:
            store = LevelDBStore(Path(directory) / "frontier", Terms(identity={}))
            counts = LinkCounts(max_counts, now=0.0)
            for number in range(pages):
                host = chance.randrange(HOSTS)
                places = [*range(min(MENU, each)), *(int(chance.random() ** 2 * each) for _ in range(OTHERS))]
                batch = [known[host + HOSTS * place] for place in places]
                verdicts = [False] * len(batch)
                canonicals = [url.canonical for url in batch]
                start = time.thread_time()
                counts.add(canonicals, [url.link_count for url in batch], verdicts)
                counted = time.thread_time()
                counting += counted - start
                now = number / PAGES_PER_S
                if counts.must_write(now):
                    counts.write(store, at_once=len(batch) + 100, now=now)
                    took = time.thread_time() - counted
                    writing += took
                    self.longest_s = max(self.longest_s, took)
            rest, start = sum(counts.get(url.canonical) > 0 for url in known), time.thread_time()
            for _ in counts.write_all(store, at_once=1000):
                pass
            self.write_all_us = (time.thread_time() - start) / rest * 1e6
            store.close()
        self.count_us, self.write_us = counting / pages * 1e6, writing / pages * 1e6


def _url(number: int) -> CrawlUrl:
    url = f"https://www.h{number % HOSTS}.example.org/section-{number % 17}/article-{number * 7919}.html"
    return CrawlUrl(url=url, canonical=url, queue_key="org,example")


def main() -> None:
    asked = options(__doc__ or "")
    pages = 10_000 if asked.quick else 100_000
    tell("a million known URLs")
    large = Measured(urls=1_000_000, pages=pages, seed=asked.seed)
    tell("a million known URLs, a tenth of the memory")
    tenth = Measured(urls=1_000_000, pages=pages, seed=asked.seed, max_counts=MAX_COUNTS // 10)
    tell("50,000 known URLs")
    small = Measured(urls=50_000, pages=pages, seed=asked.seed)
    figures = {
        "count_us_per_page": large.count_us,
        "write_us_per_page": large.write_us,
        "longest_write_ms": large.longest_s * 1e3,
        "write_us_per_page_50k": small.write_us,
        "count_us_per_page_tenth": tenth.count_us,
        "write_us_per_page_tenth": tenth.write_us,
        "longest_write_ms_tenth": tenth.longest_s * 1e3,
        "write_all_us_per_url": large.write_all_us,
    }
    emit(figures, asked=asked, packages=["plyvel"], meanings=MEANINGS)


if __name__ == "__main__":
    main()
