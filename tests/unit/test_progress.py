"""That progress shows the right figures, on terminals and elsewhere."""

import asyncio
from io import StringIO

import msgspec
import pytest
from rich.console import Console

from crawler.cli.run.diagnostics import Lines
from crawler.cli.run.drawing import Drawing, table
from crawler.cli.run.streams import LastingStream
from crawler.counters import Counters
from crawler.page import READ_IN_PART, Extract
from crawler.progress import Gauge, line, rows_of, summary
from crawler.status import Status
from crawler.testing.loops import in_virtual_time
from tests.frontier_stats import frontier_stats
from visited import VisitedStats

FRONTIER = frontier_stats(
    admitted=2472,
    pending=100,
    in_process=4,
    retrying=2,
    done=2300,
    failed=10,
    excluded=60,
    ready_queues=1,
    in_process_queues=3,
    snoozed_queues=36,
)
BLOOM = VisitedStats(
    backend="bloom", count=2472, capacity=100_000, memory_bytes=239_800, fill=0.017, false_positive_rate=2e-5
)
STATUS = Status(
    elapsed_s=4.0,
    pages=2000,
    pages_per_s=500.0,
    recent_pages_per_s=428.0,
    bytes_received=8_659_893,
    redirects=250,
    responses={200: 2021, 404: 120},
    failures={"http-500": 31, "disconnected": 1},
    retries=30,
    failed=2,
    excluded={"robots": 60},
    links=61_437,
    admitted=2471,
    refused={"scheme": 626},
    robots_asked=40,
    frontier=FRONTIER,
    visited=BLOOM,
    waiting=None,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock, counters = Clock(), Counters()
    gauge = Gauge(counters, lambda: FRONTIER, lambda: BLOOM, monotonic=clock)
    for _ in range(20):
        clock.now += 1
        counters.pages += 100
        gauge.status()
    status = gauge.status()
    assert status.recent_pages_per_s == pytest.approx(100)
    for _ in range(10):
        clock.now += 1
        gauge.status()
    status = gauge.status()
    assert status.recent_pages_per_s == 0
    assert status.elapsed_s == 30
    assert status.pages_per_s == pytest.approx(2000 / 30)
    assert status.pages == 2000


def test_a_status_taken_twice_at_one_moment_divides_by_no_zero() -> None:
    clock = Clock()
    gauge = Gauge(Counters(), lambda: FRONTIER, lambda: BLOOM, monotonic=clock)
    assert gauge.status().recent_pages_per_s == gauge.status().recent_pages_per_s == 0


def test_a_line_says_all_that_matters_with_units() -> None:
    assert line(STATUS) == (
        "4.0 s · 2,000 pages · 428/s · 8.7 MB · 102 queued · hosts: 4 active, 36 resting · "
        "bloom, 2,472 URLs, 239.8 kB, 1.7% of its bits set, error rate 2e-05 · "
        "errors: http-500: 31, disconnected: 1; 2 given up"
    )
    waiting = msgspec.structs.replace(STATUS, waiting="the only host rests", failures={}, failed=0)
    assert line(waiting).endswith(" · the only host rests")


def test_documents_that_were_read_in_part_are_counted() -> None:
    counters = Counters()
    for error in (None, "KeyError: x", f"{READ_IN_PART}: read the first 5 bytes", f"{READ_IN_PART}: of 2 kinds"):
        counters.count_read(Extract(content_type="text/html", base_url="http://a.test/", error=error))
    counters.count_read(None)
    status = Gauge(counters, lambda: FRONTIER, lambda: BLOOM).status()
    assert ("cut", "2 documents had too much to parse, so only a part was read") in rows_of(status)
    assert "cut" not in dict(rows_of(STATUS))


def test_truncated_pages_are_counted_by_reason() -> None:
    status = msgspec.structs.replace(STATUS, truncated={"time": 1, "length": 1200})
    assert ("truncated", "length: 1,200, time: 1 (pages)") in rows_of(status)
    assert "truncated" not in dict(rows_of(STATUS))


def test_a_summary_is_compact_and_keeps_to_the_width() -> None:
    assert summary(STATUS, ending="The crawl is complete.", directory="crawls/demo") == [
        "The crawl is complete.",
        "     pages  2,000 in 4.0 s (500/s, 8.7 MB)",
        "      URLs  2,370 settled, 102 wait; of these 10 given up, 60 excluded",
        "   answers  200: 2,021, 404: 120",
        "     links  61,437 in scope, 2,471 of them new",
        "   refused  scheme: 626 (links)",
        "    errors  http-500: 31, disconnected: 1; 30 retries, 2 given up",
        "  excluded  robots: 60",
        "   visited  bloom, 2,472 URLs, 239.8 kB, 1.7% of its bits set, error rate 2e-05",
        "    output  crawls/demo",
    ]
    retired = msgspec.structs.replace(
        STATUS, frontier=msgspec.structs.replace(FRONTIER, pending=0, retrying=0, retired=41)
    )
    assert summary(retired, ending="", directory="d")[2] == (
        "      URLs  2,370 settled, 41 retired; of these 10 given up, 60 excluded"
    )
    many = msgspec.structs.replace(STATUS, responses=dict.fromkeys(range(200, 260), 1))
    lines = summary(many, ending="", directory="a/" * 60, width=60)
    assert all(len(line) <= 60 for line in lines[:-1])
    assert not any(line.endswith(":") for line in lines)
    assert lines[-1] == f"    output  {'a/' * 60}"


def test_a_summary_of_nothing_leaves_out_what_did_not_happen() -> None:
    nothing = msgspec.structs.replace(
        STATUS,
        pages=0,
        bytes_received=0,
        responses={},
        failures={},
        retries=0,
        failed=0,
        excluded={},
        links=0,
        refused={},
        frontier=msgspec.structs.replace(FRONTIER, pending=0, retrying=0, failed=0, excluded=0),
        visited=VisitedStats(backend="exact", count=1, capacity=None, memory_bytes=300, fill=0.2),
    )
    assert summary(nothing, ending="Done.", directory="d") == [
        "Done.",
        "     pages  0 in 4.0 s (0 B)",
        "      URLs  2,300 settled",
        "   visited  exact, 1 URL, 300 B",
        "    output  d",
    ]


def test_pages_that_a_filter_has_lost_are_told() -> None:
    lossy = msgspec.structs.replace(STATUS, visited=msgspec.structs.replace(BLOOM, expected_lost=3.4))
    assert "about 3.4 pages lost" in line(lossy)
    many = msgspec.structs.replace(STATUS, visited=msgspec.structs.replace(BLOOM, expected_lost=1234.5))
    assert "about 1,200 pages lost" in line(many)
    assert "lost" not in line(STATUS)


def rendered(status: Status, width: int) -> list[str]:
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(table(status))
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_table_keeps_to_the_width_and_to_its_height_while_nothing_moves(width: int) -> None:
    moving = rendered(STATUS, width)
    assert all(len(row) <= width for row in moving)
    assert len(rendered(msgspec.structs.replace(STATUS, waiting="all rest [here]"), width)) == len(moving)
    assert rendered(msgspec.structs.replace(STATUS, waiting="all rest [here]"), width)[-1].strip() == "all rest [here]"


@in_virtual_time
async def test_a_line_is_printed_at_each_interval_until_it_is_cancelled() -> None:
    file = StringIO()
    gauge = Gauge(Counters(), lambda: FRONTIER, lambda: BLOOM)
    progress = asyncio.create_task(Lines(LastingStream(file)).show_progress(gauge.status, interval_s=5.0))
    await asyncio.sleep(21)
    progress.cancel()
    with pytest.raises(asyncio.CancelledError):
        await progress
    lines = file.getvalue().splitlines()
    assert len(lines) == 4
    assert all("0 pages" in line and len(line) > 80 for line in lines)


@in_virtual_time
async def test_the_live_table_is_erased_when_it_is_cancelled() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"})
    gauge = Gauge(Counters(), lambda: FRONTIER, lambda: BLOOM)
    progress = asyncio.create_task(Drawing(console).show_progress(gauge.status, interval_s=5.0))
    await asyncio.sleep(2)
    progress.cancel()
    with pytest.raises(asyncio.CancelledError):
        await progress
    assert isinstance(console.file, StringIO)
    written = console.file.getvalue()
    assert written.count("2,370 of 2,472 settled") >= 4
    assert "\x1b[2K" in written.rpartition("settled")[2]
