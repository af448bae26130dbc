"""`onceover parts` divides a crawl anew, and goes on wherever it was stopped."""

import os
import shutil
from collections.abc import Callable, Iterator
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path

import plyvel
import pytest

from config import load
from crawler.disk.clearing import clear_crawl
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories, read_division, read_layout, record_directories, write_layout
from crawler.operate.upkeep import dividing
from crawler.parts.ownership import Ownership
from crawler.repeats.stored import StoredFingerprints, read_fingerprints
from crawler.url.hosts import installed_suffixes, use_suffixes
from crawler.write.records import read_records
from frontier import StoreFull
from frontier.regroup import regroup as steps
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, USAGE, Ended
from tests.e2e.operating import command_here
from tests.full_disk import no_space
from tests.unit.operate.stored_crawls import HOSTS, SETTLED, StoredCrawl, make, queue_of


class Stopped(BaseException):
    """Ends the command as a kill would, but not the process."""


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    return make(tmp_path / "crawl")


def parts(crawl: StoredCrawl, into: int, *more: str) -> Ended:
    return command_here("parts", str(crawl.directory), "--into", str(into), *more)


def ledger(crawl: StoredCrawl) -> list[object]:
    return list(crawl.lines(command_here("frontier", "export", str(crawl.directory))))


def hosts(crawl: StoredCrawl) -> set[tuple[object, object]]:
    queues = crawl.lines(crawl.look("queues", "--json"))
    return {(each["key"], each["size"]) for each in queues}


def assert_sound(crawl: StoredCrawl) -> None:
    ended = crawl.look("fsck")
    assert "no problems" in ended.out, ended.out
    assert ended.code == COMPLETE


def test_a_crawl_gets_parts_and_loses_them_again_and_stays_the_same(crawl: StoredCrawl) -> None:
    before = ledger(crawl)
    for into in (4, 3, 1):
        ended = parts(crawl, into, "--json")
        assert ended.code == COMPLETE, ended.err
        assert ended.json()["urls"] == len(before)
        assert ended.json()["parts"] == into == len(part_directories(crawl.directory))
        assert ledger(crawl) == before
        assert_sound(crawl)
    layout = read_layout(crawl.directory)
    assert layout is not None
    lineages = 4 + 3 + 1
    assert layout.next_lineage == lineages + 1
    assert len(layout.earlier) == 1 + 4 + 3


def test_each_part_gets_the_fingerprints_of_its_pages(crawl: StoredCrawl) -> None:
    known = StoredFingerprints(CrawlDirectory(crawl.directory).fingerprints)
    for number, host in enumerate(HOSTS):
        known.add(number << 40, number=number, url=f"http://{host}/a b")
    known.close()
    for into in (3, 2, 1):
        assert parts(crawl, into).code == COMPLETE
        owner = Ownership(into).owner
        found: list[tuple[int, int, str]] = []
        for part, directory in enumerate(part_directories(crawl.directory)):
            folder = CrawlDirectory(directory).fingerprints
            found += read_fingerprints(folder)
            divided = StoredFingerprints(folder)
            for number, host in enumerate(HOSTS):
                near = divided.find(number << 40 | 1, 1, url="http://other.test/")
                assert (near is not None) == (owner(queue_of(host)) == part)
            divided.close()
        assert sorted(found) == [(number << 40, number, f"http://{host}/a b") for number, host in enumerate(HOSTS)]
    assert not CrawlDirectory(crawl.directory).fingerprints.exists()


def test_old_output_stays_and_is_read(crawl: StoredCrawl) -> None:
    assert parts(crawl, 3).code == COMPLETE
    assert not CrawlDirectory(crawl.directory).frontier.exists()
    assert not CrawlDirectory(crawl.directory).visited.exists()
    folders = record_directories(crawl.directory)
    assert folders[0] == crawl.directory / "records"
    assert len(list(read_records(*folders))) == len(HOSTS) * SETTLED


def test_what_a_command_says_of_the_crawl_is_the_same(crawl: StoredCrawl) -> None:
    before, status = hosts(crawl), command_here("status", str(crawl.directory), "--json").json()["frontier"]
    assert parts(crawl, 4).code == COMPLETE
    assert hosts(crawl) == before
    after = command_here("status", str(crawl.directory), "--json").json()["frontier"]
    names = ("admitted", "pending", "retrying", "done", "failed", "excluded", "retired")
    assert isinstance(status, dict)
    assert isinstance(after, dict)
    assert [after[name] for name in names] == [status[name] for name in names]


def test_so_many_parts_as_it_has_change_nothing(crawl: StoredCrawl) -> None:
    assert parts(crawl, 1).out == "1 part, as before\n"
    assert read_layout(crawl.directory) is None
    parts(crawl, 2)
    layout = read_layout(crawl.directory)
    assert parts(crawl, 2, "--json").json()["is_changed"] is False
    assert read_layout(crawl.directory) == layout


MOMENTS = {
    "write_division": dividing,
    "write_layout": dividing,
    "_finish": dividing,
    "_begin": steps,
    "_copy": steps,
    "_check": steps,
    "_end": steps,
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_it_goes_on_wherever_it_was_stopped(
    crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch, moment: str, after: bool
) -> None:
    before, place = ledger(crawl), MOMENTS[moment]
    for into in (3, 2):
        with monkeypatch.context() as patched:
            patched.setattr(place, moment, stopping(getattr(place, moment), crawl, after=after))
            stop(crawl, into)
        assert parts(crawl, into).code == COMPLETE
        assert len(part_directories(crawl.directory)) == into
        assert ledger(crawl) == before
        assert read_division(crawl.directory) is None
        assert_sound(crawl)


def stopping(step: Callable[..., object], crawl: StoredCrawl, *, after: bool) -> Callable[..., object]:
    """A step that stops the command when it has been taken, or before."""

    async def stop_waiting(*arguments: object, **named: object) -> None:
        if after:
            result = step(*arguments, **named)
            assert isawaitable(result)
            await result
        raise Stopped

    def stop(*arguments: object, **named: object) -> None:
        if step.__name__ == "_finish" and read_division(crawl.directory) is None:
            return  # there is nothing to finish
        if after:
            step(*arguments, **named)
        raise Stopped

    return stop_waiting if iscoroutinefunction(step) else stop


def stop(crawl: StoredCrawl, into: int) -> None:
    """Divide the crawl with a step that stops the command."""
    with pytest.raises(Stopped):
        pytest.fail(f"it came to its end: {parts(crawl, into)}")


def test_nobody_uses_a_part_while_it_is_being_made(crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(steps, "_check", stopping(steps._check, crawl, after=False))
        stop(crawl, 3)
    with CrawlDirectory(crawl.directory / "part-1"):
        refused = parts(crawl, 3)
    assert refused.code == REFUSED
    assert f"{crawl.directory / 'part-1'} is in use" in refused.err
    assert parts(crawl, 3).code == COMPLETE
    assert_sound(crawl)


def test_the_next_run_has_so_many_parts(crawl: StoredCrawl) -> None:
    for into in (3, 2):
        assert parts(crawl, into).code == COMPLETE
        configuration = CrawlDirectory(crawl.directory).configuration
        assert load(configuration, environ={}, require_seeds=False).config.crawl.parts == into


def test_a_division_into_another_number_goes_on_or_is_given_up(
    crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ledger(crawl)
    with monkeypatch.context() as patched:
        patched.setattr(steps, "_check", stopping(steps._check, crawl, after=False))
        stop(crawl, 4)
    refused = command_here("status", str(crawl.directory))
    assert refused.code == REFUSED
    assert "run the same `onceover parts` again" in refused.err
    other = parts(crawl, 3)
    assert other.code == USAGE
    assert "go on with --into 4, or leave it as it was with --into 1" in other.err
    assert parts(crawl, 1).out == "1 part, as before\n"
    assert ledger(crawl) == before
    assert_sound(crawl)
    assert not list(crawl.directory.glob("part*"))


@pytest.mark.parametrize("into", [3, 2, 1])
@pytest.mark.parametrize("step", ["rmtree", "delete_crawl"])
def test_a_division_that_is_given_up_cant_go_on_when_some_of_its_parts_are_gone(
    crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch, step: str, into: int
) -> None:
    before = ledger(crawl)
    with monkeypatch.context() as patched:
        patched.setattr(dividing, "write_layout", stopping(write_layout, crawl, after=False))
        stop(crawl, 3)
    place = {"rmtree": shutil, "delete_crawl": dividing}[step]
    with monkeypatch.context() as patched:
        patched.setattr(place, step, stopping(getattr(place, step), crawl, after=True))
        stop(crawl, 1)
    assert parts(crawl, into).code == COMPLETE
    assert len(part_directories(crawl.directory)) == into
    assert ledger(crawl) == before
    assert_sound(crawl)
    assert parts(crawl, 1).code == COMPLETE
    assert read_division(crawl.directory) is None


def test_a_full_disk_leaves_a_choice(crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ledger(crawl)

    def fail(*_: object) -> None:
        raise StoreFull("can't write to x: No space left on device; free some space")

    with monkeypatch.context() as patched:
        patched.setattr(steps, "_copy", fail)
        ended = parts(crawl, 4)
    assert ended.code == FAILED
    assert "the disk is full" in ended.err
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", no_space)  # who has a lock can't be written there
        assert parts(crawl, 1).out == "1 part, as before\n"
    assert parts(crawl, 4).code == COMPLETE
    assert ledger(crawl) == before


def test_too_little_space_is_told_beforehand(crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "free_bytes", lambda _: 1_000_000)
    ended = parts(crawl, 4)
    assert ended.code == USAGE
    assert "too little space" in ended.err
    assert "4 parts" in ended.err
    assert_sound(crawl)
    assert read_division(crawl.directory) is None


def test_damage_is_told_and_changes_nothing(crawl: StoredCrawl) -> None:
    database = plyvel.DB(str(crawl.directory / "frontier"))
    key = next(iter(database.iterator(prefix=b"L", include_value=False)))
    value = database.get(key)
    assert value is not None
    database.put(key, b"\xc1")
    database.close()
    ended = parts(crawl, 4)
    assert ended.code == FAILED
    assert "fsck --repair" in ended.err
    assert not list(crawl.directory.glob("part*"))
    database = plyvel.DB(str(crawl.directory / "frontier"))
    database.put(key, value)
    database.close()
    assert_sound(crawl)


def test_all_parts_are_needed(crawl: StoredCrawl) -> None:
    parts(crawl, 3)
    part = part_directories(crawl.directory)[1]
    (part / "frontier").rename(part / "elsewhere")
    ended = parts(crawl, 2)
    assert ended.code == REFUSED
    assert "part 1" in ended.err
    (part / "elsewhere").rename(part / "frontier")
    with CrawlDirectory(part):
        ended = parts(crawl, 2)
    assert ended.code == REFUSED
    assert "in use" in ended.err
    ended = command_here("parts", str(part), "--into", "2")
    assert ended.code == USAGE
    assert "name the directory of the whole crawl" in ended.err
    assert parts(crawl, 2).code == COMPLETE


@pytest.fixture
def _package_suffixes() -> Iterator[None]:
    yield
    use_suffixes(installed_suffixes())


@pytest.mark.usefixtures("_package_suffixes")
def test_a_crawl_keeps_the_list_by_which_it_was_first_divided(crawl: StoredCrawl) -> None:
    suffixes = CrawlDirectory(crawl.directory).suffixes
    shops = [f"http://{number}.shop.test/" for number in range(9)]
    assert command_here("add", str(crawl.directory), *shops, "--force").code == COMPLETE
    assert parts(crawl, 3).code == COMPLETE
    assert suffixes.read_bytes() == installed_suffixes()
    assert (
        len({each["part"] for each in crawl.lines(crawl.look("queues", "--json")) if "shop" in str(each["key"])}) == 1
    )
    before = ledger(crawl)
    # A list by which each shop is a domain of its own.
    suffixes.write_bytes(installed_suffixes() + b"\nshop.test\n")
    own = suffixes.read_bytes()
    for into in (1, 4):
        assert parts(crawl, into).code == COMPLETE
        assert suffixes.read_bytes() == own
        assert ledger(crawl) == before
        assert_sound(crawl)
    assert len({each["part"] for each in crawl.lines(crawl.look("queues", "--json")) if "shop" in str(each["key"])}) > 1


@pytest.mark.usefixtures("_package_suffixes")
def test_a_division_goes_on_by_the_list_with_which_it_began(crawl: StoredCrawl) -> None:
    shops = [f"http://{number}.shop.test/" for number in range(9)]
    assert command_here("add", str(crawl.directory), *shops, "--force").code == COMPLETE
    CrawlDirectory(crawl.directory).suffixes.write_bytes(installed_suffixes() + b"\nshop.test\n")
    assert parts(crawl, 4).code == COMPLETE
    assert_sound(crawl)


def test_settings_that_can_t_be_divided_are_refused(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", settings=['frontier.queue_by="ip"'])
    ended = parts(crawl, 2)
    assert ended.code == USAGE
    assert "queue_by" in ended.err
    assert_sound(crawl)


def test_a_new_crawl_leaves_nothing_of_a_division_that_was_stopped(
    crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(steps, "_check", stopping(steps._check, crawl, after=False))
        stop(crawl, 4)
    with CrawlDirectory(crawl.directory) as directory:
        clear_crawl(directory)
        kept = {directory.lock.name, directory.earlier_settings.name}
    assert {path.name for path in crawl.directory.iterdir()} <= kept
