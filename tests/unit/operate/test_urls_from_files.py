"""`add` and `forget` take URLs from files, which are written like files of seeds."""

from pathlib import Path

import msgspec
import pytest

from crawler.codes.exit_codes import COMPLETE, FAILED, USAGE
from crawler.control.requests import MAX_URLS
from tests.e2e.operating import command_here
from tests.unit.test_cli_frontier import ledger, made

REFUSED = "expected seeds in UTF-8, found the byte 0xff; save the file as UTF-8"


@pytest.mark.parametrize("by", ["file", "standard input"])
def test_a_file_of_urls_may_have_comments_where_a_file_of_seeds_may(by: str, tmp_path: Path) -> None:
    crawl, listed = str(made(tmp_path / "crawl")), tmp_path / "listed.txt"
    listed.write_bytes(
        b"\xef\xbb\xbf# ours\r\nhttp://a.test/1 # the first\r\n\r\n\t# none\r\n"
        b"http://a.test/2?x=#y\r\nhttp://a.test/\xc3\xa4"
    )
    source, given = (str(listed), b"") if by == "file" else ("-", listed.read_bytes())
    urls = ["http://a.test/1", "http://a.test/2?x=", "http://a.test/%C3%A4"]
    added = command_here("add", crawl, "--force", "--from", source, "--json", given=given)
    assert added.code == COMPLETE, added.err
    judged = [msgspec.json.decode(line, type=dict[str, object]) for line in added.out.splitlines()]
    assert [(each["outcome"], each["url"]) for each in judged] == [("added", url) for url in urls]
    assert sorted(ledger(tmp_path / "crawl")) == sorted(urls)
    kept = command_here("forget", crawl, "--from", source, given=given)
    assert [line.split()[:2] for line in kept.err.splitlines()] == [["waits", url] for url in urls]


@pytest.mark.parametrize("command", ["add", "forget"])
def test_of_a_file_that_is_not_utf_8_nothing_is_taken(command: str, tmp_path: Path) -> None:
    crawl, listed = made(tmp_path / "crawl", hosts=1, fetched=1), tmp_path / "listed.txt"
    before = ledger(crawl)
    first = "http://a.test/new\n" if command == "add" else "http://h0.test/p0\n"
    listed.write_bytes(first.encode() * (MAX_URLS + 1) + b"http://a.test/\xff\n")
    refused = command_here(command, str(crawl), "--from", str(listed))
    assert (refused.code, refused.out) == (USAGE, "")
    assert refused.err == f"onceover: {listed}:{MAX_URLS + 2}: {REFUSED}\n"
    refused = command_here(command, str(crawl), "http://a.test/named", "--from", "-", given=b"# \xff\n")
    assert (refused.code, refused.out) == (USAGE, "")
    assert refused.err == f"onceover: standard input:1: {REFUSED}\n"
    assert ledger(crawl) == before


def test_of_a_file_with_too_long_a_url_nothing_is_taken(tmp_path: Path) -> None:
    crawl, listed = made(tmp_path / "crawl"), tmp_path / "listed.txt"
    listed.write_text("http://a.test/new\n" * (MAX_URLS + 1) + f"http://a.test/{'x' * (1 << 20)}\n")
    refused = command_here("add", str(crawl), "--from", str(listed))
    assert (refused.code, refused.out) == (USAGE, "")
    assert "expected URLs of at most" in refused.err
    assert ledger(crawl) == {}


def test_a_line_that_is_no_url_is_named_and_the_others_are_forgotten(tmp_path: Path) -> None:
    crawl, listed = made(tmp_path / "crawl", hosts=1, fetched=2), tmp_path / "listed.txt"
    listed.write_text("http://h0.test/p0\nno url at all\nhttp://h0.test/p1\nftp://h0.test/\nhttp://h0.test/never\n")
    ended = command_here("forget", str(crawl), "--from", str(listed), "--json")
    judged = [msgspec.json.decode(line, type=dict[str, object]) for line in ended.out.splitlines()]
    assert [each["outcome"] for each in judged] == ["forgotten", "invalid", "forgotten", "invalid", "unknown"]
    assert ended.code == FAILED
    assert list(ledger(crawl)) == ["http://h0.test/p2"]


@pytest.mark.parametrize("command", ["add", "forget"])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["for people", "JSON"])
def test_a_url_with_a_login_is_named_without_its_password(
    command: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    crawl = made(tmp_path / "crawl")
    given = ["https://me:secret@a.test/", "me:secret@a.test", "ftp://me:secret@a.test/"]
    ended = command_here(command, str(crawl), *given, *options)
    told = ended.out + ended.err
    assert (ended.code, told.count("me:***@a.test"), "secret" in told) == (FAILED, 4, False)


NOT_TEXT = "a\udcff"
"""What an argument in another encoding than UTF-8 becomes."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "--json", NOT_TEXT],
        ["forget", NOT_TEXT],
        ["forget", "--matching", NOT_TEXT],
        ["pause", "--reason", NOT_TEXT],
        ["retire", NOT_TEXT],
        ["top", "--match", NOT_TEXT],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_stopped_crawl_is_asked_nothing_that_is_not_utf_8(arguments: list[str], tmp_path: Path) -> None:
    crawl = made(tmp_path / "crawl", hosts=1, fetched=1)
    before = ledger(crawl)
    refused = command_here(arguments[0], str(crawl), *arguments[1:])
    assert (refused.code, refused.out) == (USAGE, "")
    assert refused.err.startswith("onceover: expected arguments in UTF-8, found 'a\\udcff'; ")
    assert ledger(crawl) == before
