"""Writes web archives: `warc/PREFIX-TIMESTAMP-SERIAL.warc.gz`, WARC/1.1, one gzip member per record.

A file has the suffix `.open` while it is written, and loses it when it is finished. Opening a sink finishes the files
that a crash left open: it cuts off the record that the crash tore, and renames the file. Other damage is moved to
`….damaged-BYTE`, and the records after it stay. A sink never continues an old file, because the warcinfo record at the
head of each file names the software and settings of its records.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from crawler.files.folders import sync_directory
from crawler.page import Fetched, PageRecord
from crawler.page.duplicates import forget_oldest
from crawler.write.appending import AppendFile, Durability
from crawler.write.cdxj.making import OPEN, final_path
from crawler.write.cdxj.open_index import OpenIndex, finish_open_indexes
from crawler.write.dedupe.own import bodies_archived_last
from crawler.write.descriptor import FILES, Descriptor, Parameters
from crawler.write.warc_facts import received_bytes, size_of, was_asked
from crawler.write.warc_info import WarcInfo
from crawler.write.warc_opening import finish_open_file, next_serial
from crawler.write.warc_records import Group, Original, exchange_group, page_group

_PREFIX = re.compile(r"[A-Za-z0-9._-]+")
_THREAD_BYTES = 256 * 1024
_THREADS = 2


class WarcOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the archive."""

    prefix: Annotated[str, Meta(description="Like output.warc_prefix.")] = "onceover"
    max_bytes: Annotated[int, Meta(description="Like output.warc_max_bytes.", extra={"unit": "bytes"})] = 1_000_000_000
    level: Annotated[int, Meta(description="Like output.warc_level.")] = 2
    index: Annotated[bool, Meta(description="Like output.warc_index.")] = True
    revisits: Annotated[int, Meta(description="Like output.warc_revisits.", extra={"unit": "bodies"})] = 0
    dedupe_min_bytes: Annotated[int, Meta(description="Like output.dedupe_min_bytes.", extra={"unit": "bytes"})] = 0
    text: Annotated[bool, Meta(description="Like output.warc_text.")] = False
    earlier: Annotated[
        tuple[str, ...], Meta(description="Folders with archives and indexes of earlier crawls, or such indexes.")
    ] = ()
    earlier_index: Annotated[str, Meta(description="A file for what was found there.")] = ""


_DEFAULTS: Final = WarcOptions()


class _Earlier(Protocol):
    """`crawler.write.dedupe.originals.Originals`, which is loaded if it is wanted."""

    def find(self, digest: str, /) -> Original | None: ...

    def close(self) -> None: ...


class WarcSink:
    """Writes what servers answered, also if that ended as a failure, and which requests had no answer. It writes
    nothing for URLs that were not requested, and for pages that are left out (`not_archived`).

    `info`: fields of the warcinfo records, in this order: `software`, `operator`, `http-header-user-agent`, `robots`,
    `isPartOf`, `description`, …, and `settings`, a line for each.
    """

    def __init__(
        self,
        directory: Path,
        options: WarcOptions = _DEFAULTS,
        *,
        durability: Durability = "process",
        info: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        before_write: Callable[[], object] | None = None,
    ) -> None:
        if not _PREFIX.fullmatch(options.prefix):
            raise ValueError(f"a WARC prefix consists of letters, digits, '.', '_' and '-'; found {options.prefix!r}")
        if not 1 <= options.level <= 9:
            raise ValueError(f"a compression level is 1 (fast) to 9 (small); found {options.level}")
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._options = options
        self._durability = durability
        self._before_write = before_write
        self._info = WarcInfo(info or {}, level=options.level, clock=clock)
        self._clock = clock
        self._known: dict[str, Original] = {}
        self._earlier: _Earlier | None = None
        self._threads = asyncio.Semaphore(_THREADS)
        self._file: AppendFile | None = None
        self._name, self._file_serial = "", -1
        """Of that file: its name once it is finished, and its number."""
        self._end = 0
        """Where its last record ended when it was written."""
        self._must_end = False
        """Whether the file ends before the next record, although it has room."""
        self._refers_from = 0
        """The number of the first archive to which records may refer."""
        self._index: OpenIndex | None = None
        self._sorting: set[asyncio.Task[None]] = set()
        self._unsorted: list[OpenIndex] = []
        """Those for which the disk had no space."""
        self._closed = False
        opened = sorted(directory.glob(f"*.warc.gz{OPEN}"))
        for path in opened:
            finish_open_file(path, with_index=options.index)
        # They may lack even an open index, as after a power failure.
        finish_open_indexes(directory, (path.with_suffix("") for path in opened if options.index))
        self._serial = next_serial(directory)

    async def begin(self) -> None:
        options = self._options
        if options.earlier:
            from crawler.write.dedupe.originals import open_originals  # noqa: PLC0415 - few crawls compare with others

            places = [Path(place) for place in options.earlier]
            index = Path(options.earlier_index or self._directory.with_name("earlier.sqlite"))
            self._earlier = await asyncio.to_thread(open_originals, index, places)
        if options.revisits:
            self._known = await asyncio.to_thread(bodies_archived_last, self._directory, options.revisits)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self._ensure_open()
        if page is not None and record.not_archived is None and was_asked(page):
            await self._write(page, partial(self._compose, page, record))

    async def write_exchange(self, fetched: Fetched, purpose: str, /) -> None:
        self._ensure_open()
        if was_asked(fetched):
            await self._write(fetched, partial(self._compose_exchange, fetched, purpose))

    def tell(self, about: Mapping[str, str], /) -> None:
        self._info.tell(about)

    async def _write(self, fetched: Fetched, compose: Callable[[], Group]) -> None:
        while True:
            basis = self._info.urns, self._refers_from
            if size_of(fetched) < _THREAD_BYTES:
                group = compose()
            else:
                async with self._threads:  # this also limits the number of large copies in memory
                    group = await asyncio.to_thread(compose)
            size = sum(map(len, group.chunks))
            while self._is_full(size):
                await self._end_file()
            # Otherwise another file has begun, the settings have changed, or the record may refer to what it must not.
            if basis == (self._info.urns, self._refers_from):
                break
        file, serial = self._append(group), self._file_serial
        if self._durability == "power":  # otherwise there is nothing to settle
            await file.settle()
        self._remember(group, fetched, serial)

    def _is_full(self, size: int) -> bool:
        """Whether so many bytes do not fit into the file, or a new one has to begin."""
        file = self._file
        if file is None:
            return False
        return self._must_end or (file.size > 0 and file.size + size > self._options.max_bytes)

    async def _end_file(self) -> None:
        file = self._file
        if file is not None:
            await file.settle()  # so that closing it need not wait for the disk
            if file is self._file:
                file.ensure_intact()
                self._finish_file()

    def forget_before(self, serial: int, /) -> None:
        self._refers_from = max(self._refers_from, serial)
        # What was written before is not to be in one file with what can't refer to it any more.
        self._must_end = self._must_end or (self._file is not None and self._file_serial < serial)
        self._serial = max(self._serial, serial)
        self._known = {digest: found for digest, found in self._known.items() if found.serial >= serial}

    async def aclose(self) -> None:
        self._closed = True
        unsorted, self._unsorted = self._unsorted, []
        self._finish_file()
        await asyncio.gather(*self._sorting, *map(self._sort, unsorted))  # the disk may have space again
        if self._earlier is not None:
            self._earlier.close()

    def _ensure_open(self) -> None:
        if self._closed:
            raise ValueError(f"the WARC sink of {self._directory} is closed; it can't be written to any more")

    def _compose(self, page: Fetched, record: PageRecord) -> Group:
        options, urns = self._options, self._info.urns
        return page_group(page, record, level=options.level, find=self._find, with_text=options.text, urns=urns)

    def _compose_exchange(self, fetched: Fetched, purpose: str) -> Group:
        return exchange_group(fetched, purpose, level=self._options.level, find=self._find, urns=self._info.urns)

    def _find(self, digest: str, size_bytes: int) -> Original | None:
        """A response with the same body, in an earlier crawl or in this one."""
        if size_bytes < self._options.dedupe_min_bytes:
            return None
        earlier = None if self._earlier is None else self._earlier.find(digest)
        return earlier or self._known.get(digest)

    def _append(self, group: Group) -> AppendFile:
        if self._file is None:
            self._file = self._new_file()
        self._note_loss(self._file)
        size = self._file.size
        info = self._info.record(self._name, size)
        self._file.append(info, *group.chunks)
        self._end = self._file.size
        if info:
            self._info.note_written(size)
        if self._index is not None:
            for each in group.captures:
                self._index.add(each.capture, offset=size + len(info) + each.offset, length=each.length)
        return self._file

    def _note_loss(self, file: AppendFile) -> None:
        """Tell the index if records were removed, because the disk was too full to make them durable."""
        if self._index is not None and file.size < self._end:
            self._index.note_loss()

    def _new_file(self) -> AppendFile:
        now = self._clock()
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(now)) + f"{int(now * 1000) % 1000:03d}"
        archive = self._directory / f"{self._options.prefix}-{stamp}-{self._serial:05d}.warc.gz"
        self._name, self._file_serial = archive.name, self._serial
        self._serial += 1
        self._end = 0
        if self._options.index:
            self._index = OpenIndex(archive)
        path = archive.with_name(archive.name + OPEN)
        return AppendFile(path, durability=self._durability, before_write=self._before_write)

    def _finish_file(self) -> None:
        file, index = self._file, self._index
        if file is None:
            return
        file.close()
        self._note_loss(file)
        self._file = self._index = None
        self._must_end = False
        self._info.begin()
        if not file.is_intact:
            if index is not None:
                index.close()
            return  # keep the suffix, so that the next opening repairs it
        if file.size == 0:
            file.path.unlink(missing_ok=True)
            if index is not None:
                index.remove()
                index = None
        else:
            file.path.rename(final_path(file.path))
        if self._durability == "power":
            sync_directory(self._directory)
        if index is not None:
            sorting = asyncio.get_running_loop().create_task(self._sort(index))
            self._sorting.add(sorting)
            sorting.add_done_callback(self._sorting.discard)

    async def _sort(self, index: OpenIndex) -> None:
        if not await asyncio.to_thread(index.finish):
            self._unsorted.append(index)

    def _remember(self, group: Group, fetched: Fetched, serial: int) -> None:
        if not self._options.revisits or group.payload_digest is None or group.payload_digest in self._known:
            return
        if group.original is None or received_bytes(fetched) < self._options.dedupe_min_bytes:
            return
        if serial < self._refers_from:  # the archive has begun anew meanwhile
            return
        if len(self._known) >= self._options.revisits:
            forget_oldest(self._known)
        self._known[group.payload_digest] = msgspec.structs.replace(group.original, serial=serial)


def _make(parameters: Parameters, options: WarcOptions) -> WarcSink:
    assert parameters.directory is not None
    return WarcSink(
        parameters.directory,
        options,
        durability=parameters.durability,
        info=parameters.about,
        before_write=parameters.before_write,
    )


DESCRIPTOR: Final = Descriptor(name="warc", make=_make, options=WarcOptions, needs=FILES, waits=False)
