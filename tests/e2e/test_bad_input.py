"""That bad input, and a bad environment, end in a message that a user can act on, with nothing lost or overwritten."""

import asyncio
import gzip
import os
import resource
import shlex
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from signal import SIGINT, SIGTERM
from socket import create_server

import plyvel
import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler.operate.opening import open_stored
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.testing.disks import mounted
from crawler.testing.fetch.raw_server import CLOSE, Script, head, page, raw_server
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    LIMIT,
    ONCEOVER,
    REFUSED,
    STOPPED,
    TIMEOUT_S,
    USAGE,
    Ended,
    Web,
    assert_sound,
    assert_told,
    environment,
    fetched,
    onceover,
    records,
    setting,
    started,
    tree,
)
from tests.ports import free_port

LOCAL = setting("fetch.allow_private=true", "politeness.min_delay_s=0", "frontier.retry_delay_s=0.1")


# the configuration


def test_all_that_is_wrong_with_a_configuration_is_told_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        """
        [crawl]
        seed_files = ["none.txt"]
        seed_file = "x"
        [fetch]
        timeout_s = -1
        """
    )
    before = tree(tmp_path)
    ended = onceover("crawl", "c.toml", cwd=tmp_path)
    assert_told(ended, USAGE, "c.toml:4: crawl.seed_file: unknown key; did you mean crawl.seed_files?")
    assert_told(ended, USAGE, "c.toml:3: crawl.seed_files: can't read none.txt: No such file or directory")
    assert_told(ended, USAGE, "c.toml:6: fetch.timeout_s", "found -1")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            'seeds = ["ftp://a.test/", "/index.html", "http://", "http://127.0.0.1/", "http://[::1]:80/"]',
            [
                "c.toml:2: crawl.seeds: seed 'ftp://a.test/' can't be crawled: expected http or https, found 'ftp'",
                "seed '/index.html' is a path",
                "seed 'http://' is not a URL",
                "127.0.0.1 is not a public address (loopback); if you may crawl it, set fetch.allow_private = true",
                "::1 is not a public address (loopback)",
            ],
        ),
        ("seeds = []", ["no seeds: write seeds = "]),
        ('seed_files = ["empty.txt"]', ["no seeds (there is none in", "empty.txt"]),
        ('seeds = ["https://perhaps.org/"]', ["fetch.user_agent", "perhaps.org", "add your own"]),
        ('seeds = ["http://a.test/"]\n[scope]\nexclude = ["("]', ["c.toml:4: scope.exclude", "'('", "RE2"]),
        ('seeds = ["http://a.test/"]\n[urls]\nrules = ["sort-querys"]', ["c.toml:4: urls.rules", "sort-query"]),
        (
            'seeds = ["http://a.test/"]\n[fetch]\nauthorities = ["none.pem"]',
            ["c.toml:4: fetch.authorities: no certificates in PEM can be read from", "none.pem", "No such file"],
        ),
        (
            'seeds = ["http://a.test/"]\n[fetch]\nauthorities = ["empty.txt"]',
            ["c.toml:4: fetch.authorities: no certificates in PEM can be read from", "empty.txt"],
        ),
    ],
    ids=["seeds", "none", "empty file", "no contact", "pattern", "rule", "no authorities", "no certificates"],
)
def test_what_only_the_parts_can_judge_is_refused_before_anything_is_made(
    tmp_path: Path, lines: str, words: list[str]
) -> None:
    (tmp_path / "c.toml").write_text(f"[crawl]\n{lines}\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    before = tree(tmp_path)
    assert_told(onceover("crawl", "c.toml", cwd=tmp_path), USAGE, *words)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["give a configuration file, or --seed URL, or the --dir of a crawl"]),
        (["none.toml"], ["can't read the configuration: No such file", "onceover config init"]),
    ],
    ids=["nothing", "no file"],
)
def test_wrong_arguments_are_refused_before_anything_is_made(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    assert_told(onceover("crawl", *arguments, cwd=tmp_path), USAGE, *words)
    assert tree(tmp_path) == {}


def test_a_directory_without_a_crawl_is_refused_as_by_all_other_commands(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    before = tree(tmp_path)
    for command in ("crawl", "--dir"), ("status",):
        assert_told(onceover(*command, "none", cwd=tmp_path), REFUSED, "there is no crawl in none")
        assert_told(onceover(*command, "other", cwd=tmp_path), REFUSED, "there is no crawl in other")
        newline = onceover(*command, "a\nb", cwd=tmp_path)
        assert_told(newline, USAGE, "without control characters", r"a\nb")
        assert newline.err.count("\n") == 1
    assert "--seed URL" in onceover("crawl", "--dir", "none", cwd=tmp_path).err
    assert "--seed" not in onceover("crawl", "--dir", "other", cwd=tmp_path).err
    assert tree(tmp_path) == before


def test_a_damaged_index_of_an_earlier_crawl_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "junk.cdxj.gz").write_bytes(b"\xf4," * 1_500)
    before = tree(tmp_path)
    named = setting('output.dedupe_against=["junk.cdxj.gz"]', 'fetch.user_agent="tests/1.0 (us@our.site)"')
    ended = onceover("crawl", "--seed", "http://a.test/", *named, "--dir", "crawl", cwd=tmp_path)
    assert_told(
        ended, USAGE, "output.dedupe_against: ", "junk.cdxj.gz can't be read: Not a gzipped file", "take it out"
    )
    assert tree(tmp_path) == before


# the directory


def test_a_wrong_configuration_with_fresh_deletes_nothing(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    before = tree(tmp_path)
    ended = onceover("crawl", "--seed", "ftp://a.test/", "--dir", "crawl", "--fresh", cwd=tmp_path)
    assert_told(ended, USAGE, "ftp")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["", "fresh"])
def test_a_directory_with_files_of_others_is_left_as_it_is(tmp_path: Path, fresh: list[str]) -> None:
    for name in ("thesis.txt", "crawl.toml", "records/1.jsonl", "logs/x.log", "frontier/x"):
        file = tmp_path / "mine" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("years of work")
    before = tree(tmp_path)
    ended = onceover("crawl", "--seed", "http://a.test/", "--dir", "mine", *fresh, cwd=tmp_path)
    assert_told(ended, REFUSED, "mine holds files, but no crawl", "not touched", "--dir")
    assert tree(tmp_path) == before


def test_a_directory_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    ended = onceover("crawl", "--seed", "http://a.test/", "--dir", "file/below", cwd=tmp_path)
    assert_told(ended, REFUSED, "can't be used", "expected a writable directory", "found: Not a directory", "--dir")
    assert tree(tmp_path) == {"file": b"mine"}


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    with mounted("-o", "ro,size=1m", at=tmp_path / "mount") as mount:
        ended = onceover("crawl", "--seed", "http://a.test/", "--dir", mount, cwd=tmp_path)
        assert_told(ended, REFUSED, f"{mount} can't be used", "found: Read-only file system", "--dir")


def test_a_second_process_is_told_who_holds_the_directory(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl", *setting("politeness.min_delay_s=30")]
    with started("crawl", *options, cwd=tmp_path) as first:
        first.wait_until((tmp_path / "crawl" / "crawl.toml").exists, "configuration")
        held = f"in use by process {first.pid}"
        assert_told(onceover("crawl", *options, "--fresh", cwd=tmp_path), REFUSED, held, "wait until it ends, or stop")
        assert_told(onceover("inspect", "crawl", "fsck", cwd=tmp_path), REFUSED, held, "wait until it ends, or stop it")
        first.signal(SIGTERM)
        assert first.wait().code == STOPPED
    assert_sound(tmp_path / "crawl")


def test_a_crawl_waits_for_a_command_that_reads_it(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "5", cwd=tmp_path).code == LIMIT
    with ExitStack() as reading:
        reading.enter_context(open_stored(tmp_path / "crawl"))
        with started("crawl", *options, cwd=tmp_path) as crawl:
            crawl.wait_until(lambda: f"waiting for process {os.getpid()}, a command" in crawl.err, "what it waits for")
            reading.close()
            assert_told(crawl.wait(), COMPLETE)
    assert_sound(tmp_path / "crawl")


def test_a_crawl_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "5", cwd=tmp_path).code == LIMIT
    store = plyvel.DB(str(tmp_path / "crawl" / "frontier"))
    store.put(b"Mformat", b"999")
    store.close()
    kept = {name: content for name, content in tree(tmp_path / "crawl").items() if not name.startswith("frontier")}
    words = ["format 999", "formats 3 and 4;", "use the version that wrote it, or another directory"]
    assert_told(onceover("crawl", *options, cwd=tmp_path), REFUSED, *words)
    assert_told(onceover("inspect", "crawl", "fsck", cwd=tmp_path), REFUSED, *words)
    after = tree(tmp_path / "crawl")
    assert {name: content for name, content in after.items() if not name.startswith("frontier")} == kept
    ended = onceover("crawl", *options, "--fresh", cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    assert set(fetched(tmp_path / "crawl")) == web.pages


def test_changed_canonicalization_is_refused_with_the_ways_out(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "5", cwd=tmp_path).code == LIMIT
    toml = (tmp_path / "crawl" / "crawl.toml").read_bytes()
    changed = onceover("crawl", *options, *setting('urls.rules=["sort-query"]'), cwd=tmp_path)
    assert_told(changed, REFUSED, "was crawled with urls.rules", "Restore the setting, rename all URLs")
    assert (tmp_path / "crawl" / "crawl.toml").read_bytes() == toml
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_damaged_configuration_of_a_crawl_is_told_with_its_place(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "5", cwd=tmp_path).code == LIMIT
    (tmp_path / "crawl" / "crawl.toml").write_text("[crawl")
    assert_told(onceover("crawl", "--dir", "crawl", cwd=tmp_path), USAGE, "crawl/crawl.toml")


def test_output_is_not_written_behind_that_of_another_crawl(tmp_path: Path, web: Web) -> None:
    in_memory = [*web.options, "--dir", "crawl", *setting('frontier.backend="memory"')]
    assert onceover("crawl", *in_memory, cwd=tmp_path).code == COMPLETE
    before = tree(tmp_path)
    words = ["output of an earlier crawl", "--fresh", "--dir"]
    assert_told(onceover("crawl", *in_memory, cwd=tmp_path), REFUSED, "memory, which can't resume it", *words)
    on_disk = [*web.options, "--dir", "crawl", *setting('frontier.backend="leveldb"')]
    assert_told(onceover("crawl", *on_disk, cwd=tmp_path), REFUSED, "its state is missing", *words)
    assert tree(tmp_path) == before
    assert onceover("crawl", *in_memory, "--fresh", cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_fresh_begins_anew(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, cwd=tmp_path).code == COMPLETE
    (tmp_path / "crawl" / "notes.txt").write_text("mine")
    ended = onceover("crawl", *options, "--fresh", "--set", "politeness.min_delay_s=0.001", cwd=tmp_path)
    assert_told(ended, COMPLETE)
    assert "Resuming" not in ended.err
    assert "Changed: " not in ended.err
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert (tmp_path / "crawl" / "notes.txt").read_text() == "mine"


# the world


@pytest.mark.parametrize(
    ("seed", "robots", "state", "reason", "message"),
    [
        ("http://127.0.0.1:{port}/", "true", "failed", "connect", "refused"),
        ("http://127.0.0.1:{port}/", "false", "failed", "connect", "refused"),
        ("http://nowhere.invalid/", "true", "failed", "dns", ""),
        ("http://nowhere.invalid/", "false", "failed", "dns", ""),
    ],
    ids=["refused", "refused, no robots", "no name", "no name, no robots"],
)
def test_a_server_that_cannot_be_reached_is_given_up_and_the_record_says_why(
    tmp_path: Path, seed: str, robots: str, state: str, reason: str, message: str
) -> None:
    url = seed.format(port=free_port())
    options = ["--seed", url, *LOCAL, *setting(f"politeness.robots={robots}"), "--dir", "crawl"]
    ended = onceover("crawl", *options, cwd=tmp_path)
    assert_told(ended, FAILED)
    (record,) = records(tmp_path / "crawl")
    assert (record.url, record.state, record.reason) == (url, state, reason)
    assert message in (record.message or "")
    assert f"{url}: {reason} ({record.message})" in ended.out
    told = onceover("inspect", "crawl", "url", url, cwd=tmp_path)
    assert record.message is not None
    assert f"message  {record.message}" in told.out
    assert onceover("inspect", "crawl", "url", url, "--json", cwd=tmp_path).json()["message"] == record.message


async def test_a_compressed_page_that_breaks_off_is_tried_again_and_done_with_its_links_and_archived_as_cut(
    tmp_path: Path,
) -> None:
    links = b"".join(b"<a href=/%d>%d</a>" % (number, number**5) for number in range(3000))
    coded = gzip.compress(b"<html>" + links + b"</html>")
    torn: Script = [head(b"Content-Type: text/html", b"Content-Encoding: gzip"), coded[: len(coded) // 100], CLOSE]
    async with raw_server({"/": torn}) as server:
        options = [
            "--seed",
            server.url(),
            *LOCAL,
            *setting("frontier.max_attempts=3", "scope.sitemap_paths=[]"),
            "--dir",
            "crawl",
        ]
        ended = await asyncio.to_thread(onceover, "crawl", *options, cwd=tmp_path)
    assert_told(ended, COMPLETE)
    assert server.targets.count("/") == 3
    by_url = {record.url: record for record in records(tmp_path / "crawl")}
    record = by_url.pop(server.url())
    assert (record.state, record.status, record.truncated, record.attempts) == ("done", 200, "disconnect", 3)
    assert record.message == "the compressed body has no end"
    assert len(by_url) > 10
    assert {record.via for record in by_url.values()} == {server.url()}
    archived = {}
    for path in (tmp_path / "crawl" / "warc").glob("*.warc.gz"):
        with path.open("rb") as stream:
            for each in ArchiveIterator(stream):
                if each.rec_type == "response":
                    archived[each.rec_headers["WARC-Target-URI"]] = each.rec_headers.get_header("WARC-Truncated")
    assert archived[server.url()] == "disconnect"


async def test_a_seed_with_spaces_and_letters_of_other_scripts_is_crawled(tmp_path: Path) -> None:
    async with raw_server(
        lambda seen: [page(b"<title>Gr\xc3\xbc\xc3\x9fe</title>", b"Content-Type: text/html")]
    ) as server:
        seed = f"  http://Bücher.test:{server.port}/straße nach/süd?q=ä ö#x  "
        hosts = setting('fetch.hosts={"xn--bcher-kva.test" = "127.0.0.1"}', "scope.sitemap_paths=[]")
        options = ["--seed", seed, *LOCAL, *hosts, "--dir", "crawl"]
        ended = await asyncio.to_thread(onceover, "crawl", *options, cwd=tmp_path)
    assert_told(ended, COMPLETE)
    asked = "/stra%C3%9Fe%20nach/s%C3%BCd?q=%C3%A4%20%C3%B6"
    assert server.targets == ["/robots.txt", asked]
    assert server.seen[1].header("Host") == f"xn--bcher-kva.test:{server.port}"
    (record,) = records(tmp_path / "crawl")
    assert record.url == f"http://xn--bcher-kva.test:{server.port}{asked}"
    assert (record.status, record.title) == (200, "Grüße")


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_crawl_that_meets_a_full_disk_waits_and_goes_on_when_there_is_room(
    tmp_path: Path, web: Web, durability: str
) -> None:
    with mounted("-o", "size=150k", at=tmp_path / "mount") as mount:
        directory = mount / "crawl"
        settings = setting("output.min_free_bytes=0", f'frontier.durability="{durability}"', "progress.interval_s=0.2")
        with started("crawl", *web.options, "--dir", directory, *settings, cwd=tmp_path) as crawl:
            crawl.wait_until(lambda: "paused: " in crawl.err, "word of the disk")
            assert len(fetched(directory)) < 40
            subprocess.run(["mount", "-o", "remount,size=100m", mount], check=True)
            assert_told(crawl.wait(), COMPLETE, "No space left", "the crawl goes on")
        assert fetched(directory) == dict.fromkeys(web.pages, 1)
        assert Counter(record.number for record in records(directory)).most_common(1)[0][1] == 1
        assert_sound(directory)


def test_a_crawl_that_is_stopped_while_the_disk_is_full_goes_on_later(tmp_path: Path, web: Web) -> None:
    with mounted("-o", "size=150k", at=tmp_path / "mount") as mount:
        directory = mount / "crawl"
        options = [*web.options, "--dir", str(directory), *setting("output.min_free_bytes=0")]
        for _ in range(2):
            with started("crawl", *options, cwd=tmp_path) as crawl:
                crawl.wait_until(lambda: crawl.process.poll() is not None or "the crawl waits" in crawl.err, "word")
                crawl.signal(SIGINT)
                ended = crawl.wait()
            assert_told(ended, FAILED, "No space left", "free some space", "run the same command again")
            assert len(ended.err.splitlines()) < 10
        subprocess.run(["mount", "-o", "remount,size=100m", mount], check=True)
        assert_told(onceover("crawl", *options, cwd=tmp_path), COMPLETE, "Resuming")
        assert set(fetched(directory)) == web.pages
        numbers = {record.number: record.url for record in records(directory)}
        assert all(numbers[record.number] == record.url for record in records(directory))
        assert_sound(directory)


def test_a_crawl_waits_for_room_before_the_disk_is_full_and_says_so(tmp_path: Path, web: Web) -> None:
    with mounted("-o", "size=10m", at=tmp_path / "mount") as mount:
        directory = mount / "crawl"
        settings = setting("output.min_free_bytes=70_000_000", "progress.interval_s=0.2")
        with started("crawl", *web.options, "--dir", directory, *settings, cwd=tmp_path) as crawl:
            crawl.wait_until(lambda: "free" in crawl.err, "word of the disk")
            assert not fetched(directory)
            subprocess.run(["mount", "-o", "remount,size=100m", mount], check=True)
            assert_told(crawl.wait(), COMPLETE)
        assert fetched(directory) == dict.fromkeys(web.pages, 1)


@pytest.mark.parametrize(("limit", "code", "words"), [(300 << 20, FAILED, "300 MiB"), (4 << 30, COMPLETE, "4096 MiB")])
def test_a_limit_of_the_address_space_is_told_before_it_can_abort_the_crawl(
    tmp_path: Path, web: Web, limit: int, code: int, words: str
) -> None:
    ended = limited(tmp_path, web, resource.RLIMIT_AS, (limit, limit))
    assert_told(ended, code, "address space", "ulimit -v", words)


def test_a_crawl_takes_as_many_open_files_as_it_can_have_and_says_that_it_needs_more(tmp_path: Path, web: Web) -> None:
    assert_told(limited(tmp_path, web, resource.RLIMIT_NOFILE, (20, 20)), FAILED, "20 open files", "at least 64")
    assert not (tmp_path / "crawl").exists()
    assert_told(limited(tmp_path, web, resource.RLIMIT_NOFILE, (20, 300)), COMPLETE)
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_crawl_of_many_hosts_fetches_as_many_urls_at_once_as_it_may_open_files_for(tmp_path: Path) -> None:
    params = WorldParams(hosts=60, pages_per_host=2, host_branching=60, page_bytes=500, slow=1.0, delay_s=0.05)
    with running(params) as port:
        web = Web(port, params)
        ended = limited(tmp_path, web, resource.RLIMIT_NOFILE, (64, 64))
        assert_told(ended, COMPLETE, "64 open files (ulimit -n): it fetches 12 URLs at once (fetch.concurrency)")
        assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def limited(folder: Path, web: Web, what: int, limits: tuple[int, int]) -> Ended:
    """The end of a crawl whose process is limited so."""
    program = "import os, resource, sys; what, *limits = map(int, sys.argv[1:4]); resource.setrlimit(what, limits); "
    limiting = [sys.executable, "-c", program + "os.execv(sys.argv[4], sys.argv[4:])", *map(str, (what, *limits))]
    crawl = [*limiting, str(ONCEOVER), "crawl", *web.options, "--dir", "crawl"]
    done = subprocess.run(crawl, cwd=folder, env=environment(), capture_output=True, timeout=TIMEOUT_S, check=False)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


# looking into a crawl


def test_inspecting_what_is_no_crawl_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for path in ("mine", "none"):
        ended = onceover("inspect", path, "fsck", cwd=tmp_path)
        assert_told(ended, REFUSED, f"there is no crawl in {path}", "expected", "name the directory")
    assert tree(tmp_path) == {"mine": None}


def test_an_existing_file_is_not_overwritten_by_config_init(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("mine")
    assert_told(onceover("config", "init", "c.toml", cwd=tmp_path), USAGE, "c.toml exists and was not changed")
    assert (tmp_path / "c.toml").read_text() == "mine"
    assert_told(onceover("config", "init", "none/c.toml", cwd=tmp_path), FAILED, "No such file or directory: none/c")


def test_config_init_leaves_nothing_on_a_full_disk(tmp_path: Path) -> None:
    with mounted("-o", "size=4k", at=tmp_path / "mount") as mount:
        ended = onceover("config", "init", f"{mount}/c.toml", cwd=tmp_path)
        assert_told(ended, FAILED, "the disk is full", "mount/c.toml")
        assert list(Path(mount).iterdir()) == []


def test_a_simulated_web_on_a_port_that_is_taken_says_so(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as server:
        ended = onceover("simweb", "--port", str(server.getsockname()[1]), cwd=tmp_path)
    assert_told(ended, REFUSED, "Address already in use")


def test_a_simulated_web_that_cannot_be_is_wrong_usage(tmp_path: Path) -> None:
    assert_told(onceover("simweb", "--params", '{"redirect": 1}', cwd=tmp_path), USAGE, "redirect")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["crawl", "--seed", "http://a.test/"], FAILED),
        (["crawl", "c.toml"], USAGE),
        (["status", "crawls/docs"], FAILED),
        (["config", "check", "c.toml"], USAGE),
        (["daemon", "folder"], USAGE),
        (["backup", "crawls/docs", "--to", "copy"], FAILED),
    ],
)
def test_a_command_says_that_the_current_directory_was_deleted(tmp_path: Path, arguments: list[str], code: int) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir {shlex.quote(str(gone))} && exec {shlex.join([str(ONCEOVER), *arguments])}"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=gone, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert ended.returncode == code
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"onceover: the current directory was deleted: {gone}. Change to one that is there")
    assert "Traceback" not in ended.stderr
