"""That a frontier of another package carries a crawl from beginning to end, also over a kill."""

import signal
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.e2e.crawling import (
    COMPLETE,
    LIMIT,
    REFUSED,
    USAGE,
    Ended,
    Web,
    assert_told,
    fetched,
    onceover,
    setting,
    started,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "sqlite-frontier"
SQLITE = setting("frontier.backend=sqlite_frontier:DESCRIPTOR")


def run(*arguments: str, cwd: Path) -> Ended:
    return onceover(*arguments, cwd=cwd, PYTHONPATH=str(EXAMPLE))


def assert_sound(cwd: Path) -> None:
    ended = run("inspect", "crawl", "fsck", "--json", cwd=cwd)
    assert ended.code == COMPLETE, ended
    assert ended.json()["problems"] == []


@pytest.mark.parametrize("durability", ["process", pytest.param("power", marks=pytest.mark.long)])
def test_a_crawl_that_is_stopped_and_resumed_fetches_each_page_once(tmp_path: Path, web: Web, durability: str) -> None:
    options = [*web.options, *SQLITE, *setting(f"frontier.durability={durability}"), "--dir", "crawl"]
    assert run("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    assert_sound(tmp_path)
    assert_told(run("crawl", *options, cwd=tmp_path), COMPLETE, "Resuming: ")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path)


def test_a_crawl_that_is_killed_again_and_again_loses_no_page(tmp_path: Path, slow_web: Web) -> None:
    options = [*slow_web.options, *SQLITE, "--dir", "crawl"]
    output = tmp_path / "crawl" / "records"
    for pages in (5, 12, 20):
        with started("crawl", *options, cwd=tmp_path, PYTHONPATH=str(EXAMPLE)) as running:
            running.wait_until(partial(has_lines, output, pages), f"{pages} pages")
            running.signal(signal.SIGKILL)
            assert running.wait().code == -signal.SIGKILL
        assert_sound(tmp_path)
    assert run("crawl", *options, cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl").keys() == slow_web.pages
    assert_sound(tmp_path)


def has_lines(folder: Path, count: int) -> bool:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl")) >= count


@pytest.mark.long
def test_the_commands_look_into_it_and_say_what_it_can_not(tmp_path: Path, web: Web) -> None:
    options = [*web.options, *SQLITE, "--dir", "crawl"]
    assert run("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    queues = run("inspect", "crawl", "queues", "--json", cwd=tmp_path)
    waiting = [msgspec.json.decode(line) for line in queues.out.splitlines()]
    assert {queue["key"] for queue in waiting} <= {f"test,sim,h{host:05}" for host in range(web.params.hosts)}
    urls = run("inspect", "crawl", "next", waiting[0]["host"], cwd=tmp_path).out.splitlines()
    assert len(urls) == min(20, waiting[0]["size"])
    known = run("inspect", "crawl", "url", f"http://h00000.{web.params.domain}/", "--json", cwd=tmp_path).json()
    assert (known["state"], known["status"]) == ("done", 200)
    assert run("inspect", "crawl", "visited", cwd=tmp_path).code == COMPLETE
    exported = run("frontier", "export", "crawl", cwd=tmp_path).out.splitlines()
    assert len(exported) == sum(1 for line in exported if b"url" in line.encode()) > 15
    assert_told(
        run("frontier", "retire", "crawl", waiting[0]["host"], cwd=tmp_path),
        USAGE,
        "the frontier of this crawl can't retire queues or give them budgets: frontier.backend names one that lacks it",
    )
    assert_told(run("crawl", *options, "--rebuild", cwd=tmp_path), USAGE, "can't rename the URLs of a crawl")
    assert_told(run("inspect", "crawl", "fsck", "--repair", cwd=tmp_path), USAGE, "can't repair its state")


@pytest.mark.long
def test_it_is_paused_and_its_settings_are_checked(tmp_path: Path, web: Web) -> None:
    options = [*web.options, *SQLITE, "--dir", "crawl"]
    assert run("crawl", *options, "--max-pages", "5", cwd=tmp_path).code == LIMIT
    assert run("frontier", "pause", "crawl", "--reason", "rain", cwd=tmp_path).code == COMPLETE
    assert_told(run("crawl", *options, cwd=tmp_path), REFUSED, "the crawl in crawl is paused: rain.")
    assert run("frontier", "resume", "crawl", cwd=tmp_path).code == COMPLETE
    refused = run("crawl", *options, *setting("frontier.queue_order=best-url"), cwd=tmp_path)
    assert_told(refused, USAGE, "sqlite serves its queues in turns")
    refused = run("crawl", *options, *setting("frontier.options.cache_byts=1"), cwd=tmp_path)
    assert_told(refused, USAGE, "frontier.options.cache_byts", "cache_bytes")
    refused = run("crawl", *options, *setting("urls.rules=[]"), cwd=tmp_path)
    assert_told(refused, REFUSED, "was crawled with urls.rules =")
    assert run("crawl", *options, *setting("frontier.options.cache_bytes='4 MiB'"), cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


@pytest.mark.long
def test_its_frontier_is_rebuilt_from_the_output(tmp_path: Path, web: Web) -> None:
    options = [*web.options, *SQLITE, *setting("output.links=true"), "--dir", "crawl"]
    assert run("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    (tmp_path / "crawl" / "frontier" / "frontier.sqlite").write_bytes(b"no database")
    damaged = run("crawl", *options, cwd=tmp_path)
    assert damaged.code not in (COMPLETE, LIMIT)
    assert "Traceback" not in damaged.err
    rebuilt = run("frontier", "rebuild", "crawl", "--from-records", cwd=tmp_path)
    assert_told(rebuilt, COMPLETE, "a copy of the old frontier is kept")
    assert run("crawl", *options, cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path)


def test_it_is_refused_in_parts_before_anything_is_made(tmp_path: Path, web: Web) -> None:
    refused = run("crawl", *web.options, *SQLITE, "--dir", "crawl", "--parts", "2", cwd=tmp_path)
    why = 'crawl.parts: expected 1 with frontier.backend = "sqlite_frontier:DESCRIPTOR", which can\'t be divided'
    assert_told(refused, USAGE, why)
    assert not (tmp_path / "crawl").exists()
