"""That a crawl which is killed again and again, and whose database is killed, leaves outputs that agree."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.write.records import read_records
from crawler.write.warc_reader import Capture, captures
from tests.e2e.crawling import COMPLETE, LIMIT, TIMEOUT_S, Web, assert_told, onceover, setting
from tests.e2e.killing import Lines, Moment, Victim, growth, victim
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import WORLD
from tests.e2e.test_kill import CONCURRENCY, ROUGH, SETTINGS, SPARE
from tests.postgres import PostgresServer, running_postgres

SINKS = ("output.links=true", "output.warc_revisits=50", 'output.sinks=["sqlite","postgres"]')
TEXT = ("output.text=true", "output.warc_text=true", 'duplicates.near="mark"', "duplicates.near_min_words=20")
OUTPUTS = ["the ledger", "the records", "the archive", "the sink sqlite", "the sink postgres"]
REPEATING = msgspec.structs.replace(ROUGH, near_duplicates=0.1)
FEW = msgspec.structs.replace(REPEATING, seed=41, hosts=6, pages_per_host=14)
MANY = msgspec.structs.replace(REPEATING, seed=42, hosts=50, pages_per_host=80)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    with running_postgres() as running_server:
        for name, value in running_server.environment.items():
            monkeypatch.setenv(name, value)
        yield running_server


def test_kills_of_the_crawl_and_of_its_database_leave_outputs_that_agree(
    tmp_path: Path, server: PostgresServer
) -> None:
    assert_survives(tmp_path, FEW, server, kills=4)


@pytest.mark.long
def test_two_hundred_kills_of_a_crawl_with_all_sinks(tmp_path: Path, server: PostgresServer) -> None:
    assert_survives(tmp_path, MANY, server, kills=200)


def assert_survives(folder: Path, params: WorldParams, server: PostgresServer, *, kills: int) -> None:
    expected = sum(1 for _ in World(params).expected(sitemaps=True))
    earlier = f'output.dedupe_against=["{folder / "earlier"}"]'
    with victim(folder, params, *SETTINGS, *SINKS, *TEXT, earlier, env=server.environment) as crawl:
        crawl_earlier(folder, crawl, pages=expected // 3)
        killed = 0
        for moment, after_s in moments(crawl, server, kills, requests=expected):
            if crawl.run(moment, after_s=after_s) == COMPLETE:
                break
            killed += 1
            server.start_again()
            assert_agrees(verify_copy(crawl), killed)
            crawl.tear(Random(killed))
        server.start_again()
        assert crawl.run() == COMPLETE
        report = verify(crawl.directory.path)
    assert killed, "complete before the first kill"
    assert_agrees(report, killed)
    told = {each["name"]: each["numbers"] for each in report["told"]}
    assert list(told) == OUTPUTS
    assert told["the ledger"] == told["the records"] == told["the sink sqlite"] == told["the sink postgres"] == expected
    assert_has_what_is_new(crawl, expected)


def crawl_earlier(folder: Path, crawl: Victim, *, pages: int) -> None:
    """A part of the same web, whose bodies the crawl need not archive again."""
    less = setting("output.sinks=[]", "output.dedupe_against=[]", f"limits.pages={pages}")
    ended = onceover("crawl", *crawl.options, *less, "--dir", "earlier", cwd=folder)
    assert ended.code == LIMIT, ended.err


def assert_has_what_is_new(crawl: Victim, expected: int) -> None:
    """It has referred to the earlier crawl, archived texts, and found near duplicates; and its table has each URL once,
    in whatever folder."""
    records = {each.number: each for each in read_records(crawl.directory.records, last_only=True)}
    assert any(each.near_duplicate_of is not None for each in records.values())
    found = [each for each in captures(crawl.directory.warc, full_blocks=True) if isinstance(each, Capture)]
    own = {each.payload_digest for each in found if each.kind == "response"}
    assert any(each.payload_digest not in own for each in found if each.kind == "revisit")
    texts = {each.number: each.block.decode() for each in found if each.kind == "text"}
    assert texts == {each.number: each.main_text for each in records.values() if each.main_text is not None}
    tables = crawl.directory.path.with_name("tables")
    command = ("export", str(crawl.directory.path), "--format", "jsonl", "--partition-by", "crawl,subset")
    assert_told(command_here(*command, "--to", str(tables)), COMPLETE)
    lines = [line for path in tables.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert len({msgspec.json.decode(line)["number"] for line in lines}) == len(lines) == expected


def moments(crawl: Victim, server: PostgresServer, kills: int, *, requests: int) -> Iterator[tuple[Moment, float]]:
    """When to kill the crawl, and how long after. The database is killed before, and is back in time, or is not."""
    random = Random(kills)
    lines = Lines(crawl.log)
    few = max(2, requests // kills)
    for turn in range(kills):
        enough = growth(lines, by=random.randrange(1, few))
        match turn % 3:
            case 0:
                yield enough, random.uniform(0.0, 0.01)
            case 1:
                # The crawl is killed while it waits for the database, or before it has noticed.
                yield then(enough, server.kill), random.uniform(0.0, 0.3)
            case _:
                yield in_turn(then(enough, server.kill_and_start), lines, random.randrange(1, few)), 0.0


def then(moment: Moment, act: Any) -> Moment:
    """Acts at the moment."""

    def has_come() -> bool:
        if moment():
            act()
            return True
        return False

    return has_come


def in_turn(first: Moment, lines: Lines, by: int) -> Moment:
    """The first moment, and then more requests: the crawl goes on after it."""
    second: Moment | None = None

    def has_come() -> object:
        nonlocal second
        if second is not None:
            return second()
        if first():
            second = growth(lines, by=by + CONCURRENCY + SPARE)
        return False

    return has_come


def verify_copy(crawl: Victim) -> dict[str, Any]:
    """Opening the state mends it, and the next start must do that itself."""
    if not crawl.directory.has_state():
        return {"problems": [], "told": []}
    copy = crawl.directory.path.with_name("verified")
    shutil.copytree(crawl.directory.path, copy, ignore=shutil.ignore_patterns("logs", "control"))
    try:
        return verify(copy)
    finally:
        shutil.rmtree(copy)


def verify(directory: Path) -> dict[str, Any]:
    return command_here("inspect", str(directory), "verify", "--json").json()


def assert_agrees(report: dict[str, Any], kills: int) -> None:
    assert report["problems"] == []
    for each in report["told"]:
        assert each["forgotten"] == 0, each
        # Only what was in flight is there twice, under one number. A database has it once.
        assert each["repeated"] <= (0 if "sink" in each["name"] else kills * (CONCURRENCY + SPARE)), each


def test_all_parts_of_a_crawl_write_to_the_same_tables(tmp_path: Path, server: PostgresServer) -> None:
    with running(WORLD) as port:
        options = [*Web(port, WORLD).options, *setting('scope.within="any"', *SINKS, *TEXT)]
        command = ["crawl", *options, "--parts", "2", "--dir", "crawl"]
        ended = onceover(*command, cwd=tmp_path, timeout_s=TIMEOUT_S, **server.environment)
    assert ended.code == COMPLETE, ended.err
    report = verify(tmp_path / "crawl")
    assert_agrees(report, 0)
    told = {each["name"]: each["numbers"] for each in report["told"]}
    assert list(told) == OUTPUTS
    assert (
        told["the ledger"]
        == told["the sink sqlite"]
        == told["the sink postgres"]
        == sum(1 for _ in World(WORLD).expected(sitemaps=True))
    )
    for part in (0, 1):
        assert (tmp_path / "crawl" / f"part-{part}" / "sinks" / "sqlite" / "pages.sqlite").exists()
