"""Which page a record names as the one with the same body, when a crawl comes back."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from crawler.page import PageRecord
from crawler.testing.fetch.raw_server import Script, Seen, head, page
from tests.e2e.crawling import COMPLETE
from tests.e2e.operating import command_here
from tests.e2e.origins import GONE, linking, site

HTML, TAG = b"Content-Type: text/html", b'ETag: "1"'
SAME: Script = [page(b"<title>same</title>", HTML, TAG)]
NOT_MODIFIED: Script = [head(TAG, status=b"304 Not Modified")]
SETTINGS = {"scope.within": "host", "politeness.min_delay_s": 0.0, "politeness.robots": False, "fetch.concurrency": 1}
HOST = "http://a.web.test"


def crawled(folder: Path, answer: Callable[[Seen], Script]) -> list[PageRecord]:
    """The records of a crawl, which goes on if there is one."""

    async def crawl() -> list[PageRecord]:
        async with site(folder, lambda _, seen: answer(seen)) as where:
            return await where.crawl(f"{HOST}/", settings=SETTINGS)

    return asyncio.run(crawl())


def test_a_new_page_repeats_one_that_has_not_changed_since_an_earlier_run(tmp_path: Path) -> None:
    def answering(last: Script) -> Callable[[Seen], Script]:
        def answer(seen: Seen) -> Script:
            pages = {"/": linking("/old", "/z"), "/z": last}
            return pages.get(seen.target) or (NOT_MODIFIED if seen.header("If-None-Match") else SAME)

        return answer

    crawled(tmp_path, answering(GONE))
    shutil.copy(tmp_path / "crawl.toml", tmp_path / "crawl")
    assert command_here("recrawl", str(tmp_path / "crawl")).code == COMPLETE
    records = crawled(tmp_path, answering(linking("/new")))
    assert [record.status for record in records if record.url == f"{HOST}/old"] == [200, 304]
    (new,) = [record for record in records if record.url == f"{HOST}/new"]
    assert new.duplicate_of == f"{HOST}/old"
