"""A crawl of pages that scripts make, as a user runs it."""

import contextlib
import gzip
import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import COMPLETE, FAILED, USAGE, assert_told, onceover, records, setting, started

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not installed: apt-get install chromium"
)

SITE = {
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /secret"),
    "/": ("text/html", "<title>empty</title><body><script src=/app.js></script>"),
    "/app.js": (
        "text/javascript",
        """fetch('/secret.json').then(r=>r.json()).then(j=>document.body.append('leaked '+j.word)).catch(()=>0)
        .then(()=>fetch('/list.json')).then(r=>r.json()).then(pages=>{
            document.title='made';
            for(const page of pages)document.body.innerHTML+=`<a href=${page}>${page}</a>`})""",
    ),
    "/list.json": ("application/json", '["/one","/plain"]'),
    "/secret.json": ("application/json", '{"word":"told"}'),
    "/one": ("text/html", "<body><script>document.body.innerHTML='<a href=/two>two</a>'</script>"),
    "/two": ("text/html", "<title>two</title>"),
    "/plain": ("text/html", "<script>document.title='not rendered'</script><a href=/two>"),
    "/mine": ("text/html", "<meta name=robots content=noai><script>fetch('/list.json')</script>"),
    "/images": ("text/html", "<meta name=robots content=noimageai><body>text"),
    "/more": (
        "text/html",
        """<!doctype html><body style=height:3000px><button onclick="add('/two');this.remove()">more</button><script>
        const add=path=>document.body.insertAdjacentHTML('beforeend',`<a href=${path}>${path}</a>`);
        onscroll=()=>{onscroll=null;add('/one')}</script>""",
    ),
    "/embeds": (
        "text/html",
        "<script>for(const host of ['site','other'])fetch(`http://${host}.test/list.json`).catch(()=>0)</script>",
    ),
    "/endless": ("text/html", "<script>fetch('/reached')</script><script>while(true);</script>"),
}


class Site(ThreadingHTTPServer):
    asked: list[str]
    reached: Event


class Answers(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/reached":
            self.server.reached.set()
        kind, text = SITE.get(self.path, ("", ""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None: ...


@contextmanager
def site() -> Iterator[Site]:
    server = Site(("127.0.0.1", 0), Answers)
    server.asked, server.reached = [], Event()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def options(server: Site, path: str) -> list[str | Path]:
    settings = [
        f'fetch.hosts={{"site.test" = "127.0.0.1:{server.server_port}"}}',
        'render.patterns=["site.test/(one|two|endless)?$"]',
        "render.concurrency=1",
        "render.idle_s=0.2",
        "politeness.min_delay_s=0",
        "politeness.delay_factor=0",
    ]
    return ["--seed", f"http://site.test{path}", "--dir", "crawl", *setting(*settings)]


@needs_chromium
def test_a_site_that_scripts_make_is_crawled_whole(tmp_path: Path) -> None:
    with site() as server:
        ended = onceover("crawl", *options(server, "/"), cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, COMPLETE)
    crawl = tmp_path / "crawl"
    found = {record.url.removeprefix("http://site.test"): record for record in records(crawl)}
    assert {path: found[path].rendering for path in ("/", "/one", "/two", "/plain")} == {
        "/": "whole",
        "/one": "whole",
        "/two": "whole",
        "/plain": None,
    }
    assert found["/"].title == "made"
    assert found["/two"].via == "http://site.test/one"
    assert "/secret.json" not in server.asked
    assert server.asked.count("/robots.txt") == 1
    archived = {}
    for path in (crawl / "warc").iterdir():
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                key = record.rec_type, record.rec_headers.get_header("WARC-Target-URI")
                archived[key] = record.content_stream().read()
    assert archived["response", "http://site.test/"] == SITE["/"][1].encode()
    assert b"<title>made</title>" in archived["conversion", "http://site.test/"]
    assert ("conversion", "http://site.test/plain") not in archived
    assert not (crawl / "browsers").exists()


def loads(crawl: Path) -> list[tuple[str, str]]:
    """The kinds and paths of what the archive has because a page loaded it."""
    found = []
    for path in sorted((crawl / "warc").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_headers.get_header("X-Onceover-Purpose") == "load":
                    url = record.rec_headers.get_header("WARC-Target-URI") or ""
                    found.append((record.rec_type, url.removeprefix("http://site.test")))
    return found


@needs_chromium
def test_the_archive_has_what_rendered_pages_load(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with site() as server:
        ended = onceover("crawl", *options(server, "/"), cwd=tmp_path, timeout_s=MAX_WAIT_S)
        assert_told(ended, COMPLETE)
        paths = ["/app.js", "/list.json"]
        assert loads(crawl) == [(kind, path) for path in paths for kind in ("response", "request", "metadata")]
        verified = onceover("inspect", "crawl", "verify", cwd=tmp_path)
        assert (verified.code, verified.out.splitlines()[-1]) == (COMPLETE, "no problems")
        exported = onceover("export", "crawl", "--format", "cdxj", "--to", "index.cdxj", cwd=tmp_path)
        assert_told(exported, COMPLETE)
        assert "test,site)/list.json " in (tmp_path / "index.cdxj").read_text()
        never = setting("render.archive=false")
        ended = onceover("crawl", *options(server, "/"), *never, "--fresh", cwd=tmp_path, timeout_s=MAX_WAIT_S)
        assert_told(ended, COMPLETE)
    assert loads(crawl) == []


def screenshots(crawl: Path) -> dict[str, tuple[str, bytes]]:
    """The types and first bytes of all resources of the archive, by URL."""
    found = {}
    for path in sorted((crawl / "warc").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                if record.rec_type == "resource":
                    url, kind = map(record.rec_headers.get_header, ("WARC-Target-URI", "Content-Type"))
                    found[str(url)] = str(kind), record.raw_stream.read()[:4]
    return found


@needs_chromium
def test_the_archive_its_indexes_and_its_exports_have_screenshots(tmp_path: Path) -> None:
    wanted = setting('render.screenshot=["view","fullPage","thumbnail"]', "render.archive=false", "output.text=true")
    with site() as server:
        ended = onceover("crawl", *options(server, "/one"), *wanted, cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, COMPLETE)
    jpeg = "image/jpeg", b"\xff\xd8\xff\xe0"
    of_kinds = {"view": ("image/png", b"\x89PNG"), "fullPage": jpeg, "thumbnail": jpeg}
    expected = {f"urn:{kind}:http://site.test/{page}": of for page in ("one", "two") for kind, of in of_kinds.items()}
    assert screenshots(tmp_path / "crawl") == expected
    verified = onceover("inspect", "crawl", "verify", cwd=tmp_path)
    assert (verified.code, verified.out.splitlines()[-1]) == (COMPLETE, "no problems")
    for form, name in (("cdxj", "index.cdxj"), ("wacz", "site.wacz")):
        exported = onceover("export", "crawl", "--format", form, "--to", name, cwd=tmp_path)
        assert_told(exported, COMPLETE)
    with ZipFile(tmp_path / "site.wacz") as package:
        indexes = [gzip.decompress(package.read("indexes/index.cdx.gz")), (tmp_path / "index.cdxj").read_bytes()]
        pages = package.read("pages/pages.jsonl").splitlines()[1:]
    for index in indexes:
        assert {line.split()[0].decode() for line in index.splitlines() if line.startswith(b"urn:")} == set(expected)
    assert sorted(json.loads(page)["url"] for page in pages) == ["http://site.test/one", "http://site.test/two"]


@needs_chromium
@pytest.mark.parametrize("path", ["/mine", "/images"])
def test_of_a_page_that_refuses_the_use_of_it_or_its_images_no_screenshot_is_archived(
    path: str, tmp_path: Path
) -> None:
    wanted = setting(f'render.patterns=["{path}"]', 'render.screenshot=["view"]', 'crawl.purpose=["train-ai"]')
    contact = setting('fetch.user_agent="test/1.0 (+http://site.test/)"')
    with site() as server:
        ended = onceover("crawl", *options(server, path), *wanted, *contact, cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, FAILED if path == "/mine" else COMPLETE)  # without its only page, or with it
    assert "whole" in [record.rendering for record in records(tmp_path / "crawl")]
    assert screenshots(tmp_path / "crawl") == {}


def test_screenshots_without_an_archive_are_refused(tmp_path: Path) -> None:
    wanted = setting('render.screenshot=["view"]', "output.warc=false")
    ended = onceover("crawl", "--seed", "http://a.test/", "--dir", "crawl", *wanted, cwd=tmp_path)
    assert_told(ended, USAGE, "render.screenshot", "output.warc = true")


@needs_chromium
def test_a_page_loads_nothing_from_a_host_that_may_not_be_asked_at_this_hour(tmp_path: Path) -> None:
    another_day = time.strftime("%a 00:00-24:00", time.gmtime(time.time() + 3 * 86_400))
    with site() as server:
        config = f"""
            [crawl]
            seeds = ["http://site.test/embeds"]
            [fetch.hosts]
            "*.test" = "127.0.0.1:{server.server_port}"
            [politeness]
            min_delay_s = 0
            [render]
            patterns = ["/embeds"]
            [[site]]
            match = ["other.test"]
            politeness.hours = "{another_day}"
            """
        (tmp_path / "hours.toml").write_text(config, encoding="utf-8")
        ended = onceover("crawl", "hours.toml", "--dir", "crawl", cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, COMPLETE)
    [page] = [each for each in records(tmp_path / "crawl") if each.url == "http://site.test/embeds"]
    assert page.rendering == "whole"
    assert server.asked.count("/list.json") == 1


@needs_chromium
def test_links_that_appear_after_scrolling_and_clicking_are_followed(tmp_path: Path) -> None:
    more = setting('render.patterns=["/more"]', "render.scroll=100", 'render.click=["button"]', "render.max_clicks=5")
    with site() as server:
        ended = onceover("crawl", *options(server, "/more"), *more, cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, COMPLETE)
    assert {"/one", "/two"} <= set(server.asked)


@needs_chromium
def test_of_a_page_whose_use_is_refused_nothing_is_archived_that_it_loads(tmp_path: Path) -> None:
    with site() as server:
        ended = onceover(
            "crawl",
            *options(server, "/mine"),
            *setting('render.patterns=["/mine"]', 'crawl.purpose=["train-ai"]'),
            *setting('fetch.user_agent="test/1.0 (+http://site.test/)"'),
            cwd=tmp_path,
            timeout_s=MAX_WAIT_S,
        )
    assert_told(ended, FAILED)  # it has no page
    assert "/list.json" in server.asked
    assert loads(tmp_path / "crawl") == []


@needs_chromium
def test_killed_a_crawl_takes_its_browser_with_it_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    with site() as server:
        with started("crawl", *options(server, "/endless"), "--set", "render.timeout_s=600", cwd=tmp_path) as running:
            running.wait_until(server.reached.is_set, "request of the page")
            profiles = tmp_path / "crawl" / "browsers"
            assert processes_with(profiles)
            running.signal(signal.SIGKILL)
            running.process.wait()
            give_up_at = time.monotonic() + MAX_WAIT_S
            while processes_with(profiles):
                assert time.monotonic() < give_up_at, processes_with(profiles)
                time.sleep(0.05)
        short = setting("render.wait_s=0.5", "render.timeout_s=1.5")
        ended = onceover("crawl", *options(server, "/endless"), *short, cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, COMPLETE)
    assert [record.rendering for record in records(tmp_path / "crawl") if record.url.endswith("/endless")] == ["hung"]
    assert not profiles.exists()


def processes_with(profiles: Path) -> list[Path]:
    """Processes that have their home below the directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"HOME={profiles}/".encode() in path.read_bytes():
                found.append(path)
    return found


def test_a_missing_browser_is_told_before_anything_is_begun(tmp_path: Path) -> None:
    patterns = setting('render.patterns=["."]', "render.browser=/nonexistent/chromium")
    ended = onceover("crawl", "--seed", "http://a.test/", "--dir", "crawl", *patterns, cwd=tmp_path)
    assert_told(ended, USAGE, "render.browser", "/nonexistent/chromium", "apt-get install chromium")
    assert not (tmp_path / "crawl").exists()


def test_a_browser_that_does_not_start_is_told_with_what_it_says(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no usable sandbox!' >&2\nexit 1\n")
    broken.chmod(0o755)
    patterns = setting('render.patterns=["."]', f"render.browser={broken}")
    ended = onceover("crawl", "--seed", "http://a.test/", "--dir", "crawl", *patterns, cwd=tmp_path)
    assert_told(ended, 1, "does not start", "no usable sandbox!")


@needs_chromium
def test_the_log_says_that_no_browser_starts_any_more(tmp_path: Path) -> None:
    once = tmp_path / "once"
    once.write_text(f'#!/bin/sh\nmkdir {tmp_path}/begun || exit 1\nexec {shutil.which("chromium")} "$@"\n')
    once.chmod(0o755)
    short = setting("render.wait_s=0.5", "render.timeout_s=1.5", f"render.browser={once}")
    with site() as server:
        seeds = [*options(server, "/endless"), "--seed", "http://site.test/one"]
        ended = onceover("crawl", *seeds, *short, cwd=tmp_path, timeout_s=MAX_WAIT_S)
    assert_told(ended, 1, "does not start")
    [last] = (tmp_path / "crawl" / "logs" / "crawl.log").read_text().splitlines()[-1:]
    assert "ended by an error" in last
    assert "does not start" in last
