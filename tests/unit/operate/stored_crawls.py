"""The same crawl, in one part or in several, that does not run: some URLs of each host are settled, others wait."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from config import Loaded, load, render_toml
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, part_directories, write_layout
from crawler.page import PageRecord
from crawler.parts.ownership import Ownership
from crawler.wiring.components import discovering
from crawler.wiring.storage import open_state, visited_set
from crawler.write.records import RecordSink
from frontier import CrawlUrl, Frontier, Outcome, UrlState
from tests.e2e.crawling import Ended
from tests.e2e.operating import command_here

HOSTS = [f"host-{number}.test" for number in range(9)]
EACH = 7
"""URLs of each host."""
SETTLED = 3
"""Of these, settled ones. The last of them has failed."""
PARTS = 3
OWNERSHIP = Ownership(PARTS)


def url_of(host: str, number: int) -> str:
    return f"http://{host}/{number}"


def links_of(host: str) -> list[str]:
    return [url_of(host, number) for number in range(EACH)]


class StoredCrawl:
    """A crawl in a directory, and the commands about it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def do(self, command: str, *arguments: str) -> Ended:
        return command_here(command, str(self.directory), *arguments)

    def look(self, what: str, *arguments: str) -> Ended:
        return command_here("inspect", str(self.directory), what, *arguments)

    def run(self, *command: str) -> Ended:
        """Run a command in which DIR stands for the directory."""
        return command_here(*(str(self.directory) if part == "DIR" else part for part in command))

    def exported(self) -> list[dict[str, object]]:
        return self.lines(self.run("frontier", "export", "DIR"))

    def lines(self, ended: Ended) -> list[dict[str, object]]:
        assert ended.code == 0, ended.err
        return [msgspec.json.decode(line, type=dict[str, object]) for line in ended.out.splitlines()]


def make(directory: Path, *, parts: int = 1, settings: Sequence[str] = ()) -> StoredCrawl:
    """The crawl, in so many parts; with one, as a crawl that is not in parts."""
    overrides = ["output.warc=false", "output.links=true", *settings]
    loaded = load(None, overrides=overrides, environ={}, require_seeds=False)
    directory.mkdir()
    if parts > 1:
        write_layout(directory, Layout.begin(parts))
    with CrawlDirectory(directory) as whole:
        whole.write_configuration(render_toml(loaded.config))
        ownership = Ownership(parts)
        for number, place in enumerate(part_directories(directory)):
            hosts = [host for host in HOSTS if ownership.owner(queue_of(host)) == number]
            part = whole if parts == 1 else CrawlDirectory(place)
            if part is not whole:
                part.__enter__()
            try:
                asyncio.run(_fill(loaded, part, hosts))
            finally:
                if part is not whole:
                    part.__exit__(None, None, None)
    return StoredCrawl(directory)


def queue_of(host: str) -> str:
    return ",".join(reversed(host.split(".")))


async def _fill(loaded: Loaded, directory: CrawlDirectory, hosts: Sequence[str]) -> None:
    state = open_state(loaded.config, directory, may_begin=True)
    visited = visited_set(loaded.config, directory, state.knows_many)
    frontier = await state.open_frontier(visited)
    records = RecordSink(directory.records)
    await frontier.add([_url(loaded, url_of(host, number)) for host in hosts for number in range(SETTLED)])
    await _settle(frontier, records, SETTLED * len(hosts))
    await frontier.add([_url(loaded, url) for host in hosts for url in links_of(host)[SETTLED:]])
    await records.aclose()
    await frontier.aclose()
    await visited.aclose()
    state.close()


def settle(place: Path, count: int) -> None:
    """Settle so many URLs that wait in the directory of a part."""
    loaded = load(CrawlDirectory(place.parent).configuration, environ={}, require_seeds=False)
    with CrawlDirectory(place) as directory:
        asyncio.run(_go_on(loaded, directory, count))


async def _go_on(loaded: Loaded, directory: CrawlDirectory, count: int) -> None:
    state = open_state(loaded.config, directory)
    visited = visited_set(loaded.config, directory, state.knows_many)
    frontier = await state.open_frontier(visited)
    records = RecordSink(directory.records)
    await _settle(frontier, records, count)
    await records.aclose()
    await frontier.aclose()
    await visited.aclose()
    state.close()


async def _settle(frontier: Frontier, records: RecordSink, count: int) -> None:
    for _ in range(count):
        lease = await anext(frontier)
        is_last = lease.url.url.endswith(f"/{SETTLED - 1}")
        outcome = Outcome(state=UrlState.FAILED, reason="dns") if is_last else Outcome(state=UrlState.DONE, status=200)
        record = PageRecord(
            number=lease.number,
            url=lease.url.url,
            state=outcome.state.name.lower(),
            status=outcome.status,
            reason=outcome.reason,
            depth=0,
            kind=lease.url.kind,
            references=links_of(lease.url.url.split("/")[2]) if outcome.status else None,
        )
        await records.write(None, record)
        await frontier.done(lease, cooldown_s=0, outcome=outcome)


def _url(loaded: Loaded, text: str) -> CrawlUrl:
    target = discovering.url_reader(loaded).seed(text)
    return CrawlUrl(url=target.url, canonical=target.canonical, queue_key=target.queue_key)
