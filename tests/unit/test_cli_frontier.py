"""URLs are carried from one crawl to another as JSON Lines."""

import asyncio
import re
from pathlib import Path

import click
import msgspec
import pytest

from config import load, render_toml
from crawler.disk.directory import CrawlDirectory
from crawler.operate.refused import Refused
from crawler.testing.frontier.crawls import DONE, page, pages
from frontier import LedgerEntry
from frontier.shell import QueueFrontier
from frontier.upkeep.fsck import fsck
from tests.e2e.operating import command_here
from tests.invoking import invoke
from tests.stores import open_leveldb
from visited.digests.exact import ExactSet


def made(path: Path, *, fetched: int = 0, hosts: int = 0) -> Path:
    """A crawl directory with three URLs of each host."""
    with CrawlDirectory(path) as directory:
        config = load(None, environ={}, require_seeds=False).config
        directory.write_configuration(render_toml(config))

        async def fill() -> None:
            frontier = await QueueFrontier.open(open_leveldb(config, directory), ExactSet())
            await frontier.add(pages(hosts, 3))
            for _ in range(fetched):
                await frontier.done(await anext(frontier), cooldown_s=0, outcome=DONE)
            await frontier.aclose()

        asyncio.run(fill())
    return path


def run(*arguments: str | Path, given: str | None = None) -> str:
    return invoke(*arguments, given=given).stdout


def ledger(path: Path) -> dict[str, LedgerEntry]:
    with CrawlDirectory(path) as directory:
        store = open_leveldb(load(directory.configuration, environ={}, require_seeds=False).config, directory)
        assert fsck(store).problems == []
        found = {
            url: msgspec.structs.replace(entry, number=0, via=None)
            for url in store.reads.ledger()
            if (entry := store.reads.entry(url))
        }
        store.close()
        return found


def test_an_export_is_imported_whole_and_a_second_time_without_change(tmp_path: Path) -> None:
    here, there = made(tmp_path / "here", hosts=4, fetched=5), made(tmp_path / "there")
    lines = run("frontier", "export", here)
    assert len(lines.splitlines()) == 12
    assert run("frontier", "import", there, given=lines) == "12 URLs added, 0 were known\n"
    assert run("frontier", "import", there, given=lines) == "0 URLs added, 12 were known\n"
    before, after = ledger(here), ledger(there)
    assert before.keys() == after.keys()
    assert {url: entry.state for url, entry in before.items()} == {url: entry.state for url, entry in after.items()}


def test_an_imported_seed_without_a_scheme_still_has_none(tmp_path: Path) -> None:
    here, there = made(tmp_path / "here"), made(tmp_path / "there")
    run("add", here, "A.test", "https://b.test/", "--force")
    lines = run("frontier", "export", here, "--pending")
    told = [msgspec.json.decode(line) for line in lines.splitlines()]
    assert [(line["url"], line.get("anchor")) for line in told] == [
        ("https://a.test/", "A.test"),
        ("https://b.test/", None),
    ]
    run("frontier", "import", there, given=lines)
    again = [msgspec.json.decode(line) for line in run("frontier", "export", there, "--pending").splitlines()]
    assert [line.get("anchor") for line in again] == ["A.test", None]


def test_an_export_goes_on_behind_the_last_line_that_was_got(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=2, fetched=1)
    lines = run("frontier", "export", here).splitlines()
    last = msgspec.json.decode(lines[2])["url"]
    assert run("frontier", "export", here, "--after", last).splitlines() == lines[3:]
    pending = run("frontier", "export", here, "--pending").splitlines()
    assert pending == [line for line in lines if '"done"' not in line]
    assert [msgspec.json.decode(line)["state"] for line in lines].count("pending") == len(pending)


def test_a_line_needs_no_more_than_a_url(tmp_path: Path) -> None:
    there = made(tmp_path / "there")
    assert run("frontier", "import", there, given='{"url": "http://A.test/x#y"}\n') == "1 URL added, 0 were known\n"
    assert list(ledger(there)) == ["http://a.test/x"]


@pytest.mark.parametrize(
    "line", ["{", '{"url": 1}', '{"url": "http://a.test/", "state": "odd"}', '{"url": "mailto:x"}']
)
def test_a_line_that_is_no_url_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    there = made(tmp_path / "there")
    lines = tmp_path / "lines"
    lines.write_text(f'{{"url": "http://a.test/"}}\n{line}\n')
    ended = command_here("frontier", "import", str(there), str(lines))
    assert ended.code == 2
    assert "line 2" in ended.err or "mailto:x" in ended.err


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"", "found an empty line"),
        (b" \r", "found an empty line"),
        (b'{"url": "http://a.test/\xff"}', "'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_an_imported_line_that_is_empty_or_no_text_is_told_with_what_was_expected(
    tmp_path: Path, line: bytes, found: str
) -> None:
    there = made(tmp_path / "there")
    given = b'{"url": "http://a.test/"}\n' + line + b"\n"
    ended = command_here("frontier", "import", str(there), given=given)
    assert ended.code == 2
    expected = 'onceover: line 2: expected a URL as `frontier export` prints it, {"url": "https://…/"}; '
    assert ended.err.startswith(expected + found)
    assert ledger(there) == {}


def test_queues_are_paged_and_filtered(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=5, fetched=1)
    first = run("inspect", here, "queues", "--sort", "key", "--limit", "2", "--json").splitlines()
    rest = run("inspect", here, "queues", "--sort", "key", "--offset", "2", "--json").splitlines()
    keys = [msgspec.json.decode(line)["key"] for line in first + rest]
    assert keys == [f"test,h{host}" for host in range(5)]
    told = msgspec.json.decode(first[1])
    assert (told["host"], told["served"], told["retired"], told["size"]) == ("h1.test", True, False, 3)
    assert msgspec.json.decode(run("inspect", here, "url", "http://h3.test/p0", "--json"))["state"] == "pending"
    assert run("inspect", here, "queues", "--retired", "--json") == ""
    assert "waits  in the queue of h3.test, which holds 3" in run("inspect", here, "url", "http://h3.test/p0")
    assert "h3.test" in run("inspect", here, "queues", "--match", "h3")


def test_links_to_a_url_are_told_as_of_now_and_carried_to_another_crawl(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=2, fetched=1)
    url = "http://h0.test/p0"
    with CrawlDirectory(here) as directory:
        config = load(directory.configuration, environ={}, require_seeds=False).config

        async def more() -> None:
            frontier = await QueueFrontier.open(open_leveldb(config, directory), ExactSet())
            await frontier.add(pages(2, 3))
            await frontier.add([page("h0", "p0")])
            await frontier.aclose()

        asyncio.run(more())

    def told(path: Path) -> dict[str, int]:
        lines = map(msgspec.json.decode, run("frontier", "export", path).splitlines())
        return {line["url"]: line["hit_count"] for line in lines}

    counts = told(here)
    assert counts == {f"http://h{host}.test/p{number}": 2 for host in range(2) for number in range(3)} | {url: 3}
    assert msgspec.json.decode(run("inspect", here, "url", url, "--json"))["hit_count"] == 3
    assert "links to it  3" in run("inspect", here, "url", url)
    there = made(tmp_path / "there")
    run("frontier", "import", there, given=run("frontier", "export", here))
    assert told(there) == counts


def test_a_host_is_retired_served_again_and_given_a_budget(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=3, fetched=1)
    assert run("frontier", "retire", here, "h1.test") == "h1.test is retired: 3 URLs are kept, and not fetched\n"
    assert msgspec.json.decode(run("inspect", here, "queues", "--retired", "--json"))["key"] == "test,h1"
    assert (
        run("frontier", "budget", here, "test,h1", "9") == "h1.test is still retired: 0 of 9 spent, 3 URLs are kept\n"
    )
    assert run("frontier", "unretire", here, "h1.test") == "h1.test is served: 0 of 9 spent, 3 URLs wait\n"
    assert run("frontier", "budget", here, "h0.test", "1") == (
        "h0.test is retired, because its budget is spent: 1 of 1 spent, 2 URLs are kept\n"
    )
    assert msgspec.json.decode(run("frontier", "budget", here, "h0.test", "2", "--json"))["budget"] == 2
    assert run("inspect", here, "queues", "--retired", "--json") == ""
    assert run("frontier", "budget", here, "h0.test", "default") == "h0.test is served: 1 spent, 2 URLs wait\n"
    ledger(here)


def test_all_queues_of_a_host_that_is_fetched_in_parallel_are_changed_together(tmp_path: Path) -> None:
    here = made(tmp_path / "here")
    lines = [{"url": f"http://a.test/{number}", "queue": f"test,a#{number}"} for number in range(3)]
    run("frontier", "import", here, given="\n".join(msgspec.json.encode(line).decode() for line in lines))
    run("frontier", "retire", here, "a.test#1")
    assert len(run("frontier", "retire", here, "a.test").splitlines()) == 2
    assert len(run("inspect", here, "queues", "--retired", "--json").splitlines()) == 3
    assert len(run("frontier", "unretire", here, "a.test").splitlines()) == 3


def test_a_host_with_letters_beyond_ascii_is_named_as_people_write_it(tmp_path: Path) -> None:
    here = made(tmp_path / "here")
    line = {"url": "http://xn--mnchen-3ya.test/", "queue": "test,xn--mnchen-3ya"}
    run("frontier", "import", here, given=msgspec.json.encode(line).decode())
    assert "is retired" in run("frontier", "retire", here, "München.test")
    assert "is served" in run("frontier", "unretire", here, "xn--mnchen-3ya.test")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("retire", "none.test"), "has no queue of none.test; `onceover inspect"),
        (("unretire", "h0.test"), "queue test,h0 is not retired by an operator; nothing was changed"),
        (("budget", "h0.test", "much"), "expected a cost of 0 to 9,007,199,254,740,992, or `default`"),
        (("resume",), "is not paused; nothing was changed"),
    ],
)
def test_an_act_that_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    here = made(tmp_path / "here", hosts=1)
    act, *rest = arguments
    ended = command_here("frontier", act, str(here), *rest)
    assert ended.code == 2
    assert told in ended.err


def test_a_pause_is_told_and_an_act_after_a_crash_leaves_it_a_crash(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=1)

    def in_use(*, become: bool = False) -> bool:
        with CrawlDirectory(here) as directory:
            store = open_leveldb(load(directory.configuration, environ={}, require_seeds=False).config, directory)
            if become:
                store.marks.set_in_use(True)
            found = store.marks.in_use
            store.close()
            return found

    in_use(become=True)
    state = msgspec.json.decode(run("frontier", "pause", here, "--json"))
    assert state == {"paused": "by the operator", "running": False, "in_flight": 0}
    run("frontier", "resume", here)
    assert run("frontier", "pause", here) == f"{here} is paused: by the operator\n"
    run("frontier", "resume", here)
    assert run("frontier", "pause", here, "--reason", "rain") == f"{here} is paused: rain\n"
    assert run("frontier", "resume", here) == f"{here} is no longer paused: `onceover crawl --dir {here}` goes on\n"
    assert in_use()


def test_the_urls_that_come_next_are_listed_in_the_order_in_which_they_are_fetched(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=2, fetched=2)
    assert run("inspect", here, "next", "h0.test").splitlines() == ["http://h0.test/p1", "http://h0.test/p2"]
    [line] = run("inspect", here, "next", "h1.test", "--limit", "1", "--json").splitlines()
    assert msgspec.json.decode(line) | {"url": "http://h1.test/p1", "queue": "test,h1", "depth": 0} == (
        msgspec.json.decode(line)
    )
    with pytest.raises(Refused, match=r"has no queue of h9\.test"):
        run("inspect", here, "next", "h9.test")


def test_a_repair_of_what_is_sound_says_so(tmp_path: Path) -> None:
    here = made(tmp_path / "here", hosts=2, fetched=1)
    ended = invoke("inspect", here, "fsck", "--repair", "--no-output")
    assert "repaired: nothing" in ended.stderr
    assert "no problems" in ended.stdout


MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_moments_digests_and_states_are_told_as_in_records(tmp_path: Path) -> None:
    settled = {
        "url": "http://a.test/1",
        "state": "done",
        "status": 200,
        "found_at": "2026-11-20T19:29:55.000Z",
        "fetched_at": "2026-11-20T19:30:00.250Z",
        "digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        "last_modified": "Fri, 20 Nov 2026 19:00:00 GMT",
        "hit_count": 2,
    }
    there = made(tmp_path / "there", hosts=1)
    run("frontier", "import", there, given=msgspec.json.encode(settled).decode())
    exported = [msgspec.json.decode(line) for line in run("frontier", "export", there).splitlines()]
    assert [line for line in exported if line["url"] == settled["url"]] == [settled]
    told = msgspec.json.decode(run("inspect", there, "url", "http://a.test/1", "--json"))
    assert {name: told[name] for name in settled if name != "url"} == {
        **{name: value for name, value in settled.items() if name != "url"},
        "last_modified": "2026-11-20T19:00:00Z",
    }
    [queue] = [msgspec.json.decode(line) for line in run("inspect", there, "queues", "--json").splitlines()]
    retired = msgspec.json.decode(run("frontier", "retire", there, queue["host"], "--json"))
    assert retired.keys() == queue.keys()
    assert (queue["served"], retired["served"]) == (True, False)
    for value in (queue["wake_at"], queue["health"]["probe_at"], *(line.get("found_at") for line in exported)):
        assert value is None or MOMENT.fullmatch(value), value


@pytest.mark.parametrize("field", ['"found_at": "yesterday"', '"digest": "sha1:1"', '"hit_count": -1'])
def test_a_moment_digest_or_count_that_is_none_is_refused_with_its_line(field: str, tmp_path: Path) -> None:
    there = made(tmp_path / "there")
    with pytest.raises(click.UsageError, match="line 1: expected a URL as `frontier export` prints it"):
        run("frontier", "import", there, given=f'{{"url": "http://a.test/", {field}}}\n')
