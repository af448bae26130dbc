"""A crawl of very many URLs that gets parts and loses them again: its ledger stays the same, its memory is bounded."""

import asyncio
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from random import Random

import msgspec
import plyvel
import pytest

from config import Loaded, load, render_toml
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl, Frontier, Outcome, UrlState
from frontier.leveldb.format.encoding import decode_entry, encode_entry
from frontier.leveldb.format.queue_records import decode_queue
from tests.e2e.crawling import COMPLETE, ONCEOVER, environment

MAX_MIB = 300
"""The memory that a division may take, for any number of URLs."""
LINKS_TOGETHER = 20
"""So many URLs of one host are found at once."""
MODULUS = 1 << 128
SPACES = (b"L", b"P", b"R", b"C", b"N", b"Q")
"""The records that are the same however a crawl is divided, one for each key."""


class Digest(msgspec.Struct, frozen=True):
    """Of records in any order: how many, and the sum of their hashes. A record that is there twice counts twice."""

    count: int
    total: int


def digests(directory: Path) -> dict[bytes, Digest]:
    return {space: digest_of(directory, space) for space in SPACES}


def digest_of(directory: Path, space: bytes) -> Digest:
    count = total = 0
    for key, value in records(directory, space):
        hashed = blake2b(len(key).to_bytes(4, "big") + key, digest_size=16)
        hashed.update(same_in_all_divisions(space, key, value))
        total = (total + int.from_bytes(hashed.digest(), "big")) % MODULUS
        count += 1
    return Digest(count, total)


def same_in_all_divisions(space: bytes, key: bytes, value: bytes) -> bytes:
    """A queue without its turn, which is counted anew in each part, and a settled URL without the part it was settled
    in, which the first division notes. Other records as they are."""
    if space == b"Q":
        record = decode_queue(value, key=key[1:].decode())
        state = record.position and (record.position.state, record.position.rank)
        return repr((msgspec.structs.replace(record, position=None), state)).encode()
    if space == b"L":
        entry, location = decode_entry(value, canonical=key[1:].decode())
        if location is None:
            return encode_entry(msgspec.structs.replace(entry, settled_in=None))
    return value


def records(directory: Path, space: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Of all parts, one part after the other. None is held in memory."""
    for part in part_directories(directory):
        with closing(plyvel.DB(str(part / "frontier"))) as database:
            yield from database.iterator(prefix=space, fill_cache=False)


def make(directory: Path, urls: int) -> None:
    """A crawl that does not run, of so many URLs: some are settled, some have failed, some wait for another try."""
    settings = ['visited.backend="bloom"', f"visited.capacity={2 * urls}", "output.warc=false", "output.records=false"]
    loaded = load(None, overrides=settings, environ={}, require_seeds=False)
    with CrawlDirectory(directory) as place:
        place.write_configuration(render_toml(loaded.config))
        asyncio.run(fill(loaded, place, urls))


async def fill(loaded: Loaded, place: CrawlDirectory, urls: int) -> None:
    state = open_state(loaded.config, place, may_begin=True)
    visited = visited_set(loaded.config, place, state.knows_many)
    frontier = await state.open_frontier(visited)
    hosts, dice = urls // 200, Random(1)
    for first in range(0, urls, 500):
        # Links of a page mostly lead to few hosts. If each went to a host of its own, filling would take three times
        # as long, because each host's queue is written with its links.
        pages = [(dice.randrange(hosts), number) for number in range(first, first + 500, LINKS_TOGETHER)]
        await frontier.add([url_at(host, number + n) for host, number in pages for n in range(LINKS_TOGETHER)])
    await settle(frontier, urls // 100)
    await frontier.aclose()
    await visited.aclose()
    state.close()


def url_at(host: int, number: int) -> CrawlUrl:
    url = f"http://h{host}.test/section-{number % 97}/page-{number}"
    return CrawlUrl(url=url, canonical=url, queue_key=f"test,h{host}", depth=number % 9)


async def settle(frontier: Frontier, count: int) -> None:
    done = Outcome(state=UrlState.DONE, status=200, digest=b"x" * 20, etag='"e"', fetched_at=2.5)
    failed = Outcome(state=UrlState.FAILED, reason="status-404", status=404, fetched_at=1.5)
    for number in range(count):
        lease = await anext(frontier)
        if number % 5 == 0:
            await frontier.retry(lease, after_s=3600.0, cooldown_s=0.0, reason="no-answer")
        else:
            await frontier.done(lease, cooldown_s=0.0, outcome=failed if number % 5 == 1 else done)


def peak_mib(arguments: Sequence[str | Path]) -> float:
    """Run a command. Returns the most memory of its own that its process had, without mapped files: LevelDB maps its
    tables, and the system takes that memory back when it needs it."""
    process = subprocess.Popen([ONCEOVER, *arguments], env=environment(), stdout=subprocess.DEVNULL)
    peak_kib = 0
    while process.poll() is None:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak_kib = max([peak_kib, *(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))])
        time.sleep(0.05)
    assert process.returncode == COMPLETE
    return peak_kib / 1024


@pytest.mark.long
@pytest.mark.parametrize("urls", [1_000_000, 10_000_000])
def test_very_many_urls_are_divided_and_put_together_again_in_bounded_memory(tmp_path: Path, urls: int) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    make(crawl, urls)
    before = digests(crawl)
    assert before[b"L"].count == urls
    for into in (4, 1):
        peak = peak_mib(["parts", crawl, "--into", str(into)])
        assert peak < MAX_MIB
        assert digests(crawl) == before
