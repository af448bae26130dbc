"""Takes the pictures of the daemon's page for docs/: `python -m tests.e2e.pictures` with Debian's chromium."""

import re
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.browsing import PHONE, browser_page, log_in
from tests.e2e.crawling import Web
from tests.e2e.test_daemon import Served, write
from tests.e2e.test_daemon_api import Api, on_port

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WORLD = WorldParams(
    domain="example.org", hosts=60, pages_per_host=150, redirects=0.1, not_found=0.08, broken=0.02, flaky=0.05, slow=0.4
)
FAST = re.compile(r"^[0-9]{2,}/s$")
CURVES_MS = 120_000
"""After which there are curves to look at."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running(WORLD) as port:
        home = Path(folder) / "onceover"
        web = Web(port, WORLD)
        write(home, "library", web, 'visited.backend = "dsbf"', delay_s=1.0)
        write(home, "museum", web, delay_s=2.0)
        write(home, "news", web, "limits.pages = 300", delay_s=0.5)
        (home / "atlas.toml").write_text('[crawl]\nseeds = "https://www.example.org/"\n')
        with on_port(home) as (served, api, daemon_port), browser_page(daemon_port) as page:
            for name in ("library", "museum"):
                served.wait_for_pid(name)
            take(page, served, api)
            served.end()


def take(page: Page, served: Served, api: Api) -> None:
    token = {"Authorization": f"Bearer {(served.home / 'token').read_text().strip()}"}
    page.goto("/")
    log_in(page, served.home)
    expect(page.locator("li", has_text="news").get_by_text("limit", exact=True)).to_be_visible()
    api.ask("POST", "/api/v1/crawls/museum/pause", b'{"reason": "the museum moves its servers until Thursday"}', token)
    expect(page.get_by_role("button", name="Resume museum")).to_be_visible()
    expect(page.locator("li", has_text="library").get_by_text(FAST)).to_be_visible()
    page.set_viewport_size({"width": 1000, "height": 520})
    page.screenshot(path=IMAGES / "page-crawls.png")
    page.get_by_role("link", name="library").click()
    page.wait_for_timeout(CURVES_MS)
    page.set_viewport_size({"width": 1000, "height": 940})
    expect(page.get_by_text("URLs are open")).to_be_visible()
    page.screenshot(path=IMAGES / "page-progress.png")
    page.get_by_role("link", name="Hosts", exact=True).click()
    page.set_viewport_size({"width": 1000, "height": 640})
    expect(page.locator("td").first).to_be_visible()
    page.screenshot(path=IMAGES / "page-hosts.png")
    page.get_by_role("link", name="Progress", exact=True).click()
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.locator(".tiles").get_by_text(FAST)).to_be_visible()
    page.screenshot(path=IMAGES / "page-phone.png")


if __name__ == "__main__":
    main()
