"""What the command says when something is wrong: one form, and each fault is told of the one who made it."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import config
import crawler
from config import load, render_toml
from crawler.cli import main, onceover
from crawler.cli.bash_completion import AssignmentBash
from crawler.codes.exit_codes import FAILED, REFUSED, USAGE
from crawler.disk.directory import CrawlDirectory
from crawler.status import number_of
from tests.unit.test_cli_frontier import made, run

AGENT = "fetch.user_agent=x (+https://owner.org/)"
BASH = """
eval "$(_ONCEOVER_COMPLETE=bash_source {command})"
compopt() {{ echo "compopt $*"; }}
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:' COMP_LINE={line!r} COMP_POINT={point}
_onceover_completion {command}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """The exit code and what went to stderr."""
    monkeypatch.setattr(sys, "argv", ["onceover", *arguments])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # to which it is set back afterwards
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crawl", "--sed", "x"], "onceover: no such option '--sed'"),
        (
            ["chekpoint"],
            "onceover: no such command 'chekpoint'. Did you mean 'checkpoint'? `onceover --help` shows the usage",
        ),
        (
            ["https://a.test/?b&c"],
            "onceover: expected a command, found the URL https://a.test/?b&c: `onceover crawl --seed 'https://a.test/?b&c'`",
        ),
        (
            ["inspect", "fsck", "crawls/a b", "--json"],
            "onceover: the directory comes first: `onceover inspect 'crawls/a b' fsck`",
        ),
        (
            ["inspect", "a b", "--part", "0", "fsck"],
            "onceover: --part comes before the directory: `onceover inspect --part K 'a b' …`\n",
        ),
        (["inspect", "fsck", "fsch"], "onceover: the directory comes first: `onceover inspect fsch fsck`"),
        (["crawl", "a", "b"], "onceover: got unexpected extra argument (b); `onceover crawl --help` shows"),
        (
            ["crawl", "--sed"],
            "onceover: no such option '--sed'. (Did you mean one of: '--seed', '--seed-file', '--set'?) `",
        ),
        (["crawl", "--dir"], "onceover: option '--dir' requires an argument\n"),
        (["diff", "a", "--map", "b"], "onceover: option '--map' requires 2 arguments\n"),
        (
            ["crawl", "--max-pages", "x"],
            "onceover: invalid value for '--max-pages': 'x' is not a whole number; `onceover",
        ),
        (
            ["top", "a", "--interval", "x"],
            "onceover: invalid value for '--interval': 'x' is not a number; `onceover top",
        ),
        (["status"], "onceover: missing argument 'DIR'; `onceover status --help` shows the usage"),
        (["config", "check"], "onceover: missing argument 'CONFIGURATION...'; `onceover config check --help` shows"),
        (["export", "a", "--to", "b"], "onceover: missing option '--format'. Choose from: jsonl, csv, "),
        (["crawl"], "onceover: there is nothing to crawl: give a configuration file, or --seed URL"),
        (["crawl", "--seed", "foo"], "onceover: --seed: crawl.seeds: seed 'foo' has no scheme"),
        (["crawl", "--seed", "http://a.test/", "--dir", ""], "onceover: --dir: crawl.directory: expected text"),
        (["crawl", "--seed", "ftp://a.org/"], "onceover: --seed: crawl.seeds: seed 'ftp://a.org/' can't be crawled"),
        (["demo", "--dir", ""], "onceover: --dir: crawl.directory: expected text, not empty and without control char"),
        (
            ["crawl", "--seed", "http://x.test/\x01"],
            "onceover: --seed: crawl.seeds: expected a list of texts, each not em",
        ),
        (["crawl", "--seed", "http://x\udcff/"], r"onceover: expected arguments in UTF-8, found 'http://x\udcff/'; "),
        (["demo", "--dir", "b\udcff"], r"onceover: expected arguments in UTF-8, found 'b\udcff'; if it is"),
        (
            ["inspect", "b\udcff", "fsck", "--repair"],
            r"onceover: expected arguments in UTF-8, found 'b\udcff'; if it is",
        ),
        (
            ["pause", "crawl", "--reason", "\x1b[31mred\nline2"],
            "onceover: invalid value for '--reason': expected 1 to 2,000 characters without control characters, found",
        ),
        (
            ["pause", "crawl", "--reason", "\x9b31mred"],  # terminals take it for ESC [
            "onceover: invalid value for '--reason': expected 1 to 2,000 characters without control characters, found",
        ),
        (["top", "crawl", "--interval", "nan"], "onceover: invalid value for '--interval': 'nan' is not a number"),
        (["top", "crawl", "--interval", "300"], "onceover: invalid value for '--interval': 300.0 is not in the range"),
        (["daemon", "crawls", "--restart-delay", "nan"], "onceover: invalid value for '--restart-delay': 'nan' is"),
        (["compare", "--advise", "--loss", "nan"], "onceover: invalid value for '--loss': 'nan' is not a number"),
        (
            ["budget", "crawl", "a.test", "9" * 5000],
            "onceover: invalid value for 'COST': expected a cost of 0 to 9,007,199,254,740,992, or `default` for",
        ),
        (["config", "show", "--for", "a"], "onceover: --for: URL 'a' has no scheme; write 'https://a/'"),
        (
            ["simweb", "--expected", "--params", '{"traps": 1.0, "traps_disallowed": false}'],
            "onceover: --expected: no crawl of this web is ever complete: h0",
        ),
        (["simweb", "--params", '{"domain": "a..b"}'], "onceover: there can be no such simulated web: domain must be"),
    ],
)
def test_every_error_is_one_line_in_one_form_and_names_what_was_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    code, text = said(capsys, monkeypatch, *arguments)
    assert code == USAGE
    assert text.startswith(words)
    assert text.count("\n") == 1


def test_a_directory_whose_name_is_no_text_is_not_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = said(capsys, monkeypatch, "crawl", "--seed", "http://x.test/", "--dir", "b\udcff")
    assert (code, text) == (
        USAGE,
        "onceover: expected arguments in UTF-8, found 'b\\udcff'; if it is a file or a directory, rename it\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_does_not_begin_in_a_current_directory_whose_name_is_no_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "b\udcff"
    here.mkdir()
    monkeypatch.chdir(here)
    code, text = said(capsys, monkeypatch, "crawl", "--seed", "http://x.test/", "--dir", "crawl")
    assert (code, text.startswith("onceover: expected a current directory in UTF-8, found '/")) == (USAGE, True), text
    assert list(here.iterdir()) == []


def test_a_url_that_is_asked_about_is_not_called_a_seed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = str(made(tmp_path / "crawl"))
    assert said(capsys, monkeypatch, "inspect", crawl, "url", "notaurl") == (
        USAGE,
        "onceover: URL 'notaurl' has no scheme; write 'https://notaurl/'\n",
    )


def test_an_imported_url_is_not_said_to_be_on_the_list_of_seeds(tmp_path: Path) -> None:
    crawl = made(tmp_path / "crawl")
    with CrawlDirectory(crawl) as directory:
        seeds = ["--set", 'crawl.seeds=["http://seed.test"]'][1:]
        directory.write_configuration(render_toml(load(None, overrides=seeds, environ={}).config))
    run("frontier", "import", crawl, given='{"url": "http://seed.test/"}\n{"url": "http://carried.test/"}\n')
    assert "on the list of seeds" in run("inspect", crawl, "url", "http://seed.test/")
    carried = run("inspect", crawl, "url", "http://carried.test/")
    assert "in a file of seeds, or added by an operator or an import" in carried


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ['fetch.logins={"a.test" = "file:/none/such"}', AGENT],
            "onceover: --set: fetch.logins: can't read /none/such: No such file or directory\n",
        ),
        (
            ['fetch.logins={"a.test" = "env:NONE_SUCH"}', AGENT],
            "onceover: --set: fetch.logins: expected a login in the environment variable NONE_SUCH, which is not set\n",
        ),
        (
            ['scope.place_files=["/none/such"]', AGENT],
            "onceover: --set: scope.place_files: can't read /none/such: No such file or directory\n",
        ),
    ],
    ids=["file", "environment", "places"],
)
def test_a_setting_is_named_once_and_no_exception_of_python_is(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [part for each in settings for part in ("--set", each)]
    code, text = said(capsys, monkeypatch, "crawl", "--seed", "https://a.org/", *given)
    assert (code, text[: len(words)]) == (USAGE, words)


def test_each_line_of_a_file_that_is_no_place_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    Path("out.txt").write_bytes(b"\xef\xbb\xbf# hosts\r\n*.ads.test\r\norg.example,\r\n\r\na.test/docs\r\n")
    files = 'scope.exclude_place_files=["out.txt"]'
    code, text = said(capsys, monkeypatch, "config", "check", "site.toml", "--set", files)
    named = [line.partition(" is not a place")[0].strip() for line in text.splitlines()[1:]]
    places = ((3, "org.example,"), (5, "a.test/docs"))
    assert code == USAGE
    assert named == [f"{tmp_path}/out.txt:{line}: scope.exclude_places: {entry!r}" for line, entry in places]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("/ütf8", "warning: --set: scope.exclude: '/ütf8' has 'ü', which is in no URL: "),
        ("/a b", "has ' ', which is in no URL: patterns are searched in URLs as they are sent, with %20 in paths"),
        ("/%C3%BCtf8", ""),
    ],
)
def test_a_pattern_with_what_urls_escape_is_warned_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pattern: str, told: str
) -> None:
    (tmp_path / "site.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    arguments = ("config", "check", str(tmp_path / "site.toml"), "--set", f'scope.exclude=["{pattern}"]')
    code, text = said(capsys, monkeypatch, *arguments)
    assert (code, told in text, bool(text)) == (0, True, bool(told))


def test_patterns_in_blocks_are_warned_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configuration = tmp_path / "site.toml"
    configuration.write_text(
        '[crawl]\nseeds = ["https://a.org/"]\n[fetch]\nuser_agent = "tests/1.0 (us@our.site)"\n'
        '[[site]]\nmatch = ["a.org"]\nscope.exclude = ["/ü"]\n'
        '[[recrawl.pattern]]\nmatching = "/news ä"\ninterval_s = 60\n'
        '[render]\npatterns = ["/ö"]\n'
    )
    code, text = said(capsys, monkeypatch, "config", "check", str(configuration))
    assert code == 0, text
    assert "site.toml:7: site[1].scope.exclude: '/ü' has 'ü', which is in no URL" in text
    assert "site.toml:9: recrawl.pattern[1].matching: '/news ä' has ' ', which is in no URL" in text
    assert "site.toml:12: render.patterns: '/ö' has 'ö', which is in no URL" in text


def test_a_wrong_pattern_in_a_block_is_refused_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configuration = tmp_path / "site.toml"
    configuration.write_text(
        '[crawl]\nseeds = ["http://a.test/"]\n[[site]]\nmatch = ["a.test"]\nscope.exclude = ["a("]\n'
        '[[recrawl.pattern]]\nmatching = "/news"\ninterval_s = 60\n'
        '[[recrawl.pattern]]\nmatching = "("\ninterval_s = 60\n'
    )
    code, text = said(capsys, monkeypatch, "config", "check", str(configuration))
    assert (code, "2 problems in the configuration" in text) == (USAGE, True), text
    assert "site.toml:5, site[1]: scope.exclude: 'a(' is not a pattern that RE2 can search for" in text
    assert "site.toml:10: recrawl.pattern[2].matching: '(' is not a pattern that RE2 can search for" in text


def test_a_second_pause_keeps_the_reason_of_the_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl = str(made(tmp_path / "crawl"))
    run("frontier", "pause", crawl, "--reason", "the first")
    assert said(capsys, monkeypatch, "frontier", "pause", crawl, "--reason", "the second") == (
        USAGE,
        f"onceover: {crawl} is already paused: the first; resume it first\n",
    )


def test_one_is_not_written_as_many(tmp_path: Path) -> None:
    assert [number_of(count, "URL") for count in (0, 1, 2, 2000)] == ["0 URLs", "1 URL", "2 URLs", "2,000 URLs"]
    crawl = made(tmp_path / "crawl")
    assert run("frontier", "import", crawl, given='{"url": "http://a.test/"}\n') == "1 URL added, 0 were known\n"
    assert run("inspect", crawl, "fsck") == "1 URL, 1 pending, 0 to try again, 1 queue: no problems\n"
    assert run("frontier", "retire", crawl, "a.test") == "a.test is retired: 1 URL is kept, and not fetched\n"


def test_no_message_counts_pages_urls_and_crawls_without_a_look_at_the_number() -> None:
    counted = re.compile(r"(:,\}|%d) (pages|records|rows|files|crawls|links|machines|hosts|requests)\b")
    folders = (Path(folder).parent for folder in (crawler.__file__, config.__file__))
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(files) > 100
    found = [f"{path}: {match[0]}" for path in files for match in counted.finditer(path.read_text(encoding="utf-8"))]
    assert not found, "number_of puts one and many right"


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_not_taken_for_a_crawl(buffering: dict[str, str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [Path(sys.executable).with_name("onceover"), "config", "show"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment | buffering,
        )
    assert ended.returncode == FAILED
    assert "the disk is full: free some space, then run the same command again" in ended.stderr
    assert "crawl" not in ended.stderr
    assert "ignored" not in ended.stderr


@pytest.mark.parametrize("look", [("fsck",), ("verify", "--json")])
def test_a_check_whose_result_has_no_room_fails(tmp_path: Path, look: tuple[str, ...]) -> None:
    command = [str(Path(sys.executable).with_name("onceover")), "inspect", str(made(tmp_path / "crawl")), *look]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, "the disk is full" in ended.stderr) == (FAILED, True), ended


def test_a_simulated_web_says_that_it_serves_only_once_it_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [Path(sys.executable).with_name("onceover"), "simweb", "--port", str(port)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == REFUSED
    assert "Serving" not in ended.stderr
    assert re.search(r"onceover: .*Address already in use", ended.stderr)


# config check --json


class Checked(msgspec.Struct, forbid_unknown_fields=True):
    valid: bool
    problems: list[dict[str, str | None]]
    warnings: list[dict[str, str | None]]
    seeds: int | None
    directory: str | None
    purpose: list[str] | None
    respects_preferences: bool


class CheckedFiles(msgspec.Struct, forbid_unknown_fields=True):
    valid: bool
    files: dict[str, Checked]


def test_a_check_is_told_to_programs_too(tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.toml", tmp_path / "right.toml"
    wrong.write_text("[fetch]\ntime_out_s = 1\n")
    right.write_text('[crawl]\nseeds = ["http://a.test/"]\ndirectory = "here"\n')
    found = msgspec.json.decode(run("config", "check", wrong, "--json"), type=Checked)
    assert not found.valid
    assert found.problems[0] == {
        "where": f"{wrong}:2",
        "key": "fetch.time_out_s",
        "message": "unknown key; did you mean fetch.timeout_s?",
    }
    found = msgspec.json.decode(run("config", "check", right, "--json"), type=Checked)
    expected = Checked(
        valid=True, problems=[], warnings=[], seeds=1, directory="here", purpose=None, respects_preferences=True
    )
    assert found == expected
    judged = msgspec.json.decode(run("config", "check", right, "--json", "--set", "scope.exclude=['(']"), type=Checked)
    assert (judged.valid, judged.problems[0]["key"]) == (False, "scope.exclude")


def test_a_folder_is_checked_whole_and_crawls_whose_directories_overlap_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    texts = {
        "a": "",
        "bad": "[fetch]\ntime_out_s = 1\n",
        "c": 'scope.exclude = ["("]\n',
        "d": 'crawl.directory = "aside/a"\n',
        "e": 'crawl.directory = "daemon"\n',
        ".hidden": "no",
    }
    for name, text in texts.items():
        (home / f"{name}.toml").write_text(f'crawl.seeds = ["http://a.test/"]\n{text}')
    (home / "crawls").mkdir()
    (home / "aside").symlink_to("crawls")
    found = msgspec.json.decode(run("config", "check", home, "--json"), type=CheckedFiles)
    assert not found.valid
    assert {Path(path).stem: each.valid for path, each in found.files.items()} == {
        "a": True,
        "bad": False,
        "c": False,
        "d": False,
        "e": False,
    }
    monkeypatch.chdir(home)
    code, told = said(capsys, monkeypatch, "config", "check", *(str(home / f"{name}.toml") for name in "adc"))
    assert code == USAGE
    assert "2 problems in the configuration" in told
    shared = f"  {home}/d.toml: crawl.directory is {home}/crawls/a, and {home}/a.toml uses {home}/crawls/a; each"
    assert shared in told
    assert f"  {home}/c.toml" in told
    (tmp_path / "empty").mkdir()
    code, told = said(capsys, monkeypatch, "config", "check", str(tmp_path / "empty"))
    assert (code, "expected files NAME.toml" in told) == (USAGE, True)


# completion


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("onceover crawl --preset one", ["plain,one-site"]),
        ("onceover config init --preset qui", ["plain,quickstart"]),
        ("onceover crawl --set fetch.user_a", ["plain,fetch.user_agent="]),
        ("onceover compare --set fetch.extractor=le", ["plain,lexbor"]),
        ("onceover crawl --set none.such=", []),
        ("onceover fron", ["plain,frontier"]),
    ],
)
def test_presets_keys_and_their_values_complete_a_line(
    monkeypatch: pytest.MonkeyPatch, line: str, expected: list[str]
) -> None:
    for name, value in (("COMP_LINE", line), ("COMP_POINT", str(len(line))), ("COMP_WORDBREAKS", " =")):
        monkeypatch.setenv(name, value)
    completion = AssignmentBash(onceover, {}, "onceover", "_ONCEOVER_COMPLETE")
    assert completion.complete().splitlines() == expected


# Each starts the command, which takes a second.
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("onceover crawl --set fetch.user_a", ["compopt -o", "nospace", "fetch.user_agent="]),
        ("onceover crawl --set output.warc=", ["true", "false"]),
    ],
)
def test_bash_completes_keys_and_their_values(line: str, expected: list[str]) -> None:
    command = Path(sys.executable).with_name("onceover")
    script = BASH.format(command=command, line=line, point=len(line))
    ended = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == expected
