"""What the output of a page costs: records, archive, SQLite and PostgreSQL, beside warcio and Scrapy's feed; and how
fast `inspect verify` compares all of it. Then whole crawls, with output and without (`output_crawls`).

A page has 8 KB of words and 40 links. 64 writers write at the same time, as a crawl does. Costs are microseconds of
processor time of this process; that of a server of PostgreSQL is not in them, so its rate is told, too. warcio writes
request and response, as our archive does, without its metadata record. Whatever is not installed is left out.
"""

import asyncio
import io
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
import psutil
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.disk.directory import CrawlDirectory
from crawler.page import Page, PageRecord
from crawler.seams import Sink
from crawler.testing.sink.pages import page, record_of
from crawler.wiring.configuration import load
from crawler.wiring.recovery.machines import OtherMachines
from crawler.wiring.recovery.verification import Verification
from crawler.write.database.postgres import PostgresOptions, PostgresSink
from crawler.write.database.rows import RowOptions
from crawler.write.database.sqlite import SqliteSink
from crawler.write.descriptor import Parameters
from crawler.write.records import RecordSink
from crawler.write.warc import WarcSink
from frontier import Damaged, KnownUrl, LedgerEntry, UrlState
from tests.bench import output_crawls
from tests.bench.report import Options, emit, options, spread, tell
from tests.postgres import PROGRAMS, running_postgres

WRITERS = 64
LINKS = 40
BODY_BYTES = 8_000
MEANINGS = {
    "records_us": "a line of records",
    "warc_us": "request, response and metadata in the archive",
    "sqlite_us": "a row, and 40 rows of links",
    "postgres_us": "the same in PostgreSQL, without the server's own cost",
    "postgres_per_s": "pages per second into PostgreSQL, server included",
    "warcio_us": "warcio: request and response",
    "scrapy_us": "Scrapy: the same record by its exporter of JSON Lines",
    "verify_per_s": "pages per second that verify compares in ledger, records, archive and SQLite",
    "verify_rss_mb": "what verify adds to the memory of the process",
    **output_crawls.MEANINGS,
}


class Sample(msgspec.Struct, frozen=True):
    page: Page
    record: PageRecord


def samples(count: int, seed: int) -> Iterator[Sample]:
    """Pages that differ."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randrange(2, 11))) for _ in range(4000)]
    for number in range(count):
        text = " ".join(drawn.choices(words, k=BODY_BYTES // 6))[:BODY_BYTES]
        links = [f"http://h{number % 50}.sim.test/{drawn.choice(words)}/{at}" for at in range(LINKS)]
        body = f"<title>Page {number}</title>{text}".encode()
        fetched = msgspec.structs.replace(page(number), body=body, raw_body=body)
        record = msgspec.structs.replace(record_of(fetched, number), references=links)
        yield Sample(fetched, record)


async def write_all(sink: Sink, work: Iterator[Sample]) -> None:
    async def write() -> None:
        for each in work:
            await sink.write(each.page, each.record)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(write())


async def cost_of(sink: Sink, work: list[Sample]) -> tuple[float, float]:
    """Microseconds of processor time for each page, and pages per second."""
    cpu, started = time.process_time(), time.perf_counter()
    await write_all(sink, iter(work))
    await sink.aclose()
    return (time.process_time() - cpu) / len(work) * 1e6, len(work) / (time.perf_counter() - started)


def cost_of_call(call: Callable[[Sample], object], work: list[Sample]) -> float:
    cpu = time.process_time()
    for each in work:
        call(each)
    return (time.process_time() - cpu) / len(work) * 1e6


def write_by_warcio(writer: WARCWriter, each: Sample) -> None:
    headers = [(name.decode(), value.decode()) for name, value in each.page.headers]
    response = writer.create_warc_record(
        each.page.url,
        "response",
        payload=io.BytesIO(each.page.body),
        http_headers=StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1"),
    )
    sent = StatusAndHeaders("GET / HTTP/1.1", list(each.page.request_headers), is_http_request=True)
    request = writer.create_warc_record(each.page.url, "request", payload=io.BytesIO(), http_headers=sent)
    writer.write_request_response_pair(request, response)


def scrapy_exporter(folder: Path) -> Callable[[Sample], object] | None:
    try:
        from scrapy.exporters import JsonLinesItemExporter  # noqa: PLC0415 - of the benchmarks alone
    except ModuleNotFoundError:
        return None
    exporter = JsonLinesItemExporter((folder / "feed.jsonl").open("wb"))
    return lambda each: exporter.export_item(msgspec.to_builtins(each.record))


class Ledger:
    """What a crawl of these pages would have in its ledger."""

    def __init__(self, work: list[Sample]) -> None:
        self._work = work

    @property
    def numbers_given(self) -> int:
        return len(self._work)

    def known(self, canonical: str, /) -> KnownUrl | None:
        raise AssertionError(f"{canonical}: every number is known")

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        for each in self._work:
            record = each.record
            yield KnownUrl(
                entry=LedgerEntry(
                    canonical=record.url, state=UrlState.DONE, number=record.number, found_at=0, status=record.status
                )
            )


async def verify(folder: Path, work: list[Sample]) -> tuple[float, float]:
    """Pages per second, and megabytes of memory."""
    directory = CrawlDirectory(folder)
    directory.sinks.mkdir(parents=True)
    (directory.sinks / "sqlite").mkdir()
    sinks: list[Sink] = [
        RecordSink(directory.records),
        WarcSink(directory.warc),
        SqliteSink(Parameters(directory=directory.sinks / "sqlite"), RowOptions()),
    ]
    for sink in sinks:
        await write_all(sink, iter(work))
        await sink.aclose()
    loaded = load(None, overrides=['output.sinks=["sqlite"]'], environ={}, require_seeds=False)
    memory, started = psutil.Process().memory_info().rss, time.perf_counter()
    verification = Verification(loaded, [directory], Ledger(work), others=OtherMachines())
    try:
        problems = [problem async for problem in verification.problems()]
        assert problems == [], problems[:3]
        assert {told.numbers for told in verification.counts()} == {len(work)}
    finally:
        verification.close()
    rate = len(work) / (time.perf_counter() - started)
    return rate, (psutil.Process().memory_info().rss - memory) / 1e6


def sinks_in(folder: Path, stack: ExitStack) -> dict[str, Callable[[int], Sink]]:
    """Makers of sinks by name, each for a round."""

    def fresh(name: str, turn: int) -> Path:
        place = folder / f"{name}-{turn}"
        place.mkdir()
        return place

    makers: dict[str, Callable[[int], Sink]] = {
        "records": lambda turn: RecordSink(fresh("records", turn)),
        "warc": lambda turn: WarcSink(fresh("warc", turn)),
        "sqlite": lambda turn: SqliteSink(Parameters(directory=fresh("sqlite", turn)), RowOptions()),
    }
    if PROGRAMS is None:
        tell("PostgreSQL is not installed: apt-get install postgresql; its figures are left out")
    else:
        dsn = stack.enter_context(running_postgres()).dsn
        makers["postgres"] = lambda turn: PostgresSink(Parameters(), PostgresOptions(dsn=dsn, crawl=f"round {turn}"))
    return makers


def main(asked: Options) -> Mapping[str, float]:
    count, rounds = (1_000, 3) if asked.quick else (10_000, 5)
    work = list(samples(count, asked.seed))
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, make in sinks_in(folder, stack).items():
            found = [asyncio.run(_measured(make, turn, work)) for turn in range(rounds)]
            figures[f"{name}_us"] = statistics.median(cost for cost, _ in found)
            tell(f"{name}: {spread([cost for cost, _ in found])} µs a page")
            if name == "postgres":
                figures["postgres_per_s"] = statistics.median(rate for _, rate in found)
        with (folder / "warcio.gz").open("wb") as file:
            writer = WARCWriter(file, gzip=True)
            costs = [cost_of_call(lambda each: write_by_warcio(writer, each), work) for _ in range(rounds)]
            figures["warcio_us"] = statistics.median(costs)
        export = scrapy_exporter(folder)
        if export is not None:
            figures["scrapy_us"] = statistics.median(cost_of_call(export, work) for _ in range(rounds))
        figures["verify_per_s"], figures["verify_rss_mb"] = asyncio.run(verify(folder / "crawl", work))
    return figures | output_crawls.shares(asked)


async def _measured(make: Callable[[int], Sink], turn: int, work: list[Sample]) -> tuple[float, float]:
    return await cost_of(make(turn), work)


if __name__ == "__main__":
    chosen = options(__doc__ or "")
    emit(main(chosen), asked=chosen, packages=("warcio", "scrapy", "asyncpg"), meanings=MEANINGS)
