"""A crawl in parts answers like the same crawl in one."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from config import CompareWork, load
from crawler.codes.exit_codes import USAGE
from crawler.wiring.comparing.blocks import prepare_work
from tests.e2e.crawling import Ended
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import EACH, HOSTS, OWNERSHIP, PARTS, SETTLED, StoredCrawl, make, queue_of, url_of


class Both:
    """The same crawl twice."""

    def __init__(self, folder: Path) -> None:
        self.one = make(folder / "one")
        self.parts = make(folder / "parts", parts=PARTS)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(tmp_path_factory.mktemp("crawls"))


def without(value: dict[str, object], *names: str) -> dict[str, object]:
    return {name: each for name, each in value.items() if name not in names}


def test_the_hosts_are_spread_over_all_parts() -> None:
    assert {OWNERSHIP.owner(queue_of(host)) for host in HOSTS} == set(range(PARTS))


def test_status_adds_up_the_parts(both: Both) -> None:
    one, parts = both.one.do("status", "--json").json(), both.parts.do("status", "--json").json()
    assert without(parts, "directory", "parts") == without(one, "directory")
    assert "parts" not in one
    told = msgspec.convert(parts["parts"], list[dict[str, object]])
    assert [each["part"] for each in told] == [0, 1, 2]
    assert [each["directory"] for each in told] == [str(both.parts.directory / f"part-{number}") for number in range(3)]
    shown = both.parts.do("status").out
    assert f"{len(HOSTS) * SETTLED} of {len(HOSTS) * EACH} settled" in shown
    assert "can't be told, because no process fetches them" in " ".join(shown.split())
    assert shown.count("· does not run") == PARTS


def test_a_checkpoint_adds_up_the_parts(both: Both) -> None:
    one, parts = both.one.do("checkpoint", "--json").json(), both.parts.do("checkpoint", "--json").json()
    assert without(parts, "at", "files") == without(one, "at", "files")
    assert (one["settled"], one["running"]) == (len(HOSTS) * SETTLED, False)
    assert "does not run, and all of it is on the disk" in both.parts.do("checkpoint").out


@pytest.mark.parametrize("sort", ["size", "wake", "errors", "key"])
def test_queues_are_listed_in_one_order_and_each_tells_its_part(both: Both, sort: str) -> None:
    one = both.one.lines(both.one.look("queues", "--sort", sort, "--json"))
    parts = both.parts.lines(both.parts.look("queues", "--sort", sort, "--json"))
    volatile = ("wake_at", "part")
    if sort == "wake":  # the two crawls were made at different times
        one.sort(key=lambda queue: str(queue["key"]))
        parts.sort(key=lambda queue: str(queue["key"]))
    assert [without(each, *volatile) for each in parts] == [without(each, *volatile) for each in one]
    assert all(each["part"] == OWNERSHIP.owner(str(each["key"])) for each in parts)
    assert "part" not in one[0]
    assert "part" in both.parts.look("queues").out.splitlines()[0]


def test_queues_are_listed_from_any_place(both: Both) -> None:
    every = both.one.lines(both.one.look("queues", "--sort", "key", "--json"))
    for offset, limit in ((0, 2), (4, 3), (8, 5), (9, 1)):
        page = both.parts.look("queues", "--sort", "key", "--json", "--offset", str(offset), "--limit", str(limit))
        keys = [each["key"] for each in both.parts.lines(page)]
        assert keys == [each["key"] for each in every[offset : offset + limit]]


@pytest.mark.parametrize("number", range(EACH))
def test_the_owner_is_asked_for_a_url(both: Both, number: int) -> None:
    for host in HOSTS[:3]:
        url = url_of(host, number)
        one, parts = both.one.look("url", url, "--json").json(), both.parts.look("url", url, "--json").json()
        varying = ("number", "found_at", "part", "due_at", "waits")
        assert without(parts, *varying) == without(one, *varying)
        assert parts["part"] == OWNERSHIP.owner(queue_of(host))


def test_a_url_that_no_part_knows_is_told_as_ever(both: Both) -> None:
    for text in ("http://elsewhere.test/", "http://host-1.test/none"):
        one, parts = both.one.look("url", text), both.parts.look("url", text)
        assert (parts.code, parts.out) == (one.code, one.out)
    refused = both.parts.look("url", "mailto:someone")
    assert refused.code == 2
    assert "mailto:someone" in refused.err


def test_the_next_urls_of_a_host_are_those_of_its_owner(both: Both) -> None:
    for host in HOSTS:
        assert both.parts.look("next", host, "--json").out == both.one.look("next", host, "--json").out
    unknown = both.parts.look("next", "elsewhere.test")
    assert unknown.code == 2
    assert f"onceover: {both.parts.directory} has no queue of elsewhere.test" in unknown.err


def test_visited_sets_are_added_up(both: Both) -> None:
    one, parts = both.one.look("visited", "--json").json(), both.parts.look("visited", "--json").json()
    assert parts.keys() == one.keys()
    assert (parts["backend"], parts["count"]) == (one["backend"], one["count"])


def test_visited_urls_are_those_of_all_parts(tmp_path: Path) -> None:
    parts = make(tmp_path / "parts", parts=PARTS, settings=['visited.backend="raw"'])
    listed = parts.look("visited-urls")
    assert sorted(listed.out.splitlines()) == sorted(url_of(host, number) for host in HOSTS for number in range(EACH))


def test_top_shows_the_hosts_of_all_parts(both: Both) -> None:
    one = msgspec.convert(both.one.do("top", "--json").json()["hosts"], list[dict[str, object]])
    parts = msgspec.convert(both.parts.do("top", "--json").json()["hosts"], list[dict[str, object]])
    assert [without(each, "part", "wake_at", "waits") for each in parts] == [
        without(each, "wake_at", "waits") for each in one
    ]
    limited = both.parts.do("top", "--json", "--limit", "4").json()
    assert limited["left"] == len(HOSTS) - 4
    assert "part" in both.parts.do("top", "--once").out


def test_an_export_has_the_urls_of_all_parts_in_one_order(both: Both) -> None:
    for options in ([], ["--pending"], ["--after", url_of("host-4.test", 3)]):
        one = both.one.lines(command_frontier(both.one, "export", *options))
        parts = both.parts.lines(command_frontier(both.parts, "export", *options))
        varying = ("found_at", "due_at")
        assert [without(each, *varying) for each in parts] == [without(each, *varying) for each in one]


def test_a_comparison_takes_the_links_of_all_parts(both: Both, tmp_path: Path) -> None:
    loaded = load(None, environ={}, require_seeds=False)
    works = [
        asyncio.run(prepare_work(loaded, CompareWork(name=name, crawl=str(crawl.directory)), tmp_path / name))
        for name, crawl in (("one", both.one), ("parts", both.parts))
    ]
    assert works[0].survey == works[1].survey
    assert works[0].survey.distinct == len(HOSTS) * EACH


def test_a_crawl_that_was_divided_answers_as_before(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    asked = [["url", url_of(host, number), "--json"] for host in HOSTS[:2] for number in (0, SETTLED - 1, EACH - 1)]
    before = [without(crawl.look(*each).json(), "waits") for each in asked]
    lines = command_frontier(crawl, "export").out
    assert command_here("parts", str(crawl.directory), "--into", str(PARTS)).code == 0
    assert [without(crawl.look(*each).json(), "part", "waits") for each in asked] == before
    assert command_frontier(crawl, "export").out == lines
    # The records are those from before.
    assert crawl.look("fsck").code == 0
    loaded = load(None, environ={}, require_seeds=False)
    work = CompareWork(name="divided", crawl=str(crawl.directory))
    assert asyncio.run(prepare_work(loaded, work, tmp_path / "work")).survey.distinct == len(HOSTS) * EACH


def test_one_part_answers_for_itself(both: Both) -> None:
    parts = both.parts
    mine = [host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 1]
    status = parts.do("status", "--part", "1", "--json").json()
    assert status["directory"] == str(parts.directory / "part-1")
    assert msgspec.convert(status["frontier"], dict[str, object])["admitted"] == len(mine) * EACH
    queues = command_here("inspect", "--part", "1", str(parts.directory), "queues", "--json")
    assert sorted(str(each["host"]) for each in parts.lines(queues)) == sorted(mine)
    assert len(parts.lines(command_frontier(parts, "export", "--part", "1"))) == len(mine) * EACH
    assert parts.do("top", "--part", "1", "--json").json()["left"] == 0
    # The directory of a part is that of a crawl.
    assert command_here("status", str(parts.directory / "part-1"), "--json").json() == status


def test_a_part_that_is_not_there_is_refused(both: Both) -> None:
    beyond = both.parts.do("status", "--part", "3")
    assert beyond.code == 2
    assert "has parts 0 to 2, and no part 3" in beyond.err
    none = both.one.do("status", "--part", "0")
    assert none.code == 2
    assert "is not in parts" in none.err


def command_frontier(crawl: StoredCrawl, what: str, *arguments: str) -> Ended:
    return command_here("frontier", what, str(crawl.directory), *arguments)


def test_a_known_url_is_found_whatever_the_limit_of_lengths_is_now(tmp_path: Path) -> None:
    crawls = [make(tmp_path / str(parts), parts=parts) for parts in (1, PARTS)]
    text = f"http://{HOSTS[0]}/{'x' * 3000}"
    for crawl in crawls:
        assert "more than 2083 characters" in crawl.do("add", text, "--force").err
        assert crawl.do("set", "scope.max_url_length=4000").code == 0
        assert crawl.do("add", text, "--force").code == 0
        assert crawl.look("url", text, "--json").json()["state"] == "pending"
        assert crawl.do("set", "scope.max_url_length=1000").code == 0
        assert crawl.look("url", text, "--json").json()["state"] == "pending"
        assert "waits" in crawl.do("forget", text).err


def test_a_wrong_rule_in_the_configuration_of_a_crawl_in_parts_is_named(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    file = crawl.directory / "crawl.toml"
    file.write_text(file.read_text().replace("[urls]\n", '[urls]\nrules = ["none-such"]\n'))
    ended = crawl.look("url", url_of(HOSTS[0], 0))
    assert (ended.code, "unknown canonical rule 'none-such'" in ended.err) == (USAGE, True)
