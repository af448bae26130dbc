"""What the page of a daemon shows of one crawl, in a browser."""

import csv
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page, Route, expect

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.browsing import CHROMIUM, DESK, PHONE, assert_everybody_can_use, browser_page, log_in
from tests.e2e.crawling import Web
from tests.e2e.test_daemon import Served, write
from tests.e2e.test_daemon_api import on_port, on_socket
from tests.e2e.test_daemon_operators import made

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
HOSTS = 120
FALLING = """import("/series.js").then(({ whenFinished }) => {
  const time = [0, 10, 20, 30, 40], nothing = time.map(() => 0);
  const told = (discovered, done, runs) => whenFinished(
    { columns: { time, discovered, done, failed: nothing, excluded: nothing } }, runs, 0);
  return [
    told([50, 60, 70, 80, 90], [10, 30, 50, 70, 90], true),
    told([100, 100, 100, 100, 100], [10, 20, 30, 40, 50], true),
    told([100, 110, 120, 130, 140], [10, 20, 30, 40, 50], true),
    told([100, 100, 100, 100, 100], [10, 20, 30, 40, 50], false),
    told([100, 100, 100, 100, null], [10, 20, 30, 40, null], true),
  ];
})"""


LABELS = """
const labels = (window.labels = new Map());
const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...place) {
  labels.set(this.canvas, []);
  clearRect.apply(this, place);
};
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  labels.get(this.canvas)?.push(text);
  fillText.call(this, text, ...place);
};
"""


@pytest.fixture(scope="module")
def wide_web() -> Iterator[Web]:
    """So many hosts that they need several pages of a table."""
    params = WorldParams(seed=5, hosts=HOSTS, pages_per_host=3, links_per_page=4, page_bytes=600, host_branching=HOSTS)
    with running(params) as port:
        yield Web(port, params)


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page).to_have_title(re.compile(f": {name.lower()} "))


def assert_shows_curves(page: Page) -> None:
    picture = page.get_by_role("img", name="Discovered and finished URLs from")
    expect(picture).to_be_visible()
    expect(picture.locator("canvas")).to_be_visible()
    expect(page.get_by_role("img")).to_have_count(4)
    page.get_by_text("Pages as a table").click()
    expect(page.get_by_role("region", name="Pages as a table").get_by_role("row").nth(1)).to_be_visible()
    expect(page.get_by_text("URLs are open.")).to_be_visible()


def assert_pages_through_hosts(page: Page, domain: str) -> None:
    rows = page.get_by_role("region", name="Hosts").get_by_role("row")
    expect(rows).to_have_count(51)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Page 2")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("Page 1")).to_be_visible()
    page.get_by_label("Name contains").fill("h00007")
    expect(rows).to_have_count(2)
    host = f"h00007.{domain}"
    page.get_by_role("button", name=f"Budget {host}").click()
    page.get_by_label("Cost").fill("many")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Expected a whole number as the budget")).to_be_visible()
    page.get_by_role("button", name=f"Retire {host}").click()
    page.get_by_role("button", name="Retire", exact=True).click()
    expect(page.get_by_role("button", name=f"Serve again {host}")).to_be_visible()
    page.get_by_label("State").select_option("retired")
    page.get_by_label("Name contains").fill("")
    expect(rows).to_have_count(2)
    page.reload()
    expect(rows).to_have_count(2)
    page.get_by_label("Name contains").fill("nowhere")
    expect(page.get_by_text("No host is like this now.")).to_be_visible()


def assert_shows_what_a_report_lacks(page: Page) -> None:
    def lack(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        told["notes"] = ["a disk is away"]
        told["summary"] |= {"read_in_part": 3, "pruned": 4, "external": {"checked": 9, "dead": 5}}
        route.fulfill(response=answer, json=told)

    page.route("**/crawls/a/report*", lack)
    page.get_by_role("button", name="Make it anew").click()
    expect(page.get_by_text("Note: a disk is away.")).to_be_visible()
    for text in ("documents with too much to parse", "old records, which are not counted", "of 9 URLs checked"):
        expect(page.get_by_text(text)).to_be_visible()
    page.unroute("**/crawls/a/report*", lack)


def assert_saves_a_list(page: Page) -> None:
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download as CSV").click()
    rows = list(csv.DictReader(saved.value.path().read_text(encoding="utf-8").splitlines()))
    assert saved.value.suggested_filename == "a-slowest.csv"
    assert len(rows) > 5
    assert all(float(row["duration_s"]) >= 0 and row["url"].startswith("http://") for row in rows)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download as JSON").click()
    assert [each["url"] for each in msgspec.json.decode(saved.value.path().read_bytes())] == [
        each["url"] for each in rows
    ]
    assert page.evaluate("""import("/tabs/report.js").then(({ csv }) => csv([{ a: 'x,"y"', b: [1], c: null }]))""") == (
        'a,b,c\r\n"x,""y""",[1],\r\n'
    )


def assert_exports(page: Page) -> None:
    expect(page.get_by_text("There are no exports yet.")).to_be_visible()
    page.get_by_label("Format").select_option("jsonl")
    page.get_by_role("button", name="Start an export").click()
    expect(page.get_by_text("Complete")).to_be_visible()
    assert_everybody_can_use(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download pages-00000.jsonl").click()
    assert saved.value.suggested_filename == "a-pages-00000.jsonl"
    lines = saved.value.path().read_bytes().splitlines()
    assert len({msgspec.json.decode(line)["number"] for line in lines}) == len(lines) > 5
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("There are no exports yet.")).to_be_visible()


def assert_reading_on_takes_no_focus(page: Page) -> None:
    def answer_half(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"read_bytes": 1_000, "records_bytes": 4_000})

    page.route("**/search?*", answer_half)
    page.get_by_label("Words").fill("path:page OR title:page")
    page.keyboard.press("Enter")
    progress = page.get_by_role("progressbar", name=re.compile("Records read: "))
    expect(progress).to_be_visible()
    assert_everybody_can_use(page)
    further = page.get_by_role("button", name="Further")
    further.focus()
    page.unroute("**/search?*")
    expect(progress).to_have_count(0)
    expect(further).to_be_focused()


def assert_searches(page: Page) -> None:
    page.get_by_label("Words").fill("-page")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("Expected a word to look for")
    page.get_by_label("Words").fill("title:page")
    page.keyboard.press("Enter")
    hits = page.get_by_role("main").locator(".hits > li")
    expect(hits).to_have_count(20)
    expect(hits.first.locator("mark").first).to_have_text(re.compile("page", re.IGNORECASE))
    assert_everybody_can_use(page)
    page.get_by_role("button", name="Further").click()
    expect(page.get_by_text("21 to ")).to_be_visible()
    page.get_by_role("button", name="Earlier").click()
    expect(page.get_by_text("1 to 20 of ")).to_be_visible()
    assert_reading_on_takes_no_focus(page)
    page.get_by_label("Words").fill("nothinglikethis")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No page has this")).to_be_visible()


@needs_chromium
def test_a_person_sees_what_a_crawl_does_and_why_it_waits(tmp_path: Path, wide_web: Web) -> None:
    home = tmp_path / "home"
    domain = wide_web.params.domain
    # Each host is asked once, and rests until long after the test.
    path = write(home, "a", wide_web, "politeness.max_delay_s = 3000\npoliteness.robots = false", delay_s=3000.0)
    _, _, rest = path.read_text().partition("\n")
    seeds = [f"http://h{number:05}.{domain}/" for number in range(HOSTS)]
    path.write_text(f"crawl.seeds = {seeds}\n{rest}")
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_for_pid("a")
        page.goto("/#/crawls/a")
        log_in(page, home)
        assert_shows_curves(page)
        assert_everybody_can_use(page)

        open_tab(page, "Hosts")
        expect(page.get_by_role("region", name="Hosts").get_by_text("snoozed").first).to_be_visible()
        assert_pages_through_hosts(page, domain)

        open_tab(page, "Pages")
        page.get_by_label("At most").select_option("200")
        seed = f"http://h00000.{domain}/"
        page.get_by_role("link", name=seed, exact=True).click()
        expect(page.get_by_role("heading", name="Its page record")).to_be_visible()
        expect(page.get_by_text("Canonical URL")).to_be_visible()
        assert_everybody_can_use(page)
        page.get_by_label("URL", exact=True).fill("http://elsewhere.test/?a=1&b=%2F#c")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The crawl does not know this URL")).to_be_visible()
        page.get_by_label("URL", exact=True).fill("none")
        page.keyboard.press("Enter")
        expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("none")

        open_tab(page, "Add URLs")
        page.get_by_label("URLs").fill(f"http://h00001.{domain}/added?by=hand\nhttp://elsewhere.test/\nnone")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_text("1 added, 1 refused, 1 no URL.")).to_be_visible()
        assert_everybody_can_use(page)

        for tab, text in (
            ("Summary", "discovered in all"),
            ("Refused", "Traps and quotas have refused no link."),
            ("Visited set", "False-positive rate"),
            ("Parts", "This crawl is one process."),
            ("Report", "Hosts with the most pages"),
            ("Configuration", "politeness.max_delay_s"),
            ("Log", "File:"),
        ):
            open_tab(page, tab)
            expect(page.get_by_role("main").get_by_text(text).first).to_be_visible()
            assert_everybody_can_use(page)
        open_tab(page, "Search")
        assert_searches(page)
        open_tab(page, "Report")
        assert_shows_what_a_report_lacks(page)
        page.get_by_label("Show").select_option("slowest")
        expect(page.get_by_role("region", name="Slowest URLs").get_by_role("row").nth(1)).to_be_visible()
        assert_everybody_can_use(page)
        assert_saves_a_list(page)
        page.get_by_label("Show").select_option("dead-links")
        expect(page.get_by_role("main").get_by_text("None.")).to_be_visible()
        page.get_by_label("Show").select_option("orphans")
        expect(page.get_by_text("were fetched without output.link_details")).to_be_visible()
        expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
        for section in ("unlisted", "mislisted"):
            page.get_by_label("Show").select_option(section)
            expect(page.get_by_text("No sitemap that names a page was read with output.link_details.")).to_be_visible()
            expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
        open_tab(page, "Exports")
        assert_exports(page)
        open_tab(page, "Configuration")
        page.get_by_role("combobox").select_option("given")
        page.get_by_label("Name or value contains").fill("max_delay")
        expect(page.get_by_text("a.toml:9")).to_be_visible()

        all_met, meet, apart, stopped, unknown = page.evaluate(FALLING)
        assert all_met == "All discovered URLs are finished."
        assert meet.startswith("50 URLs are open. If the crawl goes on as in the last 40 s, all are finished in 50 s")
        assert "do not become fewer" in apart
        assert stopped == "50 URLs are open."
        assert unknown == ""


@needs_chromium
def test_numbers_and_the_chosen_tab_are_in_sight_on_a_phone_and_axes_have_each_figure_once(
    tmp_path: Path, wide_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", wide_web, "politeness.max_delay_s = 3000", delay_s=3000.0)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_for_pid("a")
        page.add_init_script(LABELS)
        page.set_viewport_size(PHONE)
        page.goto("/#/crawls/a/log")
        log_in(page, home)
        expect(page.get_by_role("link", name="Log", exact=True)).to_be_in_viewport(ratio=0.9)
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            open_tab(page, "Summary")
            expect(page.get_by_role("heading", name="Where its URLs are")).to_be_visible()
            hidden = (
                "[...document.querySelectorAll('.pair .scroll')].filter((each) => each.scrollWidth > each.clientWidth)"
            )
            assert page.evaluate(f"{hidden}.map((each) => each.ariaLabel)") == []
            open_tab(page, "Hosts")
            expect(page.get_by_text("1 host", exact=True)).to_be_visible()
        # A crawl that rests has curves at 0, whose axes have each figure once.
        open_tab(page, "Progress")
        expect(page.get_by_role("img").first).to_be_visible()
        texts = page.evaluate("[...labels.values()]")
        assert len(texts) == 4
        assert [each for each in texts if len({*each}) < len(each)] == []


@needs_chromium
def test_a_view_that_fails_says_what_to_do_and_works_again(tmp_path: Path, wide_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", wide_web, "politeness.max_delay_s = 3000", delay_s=3000.0)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_for_pid("a")
        told = "the crawl has <b>no</b> hosts; restore them"
        broken = f'{{"title": "Conflict", "status": 409, "detail": "{told}", "problems": ["/home/{"x" * 200}"]}}'
        page.route(
            "**/hosts?*", lambda route: route.fulfill(status=409, body=broken, content_type="application/problem+json")
        )
        page.goto("/#/crawls/a/hosts")
        log_in(page, home)
        expect(page.get_by_text("The crawl has <b>no</b> hosts; restore them.")).to_be_visible()
        assert_everybody_can_use(page)
        expect(page.get_by_role("button", name="Pause a")).to_be_visible()
        page.unroute("**/hosts?*")
        expect(page.get_by_role("region", name="Hosts").get_by_role("row").first).to_be_visible()


@needs_chromium
def test_who_waits_for_a_view_can_open_another_one(tmp_path: Path, wide_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", wide_web, "politeness.max_delay_s = 3000", delay_s=3000.0)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_for_pid("a")
        page.route("**/crawls/a/report*", lambda _: None)  # never answered
        page.goto("/#/crawls/a/report")
        log_in(page, home)
        expect(page.get_by_text("Loading …")).to_be_visible()
        expect(page.get_by_role("button", name="Pause a")).to_be_visible()
        open_tab(page, "Log")
        expect(page.get_by_role("main").get_by_text("File:")).to_be_visible()


@needs_chromium
def test_a_person_who_may_write_changes_a_setting(tmp_path: Path, wide_web: Web) -> None:
    home = tmp_path / "home"
    file = write(home, "a", wide_web, "politeness.max_delay_s = 3000", delay_s=3000.0)
    with on_port(home) as (served, _, port), browser_page(port) as page:
        served.wait_for_pid("a")
        page.goto("/#/crawls/a/settings?match=max_delay&only=given")
        page.get_by_label("Token").fill(made(home, "reader", "--read-only"))
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Change politeness.max_delay_s").click()
        dialog = page.get_by_role("dialog", name="Change politeness.max_delay_s")
        expect(dialog.get_by_label("Value")).to_have_value('"50 min"')
        expect(dialog.get_by_text("It changes at once;")).to_be_visible()
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("Log in with a token that may change things.")
        dialog.get_by_role("button", name="Cancel").click()

        page.get_by_role("button", name="Log out").click()
        log_in(page, home)
        page.get_by_role("button", name="Change politeness.max_delay_s").click()
        dialog.get_by_label("Value").fill("<b>soon</b>")
        dialog.get_by_role("button", name="Change").click()
        expect(dialog.get_by_role("alert")).to_contain_text(" politeness.max_delay_s: expected a duration")
        expect(dialog.get_by_label("Value")).to_have_value("<b>soon</b>")
        assert_everybody_can_use(page)
        assert "max_delay_s = 3000" in file.read_text()
        dialog.get_by_label("Value").fill("2 h")
        dialog.get_by_role("button", name="Change").click()
        expect(page.get_by_text('politeness.max_delay_s is "2 h"; it was "50 min".')).to_be_visible()
        expect(page.get_by_role("region", name="Settings").get_by_text('"2 h"')).to_be_visible()
        assert 'max_delay_s = "2 h"' in file.read_text()
        assert 'max_delay_s = "2 h"' in (served.directory("a") / "crawl.toml").read_text()

        page.get_by_label("Name or value contains").fill("user_agent")
        page.get_by_role("combobox").select_option("")
        page.get_by_role("button", name="Change fetch.user_agent").click()
        page.get_by_label("Value, as").fill("us/2.0 (us@our.site)")
        page.keyboard.press("Enter")
        expect(page.get_by_text("It holds from the next start.")).to_be_visible()
        page.get_by_label("Name or value contains").fill("urls.rules")
        expect(page.get_by_text("URLs are stored by it")).to_be_visible()
        expect(page.get_by_role("button", name="Change urls.rules")).to_have_count(0)

        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        page.get_by_role("link", name="Edit the whole file").click()
        text = page.get_by_label("Configuration (TOML)")
        expect(text).to_have_value(file.read_text())
        assert_everybody_can_use(page)
        before = file.read_text()
        text.fill(f"{before}limits.pages = 0\n")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name=re.compile("Line ")).click()
        assert page.evaluate("getSelection().toString()") == "limits.pages = 0"
        text.fill(f"{before}limits.pages = 77\n")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("limits.pages is 77; it was unset.")).to_be_visible()
        assert file.read_bytes() == f"{before}limits.pages = 77\n".replace("\n", "\r\n").encode()
        expect(page.get_by_role("region", name="Settings").get_by_text("restart it")).to_be_visible()


def has_ended(served: Served, run: int) -> bool:
    return [each.how for each in served.record("a").runs] == ["limit"] * run


@needs_chromium
def test_a_person_sees_what_has_changed_since_an_earlier_run_of_a_schedule(tmp_path: Path, wide_web: Web) -> None:
    home, yearly = tmp_path / "home", 'daemon.schedule = "0 3 1 1 *"\n'
    file = write(home, "a", wide_web, f"{yearly}limits.pages = 2\npoliteness.robots = false")
    write(home, "b", wide_web, "limits.pages = 1\npoliteness.robots = false")
    (home / f"{'w' * 100}.toml").write_text("no name is too long for a phone")
    with on_port(home) as (served, _, port), browser_page(port) as page:
        api = on_socket(served)
        for run, pages in enumerate((2, 6), start=1):
            file.write_text(file.read_text().replace("pages = 2", f"pages = {pages}"))
            api.do("POST", "/reload")
            api.do("POST", "/crawls/a/start", status=202)
            served.wait(partial(has_ended, served, run), "end of the run")
        (earlier, _) = sorted(path.name for path in served.directory("a").iterdir())
        page.goto("/#/crawls/a/changes")
        log_in(page, home)
        expect(page.get_by_label("Compare with")).to_have_value(earlier)
        new = page.get_by_role("region", name="New pages").get_by_role("row")
        expect(new).not_to_have_count(1)
        assert_everybody_can_use(page)
        page.get_by_label("Show").select_option("gone")
        expect(page.get_by_text("Nothing like this has changed.")).to_be_visible()
        shutil.rmtree(served.directory("a") / earlier)
        page.get_by_role("button", name="Make it anew").click()
        expect(page.get_by_text(f"A has no run '{earlier}', or it was deleted")).to_be_visible()
        page.get_by_label("Compare with").select_option("a week ago")
        page.get_by_label("Show").select_option("")
        expect(new).not_to_have_count(0)
        page.get_by_label("Compare with").select_option("the crawl b")
        expect(page.get_by_text("1 in b", exact=True)).to_be_visible()
        assert_everybody_can_use(page)
        page.get_by_label("How URLs of that crawl begin, and URLs of this one").fill(
            f"http://h00000.{wide_web.params.domain}/"
        )
        page.keyboard.press("Enter")
        expect(page.get_by_text("expected pairs of URLs")).to_be_visible()
        served.end()
