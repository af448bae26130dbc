"""All URLs of a host, or with a pattern, are forgotten or fetched again, in one part or in several."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from crawler.codes.exit_codes import COMPLETE, FAILED, USAGE
from tests.e2e.crawling import assert_told
from tests.unit.operate.answering import answering
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, StoredCrawl, make

ALL = len(HOSTS) * EACH
DAY_S = 86_400


class Case:
    """A crawl, and what is there while it is asked."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.crawl: StoredCrawl = make(folder / "crawl", parts=1 if kind == "one" else PARTS)
        self._is_running = kind == "running parts"

    def running(self) -> AbstractContextManager[None]:
        return answering(self.crawl.directory, range(PARTS), together=True) if self._is_running else nullcontext()


@pytest.fixture(params=["one", "parts", "running parts"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path, request.param)
    with made.running():
        yield made


def selected(taken: int, waiting: int, looked_at: int = ALL) -> dict[str, object]:
    return {"looked_at": looked_at, "taken": taken, "waiting": waiting, "after": None}


def test_settled_urls_are_queued_again_once_however_often_the_command_is_repeated(case: Case) -> None:
    crawl = case.crawl
    assert crawl.do("recrawl", "--failed", "--json").json() == selected(len(HOSTS), 0)
    assert crawl.do("recrawl", "--failed", "--json").json() == selected(0, 0)
    assert crawl.do("recrawl", "--matching", r"/[01]$", "--json").json() == selected(2 * len(HOSTS), 0)
    assert crawl.do("recrawl", "--json").json() == selected(0, ALL)
    assert f"0 of {ALL} URLs queued again; {ALL} wait already" in crawl.do("recrawl").out
    status = crawl.do("status", "--json").json()["frontier"]
    assert isinstance(status, dict)
    assert (status["admitted"], status["pending"], status["done"], status["failed"]) == (ALL, ALL, 0, 0)
    waiting = {str(line["url"]): line for line in crawl.lines(crawl.run("frontier", "export", "DIR", "--pending"))}
    assert len(waiting) == ALL


def test_a_host_is_forgotten_and_its_waiting_urls_are_kept(case: Case) -> None:
    crawl, host = case.crawl, HOSTS[3]
    told = crawl.do("forget", "--host", host)
    assert told.code == FAILED  # some wait
    assert told.out == f"{SETTLED} of {EACH} URLs forgotten; {EACH - SETTLED} wait already\n"
    left = {str(line["url"]) for line in crawl.exported()}
    assert len(left) == ALL - SETTLED
    assert sum(f"//{host}/" in url for url in left) == EACH - SETTLED
    assert crawl.do("recrawl", "--host", host, "--json").json() == selected(0, EACH - SETTLED, EACH - SETTLED)


@pytest.mark.parametrize("command", ["recrawl", "forget"])
def test_a_host_without_urls_is_named(tmp_path: Path, command: str) -> None:
    crawl = make(tmp_path / "crawl", parts=1)
    told = crawl.do(command, "--host", "mistyped.test")
    assert (told.code, told.err) == (COMPLETE, "the crawl has no URL of mistyped.test\n")
    assert crawl.do(command, "--host", HOSTS[0]).err == ""


def test_a_pattern_says_what_is_forgotten(case: Case) -> None:
    crawl = case.crawl
    assert crawl.do("forget", "--matching", r"/0$", "--json").json() == selected(len(HOSTS), 0)
    assert_told(crawl.do("forget", "--matching", r"/0$"), COMPLETE)
    assert crawl.do("forget", "--host", HOSTS[0], "--matching", r"/1$", "--json").json() == selected(1, 0, EACH - 1)
    assert len(crawl.exported()) == ALL - len(HOSTS) - 1


def test_the_output_of_forgotten_urls_is_no_sign_that_they_were_lost(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    before = crawl.look("fsck").out
    assert crawl.do("forget", "--matching", r"/[01]$").code == COMPLETE
    after = crawl.look("fsck")
    assert (after.code, "and the ledger does not" in after.out) == (COMPLETE, False), (before, after.out)


def test_only_urls_whose_last_visit_is_older_are_queued_again(case: Case) -> None:
    assert case.crawl.do("recrawl", "--older-than", "1h", "--json").json()["taken"] == 0


@pytest.mark.parametrize("options", [(), ("--older-than", "1h")])
def test_visits_from_before_the_clock_was_set_back_count_as_old(
    case: Case, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    true_time = time.time
    monkeypatch.setattr("time.time", lambda: true_time() - DAY_S)
    assert case.crawl.do("recrawl", *options, "--json").json()["taken"] == SETTLED * len(HOSTS)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("forget", "--host", "h", "http://a.test/"), "found both"),
        (("forget", "--host", "a b"), "expected a host such as example.org, found 'a b'"),
        (
            ("forget", "--host", "example.org/private"),
            "expected a host such as example.org, found 'example.org/private'",
        ),
        (("recrawl", "--host", "https://example.org"), "expected a host such as example.org"),
        (("forget", "--host", "", "--matching", "x"), "--host and --matching can't be empty"),
        (("forget", "--host", "a.test", "--matching", ""), "--host and --matching can't be empty"),
        (("recrawl", "--host", ""), "--host and --matching can't be empty"),
        (("forget", "--matching", "("), "'(' is not a pattern"),
        (("recrawl", "--matching", "(?=x)"), "is not a pattern"),
        (("recrawl", "--failed", "--excluded"), "no URL was both given up and excluded"),
        (("recrawl", "--older-than", "soon"), "expected a duration such as 7d"),
        (("recrawl", "--older-than", "7"), "expected a number with its unit, as 90d or 12h, found '7'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    command: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    crawl = make(tmp_path / "crawl")
    ended = crawl.do(*command)
    assert ended.code == USAGE
    assert complaint in ended.err
    assert len(crawl.exported()) == ALL
