"""A crawl that runs deletes its old output, and does not refer to what is about to go."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from config import Loaded, load
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, read_layout, write_layout
from crawler.disk.pruned import Cycle, Pruned, read_pruned, write_pruned
from crawler.page import NotModified, Page, rfc3339
from crawler.prune import following
from crawler.prune.choosing import Keep
from crawler.prune.finished import output_files
from crawler.prune.keeping import Keeping, Referring
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.components.disk_space import DiskSpace, disk_space
from crawler.write.cdxj.making import index_of
from crawler.write.warc import WarcOptions, WarcSink
from frontier import CrawlUrl, VisitsSince
from frontier.pauses import Pauses
from frontier.visits import LastVisit
from tests.unit.prune.written import DAY_S, NOW, fetched_at, serials, whole, write
from tests.unit.write.samples import archived, page, record_of

BODY = b"<title>The same</title>" + b"x" * 600


def keeping(
    crawl: CrawlDirectory, keep: Keep, *, since: float = 0.0, forget_before: Callable[[int], None] = lambda _: None
) -> Keeping:
    referring = Referring(since=VisitsSince(at=since), forget_before=forget_before)
    return Keeping(
        lambda: [crawl],
        lambda _: True,
        own=crawl,
        keep=keep,
        referring=referring,
        clock=lambda: NOW,
        interval_s=0.01,
    )


def url(number: int, visited_at: float | None, *, visit: int | None = None) -> CrawlUrl:
    earlier = None if visited_at is None else LastVisit(visits=1, status=200, fetched_at=visited_at, number=visit)
    name = f"http://a.test/{number}"
    return CrawlUrl(url=name, canonical=name, queue_key="test,a", last_visit=earlier)


def wait_until_pruned(crawl: CrawlDirectory) -> None:
    until = time.monotonic() + MAX_WAIT_S
    while len(read_pruned(crawl).files) < 4 and time.monotonic() < until:
        time.sleep(0.01)


async def test_a_file_goes_at_the_second_look_that_chooses_it(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    told: list[int] = []
    kept = keeping(crawl, Keep(seconds=8.5 * DAY_S), forget_before=told.append)
    await kept.prune_once()
    assert len(output_files([crawl])) == 6
    await kept.prune_once()
    assert told == [3]  # nothing refers to it any more when it goes
    assert serials(output_files([crawl])) == [("records", 2), ("warc", 2)]


async def test_a_run_that_ends_before_the_second_look_deletes_what_was_chosen_before_its_first_request(
    tmp_path: Path,
) -> None:
    crawl = write(tmp_path / "own", [whole(number) for number in range(3)])
    other = write(tmp_path / "other", [whole(number) for number in range(3)])
    keep = Keep(seconds=8.5 * DAY_S)
    kept = Keeping(lambda: [other, crawl], lambda _: True, own=crawl, keep=keep, clock=lambda: NOW)
    await kept.prepare()
    assert len(output_files([crawl])) == 6  # a large file takes long, and requests need not wait for that
    await kept.prune_once()
    assert serials(output_files([crawl])) == [("records", 2), ("warc", 2)]
    assert len(output_files([other])) == 6  # requests of other parts are on their way


async def test_the_first_look_of_a_run_deletes_no_archive_to_which_one_refers_that_stays(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1), whole(2, BODY), whole(3)], revisits=10)
    shutil.rmtree(crawl.records)
    write_pruned(crawl, Pruned(cycles=[Cycle(began=rfc3339(fetched_at(0)), first=0)]))
    kept = keeping(crawl, Keep(bytes=sum(each.bytes for each in output_files([crawl])) - 1))
    await kept.prepare()
    await kept.prune_once()
    assert serials(output_files([crawl])) == [("warc", 3)]


async def test_it_prunes_while_it_runs_and_takes_another_setting_at_once(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(4)])
    kept = keeping(crawl, Keep())
    async with kept.running():
        kept.set_keep(Keep(seconds=8.5 * DAY_S))
        await asyncio.to_thread(wait_until_pruned, crawl)
    assert serials(output_files([crawl])) == [("records", 2), ("records", 3), ("warc", 2), ("warc", 3)]


async def test_what_cannot_be_deleted_now_is_told_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    crawl.pruned_numbers.write_bytes(b"in the way")
    kept = keeping(crawl, Keep(seconds=9.5 * DAY_S))
    await kept.prune_once()
    await kept.prune_once()
    assert "old output can't be deleted now" in caplog.text
    assert len(output_files([crawl])) == 6
    crawl.pruned_numbers.unlink()
    await kept.prune_once()
    assert len(output_files([crawl])) == 4


async def test_a_crawl_goes_on_if_there_is_no_room_to_find_out_what_is_needed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1), whole(2, BODY), whole(3)], revisits=10)
    kept = keeping(crawl, Keep(seconds=7.5 * DAY_S))
    with monkeypatch.context() as full:
        full.setattr(following, "_TABLES", f"PRAGMA max_page_count = 1; {following._TABLES}")
        await kept.prune_once()
    assert "old output can't be deleted now" in caplog.text
    assert "disk is full. Free some space on its disk, or set SQLITE_TMPDIR" in caplog.text
    for _ in range(2):
        await kept.prune_once()
    assert ("records", 0) not in serials(output_files([crawl]))


async def test_more_than_is_to_be_kept_is_told_once_when_nothing_else_may_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = write(tmp_path, [whole(0)])
    kept = keeping(crawl, Keep(bytes=1))
    for _ in range(3):
        await kept.prune_once()
    assert caplog.text.count("more than output.keep_bytes (1 B) stays") == 1


def test_a_server_may_say_that_a_page_is_unchanged_only_within_a_cycle(tmp_path: Path) -> None:
    kept = keeping(CrawlDirectory(tmp_path), Keep(), since=NOW - 5)
    assert kept.may_be_conditional(url(0, None))
    assert [kept.may_be_conditional(url(0, NOW - seconds)) for seconds in (9, 5, 1)] == [False, False, True]


@pytest.mark.parametrize("number", [0, 7])
def test_a_cycle_is_told_by_record_numbers_and_without_them_by_time(number: int) -> None:
    since = VisitsSince(number=number, at=NOW)
    for visit in (None, 6, 7):
        may_be_conditional = visit != 6 or number == 0
        earlier = [url(0, NOW + seconds, visit=visit).last_visit for seconds in (0, 1)]
        assert [each is not None and since.has(each) for each in earlier] == [False, may_be_conditional]


def test_a_page_that_waited_when_a_cycle_began_belongs_to_it_if_it_was_fetched_later_than_all_before() -> None:
    since = VisitsSince(number=7, at=NOW, latest_at=NOW + 5)
    visits = ((6, NOW + 5), (6, NOW + 6), (7, NOW), (7, NOW + 1))
    assert [since.has(LastVisit(visits=1, fetched_at=at, number=number)) for number, at in visits] == [
        *(False, True),
        *(False, True),
    ]


@pytest.mark.parametrize("keep", [Keep(seconds=5 * DAY_S), Keep(bytes=1)])
async def test_a_cycle_begins_a_look_after_the_last_one_was_over_and_meanwhile_pages_come_whole(
    tmp_path: Path, keep: Keep
) -> None:
    crawl = write(tmp_path, [whole(9)], first=9)
    told: list[int] = []
    since = NOW - 10 * DAY_S
    write_pruned(crawl, Pruned(cycles=[Cycle(began=rfc3339(since), first=0)]))
    kept = keeping(crawl, Keep(seconds=30 * DAY_S), forget_before=told.append, since=since)
    await kept.prepare()
    assert told == [0]
    told.clear()
    lately = url(0, NOW - 1)
    await kept.prune_once()
    assert (told, kept.may_be_conditional(lately)) == ([], True)
    kept.set_keep(keep)
    await kept.prune_once()
    assert (told, kept.may_be_conditional(lately)) == ([], False)
    await kept.prune_once()
    assert told == [1]
    assert read_pruned(crawl).cycles[-1:] == [Cycle(began=rfc3339(NOW), first=1)]
    assert not kept.may_be_conditional(lately)
    assert kept.may_be_conditional(url(0, NOW + 1))


async def test_a_crawl_that_starts_when_its_cycle_is_over_begins_one_before_its_first_request(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    loaded = load(None, overrides=["output.keep_s='5 d'"], environ={}, require_seeds=False)
    old = time.time() - 10 * DAY_S
    for file in output_files([crawl]):
        os.utime(file.path, (old, old))
    told: list[int] = []

    async def start() -> Keeping:
        space = _space(loaded, crawl, told.append)
        await space.keeping.prepare()
        return space.keeping

    before = time.time()
    kept = await start()
    assert told == [3]
    began = kept.since.at
    assert began >= before
    assert [kept.may_be_conditional(url(0, began + seconds)) for seconds in (-1, 1)] == [False, True]
    kept = await start()
    assert told == [3, 3]  # it goes on with the cycle
    assert kept.since.at == pytest.approx(began, abs=0.01)
    assert kept.since.number == 7


async def test_a_cycle_goes_on_when_all_archives_are_gone_and_what_it_promises_also_while_all_is_kept(
    tmp_path: Path,
) -> None:
    crawl = CrawlDirectory(tmp_path)
    write_pruned(crawl, Pruned(cycles=[Cycle(began=rfc3339(NOW), first=7)]))
    told: list[int] = []
    kept = keeping(crawl, Keep(), forget_before=told.append, since=NOW)
    await kept.prepare()
    assert told == [0]
    assert [cycle.first for cycle in read_pruned(crawl).cycles] == [0]


async def test_the_end_of_a_cycle_that_cannot_be_noted_is_told_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = write(tmp_path, [whole(9)], first=9)
    crawl.pruned.write_bytes(b"{")
    told: list[int] = []
    kept = keeping(crawl, Keep(seconds=DAY_S), forget_before=told.append)
    for _ in range(2):
        await kept.prune_once()
    assert "the archive can't begin anew now" in caplog.text
    assert not kept.may_be_conditional(url(0, NOW + 1))  # servers are asked for whole pages meanwhile
    crawl.pruned.unlink()
    await kept.prune_once()
    assert kept.may_be_conditional(url(0, NOW + 1))
    assert [cycle.began for cycle in read_pruned(crawl).cycles] == [rfc3339(NOW)]


def _space(loaded: Loaded, crawl: CrawlDirectory, forget_before: Callable[[int], None]) -> DiskSpace:
    pauses = Pauses(on_end=lambda: None)
    return disk_space(
        loaded.config,
        crawl,
        pauses,
        next_number=lambda: 7,
        latest_at=lambda: NOW,
        forget_before=forget_before,
    )


def _prepared(crawl: CrawlDirectory, *, archives: bool, is_resumed: bool = True) -> Keeping:
    cycles = read_pruned(crawl).cycles
    began = datetime.fromisoformat(cycles[-1].began).timestamp() if cycles else 0.0
    kept = keeping(crawl, Keep(), since=began)
    asyncio.run(kept.prepare(archives=archives, is_resumed=is_resumed))
    return kept


def test_the_archive_begins_anew_after_a_run_that_did_not_archive(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    lately = url(0, NOW - 1)
    assert _prepared(crawl, archives=True).may_be_conditional(lately)
    for _ in range(2):
        _prepared(crawl, archives=False)
    assert not read_pruned(crawl).cycles
    for _ in range(2):
        kept = _prepared(crawl, archives=True)
        assert [kept.may_be_conditional(each) for each in (lately, url(0, NOW + 1))] == [False, True]
    assert read_pruned(crawl) == Pruned(files=[], cycles=[Cycle(began=rfc3339(NOW), first=3)])


def test_the_archive_begins_with_whole_pages_if_no_run_before_archived(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "crawler.prune.keeping")
    crawl, lately = CrawlDirectory(tmp_path), url(0, NOW - 1)
    crawl.warc.mkdir()
    for archives, is_resumed in ((False, False), (False, True), (True, False)):
        _prepared(crawl, archives=archives, is_resumed=is_resumed)
        assert not crawl.pruned.exists()
    assert not _prepared(crawl, archives=True).may_be_conditional(lately)
    assert len(read_pruned(crawl).cycles) == 1
    _prepared(crawl, archives=True)
    assert len(read_pruned(crawl).cycles) == 1
    assert caplog.messages == ["the archive begins: nothing in it will refer to what was written before"]


def _divided(folder: Path, *names: str) -> list[CrawlDirectory]:
    """The parts of a crawl that had its archive in `before`."""
    write_layout(folder, msgspec.structs.replace(Layout.begin(len(names)), earlier=("before",)))
    return [CrawlDirectory(folder / name) for name in names]


def _opened_space(part: CrawlDirectory) -> DiskSpace:
    part.warc.mkdir(parents=True, exist_ok=True)
    return _space(load(None, overrides=["output.warc=true"], environ={}, require_seeds=False), part, lambda _: None)


def _began_anew(part: CrawlDirectory) -> bool:
    """Whether a part asks for a page as a whole that was visited before."""
    space = _opened_space(part)
    asyncio.run(space.keeping.prepare(is_resumed=True))
    return not space.keeping.may_be_conditional(url(0, 1.0))


@pytest.mark.parametrize("resumed", ["part-0", "before", "."])
def test_a_part_has_fetched_nothing_before_it_or_what_it_replaces_was_open(tmp_path: Path, resumed: str) -> None:
    part, _ = _divided(tmp_path, "part-0", "part-1")
    opened = CrawlDirectory(tmp_path / resumed)
    opened.path.mkdir(exist_ok=True)
    opened.write_configuration("")
    assert _opened_space(part).is_resumed == (resumed != ".")  # a machine writes that before any part has begun


def test_archives_of_another_part_tell_nothing_of_the_pages_of_a_part(tmp_path: Path) -> None:
    first, second = _divided(tmp_path, "part-0", "part-1")
    write(first.path, [whole(0)])
    assert [_began_anew(each) for each in (first, second)] == [False, True]
    assert not read_pruned(first).cycles


@pytest.mark.parametrize(
    ("noted", "begins"),
    [
        (Pruned(), []),
        (Pruned(lacks_pages=True), ["part-0", "part-1"]),
        (Pruned(cycles=[Cycle(began=rfc3339(NOW), first=0)]), []),
    ],
    ids=["archived", "lacks pages", "began anew"],
)
def test_a_part_heeds_what_the_archive_lacked_before_the_crawl_was_divided(
    tmp_path: Path, noted: Pruned, begins: Sequence[str]
) -> None:
    before = write(tmp_path / "before", [whole(0)])
    write_pruned(before, noted)
    parts = _divided(tmp_path, "part-0", "part-1")
    for _ in range(2):
        assert [_began_anew(each) for each in parts] == [noted != Pruned()] * 2
    assert [each.path.name for each in parts if read_pruned(each).cycles] == begins


def test_what_the_archive_lacked_counts_until_each_part_has_begun_anew(tmp_path: Path) -> None:
    """Also if the crawl is divided again and again."""
    before = write(tmp_path / "before", [whole(0)])
    write_pruned(before, Pruned(lacks_pages=True))
    began = Pruned(cycles=[Cycle(began=rfc3339(NOW), first=0)])
    layout = Layout.begin(1)
    for earlier, noted, begins in (
        ([("before",), ("a", "b")], {"a": began, "b": began}, False),
        ([("before",), ("a", "b")], {"a": began}, True),
        ([("before",), ("a", "b"), ("c",)], {"a": began, "c": began}, False),
        ([("before",), ("a", "b"), ("c",)], {"a": began, "b": Pruned(lacks_pages=True)}, True),
        ([("a", "b")], {"a": began, "b": began}, True),  # nobody knows when "before" was replaced
    ):
        for name in ("a", "b", "c"):
            (tmp_path / name).mkdir(exist_ok=True)
            write_pruned(CrawlDirectory(tmp_path / name), noted.get(name, Pruned()))
        (tmp_path / "part-0" / "pruned.json").unlink(missing_ok=True)
        names = ("before", *(name for names in earlier if names != ("before",) for name in names))
        write_layout(tmp_path, msgspec.structs.replace(layout, earlier=names, earlier_divisions=tuple(earlier)))
        part = CrawlDirectory(tmp_path / "part-0")
        _began_anew(part)
        assert bool(read_pruned(part).cycles) is begins


def test_pages_from_before_the_archive_are_fetched_whole_also_if_their_part_was_replaced_before_it_opened(
    tmp_path: Path,
) -> None:
    layout, parts = None, [CrawlDirectory(tmp_path)]
    for _ in range(2):
        layout = Layout.after(layout, tmp_path, 2)
        write_layout(tmp_path, layout)
        parts = [CrawlDirectory(each) for each in layout.directories(tmp_path)]
        for part in parts:
            part.path.mkdir()
        assert _began_anew(parts[0])
        write(parts[0].path, [whole(0)])
    assert _began_anew(parts[1])


def test_a_division_notes_which_parts_it_replaces(tmp_path: Path) -> None:
    layout = None
    for parts in (2, 3):
        layout = Layout.after(layout, tmp_path, parts)
        for path in layout.directories(tmp_path):
            path.mkdir()
        write_layout(tmp_path, layout)
    assert layout is not None
    assert layout.earlier_divisions == ((".",), ("part-0", "part-1"))
    assert read_layout(tmp_path) == layout


class _Returning:
    """A crawl that visits pages which never change, by a clock of its own."""

    def __init__(self, directory: Path, keep: Keep, *, answers_304: bool, waits: bool = False) -> None:
        self.crawl = CrawlDirectory(directory)
        self._waits = waits
        self.now = NOW
        self._answers_304 = answers_304
        self._number = 0
        self._visited_at: dict[int, float] = {}
        self._visit: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        """The numbers that pages have for their next visit, as if they waited since the last one."""
        self._fetched_at: list[float] = []
        self._sink = WarcSink(self.crawl.warc, WarcOptions(max_bytes=3_000, revisits=100), clock=lambda: self.now)
        self.kept = Keeping(
            lambda: [self.crawl],
            lambda _: True,
            own=self.crawl,
            keep=keep,
            clock=lambda: self.now,
            referring=Referring(
                next_number=lambda: self._number,
                latest_at=lambda: max(self._fetched_at, default=0.0),
                forget_before=self._sink.forget_before,
            ),
        )

    async def visit(self, number: int) -> None:
        fetched: Page | NotModified = msgspec.structs.replace(
            page(number, b"the page %d" % number), fetched_at=self.now
        )
        visited = url(number, self._visited_at.get(number), visit=self._visit.get(number))
        if self._answers_304 and visited.last_visit is not None and self.kept.may_be_conditional(visited):
            fetched = NotModified(url=fetched.url, status=304, headers=[], fetched_at=self.now, duration_s=0.1)
        waiting = self._waiting.get(number, self._number)
        self._number += waiting == self._number
        await self._sink.write(fetched, record_of(fetched, waiting))
        await asyncio.gather(*self._sink._sorting)
        self._visited_at[number], self._visit[number] = self.now, waiting
        self._fetched_at.append(self.now)
        if self._waits:
            self._waiting[number] = self._number
            self._number += 1
        for path in self.crawl.warc.iterdir():
            if path.stat().st_mtime < NOW:
                os.utime(path, (self.now, self.now))

    async def aclose(self) -> None:
        await self._sink.aclose()


@pytest.mark.parametrize("answers_304", [True, False])
@pytest.mark.parametrize("keep", [Keep(seconds=4 * DAY_S), Keep(bytes=40_000)])
async def test_however_often_a_crawl_comes_back_old_archives_go_and_no_revisit_lacks_its_body(
    tmp_path: Path, keep: Keep, *, answers_304: bool
) -> None:
    crawl, pages = _Returning(tmp_path, keep, answers_304=answers_304), 6
    for visit in range(16 * pages):
        crawl.now = NOW + visit * DAY_S / pages
        await crawl.visit(visit % pages)
        await crawl.kept.prune_once()
        archives = [file for file in output_files([crawl.crawl]) if file.is_archive]
        if keep.seconds is not None:
            # Twice as long, beside some looks, and the pages of a day in one file.
            assert crawl.now - min(file.written_at for file in archives) <= 2 * keep.seconds + 1.5 * DAY_S
        if keep.bytes is not None:
            assert sum(file.bytes for file in archives) <= keep.bytes + 10_000
    await crawl.aclose()
    assert _checked_revisits(crawl.crawl)


def _checked_revisits(crawl: CrawlDirectory) -> int:
    """How many revisit records an archive has, of which none lacks its body."""
    had, revisits = set[str](), 0
    for each in archived(crawl.warc):
        whose = {each.fields.get("WARC-Payload-Digest", ""), each.fields.get("WARC-Target-URI", "")} - {""}
        if each.kind == "response":
            had |= whose
        if each.kind == "revisit":
            revisits += 1
            assert whose & had
    return revisits


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("answers_304", [True, False])
@pytest.mark.parametrize(
    ("keep", "back_days", "every"),
    [(Keep(seconds=2 * DAY_S), 0.9, 17), (Keep(bytes=40_000), 0.4, 7), (Keep(bytes=40_000), 400, 17)],
)
async def test_no_revisit_lacks_its_body_however_often_the_clock_is_set_back(
    tmp_path: Path, keep: Keep, back_days: float, every: int, *, answers_304: bool, waits: bool
) -> None:
    crawl = _Returning(tmp_path, keep, answers_304=answers_304, waits=waits)
    pages, visits = 6, 150 if keep.seconds else 100
    crawl.now += visits / every * back_days * DAY_S
    revisits = 0
    for visit in range(visits):
        crawl.now += DAY_S / 15 - (back_days * DAY_S if visit % every == 0 else 0)
        await crawl.visit(visit % pages)
        await crawl.kept.prune_once()
        if visit % pages == 0:
            revisits += _checked_revisits(crawl.crawl)
    await crawl.aclose()
    assert revisits
    assert read_pruned(crawl.crawl).files


async def test_an_archive_refers_to_nothing_before_a_moment(tmp_path: Path) -> None:
    body = b"x" * 100
    sink = WarcSink(tmp_path, WarcOptions(revisits=10))
    for number, serial in enumerate((0, 0, 1, 0)):
        sink.forget_before(serial)
        fetched = whole(number, body)
        await sink.write(msgspec.structs.replace(fetched, url="http://a.test/"), record_of(fetched, number))
    await sink.aclose()
    kinds = [each.kind for each in archived(tmp_path) if each.kind in {"response", "revisit"}]
    assert kinds == ["response", "revisit", "response", "revisit"]


async def test_what_an_archive_may_refer_to_after_a_restart_follows_from_the_numbers_of_its_files(
    tmp_path: Path,
) -> None:
    bodies = [BODY, BODY + b"1"]
    for number in range(6):  # two pages that never change, by a clock that is set back
        fetched = msgspec.structs.replace(whole(number % 2, bodies[number % 2]), fetched_at=NOW - number)
        sink = WarcSink(tmp_path, WarcOptions(revisits=10))
        await sink.begin()
        sink.forget_before(0 if number < 4 else 1)
        await sink.write(fetched, record_of(fetched, number))
        await sink.aclose()
    kinds = [each.kind for each in archived(tmp_path) if each.kind in {"response", "revisit"}]
    assert kinds == ["response", "response", "revisit", "revisit", "response", "revisit"]


async def test_an_archive_begins_anew_with_a_new_file(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, WarcOptions(revisits=10))
    for number, serial in enumerate((0, 0, 1, 1)):
        await sink.write(whole(number), record_of(whole(number), number))
        sink.forget_before(serial)
    await sink.aclose()
    files = [each.file.split("-")[-1] for each in archived(tmp_path) if each.kind == "response"]
    assert files == ["00000.warc.gz"] * 3 + ["00001.warc.gz"]


@pytest.mark.parametrize(("part", "mine"), [("part-0", [".", "part-0"]), ("part-1", ["part-1"])])
async def test_each_part_deletes_its_own_and_the_first_what_is_older_than_all(
    tmp_path: Path, part: str, mine: Sequence[str]
) -> None:
    before = Layout.begin(2)
    write_layout(tmp_path, msgspec.structs.replace(before, earlier=(".",)))
    places = [write(tmp_path / name, [whole(number) for number in range(3)]) for name in (".", "part-0", "part-1")]
    loaded = load(None, overrides=["output.keep_bytes=1000"], environ={}, require_seeds=False)
    space = _space(loaded, CrawlDirectory(tmp_path / part), lambda _: None)
    for _ in range(2):
        await space.keeping.prune_once()
    pruned = [str(each.path.relative_to(tmp_path)) for each in places if read_pruned(each).files]
    assert pruned == mine


async def test_a_damaged_list_of_one_part_keeps_no_other_from_deleting_and_costs_it_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = [write(tmp_path / name, [whole(number) for number in range(3)]) for name in ("part-0", "part-1")]
    sizes = [file.bytes for file in output_files(places)]
    keep = Keep(bytes=sum(sizes) - 2 * max(sizes))  # what is left of two parts without the oldest files of each
    healthy = Keeping(lambda: places, lambda _: True, own=places[0], keep=keep, clock=lambda: NOW)
    for _ in range(2):
        await healthy.prune_once()
    expected = serials(output_files(places[1:]))
    assert len(expected) < 6

    again = [write(tmp_path / name, [whole(number) for number in range(3)]) for name in ("again-0", "again-1")]
    again[0].pruned.write_bytes(b"{")
    damaged = Keeping(lambda: again, lambda _: True, own=again[1], keep=keep, clock=lambda: NOW)
    for _ in range(2):
        await damaged.prune_once()
    assert serials(output_files(again[1:])) == expected
    assert len(output_files(again[:1])) == 6
    assert caplog.text.count(f"old output can't be deleted now: {again[0].pruned} can't be read") == 2


async def test_what_an_archive_refers_to_stays_if_a_damaged_list_keeps_that_archive(tmp_path: Path) -> None:
    both = write(tmp_path / "both", [whole(0, BODY), whole(1), whole(2, BODY), whole(3)], revisits=10)
    first, second = (CrawlDirectory(tmp_path / name) for name in ("part-0", "part-1"))
    for file, (_, serial) in zip(files := output_files([both]), serials(files), strict=True):
        for path in filter(Path.exists, (file.path, index_of(file.path))):
            place = (first, second)[serial // 2].path / file.path.parent.name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
    second.pruned.write_bytes(b"{")
    keep = Keep(seconds=7.5 * DAY_S)
    kept = Keeping(lambda: [first, second], lambda _: True, own=first, keep=keep, clock=lambda: NOW)
    for _ in range(2):
        await kept.prune_once()
    assert serials(output_files([first])) == [("records", 1), ("warc", 0)]
