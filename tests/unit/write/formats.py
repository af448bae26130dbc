"""The sinks of this project that write files, and how to read back the numbers of the pages in a directory."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crawler.seams import Sink
from crawler.write.appending import Durability
from crawler.write.fanout import Sinks
from crawler.write.records import RecordSink, read_records
from crawler.write.warc import WarcOptions, WarcSink
from tests.unit.write.samples import numbers, numbers_by_fastwarc


class Format(msgspec.Struct, frozen=True):
    """A sink, and how to read back the numbers of the pages in its directory."""

    open: Callable[[Path], Sink]
    read: Callable[[Path], list[int]]


def read_lines(directory: Path) -> list[int]:
    return [record.number for record in read_records(directory, on_damage=fail_on_damage)]


def fail_on_damage(path: Path, offset: int, why: str) -> None:
    pytest.fail(f"{path} is damaged at byte {offset}: {why}")


def read_both(directory: Path) -> list[int]:
    fetched = {record.number for record in read_records(directory / "records") if record.status is not None}
    assert fetched <= set(numbers(directory / "warc"))  # a line promises that the page is archived
    return read_lines(directory / "records")


def open_records(directory: Path, *, durability: Durability = "process", max_bytes: int = 1500) -> Sink:
    return RecordSink(directory, max_bytes=max_bytes, durability=durability)


def open_warc(directory: Path, *, durability: Durability = "process", max_bytes: int = 3000) -> Sink:
    return WarcSink(directory, WarcOptions(max_bytes=max_bytes), durability=durability)


def open_both(directory: Path) -> Sink:
    return Sinks([open_warc(directory / "warc"), open_records(directory / "records")])


FORMATS = {
    "records": Format(open_records, read_lines),
    "records-power": Format(lambda directory: open_records(directory, durability="power"), read_lines),
    "warc": Format(open_warc, numbers),
    "warc-power": Format(lambda directory: open_warc(directory, durability="power"), numbers),
    "both": Format(open_both, read_both),
}
ONE_FILE = {
    "records": Format(lambda directory: open_records(directory, max_bytes=1 << 20), read_lines),
    "warc": Format(lambda directory: open_warc(directory, max_bytes=1 << 20), numbers_by_fastwarc),
}
"""Sinks that write one file only."""
