"""What the archive gets of what rendered pages load."""

import gc

import msgspec
import pytest

from crawler.page import Fetched, Page, PageRecord, Redirect, Screenshot
from crawler.write.loads import WithLoads
from tests.unit.write.samples import NOON, page, record_of


class Archive:
    """Notes what it is told to write; is full for some URLs."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.full_for: set[str] = set()
        self.screenshots = 0

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self.written.append(f"page {record.number}")
        self.screenshots += len(page.screenshots) if isinstance(page, Page) else 0

    async def write_exchange(self, fetched: Fetched, purpose: str, /) -> None:
        if fetched.url in self.full_for:
            raise OSError(28, "full")
        self.written.append(f"{purpose} {fetched.url}")

    async def aclose(self) -> None:
        self.written.append("close")


def loaded(name: str) -> Page:
    return msgspec.structs.replace(page(1), url=f"http://a.test/{name}")


def rendered(number: int, *loads: Page | Redirect) -> Page:
    return msgspec.structs.replace(page(number), loads=loads)


@pytest.fixture
def archive() -> Archive:
    return Archive()


@pytest.fixture
def sink(archive: Archive) -> WithLoads:
    return WithLoads(archive, keeps_loads_of=lambda record: record.refused_for is None)


async def test_what_a_page_loaded_is_written_before_the_page(archive: Archive, sink: WithLoads) -> None:
    redirect = Redirect(url="http://a.test/r", status=302, headers=[], location="/x", fetched_at=NOON, duration_s=1)
    await sink.write(rendered(1, loaded("x.js"), redirect), record_of(page(1), 1))
    await sink.write(page(2), record_of(page(2), 2))
    await sink.aclose()
    assert archive.written == ["load http://a.test/x.js", "load http://a.test/r", "page 1", "page 2", "close"]


@pytest.mark.parametrize(("refused_for", "expected"), [(None, 1), (["train-ai"], 0)])
async def test_screenshots_are_archived_only_with_what_they_show(
    refused_for: list[str] | None, expected: int, archive: Archive, sink: WithLoads
) -> None:
    screenshot = Screenshot(kind="view", media_type="image/png", image=b"image")
    record = msgspec.structs.replace(record_of(page(1), 1), refused_for=refused_for)
    await sink.write(msgspec.structs.replace(page(1), screenshots=(screenshot,)), record)
    assert (archive.written, archive.screenshots) == (["page 1"], expected)


async def test_a_response_that_pages_share_is_written_once(archive: Archive, sink: WithLoads) -> None:
    shared = loaded("x.js")
    for number in (1, 2):
        await sink.write(rendered(number, shared, loaded("data")), record_of(page(number), number))
    data = "load http://a.test/data"
    assert archive.written == ["load http://a.test/x.js", data, "page 1", data, "page 2"]


async def test_after_the_archive_begins_anew_it_gets_a_shared_response_again(archive: Archive, sink: WithLoads) -> None:
    shared = loaded("x.js")
    await sink.write(rendered(1, shared), record_of(page(1), 1))
    sink.forget_before(2)
    await sink.write(rendered(2, shared), record_of(page(2), 2))
    assert archive.written.count("load http://a.test/x.js") == 2


async def test_of_a_page_that_is_not_kept_nothing_is_archived_and_the_next_page_brings_it(
    archive: Archive, sink: WithLoads
) -> None:
    shared = loaded("x.js")
    record = record_of(page(1), 1)
    await sink.write(rendered(1, shared), msgspec.structs.replace(record, not_archived="unwanted-type"))
    await sink.write(rendered(1, shared), msgspec.structs.replace(record, refused_for=["train-ai"]))
    await sink.write(None, record)
    assert archive.written == ["page 1"] * 3
    await sink.write(rendered(2, shared), record_of(page(2), 2))
    assert archive.written[3:] == ["load http://a.test/x.js", "page 2"]


async def test_after_an_error_only_what_is_missing_is_written(archive: Archive, sink: WithLoads) -> None:
    archive.full_for = {"http://a.test/data"}
    whole = rendered(1, loaded("x.js"), loaded("data"))
    with pytest.raises(OSError, match="full"):
        await sink.write(whole, record_of(page(1), 1))
    archive.full_for.clear()
    await sink.write(whole, record_of(page(1), 1))
    assert archive.written == ["load http://a.test/x.js", "load http://a.test/data", "page 1"]


async def test_it_holds_no_response_longer_than_others_do(archive: Archive, sink: WithLoads) -> None:
    for number in range(50):
        await sink.write(rendered(number, loaded("data")), record_of(page(number), number))
    gc.collect()
    assert len(sink._written) <= 1
