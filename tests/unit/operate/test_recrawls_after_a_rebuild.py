"""What `recrawl` and `add` have queued is queued again when a frontier is rebuilt from the output."""

import asyncio
import errno
import gzip
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from config import load
from crawler import crawl_sync
from crawler.control.requests import MAX_URLS, Add, Import, Recrawl
from crawler.control.selections import Selection
from crawler.control.wire import MAX_REQUEST_BYTES, encode_request
from crawler.disk.clearing import clear_crawl
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.disk.layout import part_directories
from crawler.operate.actions import added, noting
from crawler.operate.actions.exported import Line, read_line
from crawler.operate.actions.imported import divide_imported, note_imported, read_imported
from crawler.operate.actions.noting import (
    Added,
    Recrawled,
    divide_noted,
    note_added,
    note_recrawl,
    read_added,
    read_recrawls,
)
from crawler.operate.refused import Refused
from crawler.operate.upkeep import repairing
from crawler.page import PageRecord
from crawler.wiring import seeding
from crawler.wiring.components.discovering import read_url
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl, Frontier, Recovering
from frontier.descriptor import Durability
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, StoredCrawl, make, settle, url_of


def pending(crawl: StoredCrawl) -> set[str]:
    return {str(line["url"]) for line in crawl.lines(crawl.run("frontier", "export", "DIR", "--pending"))}


def rebuild(crawl: StoredCrawl) -> str:
    ended = crawl.run("frontier", "rebuild", "DIR", "--from-records")
    assert ended.code == 0, ended.err
    return ended.err


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_waits_again_waits_after_a_rebuild(parts: int, tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=parts)
    before = pending(crawl)
    rebuild(crawl)
    assert pending(crawl) == before
    assert crawl.do("recrawl", "--failed").code == 0
    assert crawl.do("recrawl", "--host", HOSTS[0], "--whole").code == 0
    # Nothing is so old.
    assert crawl.do("recrawl", "--matching", "/0$", "--older-than", "300000d").code == 0
    queued = pending(crawl)
    assert len(queued - before) == len(HOSTS) + SETTLED - 1
    assert "queued again, as `recrawl` or `add` had done before" in rebuild(crawl)
    assert pending(crawl) == queued
    assert "queued again, as `recrawl` or `add` had done before" in rebuild(crawl)
    assert pending(crawl) == queued
    assert len(crawl.exported()) == len(HOSTS) * EACH
    assert crawl.look("fsck").code == 0


def test_what_waits_again_waits_after_a_division_and_a_rebuild(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("recrawl", "--host", HOSTS[0]).code == 0
    assert crawl.do("recrawl", "--failed").code == 0
    queued = pending(crawl)
    for parts in (PARTS, 1):
        assert crawl.run("parts", "DIR", "--into", str(parts)).code == 0
        rebuild(crawl)
        assert pending(crawl) == queued


def test_what_each_part_has_queued_again_waits_after_a_division_and_a_rebuild(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    assert crawl.do("recrawl", "--older-than", "0s").code == 0
    queued = pending(crawl)
    assert len(queued) == len(HOSTS) * EACH
    for parts in (2, 1):
        assert crawl.run("parts", "DIR", "--into", str(parts)).code == 0
        rebuild(crawl)
        assert pending(crawl) == queued


def test_a_repair_that_ends_before_it_has_queued_again_does_so_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("recrawl").code == 0
    queued = pending(crawl)
    for path in CrawlDirectory(crawl.directory).frontier.glob("*.l*"):
        path.write_bytes(b"damaged" * 2000)
    with monkeypatch.context() as patch:
        patch.setattr(repairing, "recrawl_noted", fail)
        assert crawl.look("fsck", "--repair").code == 1
    assert pending(crawl) != queued
    assert "queued again, as `recrawl` or `add` had done before" in crawl.look("fsck", "--repair").err
    assert pending(crawl) == queued


async def fail(*_: object) -> int:
    raise OSError("the process ends")


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_was_added_waits_after_a_rebuild_and_after_a_division(parts: int, tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=parts, settings=["scope.within=any"])
    before = pending(crawl)
    assert crawl.do("add", *(url_of(host, number) for host in HOSTS[:4] for number in (0, EACH)), "--force").code == 0
    assert crawl.do("add", url_of(HOSTS[5], EACH), url_of(HOSTS[5], 0), url_of(HOSTS[5], EACH - 1)).code == 0
    queued = pending(crawl)
    assert len(queued - before) == 4 * 2 + 1
    assert "queued again, as `recrawl` or `add` had done before" in rebuild(crawl)
    assert pending(crawl) == queued
    assert crawl.run("parts", "DIR", "--into", str(PARTS if parts == 1 else 1)).code == 0
    rebuild(crawl)
    assert pending(crawl) == queued
    assert crawl.look("fsck").code == 0


def test_what_was_added_and_visited_since_or_stands_in_a_damaged_line_is_not_queued(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before, path = pending(crawl), CrawlDirectory(crawl.directory).added
    assert crawl.do("add", url_of(HOSTS[0], 0), url_of(HOSTS[0], EACH), "--force").code == 0
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(*read_added(path), at=-1.0)) + b'\n{"at": 2.0, "req')
    assert crawl.do("add", url_of(HOSTS[1], 1), "no URL:", "--force").code == 1
    assert [len(each.request.urls) for each in read_added(path)] == [2, 1]
    rebuild(crawl)
    assert pending(crawl) == before | {url_of(HOSTS[0], EACH), url_of(HOSTS[1], 1)}


def test_what_was_added_together_is_queued_together_after_a_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl", settings=["scope.within=any"])
    added = [url_of(HOSTS[0], number) for number in range(EACH, EACH + 120)]
    assert crawl.do("add", *added).code == 0
    enqueue, counts = seeding.enqueue, list[int]()

    async def count(frontier: Frontier, urls: Sequence[CrawlUrl], *, force: bool) -> int:
        counts.append(len(urls))
        return await enqueue(frontier, urls, force=force)

    monkeypatch.setattr(seeding, "enqueue", count)
    rebuild(crawl)
    assert counts == [50, 50, 20]
    assert pending(crawl) >= {*added}


def test_what_was_added_keeps_its_precedence_and_depth_though_a_page_links_to_it(tmp_path: Path) -> None:
    crawl, linked = make(tmp_path / "crawl"), url_of(HOSTS[0], EACH)
    assert crawl.do("add", linked, "--precedence", "3", "--force").code == 0
    [path] = CrawlDirectory(crawl.directory).records.iterdir()
    first, *others = path.read_bytes().splitlines(keepends=True)
    page = msgspec.json.decode(first, type=PageRecord)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(page, references=[linked])) + b"\n" + b"".join(others))
    rebuild(crawl)
    [found] = [line for line in crawl.exported() if line["url"] == linked]
    assert (found["precedence"], found.get("depth", 0), found["kind"], found["hit_count"]) == (3, 0, "seed", 1)


def test_what_was_forgotten_and_added_waits_after_a_rebuild(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", settings=["scope.within=any"])
    assert crawl.do("forget", url_of(HOSTS[0], 0)).code == 0
    assert crawl.do("add", url_of(HOSTS[0], 0)).code == 0
    queued = pending(crawl)
    rebuild(crawl)
    assert pending(crawl) == queued


def test_what_had_no_answer_since_does_not_wait_after_a_rebuild(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS, settings=["scope.within=any"])
    settle_all(crawl)
    assert crawl.do("recrawl", "--failed").code == 0
    assert crawl.do("add", url_of(HOSTS[0], 0), url_of(HOSTS[1], EACH), "--force").code == 0
    queued = pending(crawl)
    for _ in range(2):  # what is queued by a rebuild is through in the same way
        rebuild(crawl)
        assert pending(crawl) == queued
    settle_all(crawl)
    for _ in range(2):
        rebuild(crawl)
        assert pending(crawl) == set()
    assert crawl.look("fsck").code == 0


def test_what_had_no_answer_since_does_not_wait_after_parts_were_merged(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    settle_all(crawl)
    assert crawl.do("recrawl", "--failed").code == 0
    queued = pending(crawl)
    assert queued
    part = part_directories(crawl.directory)[0]
    waiting = {
        str(line["url"]) for line in crawl.lines(crawl.run("frontier", "export", "DIR", "--pending", "--part", "0"))
    }
    settle(part, len(waiting))  # of this part alone: the others have lower numbers, and still wait
    for parts in (1, 2, 1):
        assert crawl.run("parts", "DIR", "--into", str(parts)).code == 0
        rebuild(crawl)
        assert pending(crawl) == queued - waiting
    assert queued > waiting
    assert crawl.look("fsck").code == 0


def settle_all(crawl: StoredCrawl) -> None:
    for number, place in enumerate(part_directories(crawl.directory)):
        waiting = crawl.lines(crawl.run("frontier", "export", "DIR", "--pending", "--part", str(number)))
        settle(place, len(waiting))
    assert pending(crawl) == set()


def test_what_a_program_adds_waits_after_a_rebuild(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before, urls = pending(crawl), [url_of(HOSTS[0], number) for number in (0, EACH, EACH + 1)]
    with crawl_sync(directory=crawl.directory, seeds=[url_of(HOSTS[0], 0)]) as program:
        assert program.add(urls) == 2
        assert program.add("host-9.test", force=True) == 1
        assert program.add(urls[:1], force=True) == 1
        CrawlDirectory(crawl.directory).added.rename(tmp_path / "noted")
        CrawlDirectory(crawl.directory).added.mkdir()
        with pytest.raises(OSError, match=r"added\.jsonl"):
            program.add(url_of(HOSTS[0], EACH + 2))
        CrawlDirectory(crawl.directory).added.rmdir()
        (tmp_path / "noted").rename(CrawlDirectory(crawl.directory).added)
    queued = pending(crawl)
    assert queued == {*before, *urls, "https://host-9.test/"}
    rebuild(crawl)
    assert pending(crawl) == queued


def test_what_a_program_adds_waits_for_disk_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl, waits = make(tmp_path / "crawl"), list[OSError]()

    def note(*_: object, **__: object) -> None:
        if not waits:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def wait(_: FullDiskRetry, error: OSError, plugin: str | None) -> None:
        assert plugin is None
        waits.append(error)

    monkeypatch.setattr(added, "note_added", note)
    monkeypatch.setattr(FullDiskRetry, "_wait", wait)
    with crawl_sync(directory=crawl.directory, seeds=[url_of(HOSTS[0], 0)]) as program:
        assert program.add(url_of(HOSTS[0], EACH)) == 1
    assert len(waits) == 1


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_was_imported_is_known_after_a_rebuild_and_a_division(
    parts: int, durability: Durability, tmp_path: Path
) -> None:
    crawl = make(tmp_path / "crawl", parts=parts, settings=[f"frontier.durability={durability}"])
    lines: list[dict[str, object]] = [
        {"url": url_of("new.test", 0), "state": "done", "status": 200, "depth": 3},
        {"url": url_of("new.test", 1), "precedence": 7, "depth": 2, "hit_count": 4},
        {"url": url_of(HOSTS[0], EACH), "state": "failed", "reason": "dns"},
        {"url": url_of(HOSTS[1], EACH)},
        {"url": url_of(HOSTS[1], 0), "state": "failed", "reason": "dns"},  # known
    ]
    path = tmp_path / "lines"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    for _ in range(2):
        assert crawl.run("frontier", "import", "DIR", str(path)).code == 0
    assert crawl.do("recrawl", "--host", HOSTS[0]).code == 0
    before, noted = told(crawl), noted_lines(crawl)
    assert noted == sorted(str(line["url"]) for line in lines[:-1])
    with CrawlDirectory(part_directories(crawl.directory)[0]).imported.open("ab") as file:
        file.write(gzip.compress(b"torn", mtime=0)[:-3])
    assert "entered again, as an import had done before" in rebuild(crawl)
    assert told(crawl) == before
    for number in (2, 1):
        assert crawl.run("parts", "DIR", "--into", str(number)).code == 0
        assert noted_lines(crawl) == noted
        rebuild(crawl)
        assert told(crawl) == before
    assert crawl.look("fsck").code == 0
    with CrawlDirectory(part_directories(crawl.directory)[0]) as directory:
        clear_crawl(directory)
        assert not directory.imported.exists()


def test_an_import_with_a_line_that_is_no_url_enters_and_notes_nothing(tmp_path: Path) -> None:
    crawl, path = make(tmp_path / "crawl"), tmp_path / "lines"
    lines = [{"url": url_of("new.test", 0)}, {"url": "ftp://new.test/", "canonical": url_of("new.test", 1)}]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    before = pending(crawl)
    assert crawl.run("frontier", "import", "DIR", str(path)).code != 0
    assert (pending(crawl), noted_lines(crawl)) == (before, [])


def test_all_lines_of_the_longest_request_are_noted(tmp_path: Path) -> None:
    urls = [{"url": f"http://a.test/{number:x>1023}"} for number in range(MAX_URLS)]
    request = encode_request(Import(lines=[msgspec.Raw(msgspec.json.encode(url)) for url in urls]))
    assert len(request) > MAX_REQUEST_BYTES - MAX_URLS
    lines = [read_line(msgspec.json.encode(url)) for url in urls]
    note_imported(tmp_path / "logs" / "lines", lines, syncs=False)
    assert list(read_imported(tmp_path / "logs" / "lines")) == [lines]


def test_imported_lines_are_on_the_disk_once_they_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, targets = CrawlDirectory(tmp_path / "source"), [CrawlDirectory(tmp_path / name) for name in "abc"]
    for each in (source, *targets):
        each.path.mkdir()
    for number in range(20):
        note_imported(source.imported, [Line(url=f"http://{name}.test/{number}") for name in "ab"], syncs=False)
    synced, fsync = list[tuple[str, int]](), os.fsync

    def note(descriptor: int) -> None:
        synced.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), os.fstat(descriptor).st_size))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    read = partial(read_url, load(None, environ={}, require_seeds=False).config)
    divide_imported([source], targets, owner_of=lambda canonical: "abc".index(canonical[7]), read=read)
    files = [each.imported for each in targets[:2]]
    assert [each for each in synced if each[0].endswith(".gz")] == [(str(each), each.stat().st_size) for each in files]
    assert [sum(map(len, read_imported(each.imported))) for each in targets] == [20, 20, 0]


def test_links_of_imported_lines_are_not_counted_again_by_a_repair(tmp_path: Path) -> None:
    crawl, path = make(tmp_path / "crawl"), tmp_path / "lines"
    path.write_bytes(msgspec.json.encode({"url": url_of(HOSTS[1], EACH), "hit_count": 4}))
    assert crawl.run("frontier", "import", "DIR", str(path)).code == 0
    before = crawl.exported()
    asyncio.run(lose_one(crawl))
    assert "from the output: 0 settled URLs" in crawl.look("fsck", "--repair").err
    assert crawl.exported() == before


async def lose_one(crawl: StoredCrawl) -> None:
    directory = CrawlDirectory(crawl.directory)
    with directory:
        loaded = load(directory.configuration, environ={}, require_seeds=False)
        state = open_state(loaded.config, directory)
        visited = visited_set(loaded.config, directory, state.knows_many)
        frontier = await state.open_frontier(visited)
        assert isinstance(frontier, Recovering)
        await frontier.set_lost(1)
        await frontier.aclose()
        await visited.aclose()


def told(crawl: StoredCrawl) -> list[list[object]]:
    """Of the URLs that were imported."""
    names = ("url", "state", "precedence", "depth", "status", "reason", "hit_count")
    found = [[line.get(name) for name in names] for line in crawl.exported()]
    return [line for line in found if "new.test" in str(line) or str(line[0]).endswith(f"/{EACH}")]


def noted_lines(crawl: StoredCrawl) -> list[str]:
    paths = [CrawlDirectory(place).imported for place in part_directories(crawl.directory)]
    return sorted(line.url for path in paths for lines in read_imported(path) for line in lines)


def test_what_can_not_be_noted_is_not_imported(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = pending(crawl)
    CrawlDirectory(crawl.directory).imported.mkdir(parents=True)
    path = tmp_path / "lines"
    path.write_bytes(msgspec.json.encode({"url": url_of(HOSTS[0], EACH)}))
    ended = crawl.run("frontier", "import", "DIR", str(path))
    assert (ended.code, "not all was entered, because that can't be noted" in ended.err) == (2, True), ended.err
    assert pending(crawl) == before


def test_the_list_of_what_was_added_begins_anew_when_nothing_waits_and_stays_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noting, "_MOST_BYTES", 1000)
    path, copying = tmp_path / "logs" / "added.jsonl", tmp_path / "copying"
    for number in range(100):
        if number == 5:
            copying.hardlink_to(path)
        added = Added(at=0.0, request=Add(urls=[str(number)]))
        note_added(path, [added], is_first=number == 5, durability="process")
        assert path.stat().st_size <= 1000
        assert read_added(path)[-1].request.urls == [str(number)]
        assert len(read_added(path)) >= min(number - 4, 5)
    assert read_added(path)[0].request.urls > ["80"]
    assert len(read_added(copying)) == 5


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_is_forgotten_after_a_division_and_a_rebuild_is_missed_by_nobody(parts: int, tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=1 if parts > 1 else PARTS)
    assert crawl.run("parts", "DIR", "--into", str(parts)).code == 0
    rebuild(crawl)
    assert crawl.do("forget", url_of(HOSTS[0], 0)).code == 0
    assert (crawl.look("fsck").code, crawl.look("verify").code) == (0, 0)


def test_a_list_that_is_damaged_or_names_no_pattern_keeps_no_crawl_from_being_rebuilt(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before, noted = pending(crawl), CrawlDirectory(crawl.directory).recrawls
    for content in (b"[{", msgspec.json.encode([Recrawled(request=Recrawl(which=Selection(matching="(")))])):
        noted.parent.mkdir(exist_ok=True)
        noted.write_bytes(content)
        assert "recrawl" not in rebuild(crawl)
        assert pending(crawl) == before


def test_a_crawl_that_begins_anew_has_no_list(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("recrawl").code == 0
    assert CrawlDirectory(crawl.directory).recrawls.exists()
    with CrawlDirectory(crawl.directory) as directory:
        clear_crawl(directory)
        assert not directory.recrawls.exists()


def test_a_selection_takes_the_place_of_an_earlier_one_and_is_through_when_nothing_waits(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "recrawls.json"
    assert read_recrawls(path) == []
    note_recrawl(path, Recrawl(which=Selection(host="a.test", before=2.0)), number=None, is_first=False)
    note_recrawl(path, Recrawl(which=Selection(before=3.0)), number=None, is_first=False)
    note_recrawl(path, Recrawl(which=Selection(host="a.test", before=1.0)), number=None, is_first=False)
    assert [(each.request.which.host, each.request.which.before) for each in read_recrawls(path)] == [
        ("", 3.0),
        ("a.test", 2.0),
    ]
    for number in range(200):
        note_recrawl(path, Recrawl(which=Selection(host=f"{number}.test")), number=None, is_first=False)
    noted = read_recrawls(path)
    assert (len(noted), noted[-1].request.which.host, noted[-1].request.which.before is None) == (
        100,
        "199.test",
        False,
    )
    note_recrawl(path, Recrawl(), number=None, is_first=True)
    assert [each.request.which.host for each in read_recrawls(path)] == [""]


def test_the_list_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    path, earlier = tmp_path / "recrawls.json", [Recrawl(which=Selection(host="a.test", before=2.0))]
    path.write_bytes(msgspec.json.encode(earlier))
    assert read_recrawls(path) == [Recrawled(request=each) for each in earlier]
    note_recrawl(path, Recrawl(), number=7, is_first=False)
    assert [(each.numbers, each.request.which.host) for each in read_recrawls(path)] == [((), "a.test"), ((7,), "")]
    with_number = [{"number": 8, "request": Recrawl()}, {"number": None, "request": Recrawl()}]
    path.write_bytes(msgspec.json.encode(with_number))
    assert [each.numbers for each in read_recrawls(path)] == [(8,), ()]


def test_merged_parts_have_the_numbers_of_all_unless_one_does_not_tell_any(tmp_path: Path) -> None:
    first, second, merged = (CrawlDirectory(tmp_path / name) for name in ("first", "second", "merged"))
    for place, told, number in ((first, True, 5), (second, True, 6 << 40), (first, False, 7), (second, False, None)):
        place.path.mkdir(exist_ok=True)
        request = Recrawl(which=Selection(host="a.test" if told else "b.test"))
        note_recrawl(place.recrawls, request, number=number, is_first=False)
    merged.path.mkdir()
    divide_noted([first, second], [merged])
    numbers = {each.request.which.host: each.numbers for each in read_recrawls(merged.recrawls)}
    assert numbers == {"a.test": (5, 6 << 40), "b.test": ()}
    assert read_recrawls(first.recrawls)[0].numbers == (5,)


def test_what_can_not_be_noted_is_not_queued(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = pending(crawl)
    CrawlDirectory(crawl.directory).recrawls.mkdir(parents=True)
    ended = crawl.do("recrawl")
    assert (ended.code, "nothing was queued, because that can't be noted" in ended.err) == (2, True)
    assert pending(crawl) == before
    with pytest.raises(Refused):
        note_recrawl(CrawlDirectory(crawl.directory).recrawls, Recrawl(), number=None, is_first=True)
    CrawlDirectory(crawl.directory).added.mkdir()
    ended = crawl.do("add", url_of(HOSTS[0], 0), "--force")
    assert (ended.code, "not all was queued, because that can't be noted" in ended.err) == (2, True)
    assert pending(crawl) == before


@pytest.mark.parametrize("durability", ["process", "power"])
def test_what_was_added_is_noted_on_the_disk_if_the_frontier_is_there(
    durability: Durability, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, synced = make(tmp_path / "crawl", settings=[f"frontier.durability={durability}"]), list[str]()
    path, fsync = CrawlDirectory(crawl.directory).added, os.fsync

    def note(descriptor: int) -> None:
        content = path.read_bytes() if path.exists() else b""
        synced.append(f"{Path(f'/proc/self/fd/{descriptor}').readlink()} {len(content)}")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    assert crawl.do("add", url_of(HOSTS[0], EACH), "--force").code == 0
    is_synced = [f"{each} {path.stat().st_size}" in synced for each in (path, path.parent)]
    assert is_synced == [durability == "power"] * 2


def test_parts_that_have_noted_the_same_do_not_double_it_when_they_are_divided_again(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("add", url_of(HOSTS[0], EACH), "--force").code == 0
    assert crawl.do("add", url_of(HOSTS[1], EACH), "--force").code == 0
    noted = read_added(CrawlDirectory(crawl.directory).added)
    for parts in (PARTS, 2):
        assert crawl.run("parts", "DIR", "--into", str(parts)).code == 0
    assert [read_added(CrawlDirectory(each).added) for each in part_directories(crawl.directory)] == [noted] * 2
