"""Visited sets with one fault each."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.testing import VisitedSetContract
from crawler.testing.visited.making import make_own
from visited import DiskFull, SnapshotRefused, VisitedSet, VisitedStats
from visited.backends import descriptor
from visited.descriptor import Cost
from visited.snapshot import read_snapshot, write_snapshot


class PlainSet:
    """A correct set, of which the others change something."""

    def __init__(self) -> None:
        self.urls: dict[str, None] = {}

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return [self.add(url) for url in urls]

    def add(self, url: str) -> bool:
        is_new = url not in self.urls
        self.urls[url] = None
        return is_new

    async def forget_many(self, urls: Sequence[str], /) -> int:
        before = len(self.urls)
        for url in urls:
            self.urls.pop(url, None)
        return before - len(self.urls)

    def describe(self) -> VisitedStats:
        return VisitedStats(backend="plain", count=len(self), capacity=None, memory_bytes=1 + len(self))

    def dump(self, file: BinaryIO, /) -> None:
        content = json.dumps(list(self.urls)).encode()
        write_snapshot(file, backend="plain", parameters={}, state={}, parts=[content])

    def load(self, file: BinaryIO, /) -> None:
        self.urls = {}
        [part] = read_snapshot(file, backend="plain", parameters={}).parts
        self.urls = dict.fromkeys(json.loads(bytes(part)))

    def __len__(self) -> int:
        return len(self.urls)

    async def aclose(self) -> None: ...


class Forgetful(PlainSet):
    """Has room for 300 URLs, and drops the oldest."""

    def add(self, url: str) -> bool:
        is_new = super().add(url)
        if len(self.urls) > 300:
            del self.urls[next(iter(self.urls))]
        return is_new


class TestForgetful(VisitedSetContract):
    FAILS = ("test_a_url_is_new_once", "test_a_snapshot_keeps_the_promise")

    def make_set(self, directory: Path) -> VisitedSet:
        return Forgetful()


class AsksFirst(PlainSet):
    """Asks for the whole batch, and adds later."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts = [url not in self.urls for url in urls]
        self.urls |= dict.fromkeys(urls)
        return verdicts


class TestAsksFirst(VisitedSetContract):
    FAILS = (
        "test_a_url_that_stands_twice_in_a_batch_is_new_once",
        "test_the_way_urls_are_cut_into_batches_does_not_matter",
    )

    def make_set(self, directory: Path) -> VisitedSet:
        return AsksFirst()


class Brief(PlainSet):
    """Gives no answer for the last URL of a batch."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return (await super().add_many(urls))[:-1]


class TestBrief(VisitedSetContract):
    FAILS = ("test_a_url_is_new_once", "test_the_way_urls_are_cut_into_batches_does_not_matter")

    def make_set(self, directory: Path) -> VisitedSet:
        return Brief()


class Unchecked(PlainSet):
    """Its snapshot is a list of lines, without a sum to check."""

    def dump(self, file: BinaryIO, /) -> None:
        file.write(json.dumps(list(self.urls)).encode())

    def load(self, file: BinaryIO, /) -> None:
        self.urls = {}
        try:
            self.urls = dict.fromkeys(json.loads(file.read()))
        except ValueError as error:
            raise SnapshotRefused(str(error)) from error


class TestUnchecked(VisitedSetContract):
    FAILS = ("test_a_snapshot_with_one_changed_byte_is_refused", "test_a_load_reads_no_further_than_the_snapshot")

    def make_set(self, directory: Path) -> VisitedSet:
        return Unchecked()


class Seeded(PlainSet):
    """Knows URLs by their hash, for which Python has another seed in each process."""

    def add(self, url: str) -> bool:
        return super().add(f"{hash(url)}")


class TestSeeded(VisitedSetContract):
    FAILS = ("test_a_snapshot_is_read_by_another_process",)

    def make_set(self, directory: Path) -> VisitedSet:
        return Seeded()


class KeepsOnRefusal(PlainSet):
    """A snapshot that is refused leaves it as it was."""

    def load(self, file: BinaryIO, /) -> None:
        before = self.urls
        try:
            super().load(file)
        except SnapshotRefused:
            self.urls = before
            raise


class TestKeepsOnRefusal(VisitedSetContract):
    FAILS = ("test_a_torn_snapshot_is_refused_and_leaves_the_set_empty",)

    def make_set(self, directory: Path) -> VisitedSet:
        return KeepsOnRefusal()


class Miscounting(PlainSet):
    """Counts repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def add(self, url: str) -> bool:
        self.count += 1
        return super().add(url)

    def __len__(self) -> int:
        return self.count


class TestMiscounting(VisitedSetContract):
    FAILS = ("test_a_url_is_new_once", "test_it_is_a_set_whatever_is_called")

    def make_set(self, directory: Path) -> VisitedSet:
        return Miscounting()


class OnDisk(PlainSet):
    """Appends each URL to a file, and reads that when it is made: URLs that no ledger has admitted are known."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True, exist_ok=True)
        self.file = (directory / "urls").open("a+", buffering=1)
        self.file.seek(0)
        self.urls = dict.fromkeys(self.file.read().split())

    def add(self, url: str) -> bool:
        is_new = super().add(url)
        if is_new:
            self.file.write(f"{url}\n")
        return is_new

    async def aclose(self) -> None:
        self.file.close()


class TestOnDisk(VisitedSetContract):
    FAILS = ("test_after_kill_9_a_set_that_loads_no_snapshot_is_empty",)
    has_files = True

    def make_set(self, directory: Path) -> VisitedSet:
        return OnDisk(directory)


class AheadOfSnapshot(OnDisk):
    """Loads a snapshot, and keeps what it has read of its own file beside it."""

    def load(self, file: BinaryIO, /) -> None:
        urls = self.urls
        super().load(file)
        self.urls |= urls


class TestAheadOfSnapshot(VisitedSetContract):
    FAILS = ("test_after_kill_9_the_snapshot_is_the_state_or_is_refused",)
    has_files = True

    def make_set(self, directory: Path) -> VisitedSet:
        return AheadOfSnapshot(directory)


class RemembersRefused(PlainSet):
    """Writes what it has taken to a file. It raises `DiskFull`, and has remembered the batch all the same."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "urls"

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts = await super().add_many(urls)
        try:
            with self.path.open("ab") as file:
                file.write("\n".join(urls).encode())
        except OSError as error:
            raise DiskFull(str(error)) from error
        return verdicts


class TestRemembersRefused(VisitedSetContract):
    FAILS = (
        "test_a_disk_that_is_full_at_any_write_makes_no_answer_wrong",
        "test_a_disk_that_is_really_full_makes_no_answer_wrong",
    )
    has_files = True

    def make_set(self, directory: Path) -> VisitedSet:
        return RemembersRefused(directory)


class TestSaysThatItForgets(VisitedSetContract):
    FAILS = ("test_it_can_forget_if_its_descriptor_says_so",)
    descriptor = msgspec.structs.replace(descriptor("bloom"), can_forget=True)


class TestSaysThatItIsExact(VisitedSetContract):
    FAILS = ("test_it_is_exact_if_its_descriptor_says_so",)
    descriptor = msgspec.structs.replace(descriptor("bloom"), is_exact=True)


class AsksByAdding(PlainSet):
    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return [not self.add(url) for url in urls]


class TestAsksByAdding(VisitedSetContract):
    FAILS = ("test_it_can_be_asked_without_remembering",)

    def make_set(self, directory: Path) -> VisitedSet:
        return AsksByAdding()


class TestCostsLessThanNothing(VisitedSetContract):
    FAILS = ("test_its_formula_tells_what_it_costs",)
    descriptor = msgspec.structs.replace(descriptor("bloom"), cost=lambda *_: Cost(memory_bytes=-1.0))


class DumpsBadly(PlainSet):
    """Removes what it has written, as if the disk took all."""

    def dump(self, file: BinaryIO, /) -> None:
        content = io.BytesIO()
        super().dump(content)
        self.urls = {}
        file.write(content.getvalue())
        self.load(io.BytesIO(content.getvalue()))


class TestDumpsBadly(VisitedSetContract):
    FAILS = ("test_a_snapshot_that_finds_no_space_changes_nothing",)

    def make_set(self, directory: Path) -> VisitedSet:
        return DumpsBadly()


class TestGood(VisitedSetContract):
    """All of these tests can be passed."""

    FAILS = ()

    def make_set(self, directory: Path) -> VisitedSet:
        return make_own("exact")
