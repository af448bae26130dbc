"""What has changed between two crawls of a site, or in one since a moment."""

import asyncio
import csv
import io
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from crawler.operate.diff.forms import Diff, Kind
from crawler.testing.fetch.raw_server import Script, page
from tests.e2e.crawling import COMPLETE
from tests.e2e.operating import command_here
from tests.e2e.origins import GONE, linking, site, to

OLD, NEW = "http://old.web.test", "http://new.web.test"
HTML = b"Content-Type: text/html"
SETTINGS = {"scope.within": "host", "politeness.min_delay_s": 0.0, "politeness.robots": False, "output.warc": False}


def text(title: str, words: str) -> Script:
    return [page(f"<title>{title}</title><p>{words}".encode(), HTML)]


def old(path: str) -> Script:
    match path:
        case "/":
            return linking("/same", "/title", "/lost", "/away", "/renamed", "/dead", "/hop", "/part")
        case "/title":
            return text("Before", "words")
        case "/renamed":
            return text("Renamed", "These words are found under another name.")
        case "/same" | "/lost" | "/away":
            return text(path, f"words of {path}")
        case "/hop":
            return to("/same")
        case "/part":
            return to("/same#one")
    return GONE


def new(path: str) -> Script:
    match path:
        case "/title":
            return text("After", "more words")
        case "/added":
            return text("Added", "words")
        case "/other-name":
            return old("/renamed")
        case "/":
            return linking("/same", "/title", "/lost", "/away", "/added", "/other-name", "/dead", "/hop", "/part")
        case "/away":
            return to("/added")
        case "/lost":
            return GONE
        case "/hop":
            return to("/title")
        case "/part":
            return to("/same#two")
    return old(path)


def crawled(folder: Path, seed: str, answer: Callable[[str], Script]) -> Path:
    """The directory of a crawl, which goes on if there is one."""

    async def crawl() -> None:
        async with site(folder, lambda _, seen: answer(seen.target)) as where:
            await where.crawl(f"{seed}/", settings=SETTINGS)

    folder.mkdir(exist_ok=True)
    asyncio.run(crawl())
    shutil.copy(folder / "crawl.toml", folder / "crawl")
    return folder / "crawl"


def difference(*arguments: str | Path) -> Diff:
    ended = command_here("diff", *map(str, arguments), "--json")
    assert ended.code == COMPLETE, ended.err
    return msgspec.json.decode(ended.out, type=Diff)


def test_pages_of_a_site_that_moved_are_compared_under_their_new_names(tmp_path: Path) -> None:
    before, after = crawled(tmp_path / "old", OLD, old), crawled(tmp_path / "new", NEW, new)
    found = difference(before, after, "--map", OLD, NEW)
    by_kind: dict[Kind, dict[str, object]] = {}
    for each in found.differences:
        by_kind.setdefault(each.kind, {})[each.url.removeprefix(NEW)] = each
    assert {kind: sorted(urls) for kind, urls in by_kind.items()} == {
        "new": ["/added", "/other-name"],
        "gone": ["/away", "/lost", "/renamed"],
        "changed": ["/", "/title"],
        "answer": ["/hop", "/part"],
    }
    assert (found.before.pages, found.after.pages, found.same) == (6, 5, 1)
    assert found.counts == {"new": 2, "gone": 3, "changed": 2, "answer": 2}
    assert found.fields == {"body": 2, "title": 1}
    gone = {each.url.removeprefix(NEW): each for each in found.differences if each.kind == "gone"}
    assert gone["/renamed"].moved_to == f"{NEW}/other-name"
    assert gone["/renamed"].after is None
    assert gone["/lost"].after is not None
    assert (gone["/lost"].after.status, gone["/lost"].moved_to) == (404, None)
    assert gone["/away"].after is not None
    assert gone["/away"].after.redirect == f"{NEW}/added"
    assert found.notes == []

    told = command_here("diff", str(before), str(after), "--map", OLD, NEW).out
    assert f'  {NEW}/title\n      title  "Before" -> "After"\n      body  ' in told
    assert f"  404  {NEW}/lost\n" in told
    assert f"  301  {NEW}/away -> {NEW}/added\n" in told
    assert f"  not met  {NEW}/renamed; the same body is at {NEW}/other-name\n" in told
    assert f"  301 -> 301  {NEW}/hop -> {NEW}/title\n" in told
    assert f"  301 -> 301  {NEW}/part -> {NEW}/same#two\n" in told

    rows = [*csv.DictReader(io.StringIO(command_here("diff", str(before), str(after), "--csv", "--map", OLD, NEW).out))]
    assert [(row["kind"], row["url"], row["fields"]) for row in rows if row["kind"] == "changed"] == [
        ("changed", f"{NEW}/", "body"),
        ("changed", f"{NEW}/title", "title body"),
    ]
    assert {row["before_url"] for row in rows if row["kind"] == "gone"} == {
        f"{OLD}/{name}" for name in ("away", "lost", "renamed")
    }

    only_titles = difference(before, after, "--map", OLD, NEW, "--only", "title")
    assert [each.url for each in only_titles.differences] == [f"{NEW}/title"]
    first = difference(before, after, "--map", OLD, NEW, "--only", "gone", "--limit", "2")
    assert [each.url for each in first.differences] == [f"{NEW}/away", f"{NEW}/lost"]
    assert first.more == {"gone": 1}
    # Without new names, nothing is as it was.
    unmapped = difference(before, after)
    assert unmapped.counts["new"] == found.after.pages
    assert ["--map OLD NEW compares it" in note for note in unmapped.notes] == [True]
    the_wrong_way = difference(before, after, "--map", NEW, OLD)
    assert ["OLD is how URLs of the first crawl begin" in note for note in the_wrong_way.notes] == [True]


def test_a_crawl_is_compared_with_itself_at_an_earlier_moment(tmp_path: Path) -> None:
    directory = crawled(tmp_path / "twice", OLD, old)
    between = time.time()
    assert command_here("recrawl", str(directory)).code == COMPLETE
    crawled(tmp_path / "twice", OLD, new)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(between)) + f"{between % 1:.3f}"[1:] + "Z"
    found = difference(directory, "--since", moment)
    urls = {(each.kind, each.url.removeprefix(OLD)) for each in found.differences}
    assert urls == {
        ("new", "/added"),
        ("new", "/other-name"),
        ("gone", "/away"),
        ("gone", "/lost"),
        ("changed", "/"),
        ("changed", "/title"),
        ("answer", "/hop"),
        ("answer", "/part"),
    }
    assert difference(directory, "--since", "2999-01-01").counts == {"new": 0, "gone": 0, "changed": 0, "answer": 0}
    assert difference(directory, "--since", "29990101").before.pages > 0  # a day, and no number of seconds
    assert difference(directory, "--since", "7 d").before.pages == 0


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    here = str(tmp_path)
    for arguments, told in (
        ([here], "expected the directories of two crawls, or of one and --since"),
        ([here, here, "--since", "7d"], "expected the directories of two crawls, or of one and --since"),
        ([here, "--since", "soon"], "expected a duration such as 7d, or a moment such as 2026-11-01"),
        ([here, "--since", "9999999d"], "expected a duration such as 7d, or a moment such as 2026-11-01"),
        ([here, "--since", "0001-01-01T00:00+14:00"], "expected a duration such as 7d, or a moment such as"),
        ([here, here, "--map", "old", "http://b.test"], "expected URLs such as https://new.example.org/; found 'old'"),
        ([here, here, "--json", "--csv"], "expected --csv or --json, found both"),
    ):
        ended = command_here("diff", *arguments)
        assert ended.code == 2
        assert told in ended.err
