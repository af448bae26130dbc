"""That a crawl in parts is one crawl: to who starts it, stops it, and reads what it has found."""

import shutil
import signal
from pathlib import Path

import msgspec
import pytest

from crawler.control.replies import WrittenFile
from crawler.disk.layout import part_directories, read_layout
from crawler.simweb.expected import Kind
from crawler.simweb.params import demo_params
from crawler.simweb.world import World
from crawler.testing.disks import fill, mounted
from crawler.write.records import read_records
from tests.e2e.crawling import (
    AWAY,
    COMPLETE,
    LIMIT,
    REFUSED,
    STOPPED,
    USAGE,
    Ended,
    assert_sound,
    assert_told,
    fetched,
    onceover,
    setting,
)
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, WORLD, assert_fetched_once, crossed, host_of, in_parts, send
from tests.e2e.test_politeness import gaps_s


@pytest.mark.long
def test_the_demo_in_three_parts_finds_each_page_once(tmp_path: Path) -> None:
    ended = onceover("demo", "--parts", "3", "--json", cwd=tmp_path, PYTHONHASHSEED="random")
    assert_told(ended, COMPLETE, "2,000 of 2,000 expected pages fetched, 0 missing, 0 unexpected")
    params = msgspec.structs.replace(demo_params(), domain="test")
    expected = {item.url for item in World(params).expected() if item.kind is Kind.PAGE}
    directory = tmp_path / "crawls" / "demo"
    records = [list(read_records(path / "records")) for path in part_directories(directory)]
    assert len(records) == 3
    assert_fetched_once(records, expected)
    assert crossed(records) > 0
    assert_sums_up(ended, pages=2000)
    for path in part_directories(directory):
        assert_sound(path)


def assert_sums_up(ended: Ended, *, pages: int) -> None:
    """What a crawl in parts prints about all of them."""
    found = ended.json()
    assert found["ending"] == "complete"
    status = msgspec.convert(found["status"], dict[str, object])
    assert status["pages"] == pages
    all_urls = msgspec.convert(status["frontier"], dict[str, object])["admitted"]
    assert status["admitted"] == msgspec.convert(all_urls, int) - 1  # all but the seed were found as links


def test_no_host_is_asked_sooner_because_the_crawl_has_parts(tmp_path: Path) -> None:
    with in_parts(tmp_path, "politeness.min_delay_s=0.2", parts=3) as crawl:
        with crawl.started("--json") as supervisor:
            ended = supervisor.wait()
        assert_told(ended, COMPLETE)
        assert_sums_up(ended, pages=len(crawl.web.pages))
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert crossed(crawl.records()) > 0
        for path in part_directories(crawl.directory):
            assert_sound(path)
        assert min(gaps_s(crawl.requests())) >= 0.2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_all_parts_finish_what_is_in_flight(tmp_path: Path, number: signal.Signals) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl:
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            if number is signal.SIGINT:
                for pid in crawl.pids():  # a terminal sends it to all
                    send(pid, number)
            supervisor.signal(number)
            ended = supervisor.wait()
        assert_told(ended, STOPPED, "Stopping when ", "Ctrl-C again stops at once")
        assert ended.out.startswith("Stopped. To go on: onceover crawl --dir crawl\n")
        assert crawl.pids() == []
        assert not (crawl.directory / "control").exists()
        assert sum(map(len, crawl.records())) < len(crawl.web.pages)
        resumed = onceover("crawl", "--dir", "crawl", "--json", *HURRIED, cwd=tmp_path)
        assert_told(resumed, COMPLETE, "Resuming: ")
        assert_fetched_once(crawl.records(), crawl.web.pages)
        # Drained, not dropped: nothing was fetched twice.
        done = [each.target for each in crawl.requests() if each.target != "/robots.txt"]
        assert len({(each.host, each.target) for each in crawl.requests() if each.target != "/robots.txt"}) == len(done)
        again = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
        assert "nothing was left to fetch" in again.out


def test_a_second_signal_drops_what_is_in_flight(tmp_path: Path) -> None:
    params = msgspec.structs.replace(WORLD, slow=1.0, delay_s=3600.0)
    with in_parts(tmp_path, params=params) as crawl, crawl.started() as supervisor:
        supervisor.wait_until(lambda: any(each.status == 200 for each in crawl.requests()), "an answer")
        supervisor.signal(signal.SIGINT)
        supervisor.wait_until(lambda: "Stopping when" in supervisor.err, "word of it")
        supervisor.signal(signal.SIGINT)
        assert_told(supervisor.wait(), STOPPED)
        assert crawl.pids() == []


def test_seconds_are_a_limit_of_the_whole_crawl(tmp_path: Path) -> None:
    with in_parts(tmp_path, "politeness.min_delay_s=30", "limits.seconds=0.5") as crawl:
        with crawl.started() as supervisor:
            ended = supervisor.wait()
        assert_told(ended, LIMIT)
        assert ended.out.startswith("Stopped by a limit. To go on: onceover crawl --dir crawl")


def test_a_crawl_keeps_its_number_of_parts(tmp_path: Path) -> None:
    with in_parts(tmp_path) as crawl:
        with crawl.started() as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        layout = read_layout(crawl.directory)
        for more in ([], ["--parts", "2"], ["--parts", "auto"]):
            assert_told(onceover("crawl", "--dir", "crawl", *more, cwd=tmp_path), COMPLETE, "Resuming: ")
        three = onceover("crawl", "--dir", "crawl", "--parts", "3", cwd=tmp_path)
        assert_told(three, REFUSED, "has 2 parts, and the configuration says 3", "onceover parts", "--into 3")
        one = onceover("crawl", "--dir", "crawl", "--parts", "1", cwd=tmp_path)
        assert_told(one, REFUSED, "has 2 parts", "--into 1")
        part = onceover("crawl", "--dir", "crawl/part-0", cwd=tmp_path)
        assert_told(part, REFUSED, f"is one part of the crawl in {crawl.directory}, which runs all of them")
        assert read_layout(crawl.directory) == layout
        fresh = onceover("crawl", "--dir", "crawl", "--parts", "1", "--fresh", cwd=tmp_path)
        assert_told(fresh, COMPLETE)
        assert read_layout(crawl.directory) is None
        assert not (crawl.directory / "part-0").exists()
        assert fetched(crawl.directory) == dict.fromkeys(crawl.web.pages, 1)
        divided = onceover("crawl", "--dir", "crawl", "--parts", "2", cwd=tmp_path)
        assert_told(divided, REFUSED, "not in parts: divide it by `onceover parts crawl --into 2`", "--fresh")


def test_a_part_whose_disk_is_missing_does_not_begin_anew(tmp_path: Path) -> None:
    with in_parts(tmp_path) as crawl:
        with crawl.started() as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        part = crawl.directory / "part-1"
        part.rename(tmp_path / "aside")
        ended = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
        assert_told(ended, REFUSED, "part 1 of the crawl in crawl is missing: expected its directory crawl/part-1")
        assert_told(ended, REFUSED, "`onceover inspect crawl fsck --repair` makes the part again")
        part.mkdir()  # where it was mounted
        assert_told(onceover("crawl", "--dir", "crawl", cwd=tmp_path), REFUSED, "part 1", "is missing")
        part.rmdir()
        part.symlink_to(tmp_path / "aside")  # on another disk
        assert_told(onceover("crawl", "--dir", "crawl", cwd=tmp_path), COMPLETE)


@pytest.mark.parametrize("number", ["0", "-1", "x", "2000"])
def test_a_wrong_number_of_parts_is_named_as_the_option_that_gave_it(tmp_path: Path, number: str) -> None:
    for command in (["crawl", "--seed", "http://h00000.test/"], ["demo"]):
        ended = command_here(*command, "--dir", str(tmp_path / "crawl"), "--parts", number)
        assert_told(ended, USAGE, '--parts: crawl.parts: expected a whole number, 1 to 1024, or "auto", found ')


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (['frontier.queue_by="ip"'], 'expected 1 with frontier.queue_by = "ip"'),
        (['frontier.parallel_queues=["h00000.test:4"]'], "expected 1 with frontier.parallel_queues"),
        (['frontier.backend="memory"'], 'expected 1 with frontier.backend = "memory"'),
        (
            ['frontier.queue_by="surt-prefix"', 'frontier.queue_prefixes=["*.com"]'],
            "expected places within a registered domain, as the crawl is in parts, found com",
        ),
        (['urls.rules=["a => b"]'], "expected rules that keep the domain of a URL"),
    ],
)
def test_what_cant_be_divided_is_refused(tmp_path: Path, settings: list[str], told: str) -> None:
    options = ["--seed", "http://h00000.test/", "--dir", "crawl", "--parts", "2", *setting(*settings)]
    ended = onceover("crawl", *options, cwd=tmp_path)
    assert_told(ended, USAGE, told)
    assert not (tmp_path / "crawl").exists()


def test_what_a_part_refuses_ends_the_crawl_and_keeps_the_configuration(tmp_path: Path) -> None:
    with in_parts(tmp_path) as crawl:
        with crawl.started() as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        before = (crawl.directory / "crawl.toml").read_text()
        ended = onceover("crawl", "--dir", "crawl", *setting('urls.rules=["strip-www"]'), cwd=tmp_path)
        assert_told(ended, REFUSED, "part ", "was crawled with urls.rules", "--rebuild")
        assert (crawl.directory / "crawl.toml").read_text() == before
        rebuilt = onceover("crawl", "--dir", "crawl", "--rebuild", *setting('urls.rules=["strip-www"]'), cwd=tmp_path)
        assert_told(rebuilt, COMPLETE)


def test_a_first_start_that_a_part_refuses_does_not_fix_the_number_of_parts(tmp_path: Path) -> None:
    redis = setting("visited.backend=redis-exact", "visited.capacity=1000", "visited.options.url=redis://127.0.0.1:1/0")
    three, one = ["--parts", "3"], ["--parts", "1"]
    with in_parts(tmp_path) as crawl:
        assert_told(onceover(*crawl.options, *redis, cwd=tmp_path), AWAY, "part ", "can't be reached")
        divided = onceover("parts", "crawl", "--into", "3", cwd=tmp_path)
        assert_told(divided, USAGE, "crawl.toml is missing", "before it had begun, `onceover crawl` with --parts 3")
        part = crawl.directory / "part-1"
        part.rename(tmp_path / "aside")
        part.mkdir()  # where its disk was mounted
        assert_told(onceover(*crawl.options, *three, cwd=tmp_path), REFUSED, "has 2 parts", "--fresh")
        part.rmdir()
        (tmp_path / "aside").rename(part)
        assert_told(onceover(*crawl.options, *three, *redis, cwd=tmp_path), AWAY, "can't be reached")
        assert len(part_directories(crawl.directory)) == 3
        assert_told(onceover(*crawl.options, *one, "--max-pages", "3", *HURRIED, cwd=tmp_path), LIMIT)
        (crawl.directory / "crawl.toml").unlink()
        assert_told(onceover(*crawl.options, *three, cwd=tmp_path), REFUSED, "has 1 part, and")
        assert_told(onceover(*crawl.options, *one, *HURRIED, cwd=tmp_path), COMPLETE, "Resuming: ")
        assert fetched(crawl.directory / "part-0") == dict.fromkeys(crawl.web.pages, 1)


def test_a_full_disk_holds_its_part_alone_and_is_told(tmp_path: Path) -> None:
    settings = (*UNHURRIED, "output.min_free_bytes=0", "output.warc=false")
    with mounted("-o", "size=160m", at=tmp_path / "disk") as disk, in_parts(tmp_path, *settings) as crawl:
        with crawl.started("--max-pages", "5", *HURRIED) as supervisor:
            assert_told(supervisor.wait(), LIMIT)
        part = crawl.directory / "part-1"
        shutil.move(part, disk / "part-1")
        part.symlink_to(disk / "part-1")
        stored = len(crawl.records()[1])
        with crawl.started() as supervisor:
            supervisor.wait_until(lambda: len(crawl.records()[1]) > stored, "a page of the part")
            ballast = fill(disk)
            supervisor.wait_until(lambda: "part 1 is paused: " in supervisor.err, "word of it")
            row = " ".join(command_here("status", str(crawl.directory)).out.split()).rpartition("part 1 ")[2]
            assert "paused: " in row, row
            # The other part may have nothing left to do by now, so it gets something.
            new = f"http://{host_of(crawl.records()[0][0].url)}/no-page-links-here"
            assert_told(command_here("add", str(crawl.directory), new), COMPLETE)
            supervisor.wait_until(lambda: new in {each.url for each in crawl.records()[0]}, "work of the other part")
            ballast.unlink()
            supervisor.wait_until(lambda: "part 1 goes on." in supervisor.err, "word of it")
            assert_told(command_here("stop", str(crawl.directory)), COMPLETE)
            assert_told(supervisor.wait(), STOPPED)
        assert_told(onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def test_nobody_else_starts_a_part(tmp_path: Path) -> None:
    assert_told(onceover("run-part", "77", cwd=tmp_path), USAGE, "starts the parts of a crawl; nobody else can")
    assert "run-part" not in onceover("--help", cwd=tmp_path).out


def test_commands_reach_all_parts_of_a_running_crawl(tmp_path: Path) -> None:
    directory = str(tmp_path / "crawl")
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        supervisor.wait_until((crawl.directory / "control").is_socket, "a socket")
        assert_told(command_here("pause", directory, "--reason", "tests"), COMPLETE)
        status = command_here("status", directory, "--json").json()
        assert status["paused"] == "tests"
        assert status["running"] is True
        assert status["pid"] == supervisor.pid
        taken = command_here("checkpoint", directory, "--json").json()
        assert taken["running"] is True
        files = msgspec.convert(taken["files"], list[WrittenFile])
        assert {Path(each.file).parts[0] for each in files} == {path.name for path in crawl.directory.glob("part-*")}
        assert all((crawl.directory / each.file).stat().st_size >= each.bytes for each in files)
        for command in (["crawl", "--dir", directory], ["parts", directory, "--into", "3"]):
            assert_told(command_here(*command), REFUSED, f"is in use by process {supervisor.pid}")
        assert_told(command_here("stop", directory), COMPLETE)
        assert_told(supervisor.wait(), STOPPED)
        assert_told(onceover("crawl", "--dir", "crawl", cwd=tmp_path), REFUSED, "`onceover resume crawl` lets")
        assert_told(command_here("resume", directory), COMPLETE)
        assert_told(onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
