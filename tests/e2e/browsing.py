"""The page of a daemon in a browser."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

CHROMIUM: Final = shutil.which("chromium")
WAIT_MS: Final = 120_000
DESK: Final = ViewportSize(width=1200, height=800)
PHONE: Final = ViewportSize(width=360, height=740)


def with_home(home: str | Path) -> dict[str, str | float | bool]:
    """The environment for a browser that writes nothing into the home of whoever runs the tests.

    Chromium keeps its reports of crashes there, wherever its profile is.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**ours, "HOME": str(home)}


@contextmanager
def browser_page(port: int) -> Iterator[Page]:
    """A page. At the end of the block, its console must have complained of nothing but answers that refuse a
    request."""
    expect.set_options(timeout=WAIT_MS)
    complaints: list[str] = []
    with TemporaryDirectory(ignore_cleanup_errors=True) as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, env=with_home(home))
        # What fades in is too pale to read for a moment.
        page = browser.new_page(base_url=f"http://127.0.0.1:{port}", viewport=DESK, reduced_motion="reduce")
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: None if "status of 4" in said.text or said.type != "error" else complaints.append(said.text),
        )
        yield page
        assert complaints == []
        browser.close()


def log_in(page: Page, home: Path) -> None:
    page.get_by_label("Token").fill((home / "token").read_text().strip())
    page.keyboard.press("Enter")


def assert_everybody_can_use(page: Page) -> None:
    """In light and in dark, at a desk and on a phone."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        grave = [each for each in found if each["impact"] in {"serious", "critical"}]
        assert not grave, (scheme, [(each["id"], [node["html"] for node in each["nodes"]]) for each in grave])
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size(DESK)
