"""What a report says of the URLs in sitemaps equals what an independent walk over the sitemaps finds, written with the
standard library and lxml alone."""

import gzip
import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import lxml.etree
import lxml.html
import msgspec
import pytest

from tests.e2e.crawling import COMPLETE, onceover, setting
from tests.e2e.operating import command_here

PAGES = 60
ELSEWHERE = "http://127.0.0.2"
SORTS = (
    *("page", "page", "page", "canonical-self", "picture"),
    *("gone", "removed", "broken", "closed", "private", "elsewhere"),
    *("moved", "moved-twice", "moved-to-gone", "moved-away", "lost", "circle"),
    *("noindex", "none", "noindex-header", "copy", "copy-header", "hidden-copy"),
)
ROBOTS = "User-agent: *\nDisallow: /private\nSitemap: {root}/index.xml\nSitemap: {root}/list.txt\nSitemap: {root}/rss\n"
NAMES = ("map-0.xml", "map-1.xml.gz", "list.txt", "rss")
"""Of sitemaps; an index names the first two."""
Answer = tuple[int, dict[str, str], bytes]
Found = tuple[str, int | None, str | None, int | None, str | None]
"""Why a sitemap should not name a URL, the status, where it leads, and what the answer there is."""
Row = tuple[str, str, int | None, str | None, int | None, str | None, str]


class Site:
    """Pages of all sorts, and sitemaps that name some of them each."""

    def __init__(self, root: str, seed: int) -> None:
        random = Random(seed)
        self.root = root
        self._paths = [f"/{random.choice(SORTS)}/{number}" for number in range(PAGES)]
        self._named = {name: random.sample(self._paths, PAGES // 3) for name in NAMES}
        self._linked = random.sample(self._paths, PAGES // 3)

    def answer(self, path: str) -> Answer | None:
        """None closes the connection."""
        name = path.removeprefix("/")
        if name == "":
            return _html("".join(f"<a href={each}>a</a>" for each in self._linked))
        if name == "robots.txt":
            return 200, {"Content-Type": "text/plain"}, ROBOTS.format(root=self.root).encode()
        if name == "index.xml":
            return _xml("sitemapindex", *(f"<sitemap><loc>{self.root}/{each}</loc></sitemap>" for each in NAMES[:2]))
        if name in NAMES:
            return self._sitemap(name)
        return self._page(path)

    def _sitemap(self, name: str) -> Answer:
        urls = [ELSEWHERE + each if each.startswith("/elsewhere") else self.root + each for each in self._named[name]]
        if name.endswith(".txt"):
            return 200, {"Content-Type": "text/plain"}, "\n".join(urls).encode()
        if name == "rss":
            items = "".join(f"<item><link>{each}</link></item>" for each in urls)
            content = f'<rss version="2.0"><channel><title>News</title>{items}</channel></rss>'.encode()
            return 200, {"Content-Type": "application/rss+xml"}, content
        other = (
            f'<x:link xmlns:x="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="de" href="{self.root}/gone/de"/>'
        )
        status, headers, body = _xml("urlset", *(f"<url><loc>{each}</loc>{other}</url>" for each in urls))
        return status, headers, gzip.compress(body) if name.endswith(".gz") else body

    def _page(self, path: str) -> Answer | None:
        sort = path.split("/")[1]
        original = f"{self.root}/page/original"
        statuses = {"gone": 404, "removed": 410, "broken": 500, "lost": 302}
        targets = {
            "moved": "/page/new",
            "moved-twice": path.replace("moved-twice", "moved"),
            "moved-to-gone": path.replace("moved-to-gone", "gone"),
            "moved-away": f"{ELSEWHERE}/page",
            "circle": path[:-1] if path.endswith("b") else f"{path}b",
        }
        if sort == "closed":
            return None
        if sort in statuses:
            return statuses[sort], {"Content-Type": "text/html"}, b"<p>no page"
        if sort in targets:
            return 301, {"Location": targets[sort]}, b""
        if sort == "picture":
            return 200, {"Content-Type": "image/gif"}, b"GIF89a"
        heads = {
            "noindex": "<meta name=robots content='NOINDEX, follow'>",
            "none": "<meta name=robots content=none>",
            "copy": "<link rel=canonical href=/page/original>",
            "hidden-copy": "<meta name=robots content=noindex><link rel=canonical href=/page/original>",
            "canonical-self": f"<link rel=canonical href={path}>",
        }
        headers = {
            "noindex-header": {"X-Robots-Tag": "noindex"},
            "copy-header": {"Link": f'<{original}>; rel="canonical"'},
        }
        status, header, body = _html(path, heads.get(sort, ""))
        return status, header | headers.get(sort, {}), body


def _html(body: str, head: str = "") -> Answer:
    return 200, {"Content-Type": "text/html"}, f"<!doctype html><title>a</title>{head}<p>{body}".encode()


def _xml(element: str, *entries: str) -> Answer:
    content = f'<{element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(entries)}</{element}>'
    return 200, {"Content-Type": "application/xml"}, content.encode()


@contextmanager
def served(seed: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = site.answer(self.path)
            if answer is None:
                self.close_connection = True
                return
            status, headers, body = answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(f"http://127.0.0.1:{server.server_port}", seed)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield site.root
        finally:
            server.shutdown()
            thread.join()


def get(url: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    try:
        connection.request("GET", urlsplit(url).path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def named(root: str) -> Iterator[tuple[str, str]]:
    """Each sitemap with each URL that it names."""
    _, _, robots = get(f"{root}/robots.txt")
    left = [line.split(": ")[1] for line in robots.decode().splitlines() if line.startswith("Sitemap")]
    while left:
        sitemap = left.pop()
        _, headers, body = get(sitemap)
        if headers.get_content_type() == "text/plain":
            yield from ((sitemap, line) for line in body.decode().split())
            continue
        tree = lxml.etree.fromstring(gzip.decompress(body) if sitemap.endswith(".gz") else body)
        left += [str(each.text) for each in tree.iterfind("{*}sitemap/{*}loc")]
        for entry in (*tree.iterfind("{*}url/{*}loc"), *tree.iterfind("channel/item/link")):
            yield sitemap, str(entry.text)


def judge(url: str, robots: RobotFileParser) -> Found | None:
    if url.startswith(ELSEWHERE):
        return "out-of-scope", None, None, None, None
    if not robots.can_fetch("onceover", url):
        return "robots", None, None, None, None
    try:
        status, headers, body = get(url)
    except http.client.RemoteDisconnected:
        return "disconnected", None, None, None, None
    if status >= 400 or (status >= 300 and headers["Location"] is None):
        return "error", status, None, None, None
    if status >= 300:
        return "redirect", status, *end_of(url)
    if headers.get_content_type() != "text/html":
        return None
    tree = lxml.html.fromstring(body)
    metas = (each.get("content", "") for each in tree.iter("meta") if each.get("name") == "robots")
    robots_words = [headers.get("X-Robots-Tag", ""), *metas]
    if any(word in " ".join(robots_words).lower() for word in ("noindex", "none")):
        return "noindex", status, None, None, None
    in_header = [value.partition("<")[2].partition(">")[0] for value in headers.get_all("Link", [])]
    in_head = (each.get("href", "") for each in tree.iter("link") if each.get("rel") == "canonical")
    for canonical in (*in_header, *in_head):
        if urljoin(url, canonical) != url:
            return "canonical", status, urljoin(url, canonical), None, None
    return None


def end_of(url: str) -> tuple[str, int | None, str | None]:
    seen = set()
    while url not in seen:
        if url.startswith(ELSEWHERE):
            return url, None, None
        seen.add(url)
        status, headers, _ = get(url)
        if headers["Location"] is None:
            return url, status, None
        url = urljoin(url, headers["Location"])
    return url, None, "redirect-loop"


@pytest.mark.parametrize("seed", [1, 2])
def test_the_report_equals_an_independent_walk_over_all_sitemaps(tmp_path: Path, seed: int) -> None:
    with served(seed) as root:
        settings = setting(
            "output.link_details=true",
            "fetch.allow_private=true",
            "politeness.min_delay_s=0",
            "politeness.delay_factor=0",
            "frontier.max_attempts=1",
        )
        ended = onceover("crawl", "--seed", f"{root}/", "--dir", "crawl", *settings, cwd=tmp_path)
        assert ended.code == COMPLETE, ended.err
        robots = RobotFileParser()
        robots.parse(get(f"{root}/robots.txt")[2].decode().splitlines())
        walked: list[Row] = []
        for sitemap, url in named(root):
            if (found := judge(url, robots)) is not None:
                walked.append((url, *found, sitemap))
    told = command_here("report", str(tmp_path / "crawl"), "mislisted", "--json")
    listed = msgspec.json.decode(told.out, type=dict[str, msgspec.Raw])["mislisted"]
    entries = msgspec.json.decode(listed, type=dict[str, msgspec.Raw])["entries"]
    rows = [tuple(each.values()) for each in msgspec.json.decode(entries, type=list[dict[str, str | int | None]])]
    assert rows == sorted(walked, key=lambda row: (row[-1], row[0]))
    assert {reason for _, reason, *_ in walked} == {
        *("error", "redirect", "noindex", "canonical", "robots", "out-of-scope", "disconnected")
    }
