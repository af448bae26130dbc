"""A crawl in parts becomes one on many machines, and is divided anew: what Redis and directories say at each step."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from crawler.cluster import notes
from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.cluster.notes import Note, read_note, write_note
from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import COORDINATOR, Cluster, Denied, Forgotten, Granted, Identity
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, part_directories, read_layout
from crawler.disk.lineages import Lineages, read_lineages, write_lineages
from crawler.files import replacing
from crawler.operate.cluster.forms import ClusterStatus
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.wiring.parts import begin_suffixes
from tests.e2e.crawling import COMPLETE, FAILED, USAGE, Ended, assert_sound, assert_told
from tests.e2e.operating import command_here
from tests.redis_server import RedisServer
from tests.unit.operate.stored_crawls import PARTS, StoredCrawl, make

_Answer = TypeVar("_Answer")
A = "host-a:17:cafe"
LEASE_S = 3600.0


class Crashed(BaseException):
    """The process ends here."""


class Machines:
    """A stored crawl, and a server for its machines."""

    def __init__(self, crawl: StoredCrawl, server: RedisServer) -> None:
        self.crawl = crawl
        self.server = server
        self.directory = crawl.directory

    def register(self, *more: str) -> Ended:
        return command_here("cluster", "init", "--from", str(self.directory), "--url", self.server.url, *more)

    def divide(self, parts: int) -> Ended:
        return command_here("parts", str(self.directory), "--into", str(parts))

    def ask(self, question: Callable[[Register], Awaitable[_Answer]], generation: str | None = None) -> _Answer:
        async def answer() -> _Answer:
            async with connected(Server(url=self.server.url)) as client:
                found = generation or await find_generation(client, "onceover")
                assert found is not None
                return await question(Register(client, prefix="onceover", generation=found))

        return asyncio.run(answer())

    def read(self, generation: str | None = None) -> Cluster:
        return self.ask(lambda register: register.read(), generation)

    def claim(self, part: int, *, stored: int, generation: str | None = None) -> Granted | Denied:
        return self.ask(
            lambda register: register.claim(part, holder=A, claim=A, stored=stored, makes=False, lease_s=LEASE_S),
            generation,
        )

    @property
    def layout(self) -> Layout:
        layout = read_layout(self.directory)
        assert layout is not None
        return layout

    def notes(self) -> list[Note | None]:
        return [read_note(CrawlDirectory(part)) for part in part_directories(self.directory)]

    def urls(self) -> list[str]:
        return sorted(str(each["url"]) for each in self.crawl.exported())


def stored(directory: Path, parts: int) -> StoredCrawl:
    crawl = make(directory, parts=parts, settings=['crawl.seeds=["http://host-0.test/"]'])
    begin_suffixes(CrawlDirectory(directory))
    return crawl


@pytest.fixture
def machines(tmp_path: Path, server: RedisServer) -> Machines:
    return Machines(stored(tmp_path / "crawl", PARTS), server)


def test_a_crawl_in_parts_of_one_machine_is_registered_as_it_is(machines: Machines) -> None:
    before = machines.layout
    ended = machines.register()
    assert_told(ended, COMPLETE)
    assert f"onceover crawl --cluster {machines.server.url} --dir DIR" in ended.out
    identity = machines.read().identity
    assert identity.generation == before.generation
    assert identity.lineages == tuple(place.lineage for place in before.parts)
    assert [part.opened for part in machines.read().parts] == [1] * PARTS
    assert not any(machines.read().may_make(part) for part in range(PARTS))
    assert [note and note.epoch for note in machines.notes()] == [1] * PARTS
    place = machines.layout.cluster
    assert place is not None
    assert (place.crawl, place.url) == (identity.crawl, machines.server.url)
    assert isinstance(machines.claim(0, stored=1), Granted)


def test_what_is_no_crawl_in_parts_is_not_registered(tmp_path: Path, server: RedisServer) -> None:
    single = Machines(stored(tmp_path / "single", 1), server)
    assert_told(single.register(), USAGE, "expected a crawl in parts", "onceover parts", "--into N")
    nothing = command_here("cluster", "init", "--from", str(tmp_path / "nothing"), "--url", server.url)
    assert_told(nothing, USAGE, "there is no crawl in")
    assert_told(command_here("cluster", "init", "--url", server.url), USAGE, "--from DIR")
    both = command_here("cluster", "init", "--from", str(single.directory), "--parts", "2", "--url", server.url)
    assert_told(both, USAGE, "name neither")


def test_no_other_crawl_loses_its_prefix_by_that(machines: Machines, tmp_path: Path) -> None:
    other = Machines(stored(tmp_path / "other", 2), machines.server)
    assert other.register().code == COMPLETE
    assert_told(machines.register(), FAILED, "has a crawl with the prefix 'onceover' already", "--fresh")
    assert machines.layout.cluster is None
    assert machines.register("--fresh").code == COMPLETE


def test_a_crawl_that_was_divided_takes_the_place_of_the_one_before(machines: Machines) -> None:
    urls = machines.urls()
    machines.register()
    first = machines.layout
    assert_told(machines.divide(2), COMPLETE)
    assert_sound(machines.directory)
    assert machines.urls() == urls
    retired = machines.read(first.generation).retired
    assert retired is not None
    assert retired.generation == machines.layout.generation
    assert str(machines.directory) in retired.where
    denied = machines.claim(0, stored=1, generation=first.generation)
    assert isinstance(denied, Denied)
    assert "divided anew" in denied.why
    told = command_here("cluster", "status", "--url", machines.server.url, "--json").out
    (advice,) = msgspec.json.decode(told, type=ClusterStatus).advice
    assert f"being divided anew in {retired.where}" in advice

    assert machines.register().code == COMPLETE
    now = machines.read().identity
    assert now.generation == machines.layout.generation
    assert now.replaces == (first.generation,)
    assert now.crawl == machines.read(first.generation).identity.crawl
    assert min(now.lineages) > max(place.lineage for place in first.parts)
    assert machines.divide(4).code == COMPLETE
    assert machines.register().code == COMPLETE
    assert machines.read().identity.replaces == (first.generation, now.generation)
    assert machines.urls() == urls


@pytest.mark.parametrize("part", [COORDINATOR, 1])
def test_a_crawl_that_somebody_runs_is_not_divided(machines: Machines, part: int) -> None:
    machines.register()
    before = machines.layout
    assert isinstance(machines.claim(part, stored=1), Granted)
    assert_told(machines.divide(2), FAILED, f"{A} runs it", "stop the crawl on all machines")
    assert machines.layout == before
    assert machines.read().retired is None
    machines.ask(lambda register: register.release(part, claim=A))
    assert machines.divide(2).code == COMPLETE


def test_an_older_directory_of_a_part_is_not_divided(machines: Machines) -> None:
    machines.register()
    granted = machines.claim(1, stored=1)
    assert isinstance(granted, Granted)
    machines.ask(lambda register: register.confirm(1, claim=A, epoch=granted.epoch, lease_s=LEASE_S))
    machines.ask(lambda register: register.release(1, claim=A))
    assert_told(machines.divide(2), FAILED, "the directory of part 1 is older than the part: expected epoch 2, found 1")
    assert_told(machines.divide(PARTS), COMPLETE)  # which gives it up
    assert machines.read().retired is None
    note = machines.notes()[1]
    assert note is not None
    write_note(CrawlDirectory(part_directories(machines.directory)[1]), msgspec.structs.replace(note, epoch=2))
    assert machines.divide(2).code == COMPLETE


def test_a_copy_from_before_the_division_is_neither_divided_nor_run(machines: Machines, tmp_path: Path) -> None:
    machines.register()
    old = Machines(StoredCrawl(tmp_path / "old"), machines.server)
    shutil.copytree(machines.directory, old.directory)
    machines.divide(2)
    assert_told(old.divide(4), FAILED, "divided anew", str(machines.directory))
    machines.register()
    assert_told(old.divide(5), FAILED)
    identity = machines.read().identity
    with CrawlDirectory(old.directory) as locked, pytest.raises(DirectoryRefused, match="before it was divided anew"):
        begin_machine(locked, identity, url=machines.server.url, prefix="onceover")


def test_a_copy_of_what_was_registered_and_run_since_is_not_registered_again(
    machines: Machines, tmp_path: Path
) -> None:
    machines.register()
    machines.divide(2)
    old = Machines(StoredCrawl(tmp_path / "old"), machines.server)
    shutil.copytree(machines.directory, old.directory)
    machines.register()
    machines.claim(0, stored=1)
    machines.ask(lambda register: register.release(0, claim=A))
    assert_told(old.register(), FAILED, "machines have run it since: part 0", "older copy")


def test_a_division_can_be_given_up_and_machines_go_on(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_told(machines.register(), COMPLETE)
    with monkeypatch.context() as patch:
        patch.setattr("crawler.operate.upkeep.dividing.divide_fingerprints", crash)
        with pytest.raises(Crashed):
            pytest.fail(f"it came to its end: {machines.divide(2)}")
    assert machines.read().retired is not None
    assert_told(machines.divide(PARTS), COMPLETE)
    assert machines.read().retired is None
    assert isinstance(machines.claim(0, stored=1), Granted)


def crash(*_: object, **__: object) -> None:
    raise Crashed


def test_after_a_crash_at_any_step_one_of_the_two_crawls_is_usable_and_nothing_is_lost(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is a question to the register, or a file that is replaced."""
    assert machines.register().code == COMPLETE
    urls, crashes = machines.urls(), 0
    for into in (2, 3):
        for step in (lambda into=into: machines.divide(into), machines.register):
            for at in count(1):
                with monkeypatch.context() as patch:
                    crash_at(patch, at)
                    with suppress(Crashed):
                        assert_told(step(), COMPLETE)
                        break
                crashes += 1
                is_one_crawl(machines)
        assert len(machines.layout.parts) == into
        assert machines.urls() == urls
        assert_sound(machines.directory)
    assert crashes > 20


def crash_at(patch: pytest.MonkeyPatch, at: int) -> None:
    """End the process before its step number `at`."""
    left = at
    evaluate, replace_file = Register._eval, replacing.replace_file

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Crashed

    async def asked(self: Register, script: str, keys: Any, *rest: object) -> Any:
        step()
        return await evaluate(self, script, keys, *rest)

    def replaced(path: Path, content: bytes) -> None:
        step()
        replace_file(path, content)

    patch.setattr(Register, "_eval", asked)
    for module in (notes, "crawler.disk.directory", "crawler.disk.layout"):
        patch.setattr(f"{module if isinstance(module, str) else module.__name__}.replace_file", replaced)


def is_one_crawl(machines: Machines) -> None:
    """Machines may claim the parts of at most one generation, and only if that is the one of the directory."""
    layout = machines.layout
    here = None if layout.cluster is None else layout.generation
    generations = {layout.generation, *(layout.retired.generations if layout.retired else ())}
    for generation in generations - {here}:
        try:
            found = machines.read(generation)
        except Forgotten:
            continue
        if generation == layout.generation:  # written, and no directory says yet that it is a machine's
            assert all(part.opened in (0, 1) for part in found.parts)
        else:
            assert found.retired is not None


def test_redis_may_forget_everything_between_division_and_registration(machines: Machines, tmp_path: Path) -> None:
    machines.register()
    old = Machines(StoredCrawl(tmp_path / "old"), machines.server)
    shutil.copytree(machines.directory, old.directory)
    before, identity = old.layout, identity_of(old)
    machines.divide(2)
    machines.ask(lambda register: register._client.flushall())
    # A machine that still has the old directories writes the old register again.
    machines.ask(lambda register: register.create(identity, is_new=False), before.generation)
    machines.ask(lambda register: register.raise_to(identity, dict.fromkeys(range(PARTS), 1)))
    assert isinstance(machines.claim(0, stored=1), Granted)
    assert_told(machines.register(), FAILED, "as it was before it was divided anew still runs", A)
    machines.ask(lambda register: register.release(0, claim=A))
    assert_told(machines.register(), COMPLETE)
    assert isinstance(machines.claim(0, stored=1, generation=before.generation), Denied)


def test_a_later_generation_ends_an_earlier_one_that_came_first_after_a_flush(machines: Machines) -> None:
    machines.register()
    old = identity_of(machines)
    machines.divide(2)
    machines.register()
    new = identity_of(machines)
    machines.ask(lambda register: register._client.flushall(), new.generation)
    assert machines.ask(lambda register: register.create(old, is_new=False), old.generation)
    assert isinstance(machines.claim(0, stored=1, generation=old.generation), Granted)
    assert machines.ask(lambda register: register.create(new, is_new=False), new.generation)
    assert machines.read().identity == new
    assert machines.read(old.generation).parts[0].lease is None
    assert isinstance(machines.claim(0, stored=1, generation=old.generation), Denied)
    # A machine of the old one can't have the prefix back.
    machines.ask(lambda register: register._client.delete(register._register), old.generation)
    assert not machines.ask(lambda register: register.create(old, is_new=False), old.generation)


def identity_of(machines: Machines) -> Identity:
    return machines.read(machines.layout.generation).identity


def test_a_machine_finds_the_directories_of_parts_under_the_names_that_they_came_with(
    machines: Machines, tmp_path: Path
) -> None:
    machines.register()
    machines.divide(2)
    machines.register()
    name = machines.layout.parts[1].directory
    assert name == "part-1.2"
    identity, new = machines.read().identity, tmp_path / "new"
    new.mkdir()
    shutil.move(machines.directory / name, new / name)
    with CrawlDirectory(new) as locked:
        begin_machine(locked, identity, url=machines.server.url, prefix="onceover")
    layout = read_layout(new)
    assert layout is not None
    assert layout.directories_here(new) == {1: new / name}
    assert machines.layout.elsewhere(machines.directory) == [1]
    # It comes back under another name.
    shutil.move(new / name, machines.directory / "part-from-elsewhere")
    with CrawlDirectory(machines.directory) as locked:
        begin_machine(locked, identity, url=machines.server.url, prefix="onceover")
    assert machines.layout.elsewhere(machines.directory) == []


def test_the_directory_of_a_machine_whose_parts_were_moved_away_serves_again(
    machines: Machines, tmp_path: Path
) -> None:
    machines.register()
    other = tmp_path / "other"
    with CrawlDirectory(other) as locked:
        begin_machine(locked, machines.read().identity, url=machines.server.url, prefix="onceover")
    machines.divide(2)
    machines.register()
    with CrawlDirectory(other) as locked:
        begin_machine(locked, machines.read().identity, url=machines.server.url, prefix="onceover")
    layout = read_layout(other)
    assert layout is not None
    assert layout.generation == machines.layout.generation
    assert len(layout.parts) == 2


def test_a_machine_learns_of_lineages_that_were_drawn_elsewhere_since(machines: Machines, tmp_path: Path) -> None:
    """Twice, each time that the crawl is divided anew where none are left."""
    used = 0
    for drawn, parts in enumerate((2, 3), start=1):
        here = read_lineages(machines.directory)
        write_lineages(machines.directory, msgspec.structs.replace(here, first=here.last + 1))
        machines.divide(parts)
        machines.register()
        identity = machines.read().identity
        with CrawlDirectory(tmp_path / "other") as locked:
            begin_machine(locked, identity, url=machines.server.url, prefix="onceover")
            assert MachineDirectory(locked).identity() == identity
        assert used < min(identity.lineages) <= (identity.last_lineage or 0)
        used = max(identity.lineages)
        here, there = read_lineages(machines.directory), read_lineages(locked.path)
        assert (there.last, there.drawn) == (here.last, here.drawn)
        assert len(there.drawn) == drawn


def test_a_restored_crawl_that_is_registered_adopts_within_its_own_lineages(machines: Machines) -> None:
    last = 3 + PARTS
    write_lineages(machines.directory, Lineages(crawl="copied", first=4, last=last))
    machines.register()
    assert machines.read().identity.last_lineage == last
    for _ in range(PARTS):
        machines.ask(lambda register: register.adopt(0, is_made=True))
    denied = machines.ask(lambda register: register.adopt(1, is_made=True))
    assert isinstance(denied, Denied)
    assert "used up" in denied.why
