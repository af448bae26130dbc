"""Real documentation, served by nginx, crawled by whole processes, and compared with an independent walk.

Debian's python3-doc has some 530 pages of 95 kB each on average, its apache2-doc some 2,700 in 11 languages with
broken links and redirects among them. nginx serves the files under their names, as Debian's own Apache does: what is
negotiated upstream by `index.html.de` lies in a directory per language here.
"""

import hashlib
import json
from base64 import b32encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.cdxj.making import archives
from tests.e2e.crawling import COMPLETE, onceover, setting
from tests.e2e.walk import Walked, walk
from tests.nginx import NGINX, serving

CRAWL_TIMEOUT_S = 2 * MAX_WAIT_S
# The crawler says whether it wants compressed pages by its name; the walk never asks for them.
HTTP = r'gzip on; gzip_types *; gzip_min_length 1; gzip_disable "plain";'
PACKAGES = {"python3-doc": "/html", "apache2-doc": "/manual"}
"""Debian packages, and the directory of each that is the site."""


class Site(NamedTuple):
    """A package as nginx serves it."""

    url: str
    """Of its directory, without a slash at the end: a redirect."""
    root: Path

    def file(self, url: str) -> Path:
        path = unquote(urlsplit(url).path)
        return self.root / (path[1:] + "index.html" if path.endswith("/") else path[1:])


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    """Those packages that are installed, each served by an nginx of its own."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with ExitStack() as stack:
        served: dict[str, Site] = {}
        for package, start in PACKAGES.items():
            root = Path("/usr/share/doc", package)
            if (root / start[1:] / "index.html").exists():
                port = stack.enter_context(serving(root, tmp_path_factory.mktemp(package), http=HTTP))
                served[package] = Site(f"http://127.0.0.1:{port}{start}", root)
        yield served


@pytest.fixture(scope="module")
def walk_over() -> Callable[[str], Walked]:
    """Walks each site once."""
    return cache(walk)


@pytest.fixture
def site(package: str, sites: dict[str, Site]) -> Site:
    if package not in sites:
        pytest.skip(f"no /usr/share/doc/{package}{PACKAGES[package]}: the Debian package {package} is not installed")
    return sites[package]


@pytest.fixture
def walked(site: Site, walk_over: Callable[[str], Walked]) -> Walked:
    return walk_over(site.url)


def crawl(seed: str, directory: Path, *settings: str) -> dict[str, dict[str, Any]]:
    """Crawl until complete in a process of its own; the records by URL."""
    options = setting(
        "politeness.min_delay_s=0",
        "politeness.delay_factor=0",
        "fetch.allow_private=true",
        "frontier.backend=leveldb",
        "scope.sitemap_paths=[]",  # the walk guesses none
        *settings,
    )
    ended = onceover(
        "crawl", "--seed", seed, "--dir", directory, *options, cwd=directory.parent, timeout_s=CRAWL_TIMEOUT_S
    )
    assert ended.code == COMPLETE, ended.err
    lines = [line for path in (directory / "records").iterdir() for line in path.read_text("utf-8").splitlines()]
    records = {record["url"]: record for record in map(json.loads, lines)}
    assert len(records) == len(lines), "a URL has more than one record"
    return records


def assert_crawl_is_the_walk(records: dict[str, dict[str, Any]], walked: Walked, *, within: str) -> None:
    statuses = {url: record.get("status") for url, record in records.items()}
    assert {url for url, status in statuses.items() if status == 200} == walked.having(200)
    assert statuses == walked.statuses
    assert {url: record["redirect"] for url, record in records.items() if "redirect" in record} == walked.redirects
    # The records hold links in scope. What is called a link of a page to itself differs: `#top` is none there.
    references = {url: found for url, record in records.items() if (found := set(record.get("references", ())) - {url})}
    assert references == {
        url: in_scope
        for url, links in walked.links.items()
        if (in_scope := {link for link in links if link.startswith(within)} - {url})
    }


QUICK = [("apache2-doc", "lexbor", "gzip"), ("python3-doc", "lxml", None)]
"""Each site, extractor and coding is there; bs4 is in another test."""
LONG = set(product(PACKAGES, ("lexbor", "lxml", "bs4"), ("gzip", None))) - {*QUICK, *product(PACKAGES, ["bs4"], [None])}


@pytest.mark.parametrize(
    ("package", "extractor", "coding"),
    [*QUICK, *(pytest.param(*each, marks=pytest.mark.long) for each in sorted(LONG, key=str))],
)
def test_a_site_is_crawled_as_an_independent_walk_finds_it_and_archived_byte_for_byte(
    site: Site, walked: Walked, extractor: str, coding: str | None, tmp_path: Path
) -> None:
    assert len(walked.having(200)) > 500
    assert walked.having(404)
    assert walked.redirects[site.url] == f"{site.url}/"
    agent = "onceover/1.0 (+https://your.site/)"
    records = crawl(
        site.url,
        tmp_path / "crawl",
        f"fetch.user_agent={agent if coding else f'plain {agent}'}",
        f"fetch.extractor={extractor}",
        "output.warc=true",
        "output.links=true",
    )
    assert_crawl_is_the_walk(records, walked, within=urljoin(site.url, "/"))
    statuses = archived_statuses(site, tmp_path / "crawl" / "warc", records, coding)
    assert statuses == walked.statuses


def archived_statuses(
    site: Site, archive: Path, records: dict[str, dict[str, Any]], coding: str | None
) -> dict[str, int]:
    """The status of each URL in an archive, in which each body is the file that was served, and as the record says."""
    statuses: dict[str, int] = {}
    for response in responses_in(archive):
        if response.rec_headers["X-Onceover-Purpose"] == "robots":
            continue  # it is no page
        url = response.rec_headers["WARC-Target-URI"] or ""
        assert response.http_headers is not None
        assert url not in statuses, "a URL was archived twice"
        statuses[url] = int(response.http_headers.get_statuscode())
        body = response.content_stream().read()
        assert response.digest_checker.passed, response.digest_checker.problems
        assert records[url]["size_bytes"] == len(body)
        assert records[url]["digest"] == f"sha1:{b32encode(hashlib.sha1(body).digest()).decode()}"
        if statuses[url] == 200:
            assert body == site.file(url).read_bytes()
            assert response.http_headers.get_header("Content-Encoding") == coding
    return statuses


@pytest.mark.parametrize(
    ("package", "part"),
    [("python3-doc", "/c-api/"), pytest.param("apache2-doc", "/fr/", marks=pytest.mark.long)],
)
def test_a_part_of_a_site_is_crawled_by_bs4_as_an_independent_walk_finds_it(
    site: Site, part: str, tmp_path: Path
) -> None:
    start = site.url + part
    walked = walk(start, prefix=start)
    assert 50 < len(walked.having(200)) < 500
    records = crawl(
        start,
        tmp_path / "crawl",
        "fetch.extractor=bs4",
        "output.warc=false",
        "output.links=true",
        "scope.within=prefix",
    )
    assert_crawl_is_the_walk(records, walked, within=start)


def responses_in(directory: Path) -> Iterator[ArcWarcRecord]:
    """The responses in the finished archive files of a directory, each to be read before the next one is asked for."""
    for path in archives(directory):
        assert path.name.endswith(".warc.gz")
        with path.open("rb") as stream:
            yield from (
                record for record in ArchiveIterator(stream, check_digests=True) if record.rec_type == "response"
            )
