"""The packages of examples/, installed and used as a user would: crawls, comparisons, and the contract suites."""

import json
import os
import sqlite3
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from threading import Thread

import msgspec
import pytest

from crawler.page import LinkKind
from crawler.simweb.log import read_json_lines
from crawler.simweb.process import running
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e import crawling
from tests.e2e.crawling import COMPLETE, FAILED, LIMIT, USAGE, Ended, Web, assert_sound, assert_told, fetched, setting

PLUGINS = {
    ("visited", "cuckoo", "onceover-cuckoo-set"),
    ("visited", "hash-set", "onceover-hash-set"),
    ("frontier", "sqlite", "onceover-sqlite-frontier"),
    ("sink", "page-table", "onceover-sqlite-sink"),
    ("extractor", "json-links", "onceover-json-links"),
    ("canonical_rule", "drop-parameters", "onceover-drop-parameters"),
    ("fetcher", "page-cache", "onceover-page-cache"),
}
ALL_OF_THEM = """
[visited]
backend = "cuckoo"
capacity = 10_000
options.moves = 200

[fetch]
extractor = "json-links"

[[output.sink]]
backend = "page-table"
options.bodies = true

[[output.sink]]
backend = "sqlite_sink:DESCRIPTOR"
name = "small"

[[urls.rule]]
backend = "drop-parameters"
options.names = ["lang"]
"""
BROKEN = """
    class Raising:
        def __init__(self, parameters):
            pass

        async def write(self, page, record):
            if record.number > 3:
                raise KeyError("no such shelf")

        async def aclose(self):
            pass


    class Exiting(Raising):
        async def write(self, page, record):
            if record.number > 3:
                raise SystemExit(0)


    class Interrupting(Raising):
        async def write(self, page, record):
            if record.number > 3:
                raise KeyboardInterrupt


    class Unreachable(Raising):
        async def write(self, page, record):
            from pathlib import Path

            if not Path("is-there").exists():
                raise ConnectionRefusedError(111, "Connection refused")


    class Forgetful:
        def __init__(self, parameters):
            self._http = parameters.http

        async def fetch(self, request):
            return await self._http.fetch(request) if "robots.txt" in request.url else {}[request.url]

        async def aclose(self):
            pass


    class Refusing(Raising):
        async def write(self, page, record):
            from pathlib import Path

            from crawler import NotTaken

            if not Path("is-there").exists():
                raise NotTaken


    def empty_frontier(parameters):
        from frontier.states.memory import DESCRIPTOR

        async def open_frontier(visited, /, *, rebuilding=None):
            return None

        state = DESCRIPTOR.make(parameters, DESCRIPTOR.options())
        state.open_frontier = open_frontier
        return state


    def without_query(url):
        import msgspec

        return msgspec.structs.replace(url, query=None)


    class Careless:
        def __init__(self, parameters):
            self._default = parameters.make_default()

        def extract(self, page):
            return None if page.url.endswith("/") else self._default.extract(page)
"""


@pytest.fixture(scope="module")
def site(plugins: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where modules are looked for: the packages of examples/, installed, and a module that belongs to no package."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken.py").write_text(dedent(BROKEN))
    return f"{plugins}:{folder}"


def onceover(*arguments: str | Path, site: str, cwd: Path) -> Ended:
    return crawling.onceover(*arguments, cwd=cwd, PYTHONPATH=site, MPLCONFIGDIR=f"{site.partition(':')[0]}/fonts")


def crawl(web: Web, *arguments: str, site: str, cwd: Path) -> Ended:
    return onceover("crawl", *arguments, *web.options, "--dir", "crawl", site=site, cwd=cwd)


def test_installed_packages_are_listed(site: str, tmp_path: Path) -> None:
    ended = onceover("plugins", "--json", site=site, cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    listed = json.loads(ended.out)
    assert {(each["kind"], each["name"], each["package"]) for each in listed} >= PLUGINS
    [cuckoo] = [each for each in listed if each["name"] == "cuckoo"]
    assert cuckoo["version"] == "1.0"
    assert [option["name"] for option in cuckoo["options"]] == ["moves", "shards"]


def test_a_crawl_with_all_of_them_is_stopped_resumed_and_complete(site: str, web: Web, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(ALL_OF_THEM)
    assert crawl(web, "all.toml", "--max-pages", "15", site=site, cwd=tmp_path).code == LIMIT
    ended = crawl(web, "all.toml", site=site, cwd=tmp_path)
    assert_told(ended, COMPLETE, "Resuming: ")
    assert "cuckoo, " in ended.out
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    checked = onceover("inspect", "crawl", "fsck", "--json", site=site, cwd=tmp_path)
    assert checked.json()["problems"] == [], checked
    records = {record.number: record for record in crawling.records(tmp_path / "crawl")}
    assert (tmp_path / "crawl" / "crawl.toml").read_text().count("[[output.sink]]\nbackend = ") == 2
    for name in ("page-table", "small"):
        database = sqlite3.connect(tmp_path / "crawl" / "sinks" / name / "pages.sqlite")
        rows = database.execute("SELECT number, url, status, title, body FROM page").fetchall()
        database.close()
        assert {number: url for number, url, *_ in rows} == {number: each.url for number, each in records.items()}
        bodies = [body for *_, body in rows if body]
        assert len(bodies) >= len(web.pages) if name == "page-table" else not bodies
    described = onceover("inspect", "crawl", "visited", "--json", site=site, cwd=tmp_path)
    assert described.json()["details"]
    assert "cuckoo" in described.out


def test_the_rules_of_a_crawl_that_has_begun_hold_their_options_too(site: str, web: Web, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(ALL_OF_THEM)
    assert crawl(web, "all.toml", "--max-pages", "5", site=site, cwd=tmp_path).code == LIMIT
    (tmp_path / "all.toml").write_text(ALL_OF_THEM.replace('"lang"', '"lang", "print"'))
    refused = crawl(web, "all.toml", site=site, cwd=tmp_path)
    assert refused.code == crawling.REFUSED
    assert "drop-parameters 1 " in refused.err
    rebuilt = crawl(web, "all.toml", "--rebuild", site=site, cwd=tmp_path)
    assert_told(rebuilt, COMPLETE)
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_crawl_whose_plug_in_is_gone_says_so(site: str, web: Web, tmp_path: Path) -> None:
    settings = setting("visited.backend=cuckoo")
    assert crawl(web, *settings, "--max-pages", "5", site=site, cwd=tmp_path).code == LIMIT
    for command in (["crawl", "--dir", "crawl"], ["inspect", "crawl", "visited"]):
        gone = crawling.onceover(*command, cwd=tmp_path)
        assert_told(gone, USAGE, "visited.backend: expected", 'found "cuckoo"')
        assert gone.err.count("\n") == 1


def test_links_in_json_are_followed(site: str, tmp_path: Path) -> None:
    pages = {
        "/": (b"text/html; charset=utf-8", b'<a href="/list.json">list</a>'),
        "/list.json": (b"application/json", b'{"items": [{"url": "/one"}, {"title": "x", "href": "two"}, 3, null]}'),
        "/one": (b"text/html", b"<title>one</title>"),
        "/two": (b"application/json", b'{"url": '),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = pages.get(self.path, (b"text/plain", b""))
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Type", kind.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            options = setting("fetch.extractor=json-links", "fetch.allow_private=true", "politeness.min_delay_s=0")
            ended = onceover("crawl", "--seed", f"{address}/", *options, "--dir", "crawl", site=site, cwd=tmp_path)
        finally:
            server.shutdown()
            thread.join()
    assert_told(ended, COMPLETE)
    found = [each for each in crawling.records(tmp_path / "crawl") if each.status == 200]
    assert {each.url.removeprefix(address): each.via for each in found if each.kind == LinkKind.LINK} == {
        "/list.json": f"{address}/",
        "/one": f"{address}/list.json",
        "/two": f"{address}/list.json",
    }
    [two] = [each for each in found if each.url.endswith("/two")]
    assert two.message is not None
    assert two.message.startswith("not JSON: ")


def test_a_comparison_measures_draws_and_recommends_a_plug_in_like_ours(site: str, web: Web, tmp_path: Path) -> None:
    (tmp_path / "comparison.toml").write_text(
        dedent(
            """
            [compare]
            rounds = 1
            probes = 500

            [[compare.work]]
            name = "links"
            distinct = 3_000

            [[compare.work]]
            name = "crawl"
            live = "simweb"
            hosts = 2
            pages = 4

            [[compare.set]]
            backend = "cuckoo"
            options.moves = 100

            [[compare.set]]
            backend = "cuckoo_set:DESCRIPTOR"
            name = "by path"
            shards = 2

            [[compare.set]]
            backend = "bloom"
            """
        )
    )
    ended = onceover("compare", "comparison.toml", "--dir", "report", "--json", site=site, cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    report = msgspec.json.decode(ended.out)
    rows = {(row["work"], row["competitor"]): row for row in report["rows"]}
    for name in ("cuckoo", "by path"):
        row = rows["links", name]
        assert (row["failed"], row["twice"], row["distinct"]) == (None, 0, 3000)
        assert row["forgotten"] == 1
        assert 0 < row["bytes"] < 100_000
        assert row["told_rate"] > 0
        assert rows["crawl", name]["pages_missing"] == 0
    assert {each["name"]: each["package"] for each in report["competitors"]} == {
        "cuckoo": "onceover-cuckoo-set 1.0",
        "by path": "onceover-cuckoo-set 1.0",
        "bloom": "",
    }
    assert report["versions"]["onceover-cuckoo-set"] == "1.0"
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count("<svg") >= 4
    assert "by path" in page
    assert list((tmp_path / "report").glob("*.png"))
    # Measured again with another version, and with no other.
    again = onceover("compare", "comparison.toml", "--dir", "report", "--json", site=site, cwd=tmp_path)
    assert msgspec.json.decode(again.out)["trials"] == report["trials"]


def test_advice_and_auto_take_a_plug_in_that_is_named(site: str, web: Web, tmp_path: Path) -> None:
    sets = ["--backend", "cuckoo", "--backend", "exact"]
    advised = onceover(
        "compare", "--advise", "--urls-expected", "1e6", "--memory", "10MB", *sets, "--json", site=site, cwd=tmp_path
    )
    assert_told(advised, COMPLETE)
    assert [each["backend"] for each in advised.json()["options"]] == ["cuckoo", "exact"]  # type: ignore[attr-defined]
    assert advised.json()["advised"] == "cuckoo"
    settings = setting("visited.backend=auto", 'visited.candidates=["cuckoo", "exact"]')
    ended = crawl(web, *settings, site=site, cwd=tmp_path)
    assert_told(ended, COMPLETE, "auto chooses cuckoo")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_sink_that_raises_ends_the_crawl_by_a_line_that_names_it_and_loses_nothing(
    site: str, web: Web, tmp_path: Path
) -> None:
    # Alone, because what is in flight beside the page that fails may be written twice.
    alone = setting("output.sinks=broken:Raising", "fetch.concurrency=1")
    ended = crawl(web, *alone, site=site, cwd=tmp_path)
    assert_told(ended, FAILED, "the sink \"broken:Raising\" failed: KeyError: 'no such shelf' (broken.py, line ")
    assert "Traceback" in (tmp_path / "crawl" / "logs" / "crawl.log").read_text()
    assert_told(crawl(web, *setting("output.sinks=[]"), site=site, cwd=tmp_path), COMPLETE, "Resuming")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


@pytest.mark.parametrize("parts", ["1", "2"])
@pytest.mark.parametrize(("sink", "error"), [("Exiting", "SystemExit: 0"), ("Interrupting", "KeyboardInterrupt")])
def test_a_sink_that_calls_exit_has_failed_and_the_crawl_is_not_complete(
    site: str, web: Web, tmp_path: Path, parts: str, sink: str, error: str
) -> None:
    ended = crawl(web, "--parts", parts, *setting(f"output.sinks=broken:{sink}"), site=site, cwd=tmp_path)
    assert_told(ended, FAILED, f'the sink "broken:{sink}" failed: {error} (broken.py, line ')


@pytest.mark.parametrize(
    ("sink", "why"), [("Unreachable", "[Errno 111] Connection refused"), ("Refusing", "it takes no page now")]
)
def test_a_sink_that_can_not_write_now_holds_the_crawl(
    site: str, web: Web, tmp_path: Path, sink: str, why: str
) -> None:
    options = [*web.options, *setting(f"output.sinks=broken:{sink}"), "--dir", "crawl"]
    with crawling.started("crawl", *options, cwd=tmp_path, PYTHONPATH=site) as running:
        running.wait_until(lambda: "the crawl waits until it can" in running.err, "the crawl waits")
        (tmp_path / "is-there").touch()
        ended = running.wait()
    assert_told(ended, COMPLETE, f"can't write: {why}", "the output can be written again")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_state_that_opens_no_frontier_is_named(site: str, web: Web, tmp_path: Path) -> None:
    ended = crawl(web, *setting("frontier.backend=broken:empty_frontier"), site=site, cwd=tmp_path)
    why = "expected a frontier from open_frontier, found NoneType, which has no add, "
    assert_told(ended, FAILED, f'the frontier "broken:empty_frontier" failed: {why}')


def test_a_page_that_breaks_an_extractor_is_recorded_with_the_reason(site: str, web: Web, tmp_path: Path) -> None:
    ended = crawl(web, *setting("fetch.extractor=broken:Careless"), site=site, cwd=tmp_path)
    assert_told(ended, COMPLETE)
    [seed] = [each for each in crawling.records(tmp_path / "crawl") if each.depth == 0 and each.kind == LinkKind.SEED]
    assert seed.message == 'the extractor "broken:Careless" failed: TypeError: expected an Extract, found NoneType'


def test_a_url_that_breaks_a_fetcher_has_failed_with_the_reason(site: str, web: Web, tmp_path: Path) -> None:
    ended = crawl(web, *setting("fetch.backend=broken:Forgetful"), site=site, cwd=tmp_path)
    assert_told(ended, FAILED)
    [seed] = [each for each in crawling.records(tmp_path / "crawl") if each.kind == LinkKind.SEED]
    assert (seed.state, seed.reason) == ("failed", "unexpected")
    assert seed.message == f'the fetcher "broken:Forgetful" failed: KeyError: {seed.url!r}'


def test_a_rule_is_named_by_the_path_of_a_function(site: str, tmp_path: Path) -> None:
    rules = setting('urls.rules=["session-ids", "broken:without_query", "/index.html$ => /"]')
    seeds = [f"http://127.0.0.1:1/{path}" for path in ("a?x=1", "a?x=2", "b/", "b/index.html?y")]
    options = [part for seed in seeds for part in ("--seed", seed)]
    limits = setting("fetch.allow_private=true", "frontier.max_attempts=1", "politeness.robots=false")
    ended = onceover("crawl", *options, *rules, *limits, "--dir", "crawl", site=site, cwd=tmp_path)
    assert_told(ended, FAILED)
    assert {each.url for each in crawling.records(tmp_path / "crawl")} == {seeds[0], seeds[2]}
    refused = onceover("crawl", "--dir", "crawl", *setting("urls.rules=[]"), site=site, cwd=tmp_path)
    assert refused.code == crawling.REFUSED


def test_a_crawl_over_the_shortest_visited_set_is_resumed_and_complete(site: str, web: Web, tmp_path: Path) -> None:
    settings = setting("visited.backend=hash-set")
    assert crawl(web, *settings, "--max-pages", "9", site=site, cwd=tmp_path).code == LIMIT
    assert_told(onceover("crawl", "--dir", "crawl", site=site, cwd=tmp_path), COMPLETE, "Resuming")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_a_crawl_over_a_frontier_and_a_visited_set_of_others(site: str, web: Web, tmp_path: Path) -> None:
    settings = setting("frontier.backend=sqlite", "visited.backend=cuckoo", "visited.verify=false")
    assert crawl(web, *settings, "--max-pages", "15", site=site, cwd=tmp_path).code == LIMIT
    assert_told(crawl(web, *settings, site=site, cwd=tmp_path), COMPLETE, "Resuming")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


def test_two_sinks_of_one_name_are_refused(site: str, tmp_path: Path) -> None:
    text = '[crawl]\nseeds = ["http://a.test/"]\n' + '[[output.sink]]\nbackend = "sqlite"\n' * 2
    (tmp_path / "two.toml").write_text(text)
    ended = onceover("config", "check", "two.toml", site=site, cwd=tmp_path)
    assert_told(ended, USAGE, 'two.toml:5: output.sink[2]: expected a unique name, found "sqlite" again')


def test_pages_that_a_fetcher_has_kept_are_not_asked_for_again(site: str, tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    kept = setting("fetch.backend=page-cache", "fetch.options.folder=kept")
    with running(crawling.SMALL, log_path=log) as port:
        web = Web(port, crawling.SMALL)
        assert_told(crawl(web, *kept, site=site, cwd=tmp_path), COMPLETE)
        first = fetched(tmp_path / "crawl")
        asked = {(entry.host, entry.target) for entry in read_json_lines(log)}
        log.write_text("")
        assert_told(crawl(web, *kept, "--fresh", site=site, cwd=tmp_path), COMPLETE)
        again = {(entry.host, entry.target) for entry in read_json_lines(log)}
    assert fetched(tmp_path / "crawl") == first == dict.fromkeys(web.pages, 1)
    # Only what is no complete page with status 200 is asked for again.
    assert again < asked
    assert len(asked) - len(again) == len(list((tmp_path / "kept").iterdir())) >= len(first)


def test_they_pass_our_contract_suites(site: str, repository: Path, tmp_path: Path) -> None:
    suites = sorted(map(str, (repository / "examples").glob("*/tests/test_*.py")))
    assert len(suites) >= 4
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "--import-mode=importlib", "--basetemp=t", *suites],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": site},
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
