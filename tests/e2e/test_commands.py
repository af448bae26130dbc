"""That each command does what its page says, on whole processes."""

import asyncio
import json
import os
import pty
import re
import select
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from signal import SIGTERM
from socket import create_server

import click
import jsonschema
import msgspec
import pytest
from click.testing import CliRunner

from config import load, render_show
from crawler.cli import onceover as command_line
from crawler.codes import exit_codes
from crawler.simweb.params import demo_params
from crawler.testing.fetch.raw_server import Script, page, raw_server
from crawler.url.urls import UrlReader, host_of
from tests.e2e.crawling import (
    AWAY,
    COMPLETE,
    FAILED,
    LIMIT,
    ONCEOVER,
    REFUSED,
    STOPPED,
    TIMEOUT_S,
    USAGE,
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
from tests.unit.operate.stored_crawls import make


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Path:
    """A crawl that was stopped by a limit; to be read only."""
    folder = tmp_path_factory.mktemp("halfway")
    ended = onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "10", "--json", cwd=folder)
    assert ended.code == LIMIT, ended
    (folder / "run.json").write_text(ended.out)
    return folder / "crawl"


def on_terminal(*arguments: str, cwd: Path, columns: int = 80, term: str = "xterm-256color") -> tuple[int, str]:
    """Exit code and output of a command that writes to a terminal, escape sequences included."""
    main, sub = pty.openpty()
    env = environment(TERM=term, COLUMNS=str(columns), LINES="40")
    process = subprocess.Popen([ONCEOVER, *arguments], cwd=cwd, env=env, stdin=sub, stdout=sub, stderr=sub)
    os.close(sub)
    written = bytearray()
    try:
        while select.select([main], [], [], TIMEOUT_S)[0]:
            try:
                read = os.read(main, 65536)
            except OSError:
                break  # the end, as Linux tells it
            if not read:
                break
            written += read
        return process.wait(TIMEOUT_S), written.decode()
    finally:
        process.kill()
        process.wait()
        os.close(main)


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def test_the_help_of_crawl_names_each_exit_code(tmp_path: Path) -> None:
    text = " ".join(onceover("crawl", "--help", cwd=tmp_path).out.split())
    for name, code in vars(exit_codes).items():
        assert not name.isupper() or re.search(rf"Exit codes:.* {code} [a-z]", text), name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["crawl", "https://a.test/b"], "found the URL https://a.test/b: give it as `--seed https://a.test/b`"),
        (["crawl", "https://a.test/b/"], "found the URL https://a.test/b/: give it as `--seed https://a.test/b/`"),
        (["crawl", "https://a.test/?b&c"], "give it as `--seed 'https://a.test/?b&c'`"),
        (["crawl", "www.example.org/b"], "found the URL www.example.org/b: give it as `--seed www.example.org/b`"),
        (
            ["crawl", "me:secret@a.test"],
            "found me:***@a.test: if it is a URL, give it as `--seed URL` without its login",
        ),
        (["crawl", "https://me:secret@a.test/"], "found https://me:***@a.test/: if it is a URL"),
        (["inspect", "crawl"], "missing command; `onceover inspect --help` shows the usage"),
        (
            ["crawl", "--max-depth", "2"],
            "option '--max-depth': write `--set scope.max_depth=VALUE`; `onceover crawl --help` shows the usage",
        ),
        (["crawl", ""], "expected a configuration file, found the directory .: "),
        (["crawl", "a crawl"], "found the directory a crawl: if it is that of a crawl, give it as `--dir 'a crawl'`"),
        (["crawl", "seeds.txt"], "found the list of URLs seeds.txt: give it as `--seed-file seeds.txt`"),
        (["crawl", "--delay-factor=2"], "write `--set politeness.delay_factor=VALUE`;"),
        (["crawl", "--interval", "2"], "write `--set recrawl.interval_s=VALUE` or `--set progress.interval_s=VALUE`;"),
        (["status", "--max-depth", "2"], "no such option '--max-depth'; `onceover status --help` shows the usage"),
        (["status", ""], "'DIR': expected a path, found an empty text; write . for the current directory"),
        (["export", "a crawl", "--format", "csv", "--to", ""], "'--to': expected a path, found an empty text"),
    ],
)
def test_what_users_of_other_crawlers_try_is_answered_with_what_to_write(
    arguments: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "a crawl").mkdir()
    (tmp_path / "seeds.txt").write_text("# ours\n\nhttps://a.test/\n")
    ended = onceover(*arguments, cwd=tmp_path)
    assert (ended.code, ended.out) == (USAGE, "")
    assert told in ended.err


def commands_of(group: click.Group, path: str) -> Iterator[tuple[str, str]]:
    """The name of each command in a group, and its line in the help of the group at 80 columns."""
    context = click.Context(group, info_name=path, terminal_width=80)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path} {name}")
    *_, commands = group.get_help(context).partition("Show this message and exit.\n\n")
    for line in commands.splitlines():
        if line.startswith("  "):
            yield path, line


def test_the_list_of_commands_has_a_whole_sentence_for_each() -> None:
    lines = list(commands_of(command_line, "onceover"))
    assert len(lines) > 50
    assert not [(path, line) for path, line in lines if line.endswith("...") or not line.endswith(".")]


def test_the_help_lists_each_command_once_under_what_it_is_for() -> None:
    listed = [line.split()[0] for path, line in commands_of(command_line, "onceover") if path == "onceover"]
    shown = [name for name, command in command_line.commands.items() if not command.hidden]
    assert sorted(listed) == sorted(shown)


def test_the_list_of_backends_fits_a_terminal_and_is_one_line_each_elsewhere(tmp_path: Path) -> None:
    code, told = on_terminal("plugins", cwd=tmp_path)
    lines = without_escapes(told).splitlines()
    assert code == COMPLETE
    assert max(len(line) for line in lines) <= 80
    assert all(line.strip() for line in lines)
    [line] = [each for each in onceover("plugins", cwd=tmp_path).out.splitlines() if " redis-dsbf " in each]
    assert line.rstrip().endswith("prefix, share, leaf_bits, shards")


# crawl


def test_json_is_one_object_on_stdout_whose_figures_agree_with_the_records(tmp_path: Path, web: Web) -> None:
    ended = onceover("crawl", *web.options, "--dir", "crawl", "--json", cwd=tmp_path)
    assert_told(ended, COMPLETE)
    run = ended.json()
    assert (run["ending"], run["exit_code"], run["resumed"], run["new_seeds"]) == ("complete", 0, False, 1)
    status = msgspec.convert(run["status"], dict[str, object])
    written = records(tmp_path / "crawl")
    pages = [record for record in written if record.status == 200 and record.kind != "sitemap"]
    assert status["pages"] == len(pages) == 40
    assert status["redirects"] == sum(record.redirect is not None for record in written)
    assert status["bytes_received"] == sum(record.received_bytes or 0 for record in written)
    assert msgspec.convert(status["frontier"], dict[str, object])["admitted"] == len(written)
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert ended.err == ""


@pytest.mark.parametrize("pages", [1, 17])
def test_max_pages_stops_a_run_at_exactly_that_many_and_does_not_bind_the_next(
    tmp_path: Path, web: Web, pages: int
) -> None:
    options = ["--dir", "crawl", "--max-pages", str(pages)]
    ended = onceover("crawl", *web.options, *options, *setting("fetch.concurrency=64"), cwd=tmp_path)
    assert_told(ended, LIMIT)
    assert ended.out.startswith("Stopped by a limit. To go on: onceover crawl --dir crawl\n")
    assert len(fetched(tmp_path / "crawl")) == pages
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


@pytest.mark.parametrize("limit", ['limits.bytes="15 kB"', "limits.seconds=0.3", "limits.pages=9"])
def test_a_configured_limit_stops_the_crawl_which_goes_on_without_it(tmp_path: Path, slow_web: Web, limit: str) -> None:
    slowly = setting(limit, "fetch.concurrency=1", "fetch.spare=0")
    ended = onceover("crawl", *slow_web.options, *slowly, "--dir", "crawl", cwd=tmp_path)
    assert_told(ended, LIMIT)
    assert len(fetched(tmp_path / "crawl")) < 40
    assert onceover("crawl", *slow_web.options, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(slow_web.pages, 1)


def test_links_to_each_url_are_counted_to_the_end_over_a_restart(tmp_path: Path, web: Web) -> None:
    options = ["--dir", "crawl", *setting("output.links=true")]
    assert onceover("crawl", *web.options, *options, "--max-pages", "11", cwd=tmp_path).code == LIMIT
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    found = records(tmp_path / "crawl")
    links = Counter(chain.from_iterable(record.references or () for record in found))
    told = onceover("frontier", "export", "crawl", cwd=tmp_path).out.splitlines()
    counts = {line["url"]: line["hit_count"] for line in map(msgspec.json.decode, told)}
    assert len(counts) > 40
    assert counts == {url: links[url] for url in counts}
    reader = UrlReader()
    as_of_fetch = {reader.seed(record.url).canonical: record.hit_count or 0 for record in found}
    assert all(as_of_fetch[url] <= count for url, count in counts.items())
    assert sum(as_of_fetch.values()) < sum(counts.values())
    one = max(counts, key=lambda url: counts[url])
    assert onceover("inspect", "crawl", "url", one, "--json", cwd=tmp_path).json()["hit_count"] == counts[one]


def test_a_limit_on_the_command_line_binds_its_run_alone_and_one_in_the_file_every_run(
    tmp_path: Path, web: Web
) -> None:
    first = onceover("crawl", *web.options, *setting("limits.pages=3"), "--dir", "crawl", cwd=tmp_path)
    assert first.code == LIMIT
    assert load(tmp_path / "crawl" / "crawl.toml").config.limits.pages is None
    settings = (tmp_path / "crawl" / "crawl.toml").read_text()
    (tmp_path / "mine.toml").write_text(settings.replace("# pages =", "pages = 5", 1))
    for count, options in [(8, ["mine.toml", "--dir", "crawl"]), (13, ["--dir", "crawl"])]:
        assert onceover("crawl", *options, cwd=tmp_path).code == LIMIT
        assert len(fetched(tmp_path / "crawl")) == count
    assert onceover("crawl", "--dir", "crawl", *setting("limits.pages=1000"), cwd=tmp_path).code == COMPLETE
    assert load(tmp_path / "crawl" / "crawl.toml").config.limits.pages == 5


def settings_of(directory: Path) -> dict[str, str]:
    rows = render_show(load(directory / "crawl.toml"))
    return {row.key: row.value for row in rows}


def test_a_seed_comes_beside_those_of_a_finished_crawl_and_all_else_stays(tmp_path: Path, web: Web) -> None:
    toml = tmp_path / "mine.toml"
    (tmp_path / "seeds.txt").write_text(f"http://h00001.{web.params.domain}/\n")
    toml.write_text(
        f"""
        [crawl]
        seeds = ["http://h00000.{web.params.domain}/"]
        seed_files = ["seeds.txt"]
        [scope]
        max_depth = 1
        [politeness]
        min_delay_s = 0.01
        delay_factor = 0.5
        [fetch]
        user_agent = "mine/1.0 (+https://example.org/)"
        hosts = {{ "*.{web.params.domain}" = "127.0.0.1:{web.port}" }}
        [frontier]
        retry_delay_s = 0.05
        [output]
        warc = false
        [limits]
        seconds = 500
        [[site]]
        match = ["*.example.org"]
        fetch.timeout_s = 7
        """
    )
    assert onceover("crawl", "mine.toml", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    before = settings_of(tmp_path / "crawl")
    new = f"http://h00002.{web.params.domain}/"
    ended = onceover("crawl", "--dir", "crawl", "--seed", new, cwd=tmp_path)
    assert_told(ended, COMPLETE, f'Changed: crawl.seeds has "{new}" more.', "Resuming: ")
    assert ended.err.count("Changed: ") == 1
    seeds = f'["http://h00000.{web.params.domain}/", "{new}"]'
    assert settings_of(tmp_path / "crawl") == before | {"crawl.seeds": seeds}
    assert new in {record.url for record in records(tmp_path / "crawl") if record.kind == "seed"}
    again = onceover("crawl", "--dir", "crawl", "--seed", new, cwd=tmp_path)
    assert "Changed" not in again.err
    assert not (tmp_path / "crawl" / "warc").exists()


def test_what_is_given_is_changed_and_told_and_a_file_says_all(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "1", cwd=tmp_path).code == LIMIT
    before = settings_of(tmp_path / "crawl")
    changed = setting("scope.max_depth=0", 'visited.white_list=["a", "b"]', 'fetch.hosts."x.test"="127.0.0.1"')
    ended = onceover("crawl", "--dir", "crawl", *changed, "--max-pages", "1", cwd=tmp_path)
    assert sorted(line for line in ended.err.splitlines() if line.startswith("Changed: ")) == [
        'Changed: fetch.hosts has "x.test" = "127.0.0.1" more.',
        "Changed: scope.max_depth is 0; it was 20.",
        'Changed: visited.white_list is ["a", "b"]; it was [].',
    ]
    assert {key for key, value in settings_of(tmp_path / "crawl").items() if value != before[key]} == {
        "fetch.hosts",
        "scope.max_depth",
        "visited.white_list",
    }
    hosts = f'"*.{web.params.domain}" = "127.0.0.1:{web.port}"'
    seed = f"http://h00001.{web.params.domain}/"
    (tmp_path / "mine.toml").write_text(f'[crawl]\nseeds = ["{seed}"]\n[fetch]\nhosts = {{ {hosts} }}\n')
    ended = onceover("crawl", "mine.toml", "--dir", "crawl", "--max-pages", "1", cwd=tmp_path)
    for told in (
        "Changed: politeness.min_delay_s is 1.0, the default; it was 0.0.",
        f'Changed: crawl.seeds has "{seed}" more and no longer has "http://h00000.{web.params.domain}/".',
        'Changed: crawl.name is "mine"; it was "crawl".',
        'Changed: fetch.hosts no longer has "x.test" = "127.0.0.1".',
        'Changed: visited.white_list is [], the default; it was ["a", "b"].',
    ):
        assert told in ended.err.splitlines()


def test_seeds_come_from_files_and_from_standard_input_and_are_read_again(tmp_path: Path, web: Web) -> None:
    hosts = [f"http://h0000{number}.{web.params.domain}/" for number in range(3)]
    for name, url in zip(("a.txt", "b.txt"), hosts, strict=False):
        (tmp_path / name).write_text(f"# mine\n{url}  # this one\n")
    options = [*web.options[2:], *setting("scope.max_depth=0"), "--dir", "crawl"]
    missing = onceover("crawl", "--seed-file", "none.txt", *options, cwd=tmp_path)
    assert_told(missing, USAGE, "--seed-file: crawl.seed_files: can't read ", "none.txt: No such file or directory")
    assert_told(onceover("crawl", "--seed-file", "a.txt", *options, cwd=tmp_path), COMPLETE)
    added = onceover("crawl", "--seed-file", "b.txt", "--dir", "crawl", cwd=tmp_path)
    assert_told(added, COMPLETE, f'Changed: crawl.seed_files has "{tmp_path}'[:60], " more.")  # a long path is cut
    config = load(tmp_path / "crawl" / "crawl.toml").config.crawl
    assert (config.seeds, config.seed_files) == ((), (f"{tmp_path}/a.txt", f"{tmp_path}/b.txt"))
    command = [str(ONCEOVER), "crawl", "--seed-file", "-", "--dir", "crawl"]
    subprocess.run(command, input=hosts[2].encode(), cwd=tmp_path, env=environment(), check=True, capture_output=True)
    assert load(tmp_path / "crawl" / "crawl.toml").config.crawl.seeds == (hosts[2],)
    seeds = {record.url: record.status for record in records(tmp_path / "crawl") if record.kind == "seed"}
    assert seeds == dict.fromkeys(hosts, 200)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["mine.toml"], USAGE, "found none; without it, the seeds of the configuration hold"),
        (["--dir", "crawl", "--fresh"], USAGE, "found none; without it, the seeds of the last run hold"),
        (["--dir", "crawl"], LIMIT, "Resuming"),
    ],
)
def test_no_seeds_from_standard_input_replace_none(
    tmp_path: Path, web: Web, arguments: list[str], code: int, told: str
) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path).code == LIMIT
    (tmp_path / "mine.toml").write_text(f'[crawl]\nseeds = ["http://h00001.{web.params.domain}/"]\n')
    command = [str(ONCEOVER), "crawl", *arguments, "--seed-file", "-", "--max-pages", "1"]
    ended = subprocess.run(
        command, input=b"# none\n", cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (ended.returncode, told.encode() in ended.stderr) == (code, True)


def test_a_file_of_seeds_in_place_of_those_of_the_configuration_is_read_again_by_reload(
    tmp_path: Path, web: Web
) -> None:
    first, second, third = (f"http://h0000{number}.{web.params.domain}/" for number in range(3))
    (tmp_path / "mine.toml").write_text(f'[crawl]\nseeds = ["{first}"]\n')
    (tmp_path / "seeds.txt").write_text(second)
    options = [*web.options[2:], *setting("scope.max_depth=0"), "--dir", "crawl"]
    assert_told(onceover("crawl", "mine.toml", "--seed-file", "seeds.txt", *options, cwd=tmp_path), COMPLETE)
    (tmp_path / "seeds.txt").write_text(f"{second}\n{third}\n")
    assert_told(onceover("reload", "crawl", cwd=tmp_path), COMPLETE)
    assert_told(onceover("crawl", "--dir", "crawl", cwd=tmp_path), COMPLETE)
    assert {record.url for record in records(tmp_path / "crawl") if record.kind == "seed"} == {second, third}


def test_a_crawl_that_is_begun_afresh_has_the_seeds_that_are_given(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path).code == LIMIT
    new = f"http://h00001.{web.params.domain}/"
    ended = onceover("crawl", "--dir", "crawl", "--fresh", "--seed", new, "--max-pages", "1", cwd=tmp_path)
    assert ended.code == LIMIT
    assert load(tmp_path / "crawl" / "crawl.toml").config.crawl.seeds == (new,)
    assert load(tmp_path / "crawl" / "crawl.toml").config.politeness.min_delay_s == 0


def test_settings_that_can_no_longer_be_read_are_replaced_by_a_file(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path).code == LIMIT
    configuration = tmp_path / "crawl" / "crawl.toml"
    shutil.copy(configuration, tmp_path / "mine.toml")
    configuration.write_text("[crawl]\nof_a_later_version = 1\n")
    refused = onceover("crawl", "--dir", "crawl", "--seed", "http://a.test/", cwd=tmp_path)
    assert refused.code == USAGE
    assert "crawl/crawl.toml:2: crawl.of_a_later_version: unknown key" in refused.err
    ended = onceover("crawl", "mine.toml", "--dir", "crawl", cwd=tmp_path)
    assert_told(
        ended, COMPLETE, "Changed: the settings of the last run can't be read, and are replaced: crawl/crawl.toml:2: "
    )


@pytest.mark.parametrize("parts", [[], ["--parts", "2"]], ids=["", "in parts"])
def test_a_crawl_that_has_lost_its_settings_says_so_and_what_to_do(tmp_path: Path, web: Web, parts: list[str]) -> None:
    ended = onceover("crawl", *web.options, *parts, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path)
    assert ended.code == LIMIT
    (tmp_path / "crawl" / "crawl.toml").unlink()
    before = tree(tmp_path)
    told = "expected crawl/crawl.toml", "that file is lost", "run `onceover crawl CONFIG --dir crawl`"
    for command in (["crawl", "--dir", "crawl"], ["status", "crawl"], ["report", "crawl"]):
        refused = onceover(*command, cwd=tmp_path)
        assert_told(refused, REFUSED, "the crawl in crawl has no configuration", *told)
        assert tree(tmp_path) == before
    ended = onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path)
    assert_told(ended, LIMIT, "Changed: the settings of the last run are lost, because crawl/crawl.toml is missing")


@pytest.mark.parametrize(("first", "parts"), [("1", "1"), ("1", "2"), ("2", "2"), ("2", "3")])
def test_a_first_start_that_is_refused_fixes_no_setting(tmp_path: Path, web: Web, first: str, parts: str) -> None:
    nowhere = setting(
        "visited.backend=redis-exact", "visited.capacity=1000", "visited.options.url=redis://127.0.0.1:1/0"
    )
    rules = setting('urls.rules=["lower-case"]')
    refused = onceover("crawl", *web.options, *nowhere, *rules, "--parts", first, "--dir", "crawl", cwd=tmp_path)
    assert_told(refused, AWAY, "visited.backend: Redis at ")
    assert any((tmp_path / "crawl").rglob("frontier/CURRENT"))
    ended = onceover("crawl", *web.options, "--parts", parts, "--dir", "crawl", cwd=tmp_path)
    assert_told(ended, COMPLETE)
    assert "lost" not in ended.err


def test_another_visited_set_in_the_middle_of_a_crawl_is_rebuilt_and_the_crawl_ends_exactly(
    tmp_path: Path, web: Web
) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "10", cwd=tmp_path).code == LIMIT
    bloom = setting('visited.backend="bloom"', "visited.capacity=10000")
    ended = onceover("crawl", *options, *bloom, cwd=tmp_path)
    assert_told(ended, COMPLETE, "Rebuilding the visited set from the ledger: ", "Resuming: ")
    assert "bloom, 54 URLs" in ended.out
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")
    told = onceover("inspect", "crawl", "visited", "--json", cwd=tmp_path).json()
    assert (told["backend"], told["count"]) == ("bloom", 54)


def test_changed_rules_in_the_middle_of_a_crawl_are_followed_where_a_rebuild_is_asked_for(
    tmp_path: Path, web: Web
) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "10", cwd=tmp_path).code == LIMIT
    changed = setting('urls.rules=["session-ids", "sort-query", "any-scheme"]', 'frontier.queue_by="domain"')
    refused = onceover("crawl", *options, *changed, cwd=tmp_path)
    assert (refused.code, "with --rebuild" in refused.err) == (REFUSED, True)
    ended = onceover("crawl", *options, *changed, "--rebuild", cwd=tmp_path)
    assert_told(ended, COMPLETE, "Rebuilding the visited set from the ledger: ", "Resuming: ")
    assert "rebuilt by the new rules: " in ended.err
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")
    assert onceover("crawl", *options, *changed, cwd=tmp_path).code == COMPLETE


def test_rules_that_are_taken_back_leave_each_page_as_it_was_fetched(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, cwd=tmp_path).code == COMPLETE
    wide = setting("urls.rules=['session-ids', 'test/.+ => test/one']")
    ended = onceover("crawl", *options, *wide, "--rebuild", cwd=tmp_path)
    assert_told(ended, COMPLETE, "rebuilt by the new rules: ")
    assert_sound(tmp_path / "crawl")
    ended = onceover("crawl", *options, *setting("urls.rules="), "--rebuild", cwd=tmp_path)
    assert_told(ended, COMPLETE, "rebuilt by the new rules: ")
    assert "the frontier is older than the output" not in ended.err
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_a_crawl_of_a_file_is_complete_the_second_time(tmp_path: Path, web: Web) -> None:
    (tmp_path / "seeds.txt").write_text("# to begin with\nhttp://h00000.sim.test/\nhttp://h00001.sim.test/ # two\n")
    (tmp_path / "mine.toml").write_text('[crawl]\nseed_files = ["seeds.txt"]\n')
    settings = web.options[2:]
    ended = onceover("crawl", "mine.toml", *settings, cwd=tmp_path)
    assert_told(ended, COMPLETE)
    assert fetched(tmp_path / "crawls" / "mine") == dict.fromkeys(web.pages, 1)
    again = onceover("crawl", "mine.toml", *settings, cwd=tmp_path)
    assert_told(again, COMPLETE, "Resuming: 54 of 54 URLs are settled, 0 wait.")
    assert again.out.startswith("The crawl is complete: nothing was left to fetch.\n")
    assert (
        "To visit its pages again: onceover recrawl crawls/mine, then onceover crawl --dir crawls/mine\n" in again.out
    )
    assert "To fetch another URL: onceover add crawls/mine URL, then onceover crawl --dir crawls/mine\n" in again.out
    assert "To begin anew: onceover crawl --dir crawls/mine --fresh\n" in again.out
    assert onceover("recrawl", "crawls/mine", cwd=tmp_path).code == COMPLETE
    visited = onceover("crawl", "--dir", "crawls/mine", *settings, cwd=tmp_path)
    assert_told(visited, COMPLETE)
    assert "nothing was left" not in visited.out


def test_a_crawl_says_how_many_urls_its_precedence_floor_leaves_out(tmp_path: Path, web: Web) -> None:
    floor = setting("frontier.queue_order=best-url", "frontier.precedence_floor=1")
    for _ in range(2):
        ended = onceover("crawl", *web.options, *floor, "--dir", "c", cwd=tmp_path)
        assert_told(ended, COMPLETE)
        waiting = json.loads(onceover("status", "c", "--json", cwd=tmp_path).out)["frontier"]["pending"]
        assert waiting > 0
        told = f"The crawl is complete, but for {waiting} URLs that frontier.precedence_floor leaves out.\n"
        assert ended.out.startswith(told)


@pytest.mark.parametrize("parts", [(), ("--parts", "2")], ids=["one process", "parts"])
def test_a_crawl_without_a_page_fails_and_says_why_of_each_seed(tmp_path: Path, parts: tuple[str, ...]) -> None:
    names = [f"nowhere{number}.invalid" for number in range(7)]
    seeds = [each for name in names for each in ("--seed", f"http://{name}/")]
    once = setting("frontier.max_attempts=1")
    told = ["The crawl has ended without a page."]
    told += [f"    http://{name}/: dns (Domain name not found)" for name in names[:5]]
    told += [
        "    and 2 more seeds",
        "To try again: onceover recrawl 'a crawl', then onceover crawl --dir 'a crawl'",
        "To begin anew: onceover crawl --dir 'a crawl' --fresh",
    ]
    for options in ([*seeds, *parts, *once], []):  # the second time, nothing is left to fetch
        ended = onceover("crawl", *options, "--dir", "a crawl", cwd=tmp_path)
        assert_told(ended, FAILED)
        assert ended.out.splitlines()[: len(told)] == told
    result = json.loads(onceover("crawl", "--dir", "a crawl", "--json", cwd=tmp_path).out)
    assert (result["ending"], result["exit_code"]) == ("complete", FAILED)


@pytest.mark.parametrize("parts", [(), ("--parts", "2")], ids=["one process", "parts"])
def test_a_crawl_without_a_page_names_the_status_of_its_seed(tmp_path: Path, web: Web, parts: tuple[str, ...]) -> None:
    seed = f"http://h00000.{web.params.domain}/no-such-page"
    ended = onceover("crawl", *web.options, *parts, "--dir", "c", "--seed", seed, cwd=tmp_path)
    assert_told(ended, COMPLETE)  # the other seed gave pages
    ended = onceover("crawl", "--dir", "c", "--seed", f"{seed}-either", cwd=tmp_path)
    assert_told(ended, COMPLETE)  # this run gave none, but the crawl has pages
    assert ended.out.startswith("The crawl is complete.\n")
    options = [*web.options[web.options.index("--set") :], *setting("scope.sitemaps=false")]
    for given in ([*options, *parts, "--seed", seed], []):  # the second time, nothing is left to fetch
        ended = onceover("crawl", *given, "--dir", "d", cwd=tmp_path)
        assert_told(ended, FAILED)
        assert ended.out.startswith(f"The crawl has ended without a page.\n    {seed}: status 404\n")


async def test_a_crawl_without_a_page_says_where_the_redirects_of_its_seeds_lead(tmp_path: Path) -> None:
    def to(target: str) -> Script:
        return [page(b"", b"Location: " + target.encode(), status=b"302 Found")]

    scripts: dict[str, Script] = {
        "/a": to("/b"),
        "/b": to("/none"),
        "/c": to("/e"),
        "/e": to("/c"),
        "/d": to("http://127.0.0.1:1/"),
    }
    async with raw_server(scripts) as server:
        seeds = [each for path in ("/a", "/c", "/d") for each in ("--seed", server.url(path))]
        options = setting("fetch.allow_private=true", "politeness.min_delay_s=0", "scope.sitemaps=false")
        ended = await asyncio.to_thread(onceover, "crawl", *seeds, *options, "--dir", "c", cwd=tmp_path)
    assert_told(ended, FAILED)
    a, b, c, d, e, none = (server.url(path) for path in ("/a", "/b", "/c", "/d", "/e", "/none"))
    assert ended.out.splitlines()[1:4] == [
        f"    {a} -> {b} -> {none}: status 404",
        f"    {c} -> {e} -> {c}: the redirects go round in a circle",
        f"    {d} -> http://127.0.0.1:1/: not followed, for the reason port",
    ]


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(tmp_path: Path, slow_web: Web) -> None:
    ended = onceover("crawl", *slow_web.options, "--dir", "c", *setting("progress.interval_s=0.1"), cwd=tmp_path)
    assert_told(ended, COMPLETE)
    lines = ended.err.splitlines()
    assert len(lines) >= 3
    form = r"\d+\.\d s · \d+ pages? · [\d.]+/s · [\d.]+ k?B · \d+ queued · hosts: \d+ active, \d+ resting · exact, .*"
    assert all(re.fullmatch(form, line) for line in lines), lines
    assert "\x1b" not in ended.err + ended.out


def test_the_summary_fits_a_terminal_and_says_where_the_output_is(tmp_path: Path, web: Web) -> None:
    ended = onceover("crawl", *web.options, "--dir", "crawl", cwd=tmp_path)
    lines = ended.out.splitlines()
    assert lines[0] == "The crawl is complete."
    assert re.fullmatch(r" +pages  40 in \d+\.\d s \([\d.,]+/s, [\d.]+ kB\)", lines[1])
    assert lines[-1].split() == ["output", "crawl"]
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)


def test_why_nothing_moves_is_said_when_a_server_does_not_answer(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as server:
        seed = f"http://127.0.0.1:{server.getsockname()[1]}/"
        options = ["--seed", seed, "--dir", "c", *setting("fetch.allow_private=true", "progress.interval_s=0.2")]
        with started("crawl", *options, cwd=tmp_path) as crawl:
            words = rf"waiting for one answer; the longest, robots\.txt of {re.escape(seed)}, for \d+ s"
            crawl.wait_until(lambda: re.search(words, crawl.err), "word of it")
            crawl.signal(SIGTERM)
            crawl.signal(SIGTERM)


def test_why_nothing_moves_is_said_when_all_hosts_rest(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "c", *setting("politeness.min_delay_s=5", "progress.interval_s=0.1")]
    with started("crawl", *options, cwd=tmp_path) as crawl:
        said = re.compile(
            r"(the only host rests|all \d hosts rest) between requests; h0000\d\.sim\.test is next, in 4\."
        )
        crawl.wait_until(lambda: said.search(crawl.err), "word of it")
        crawl.signal(SIGTERM)
        assert crawl.wait().code == STOPPED


def test_a_terminal_shows_a_live_table_which_is_gone_at_the_end(tmp_path: Path, slow_web: Web) -> None:
    code, written = on_terminal("crawl", *slow_web.options, "--dir", "crawl", cwd=tmp_path)
    assert code == COMPLETE, written
    assert "Traceback" not in written
    live, _, end = without_escapes(written).partition("The crawl is complete.")
    assert re.search(r"pages +\d+ · [\d.]+/s · ", live)
    assert re.search(r"URLs +\d+ queued · \d+ to try again · \d+ of \d+ settled", live)
    assert re.search(r"hosts +\d in process · \d ready · \d resting", live)
    assert "queued" not in end
    assert all(len(line) <= 80 for line in without_escapes(written).split("\n"))
    # Each row of the last table is erased.
    assert written.count("\x1b[2K") >= 5


def test_a_terminal_that_can_do_nothing_gets_lines(tmp_path: Path, slow_web: Web) -> None:
    options = [*slow_web.options, "--dir", "c", *setting("progress.interval_s=0.1")]
    code, written = on_terminal("crawl", *options, cwd=tmp_path, term="dumb")
    assert code == COMPLETE, written
    assert "\x1b" not in written
    assert re.search(r"\d pages · [\d.]+/s", written)


# demo, simweb


def test_the_demo_crawls_its_web_exactly_twice_with_nothing_left_for_the_second(tmp_path: Path) -> None:
    first = onceover("demo", cwd=tmp_path)
    assert_told(first, COMPLETE)
    assert first.out.splitlines()[0] == "The crawl is complete."
    assert first.out.splitlines()[-1] == "2,000 of 2,000 expected pages fetched, 0 missing, 0 unexpected"
    assert len(fetched(tmp_path / "crawls" / "demo")) == demo_params().hosts * demo_params().pages_per_host
    second = onceover("demo", "--json", cwd=tmp_path)
    assert_told(second, COMPLETE, "2,000 of 2,000 expected pages fetched")
    assert second.json()["ending"] == "complete"


@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["goes on", "begins anew"])
def test_the_demo_leaves_the_crawl_of_somebody_as_it_is(tmp_path: Path, fresh: list[str]) -> None:
    make(tmp_path / "mine")
    (tmp_path / "mine" / "crawl.toml").write_text('[crawl]\nname = "mine"\nseeds = ["http://own.test/"]\n')
    before = (tmp_path / "mine" / "crawl.toml").read_bytes()
    ended = onceover("demo", "--dir", "mine", *fresh, cwd=tmp_path)
    assert_told(ended, REFUSED, "mine has the crawl 'mine', expected a demo")
    assert (tmp_path / "mine" / "crawl.toml").read_bytes() == before


def test_only_the_demo_goes_on_with_a_demo_because_it_serves_the_web(tmp_path: Path) -> None:
    assert onceover("demo", "--dir", "shown", *setting("limits.pages=1"), cwd=tmp_path).code == LIMIT
    assert "To go on: onceover demo --dir shown" in onceover("status", "shown", cwd=tmp_path).out
    for seed in ([], ["--seed", "http://h00001.sim.test/"]):
        ended = onceover("crawl", "--dir", "shown", *seed, cwd=tmp_path)
        assert_told(ended, USAGE, "shown has a demo", "`onceover demo --dir shown` goes on")
    assert_told(onceover("reload", "shown", cwd=tmp_path), USAGE, "shown was started by `onceover demo`")
    assert onceover("demo", "--dir", "shown", *setting("limits.pages=1"), cwd=tmp_path).code == LIMIT


def test_the_demo_notices_a_page_that_is_missing(tmp_path: Path) -> None:
    small = [*setting("scope.within=host")]
    ended = onceover("demo", *small, cwd=tmp_path)
    assert_told(ended, FAILED)
    assert ended.out.splitlines()[-1] == "50 of 2,000 expected pages fetched, 1,950 missing, 0 unexpected"


def test_simweb_serves_a_web_and_states_what_is_to_be_found_in_it(tmp_path: Path) -> None:
    shape = ["--hosts", "2", "--pages-per-host", "3", "--params", '{"traps": 0, "robots_rules": 0}']
    with started("simweb", *shape, "--log", "requests.jsonl", cwd=tmp_path) as served:
        served.wait_until(lambda: (tmp_path / "stdout").read_text().endswith("\n"), "port")
        web = Web(int((tmp_path / "stdout").read_text()), demo_params())
        (tmp_path / "crawl").mkdir()
        assert onceover("crawl", *web.options, "--dir", "c", cwd=tmp_path / "crawl").code == COMPLETE
        served.signal(SIGTERM)
        assert served.wait().code == COMPLETE
    lines = onceover("simweb", *shape, "--expected", cwd=tmp_path).out.splitlines()
    items = [msgspec.json.decode(line, type=dict[str, object]) for line in lines]
    assert set(fetched(tmp_path / "crawl" / "c")) == {item["url"] for item in items if item["kind"] == "page"}
    assert (tmp_path / "requests.jsonl").read_text().count("\n") >= 6


# config


def test_a_written_configuration_loads_and_crawls(tmp_path: Path) -> None:
    assert_told(onceover("config", "init", "c.toml", cwd=tmp_path), COMPLETE, "wrote c.toml", "onceover crawl c.toml")
    text = (tmp_path / "c.toml").read_text()
    assert "seeds = []" in text
    (tmp_path / "c.toml").write_text(text.replace("seeds = []", 'seeds = ["http://a.test/"]', 1))
    ended = onceover("config", "check", "c.toml", cwd=tmp_path)
    assert_told(ended, COMPLETE)
    assert ended.out.startswith("c.toml is valid: 1 seed, ")


@pytest.mark.parametrize("preset", ["quickstart", "broad"])
def test_a_preset_prints_and_is_a_configuration(tmp_path: Path, preset: str) -> None:
    ended = onceover("config", "init", "--preset", preset, cwd=tmp_path)
    assert_told(ended, COMPLETE)
    (tmp_path / "c.toml").write_text(ended.out)
    shown = onceover("config", "show", "c.toml", "--json", cwd=tmp_path)
    assert_told(shown, COMPLETE)


def test_show_tells_where_each_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    ended = onceover(
        "config", "show", "c.toml", *setting("fetch.concurrency=7"), cwd=tmp_path, ONCEOVER_FETCH__TIMEOUT_S="5"
    )
    assert_told(ended, COMPLETE)
    rows = {line.split()[0]: " ".join(line.split()) for line in ended.out.splitlines() if line and line[0] != " "}
    assert rows["crawl.seeds"] == 'crawl.seeds ["http://a.test/"] c.toml:2'
    assert rows["fetch.concurrency"] == "fetch.concurrency 7 --set"
    assert rows["fetch.timeout_s"] == "fetch.timeout_s 5.0 environment ONCEOVER_FETCH__TIMEOUT_S"
    assert rows["scope.within"] == 'scope.within "host" default'
    as_json = onceover("config", "show", "c.toml", "--json", cwd=tmp_path)
    assert {row["key"] for row in json.loads(as_json.out)} == set(rows)


def test_show_tells_what_holds_for_a_url_and_from_which_block(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        '[[site]]\nmatch = ["*.a.test"]\npoliteness.min_delay_s = 5\npoliteness.max_delay_s = 50\n'
        '[[site]]\nmatch = ["https://www.a.test/slow/"]\npoliteness.min_delay_s = 7\n'
    )

    def shown(url: str) -> dict[str, str]:
        ended = onceover("config", "show", "c.toml", "--for", url, cwd=tmp_path)
        assert_told(ended, COMPLETE)
        return dict(" ".join(line.split()).split(" ", 1) for line in ended.out.splitlines())

    slow = shown("https://www.a.test/slow/1")
    assert slow["politeness.min_delay_s"] == "7.0 c.toml:7, site[2]"
    assert slow["politeness.max_delay_s"] == "50.0 c.toml:4, site[1]"
    assert shown("https://www.a.test/")["politeness.min_delay_s"] == "5.0 c.toml:3, site[1]"
    assert shown("https://b.test/")["politeness.min_delay_s"] == "1.0 default"
    assert_told(onceover("config", "show", "c.toml", "--for", "a", cwd=tmp_path), USAGE)


def test_the_schema_is_json_and_judges_configurations(tmp_path: Path) -> None:
    schema = onceover("config", "schema", cwd=tmp_path).json()
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"crawl": {"seeds": ["http://a.test/"]}})
    assert not validator.is_valid({"crawl": {"seedz": []}})


# inspect


def test_fsck_finds_a_crawl_stopped_halfway_sound(halfway: Path) -> None:
    ended = onceover("inspect", halfway, "fsck", cwd=halfway.parent)
    assert_told(ended, COMPLETE)
    told = json.loads((halfway.parent / "run.json").read_text())["status"]["frontier"]
    known = f"{told['admitted']} URLs, {told['pending']} pending, {told['retrying']} to try again"
    assert re.fullmatch(rf"{known}, \d queues: no problems\n", ended.out), ended


def test_queues_lists_what_waits_where(halfway: Path) -> None:
    ended = onceover("inspect", halfway, "queues", "--json", cwd=halfway.parent)
    queues = [msgspec.json.decode(line, type=dict[str, object]) for line in ended.out.splitlines()]
    run = json.loads((halfway.parent / "run.json").read_text())
    assert sum(int(str(queue["size"])) for queue in queues) == run["status"]["frontier"]["pending"]
    table = onceover("inspect", halfway, "queues", "--match", "h00001", "--sort", "key", cwd=halfway.parent).out
    assert [line.split()[0] for line in table.splitlines()] == ["host", "h00001.sim.test"]
    one = onceover("inspect", halfway, "queues", "--limit", "1", cwd=halfway.parent)
    assert re.search(r"and \d more; --limit or --offset 1 shows them", one.err)


def test_url_tells_what_became_of_it(halfway: Path) -> None:
    ended = onceover("inspect", halfway, "url", "HTTP://H00000.sim.test:80/#top", cwd=halfway.parent)
    assert_told(ended, COMPLETE)
    assert re.search(r"state  done\n +found  .*Z on the list of seeds\n +fetched  .*Z\n +status  200\n", ended.out)
    pending = onceover("inspect", halfway, "queues", "--json", "--limit", "1", cwd=halfway.parent)
    assert pending.out
    unknown = onceover("inspect", halfway, "url", "http://elsewhere.test/", cwd=halfway.parent)
    assert_told(unknown, FAILED)
    reason = "links to it are not followed, for the reason out-of-scope"
    assert unknown.out == f"http://elsewhere.test/ was never admitted: {reason}\n"
    trap = onceover("inspect", halfway, "url", "http://h00000.sim.test/a/a/a/a/a/a", cwd=halfway.parent)
    assert_told(trap, FAILED)
    assert trap.out.endswith(" was never admitted: links to it are not followed, for the reason repeated-segments\n")
    missing = onceover("inspect", halfway, "url", "http://h00000.sim.test/missing", cwd=halfway.parent)
    assert missing.out.endswith(" was never admitted: no page in scope linked to it\n")


def test_visited_tells_count_and_size(halfway: Path) -> None:
    ended = onceover("inspect", halfway, "visited", cwd=halfway.parent)
    assert_told(ended, COMPLETE)
    count = json.loads((halfway.parent / "run.json").read_text())["status"]["visited"]["count"]
    assert re.search(rf"backend  exact\n +URLs  {count}\n +memory  [\d.]+ k?B\n", ended.out), ended


def test_inspecting_changes_nothing_that_matters(tmp_path: Path, halfway: Path, web: Web) -> None:
    shutil.copytree(halfway, tmp_path / "crawl")
    for command in (["fsck"], ["visited"], ["queues"]):
        assert onceover("inspect", "crawl", *command, cwd=tmp_path).code == COMPLETE
    assert onceover("crawl", *web.options, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


# frontier


def test_a_retired_host_is_left_alone_until_it_is_served_again(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "10", cwd=tmp_path).code == LIMIT
    retired = onceover("frontier", "retire", "crawl", "H00001.sim.test", cwd=tmp_path)
    assert_told(retired, COMPLETE)
    assert re.fullmatch(r"h00001\.sim\.test is retired: \d+ URLs are kept, and not fetched\n", retired.out)
    before = fetched(tmp_path / "crawl")
    assert onceover("crawl", *options, cwd=tmp_path).code == COMPLETE
    after = fetched(tmp_path / "crawl")
    assert {host_of(url) for url in after if url not in before} == {f"h0000{host}.sim.test" for host in (0, 2, 3, 4)}
    assert_sound(tmp_path / "crawl")
    assert onceover("frontier", "retire", "crawl", "h00001.sim.test", cwd=tmp_path).code == USAGE
    served = onceover("frontier", "unretire", "crawl", "h00001.sim.test", "--json", cwd=tmp_path)
    assert (served.json()["key"], served.json()["retired"]) == ("test,sim,h00001", False)
    assert onceover("crawl", *options, cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_paused_crawl_does_not_start_until_it_is_resumed(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "10", cwd=tmp_path).code == LIMIT
    assert onceover("frontier", "pause", "crawl", "--reason", "it is night", cwd=tmp_path).code == COMPLETE
    refused = onceover("crawl", *options, cwd=tmp_path)
    assert refused.code == REFUSED
    assert "is paused: it is night. `onceover resume crawl` lets it continue" in refused.err
    assert len(fetched(tmp_path / "crawl")) == 10
    assert onceover("resume", "crawl", "--json", cwd=tmp_path).json()["paused"] is None
    assert onceover("crawl", *options, cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


# the page about the commands


def test_the_pages_name_each_command_and_option(repository: Path) -> None:
    pages = ("commands.md", "daemon.md", "parts.md", "searching.md")
    text = "".join((repository / "docs" / page).read_text(encoding="utf-8") for page in pages)
    unnamed = []
    waiting = list(command_line.commands.values())
    while waiting:
        command = waiting.pop()
        if command.hidden:
            continue
        if isinstance(command, click.Group):
            waiting += command.commands.values()
        names = [command.name or "", *(name for param in command.params for name in param.opts if name[:2] == "--")]
        unnamed += [name for name in names if name not in text]
    assert unnamed == []


def test_an_option_that_does_not_exist_would_be_noticed() -> None:
    assert CliRunner().invoke(command_line, ["crawl", "--none-such", "--help"]).exit_code == USAGE
