"""What the archive of a crawl holds beside its pages."""

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, USAGE, Web, onceover, setting
from tests.e2e.operating import command_here
from tests.unit.write.samples import archived

WORLD = WorldParams(
    seed=5,
    hosts=9,
    pages_per_host=3,
    links_per_page=6,
    page_bytes=800,
    robots_rules=0.3,
    robots_redirect=0.4,
    robots_missing=0.3,
    robots_broken=0.2,
    sitemap_only=0.3,
    broken=0.1,
)
DEAD = "http://127.0.0.1:1/"
"""Nobody listens there."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    with running(WORLD) as port:
        settings = setting("frontier.max_attempts=2", "fetch.allow_private=true")
        ended = onceover("crawl", *Web(port, WORLD).options, "--seed", DEAD, *settings, "--dir", "crawl", cwd=folder)
    assert ended.code == COMPLETE, ended.err
    return folder / "crawl"


def test_robots_files_sitemaps_and_failures_are_in_the_archive(crawled: Path) -> None:
    found = archived(crawled / "warc")
    robots = [each for each in found if each.fields.get("X-Onceover-Purpose") == "robots"]
    hosts = {each.fields["WARC-Target-URI"].split("/")[2] for each in found if "WARC-Target-URI" in each.fields}
    asked = {each.fields["WARC-Target-URI"].split("/")[2] for each in robots}
    assert asked == hosts
    statuses = {(each.status_line or "")[:1] for each in robots if each.kind == "response"}
    assert statuses == {"2", "3", "4", "5"}
    assert sum(each.kind == "response" for each in robots) == sum(each.kind == "request" for each in robots)
    [dead] = [each for each in robots if each.fields["WARC-Target-URI"] == f"{DEAD}robots.txt"][:1]
    assert (dead.kind, b"failure: connect" in dead.payload) == ("metadata", True)
    sitemaps = [each for each in found if each.kind == "response" and b"<urlset" in each.payload]
    assert sitemaps
    assert all(each.number is not None for each in sitemaps)
    assert any((each.status_line or "")[:1] == "5" and each.number is not None for each in found)


def test_what_the_commands_say_of_such_an_archive_agrees(crawled: Path, tmp_path: Path) -> None:
    crawl = Path(shutil.copytree(crawled, tmp_path / "crawl", ignore=shutil.ignore_patterns("control")))
    for command in (("inspect", str(crawl), "fsck"), ("inspect", str(crawl), "verify"), ("report", str(crawl))):
        ended = command_here(*command)
        assert ended.code == COMPLETE, ended
    ended = command_here("export", str(crawl), "--format", "wacz", "--to", str(tmp_path / "a.wacz"))
    assert ended.code == COMPLETE, ended
    with zipfile.ZipFile(tmp_path / "a.wacz") as wacz:
        index = gzip.decompress(wacz.read("indexes/index.cdx.gz"))
        pages = [json.loads(line) for line in wacz.read("pages/pages.jsonl").splitlines()]
    assert b")/robots.txt 2" in index
    assert not any("robots.txt" in each.get("url", "") for each in pages)

    [path] = (crawl / "warc").glob("*.warc.gz")
    members = path.read_bytes().split(b"\x1f\x8b\x08")[1:]
    texts = [gzip.decompress(b"\x1f\x8b\x08" + each) for each in members]
    at = next(at for at, each in enumerate(texts) if b"Purpose: robots" in each and b"\nUser-agent" in each)
    texts[at] = texts[at].replace(b"\nUser-agent", b"\nUSER-AGENT")
    path.write_bytes(b"".join(gzip.compress(each, mtime=0) for each in texts))
    ended = command_here("inspect", str(crawl), "verify")
    assert ended.code == FAILED
    assert "the record for robots has the payload" in ended.out


def test_a_crawl_in_parts_is_compared_with_an_earlier_one_and_its_wacz_is_whole(crawled: Path, tmp_path: Path) -> None:
    earlier = Path(shutil.copytree(crawled, tmp_path / "earlier", ignore=shutil.ignore_patterns("control")))
    with running(WORLD) as port:
        settings = setting(f'output.dedupe_against=["{earlier}"]', "output.dedupe_min_bytes=100", "crawl.parts=2")
        ended = onceover("crawl", *Web(port, WORLD).options, *settings, "--dir", "crawl", cwd=tmp_path)
    assert ended.code == COMPLETE, ended.err
    crawl = tmp_path / "crawl"
    found = [each for part in crawl.glob("part-*") for each in archived(part / "warc")]
    assert {each.kind for each in found if b"<html" in each.payload} == set()
    assert sum(each.kind == "revisit" for each in found) > 20
    assert (crawl / "earlier.sqlite").exists()
    ended = command_here("inspect", str(crawl), "verify")
    assert ended.code == COMPLETE, ended
    ended = command_here("export", str(crawl), "--format", "wacz", "--to", str(tmp_path / "a.wacz"))
    assert ended.code == COMPLETE, ended
    with zipfile.ZipFile(tmp_path / "a.wacz") as wacz:
        packed = {each.removeprefix("archive/") for each in wacz.namelist() if each.startswith("archive/")}
    assert packed == {path.name for path in crawl.glob("part-*/warc/*.warc.gz")} | {"referred.warc.gz"}
    ended = command_here("export", str(crawl), "--format", "cdxj", "--to", str(tmp_path / "new" / "a.cdxj"))
    assert ended.code == COMPLETE, ended
    lines = (tmp_path / "new" / "a.cdxj").read_bytes().splitlines()
    assert lines == sorted(line for each in crawl.glob("part-*/warc/*.cdxj") for line in each.read_bytes().splitlines())
    assert len(lines) > 20
    ended = command_here("export", str(crawl), "--format", "cdxj", "--to", str(tmp_path / "new" / "a.cdxj"))
    assert (ended.code, "--overwrite" in ended.err) == (REFUSED, True), ended

    [archive] = (earlier / "warc").glob("*.warc.gz")
    archive.unlink()
    ended = command_here("inspect", str(crawl), "verify")
    assert ended.code == FAILED
    assert "this earlier crawl can't be read" in ended.out
    assert "refers to a body that the archive and the earlier crawls do not have" in ended.out
    ended = command_here("export", str(crawl), "--format", "wacz", "--to", str(tmp_path / "b.wacz"))
    assert "revisit records refer to" in ended.err
    ended = command_here("crawl", "--dir", str(crawl))
    assert ended.code == USAGE
    assert "output.dedupe_against" in ended.err
    assert "expected the directory of a crawl" in ended.err
    ended = command_here("crawl", "--dir", str(crawl), "--set", f'output.dedupe_against=["{crawl}"]')
    assert "found this one" in ended.err, ended


def test_a_frontier_is_rebuilt_with_the_failures_that_the_archive_knows(tmp_path: Path) -> None:
    settings = setting(
        "frontier.max_attempts=1", "fetch.allow_private=true", "politeness.robots=false", "output.records=false"
    )
    ended = onceover("crawl", "--seed", DEAD, *settings, "--dir", "crawl", cwd=tmp_path)
    assert ended.code == FAILED, ended
    shutil.rmtree(tmp_path / "crawl" / "frontier")
    ended = command_here("frontier", "rebuild", str(tmp_path / "crawl"), "--from-records")
    assert ended.code == COMPLETE, ended
    ended = command_here("inspect", str(tmp_path / "crawl"), "url", DEAD)
    assert "failed" in ended.out, ended
    assert "connect" in ended.out, ended
