"""A resumed crawl fetches again what a crash left in the output alone, and nothing else."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page
from tests.e2e.origins import site

HOST = "pages.web.test"
SETTINGS = {"politeness.min_delay_s": 0.0}
MOVED = {"/start": "/a", "/a": "/a?utm_source=1", "/shown": "/i", "/i": "/i?utm_source=1"}
"""With the tracking parameter, a URL has the name of the redirect that adds it."""


def answer(_scheme: str, seen: Seen) -> Script:
    if to := MOVED.get(seen.target):
        return [page(b"", b"Location: " + to.encode(), status=b"302 Found")]
    if seen.target == "/":
        return [page(b'<img src="/shown">', b"Content-Type: text/html")]
    return [page(b"", b"Content-Type: text/plain")]


async def asked(folder: Path, seeds: Sequence[str]) -> list[str]:
    async with site(folder, answer) as where:
        await where.crawl(*seeds, settings=SETTINGS | {"scope.offsite_embeds": True})
        return [seen.target for seen in where.asked(HOST)]


@pytest.mark.parametrize(
    ("seed", "last"), [("/start", "/a?utm_source=1"), ("/", "/i?utm_source=1")], ids=["redirect", "embed"]
)
async def test_a_page_with_the_name_of_the_redirect_that_led_there_is_known_however_many_came_before(
    tmp_path: Path, seed: str, last: str
) -> None:
    assert (await asked(tmp_path, [f"http://{HOST}{seed}"]))[-1] == last
    assert await asked(tmp_path, [f"http://{HOST}{seed}"]) == []
