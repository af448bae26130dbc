"""What an operator changes reaches the parts that it concerns, whether they run or not."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
import pytest

from tests.e2e.operating import command_here
from tests.unit.operate.answering import answering
from tests.unit.operate.stored_crawls import EACH, HOSTS, OWNERSHIP, PARTS, SETTLED, StoredCrawl, make, queue_of, url_of

ALL = range(PARTS)


@contextmanager
def crawl_in(state: str, folder: Path) -> Iterator[StoredCrawl]:
    """A crawl that is stopped; watched over by a process; or has lost that process, and runs in all or some parts."""
    crawl = make(folder / "crawl", parts=PARTS)
    running = {"watched": ALL, "orphaned": ALL, "half": [1]}
    with (
        nullcontext() if state == "stopped" else answering(crawl.directory, running[state], together=state == "watched")
    ):
        yield crawl


@pytest.fixture(params=["stopped", "watched", "orphaned", "half"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoredCrawl]:
    with crawl_in(request.param, tmp_path) as found:
        yield found


def paused(crawl: StoredCrawl) -> list[object]:
    return [crawl.do("status", "--part", str(number), "--json").json()["paused"] for number in ALL]


def test_a_pause_reaches_all_parts_and_ends_in_all(crawl: StoredCrawl) -> None:
    assert crawl.do("pause", "--reason", "night").code == 0
    assert crawl.do("status", "--json").json()["paused"] == "night"
    assert paused(crawl) == ["night"] * PARTS
    again = crawl.do("pause")
    assert again.code == 2
    assert "is already paused: night" in again.err
    assert crawl.do("resume").code == 0
    assert paused(crawl) == [None] * PARTS
    again = crawl.do("resume")
    assert again.code == 2
    assert "is not paused" in again.err


def test_a_pause_of_one_part_is_completed_by_a_pause_of_all(crawl: StoredCrawl) -> None:
    assert crawl.do("pause", "--part", "1", "--reason", "disk").code == 0
    assert crawl.do("status", "--json").json()["paused"] == "part 1: disk"
    assert crawl.do("pause", "--reason", "night").code == 0
    assert paused(crawl) == ["night", "disk", "night"]
    assert crawl.do("resume").code == 0
    assert paused(crawl) == [None] * PARTS


def test_a_url_is_added_at_its_owner_and_judged_in_order(crawl: StoredCrawl) -> None:
    given = [
        url_of("host-1.test", EACH),
        "mailto:someone",
        url_of("host-2.test", 0),
        url_of("host-3.test", EACH - 1),
        url_of("host-3.test", EACH),
    ]
    added = crawl.do("add", *given, "--force", "--json")
    assert added.code == 1  # because one is no URL
    judged = [msgspec.json.decode(line, type=dict[str, object]) for line in added.out.splitlines()]
    assert [each["outcome"] for each in judged] == ["added", "invalid", "added", "waits", "added"]
    assert [each["url"] for each in judged] == given
    for url in (given[0], given[4]):
        found = crawl.look("url", url, "--json").json()
        assert (found["state"], found["part"]) == ("pending", OWNERSHIP.owner(queue_of(url.split("/")[2])))
    status = msgspec.convert(crawl.do("status", "--json").json()["frontier"], dict[str, object])
    assert status["admitted"] == len(HOSTS) * EACH + 2


def test_a_part_takes_no_url_of_another(crawl: StoredCrawl) -> None:
    host = next(host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 2)
    part = str(crawl.directory / "part-1")
    refused = command_here("add", part, url_of(host, EACH), "--force")
    assert refused.code == 1
    assert "it belongs to part 2 of the crawl" in refused.err
    unknown = command_here("inspect", part, "url", url_of(host, EACH))
    assert unknown.code == 2
    assert "it belongs to part 2 of the crawl: name the directory of the whole crawl" in unknown.err


def test_a_url_without_scheme_goes_to_its_owner(crawl: StoredCrawl) -> None:
    for host in HOSTS:
        assert crawl.do("add", f"{host}/without-scheme", "--force").code == 0
        found = crawl.look("url", f"{host}/without-scheme", "--json").json()
        assert found["part"] == OWNERSHIP.owner(queue_of(host))


def test_no_part_is_blamed_for_what_is_no_url(crawl: StoredCrawl) -> None:
    refused = crawl.look("url", "not a url")
    assert refused.code == 2
    assert "is not a URL: expected one such as https://example.org/" in refused.err
    assert "part 0" not in refused.err


def test_a_settled_url_is_forgotten_by_its_owner(crawl: StoredCrawl) -> None:
    urls = [url_of(host, 0) for host in HOSTS]
    waiting = url_of(HOSTS[0], EACH - 1)
    forgotten = crawl.do("forget", *urls, waiting, "--json")
    assert forgotten.code == 1
    outcomes = [msgspec.json.decode(line, type=dict[str, object])["outcome"] for line in forgotten.out.splitlines()]
    assert outcomes == ["forgotten"] * len(HOSTS) + ["waits"]
    assert all(crawl.look("url", url).code == 1 for url in urls)


def test_the_owner_of_a_host_retires_it_and_gives_it_a_budget(crawl: StoredCrawl) -> None:
    for host in HOSTS:
        retired = crawl.do("retire", host, "--json").json()
        assert (retired["host"], retired["served"]) == (host, False)
        assert retired["part"] == OWNERSHIP.owner(queue_of(host))
    assert len(crawl.lines(crawl.look("queues", "--retired", "--json"))) == len(HOSTS)
    assert crawl.do("unretire", HOSTS[0], "--json").json()["served"] is True
    assert crawl.do("budget", HOSTS[1], "5", "--json").json()["budget"] == 5
    unknown = crawl.do("retire", "elsewhere.test")
    assert unknown.code == 2
    assert (
        f"{crawl.directory} has no queue of elsewhere.test; `onceover inspect {crawl.directory} queues`" in unknown.err
    )
    assert "part" not in unknown.err


def test_lines_of_an_export_go_to_their_owners(crawl: StoredCrawl, tmp_path: Path) -> None:
    lines = [msgspec.json.encode({"url": url_of(host, EACH)}).decode() for host in HOSTS]
    lines += [
        msgspec.json.encode({"url": url_of(host, EACH + 1), "state": "done", "status": 200}).decode() for host in HOSTS
    ]
    lines += [msgspec.json.encode({"url": url_of(HOSTS[0], 0)}).decode()]
    (tmp_path / "lines").write_text("\n".join(lines))
    imported = command_here("frontier", "import", str(crawl.directory), str(tmp_path / "lines"))
    assert imported.out == f"{2 * len(HOSTS)} URLs added, 1 was known\n"
    for host in HOSTS:
        assert crawl.look("url", url_of(host, EACH), "--json").json()["part"] == OWNERSHIP.owner(queue_of(host))
        assert crawl.look("url", url_of(host, EACH + 1), "--json").json()["state"] == "done"


def test_every_state_of_a_crawl_lists_the_same(crawl: StoredCrawl, tmp_path: Path) -> None:
    one = make(tmp_path / "one")
    assert [each["key"] for each in crawl.lines(crawl.look("queues", "--json"))] == [
        each["key"] for each in one.lines(one.look("queues", "--json"))
    ]
    exported = command_here("frontier", "export", str(crawl.directory)).out.splitlines()
    assert [msgspec.json.decode(line)["url"] for line in exported] == [
        msgspec.json.decode(line)["url"]
        for line in command_here("frontier", "export", str(one.directory)).out.splitlines()
    ]


def test_parts_that_have_lost_their_supervisor_are_told_and_stopped(tmp_path: Path) -> None:
    for name, parts in (("all", list(ALL)), ("some", [1])):
        crawl = make(tmp_path / name, parts=PARTS)
        with answering(crawl.directory, parts):
            status = crawl.do("status", "--json").json()
            assert (status["running"], status["pid"]) == (True, None)
            told = f"is ending: {len(parts)} of its {PARTS} parts still run, and no process watches over them"
            assert told in crawl.do("status").out
            stopped = crawl.do("stop", "--json").json()
            assert stopped == {"was_running": True, "in_flight": len(parts)}
            # It waited: nobody uses the directories any more.
            assert crawl.look("fsck").code == 0
        assert crawl.do("stop").out == f"{crawl.directory} does not run\n"


def test_all_parts_are_asked_for_a_host_if_queues_are_named_by_places(tmp_path: Path) -> None:
    places = ['frontier.queue_by="surt-prefix"', 'frontier.queue_prefixes=["host-1.test"]']
    crawl = make(tmp_path / "crawl", parts=PARTS, settings=places)
    for host in HOSTS:
        assert len(crawl.look("next", host).out.split()) == EACH - SETTLED
        assert crawl.do("retire", host, "--json").json()["part"] == OWNERSHIP.owner(queue_of(host))
    again = crawl.do("retire", HOSTS[0])
    assert again.code == 2
    shutil.rmtree(crawl.directory / "part-2" / "frontier")
    mine = next(host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 0)
    partly = crawl.do("unretire", mine)
    assert partly.code == 1
    assert "part 0 took this, but not all: part 2" in partly.err
    assert str(crawl.directory / "part-2") in partly.err
