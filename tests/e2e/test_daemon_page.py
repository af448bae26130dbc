"""The page of a daemon, in a browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.browsing import CHROMIUM, assert_everybody_can_use, browser_page, log_in
from tests.e2e.crawling import Web
from tests.e2e.test_daemon import write
from tests.e2e.test_daemon_api import on_port, on_socket
from tests.nginx import NGINX
from tests.nginx import serving as nginx
from tests.ports import free_port

OFTEN = '[crawl]\nseeds = ["http://a.test/"]\n[daemon]\nschedule = "0 3 1 1 *"\n'
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


@pytest.fixture(scope="module")
def long_web() -> Iterator[Web]:
    """One host with so many pages that a crawl of it lasts longer than a test, if it rests after each."""
    params = WorldParams(seed=7, hosts=1, pages_per_host=20_000, links_per_page=20, page_bytes=800)
    with running(params) as port:
        yield Web(port, params)


@needs_chromium
def test_a_browser_writes_nothing_into_the_home_of_whoever_runs_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with browser_page(free_port()) as page:
        page.goto("about:blank")
    assert list(tmp_path.iterdir()) == []


@needs_chromium
def test_a_person_sees_rates_move_and_stops_starts_and_deletes_a_crawl_in_a_browser(
    tmp_path: Path, long_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", long_web, delay_s=0.2)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        page.goto("/")
        log_in(page, home)
        rate, pages = (
            page.get_by_role("main").locator("dl > div").filter(has_text=name).locator("dd")
            for name in ("Rate", "Pages")
        )
        expect(rate).to_have_text(re.compile(r"[1-9].*/s"))
        before = pages.inner_text()
        expect(pages).not_to_have_text(before)
        page.get_by_role("button", name="Pause a").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(rate).to_have_text("–")
        page.get_by_role("button", name="Resume a").click()
        expect(rate).to_have_text(re.compile(r"[1-9].*/s"))

        page.get_by_role("link", name="a", exact=True).click()
        page.get_by_role("button", name="Stop a").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Start a")).to_be_visible()
        page.get_by_role("button", name="Start a").click()
        expect(page.get_by_role("button", name="Pause a")).to_be_visible()
        page.get_by_role("button", name="Stop a").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("There are no crawls yet.")).to_be_visible()
        assert not (home / "a.toml").exists()
        assert list((home / "crawls" / "a" / "records").glob("*.jsonl"))
        served.end()


@needs_chromium
def test_a_person_creates_pauses_and_resumes_a_crawl_in_a_browser(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    reason = "<img src=x onerror=alert(1)>"
    text = write(home, "aside", slow_web, "politeness.max_delay_s = 600", delay_s=600.0).read_text()
    (home / "aside.toml").unlink()
    with on_port(home) as (served, _, port), browser_page(port) as page:
        page.goto("/")
        expect(page.get_by_label("Token")).to_be_focused()
        page.keyboard.type("not-the-token-of-the-daemon")
        page.keyboard.press("Enter")
        expect(page.get_by_text("This is not the token of the daemon.")).to_be_visible()
        assert_everybody_can_use(page)
        log_in(page, home)
        expect(page.get_by_text("There are no crawls yet.")).to_be_visible()

        page.get_by_role("link", name="New crawl").click()
        expect(page.get_by_label("Configuration")).to_have_value(re.compile("user_agent"))
        page.get_by_label("Name").fill("a")
        page.get_by_label("Configuration").fill("[crawl]\nseeds = 5\n")
        page.get_by_role("button", name="Create and start").click()
        page.get_by_role("button", name="Line 2").click()
        assert page.evaluate("getSelection().toString()") == "seeds = 5"
        assert_everybody_can_use(page)
        page.get_by_label("Configuration").fill(text)
        page.get_by_role("button", name="Create and start").click()
        expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
        served.wait_for_pid("a")

        # By keyboard alone; what a person has written is no markup.
        page.get_by_role("button", name="Pause a").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Reason").fill(reason)
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Resume a")).to_be_visible()
        expect(page.get_by_role("main").get_by_text(reason)).to_be_visible()
        assert page.locator("main img").count() == 0
        assert_everybody_can_use(page)
        page.get_by_role("link", name="Crawls", exact=True).click()
        expect(page.get_by_text("1 in all")).to_be_visible()
        assert_everybody_can_use(page)
        page.get_by_role("button", name="Resume a").click()
        expect(page.get_by_role("button", name="Pause a")).to_be_visible()

        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


@needs_chromium
def test_who_needs_a_new_token_gives_it_where_he_is_and_keeps_what_he_typed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with on_port(home) as (_, _, port), browser_page(port) as page:
        page.goto("/")
        page.get_by_label("Token").fill("ключ")
        page.keyboard.press("Enter")
        expect(page.get_by_text("This is not the token of the daemon.")).to_be_visible()
        log_in(page, home)
        page.get_by_role("link", name="New crawl").click()
        page.get_by_label("Name").fill("a")
        page.get_by_label("Configuration").fill("[crawl]\nseeds = @\n")
        (home / "token").write_text("another-token-of-the-daemon\n")
        page.get_by_role("button", name="Create and start").click()
        page.get_by_role("dialog").get_by_label("Token").fill("a-wrong-token-of-the-daemon")
        page.keyboard.press("Enter")
        page.get_by_role("dialog").get_by_label("Token").fill("another-token-of-the-daemon")
        assert_everybody_can_use(page)
        page.keyboard.press("Enter")
        # The same request was sent again, and what TOML does not allow is shown where it is.
        page.get_by_role("button", name="Line 2").click()
        assert page.evaluate("getSelection().toString()") == "seeds = @"

        (home / "token").write_text("the-third-token-of-the-daemon\n")
        page.get_by_role("button", name="Create and start").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("The token of this page is not valid (any more).")).to_be_visible()
        expect(page.get_by_label("Configuration")).to_have_value("[crawl]\nseeds = @\n")


@needs_chromium
def test_a_person_is_told_that_a_start_brings_nothing_to_a_complete_crawl(tmp_path: Path, long_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", long_web, "scope.max_depth = 0")
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_until_complete("a")
        page.goto("/#/crawls/a")
        log_in(page, home)
        page.get_by_role("button", name="Start a").click()
        expect(page.get_by_role("dialog").get_by_text("Nothing is left to fetch.")).to_be_visible()
        page.get_by_role("dialog").get_by_role("button", name="Start").click()
        expect(page.get_by_text("a: told to start")).to_be_visible()
        served.wait(lambda: len(served.record("a").runs) == 2, "second process")
        page.goto("/#/crawls/none")
        expect(page.get_by_role("main").get_by_text("There is no crawl 'none'")).to_be_visible()
        expect(page.get_by_text("Trying again …")).to_have_count(0)


HEARD = """() => {
  window.heard = [];
  const status = document.querySelector("form [role=status]");
  const hear = () => { if (status.ariaLive !== "off") heard.push(status.textContent); };
  new MutationObserver(hear).observe(status, { characterData: true, subtree: true });
}"""


@needs_chromium
def test_a_person_finds_those_in_trouble_among_many_crawls(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for number in range(60):
        (home / f"crawl-{number:02}.toml").write_text("[crawl]\nseeds = 5\n" if number == 41 else OFTEN)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        page.goto("/")
        log_in(page, home)
        links = page.get_by_role("main").get_by_role("listitem").get_by_role("link")
        expect(links).to_have_count(60)
        page.evaluate(HEARD)
        page.get_by_label("Name contains").fill("L-4")
        expect(links).to_have_count(10)
        # What changes by itself is not said aloud.
        on_socket(served).ask("DELETE", "/api/v1/crawls/crawl-42")
        expect(links).to_have_count(9)
        (home / "crawl-42.toml").write_text(OFTEN)
        on_socket(served).ask("POST", "/api/v1/reload")
        expect(links).to_have_count(10)
        assert page.evaluate("heard") == ["10 shown"]
        page.get_by_label("State").select_option("trouble")
        expect(links).to_have_text(["crawl-41"])
        assert_everybody_can_use(page)
        page.reload()
        expect(links).to_have_text(["crawl-41"])
        expect(page.get_by_role("link", name="Crawls", exact=True)).to_have_attribute("aria-current", "page")
        page.get_by_label("State").select_option("paused")
        expect(page.get_by_text("No crawl is like this now.")).to_be_visible()


@needs_chromium
def test_the_focus_stays_with_a_crawl_when_others_come_and_go(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("a", "b", "c"):
        (home / f"{name}.toml").write_text(OFTEN)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        api = on_socket(served)
        page.goto("/")
        log_in(page, home)
        start, links = page.get_by_role("button", name="Start b"), page.get_by_role("main").get_by_role("link")
        start.focus()
        assert api.ask("DELETE", "/api/v1/crawls/a").status == 204
        expect(links).to_have_text(["b", "c"])
        expect(start).to_be_focused()
        for name in ("a", "aa", "d"):
            (home / f"{name}.toml").write_text(OFTEN)
        api.ask("POST", "/api/v1/reload")
        expect(links).to_have_text(["a", "aa", "b", "c", "d"])
        expect(start).to_be_focused()
        # When its button goes, the crawl has it; when the crawl goes, the list.
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Start b")).to_have_count(0)
        (home / "b.toml").unlink()
        api.ask("POST", "/api/v1/reload")
        expect(page.get_by_role("main").get_by_role("listitem").filter(has_text="removed")).to_have_count(1)
        expect(page.get_by_role("link", name="b", exact=True)).to_be_focused()
        api.ask("DELETE", "/api/v1/crawls/b")
        expect(links).to_have_text(["a", "aa", "c", "d"])
        expect(page.get_by_role("heading", name="Crawls")).to_be_focused()
        # Others also move behind it, where the order changes.
        assert page.evaluate(MOVED) == "213"
        # Of two dialogs, as when a token holds no longer, each has its own name.
        page.evaluate(
            """import("/dom.js").then(({ ask }) => ["One", "Two"].forEach((title) => ask({ title, doIt: "Do" })))"""
        )
        expect(page.get_by_role("dialog", name="Two")).to_be_visible()


MOVED = """import("/dom.js").then(({ h, show }) => {
  const list = h("div");
  const shown = (...keys) => show(list, keys.map((key) => h("button", { "data-key": key }, key)));
  document.body.append(list);
  shown("1", "2", "3");
  const last = list.lastChild;
  last.focus();
  shown("3", "1", "2");
  if (document.activeElement !== last || list.textContent !== "312") return `lost: ${list.textContent}`;
  shown("2", "1", "3");
  return document.activeElement === last && list.textContent;
})"""


@needs_chromium
def test_the_page_may_be_under_a_path_of_a_proxy(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.toml").write_text(OFTEN)
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with on_port(home) as (_, _, port):
        # Without TLS here, so the origin is not that of a name for others.
        passing = f'location /crawls/ {{ proxy_pass http://127.0.0.1:{port}/; proxy_set_header Origin ""; }}'
        with nginx(tmp_path, tmp_path, server=passing) as proxy, browser_page(proxy) as page:
            page.goto("/crawls/")
            log_in(page, home)
            page.get_by_role("link", name="a", exact=True).click()
            expect(page.get_by_text("There is no history of this time yet.")).to_be_visible()
            assert page.url.endswith("/crawls/#/crawls/a")


def test_the_files_of_the_page_need_no_token_and_may_load_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with on_port(home) as (served, api, _):
        for path, media_type in (("/", "text/html"), ("/main.js", "text/javascript"), ("/style.css", "text/css")):
            reply = api.ask("GET", path)
            assert reply.status == 200
            assert reply.headers["Content-Type"] == f"{media_type}; charset=utf-8"
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
            policy = reply.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            known = {"If-None-Match": reply.headers["ETag"]}
            assert api.ask("GET", path, headers=known).status == 304
            assert api.ask("GET", path, headers={"Host": "evil.test"}).status == 421
        assert api.ask("GET", "/../token").status in {401, 404}
        assert api.ask("GET", "/views/../../files.py").status in {401, 404}
        served.end()
