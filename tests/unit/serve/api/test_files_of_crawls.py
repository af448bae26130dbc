"""What the API reads from the files of a crawl."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from config import Loaded, load, render_toml
from crawler.control.known_urls import UrlForm, UrlFound
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, write_layout
from crawler.page import PageRecord
from crawler.serve.api.data.files import last_pages, log_tail, settings_of, story_of
from crawler.write.records import RecordSink


def record(number: int, *, second: int | None, state: str = "done", title: str = "") -> PageRecord:
    return PageRecord(
        number=number,
        url=f"http://a.test/{number}",
        state=state,
        depth=0,
        kind="link",
        title=title,
        fetched_at=None if second is None else f"2026-11-22T10:00:{second:02}.000Z",
        references=["http://a.test/other"],
    )


def write_records(directory: Path, *records: PageRecord) -> None:
    async def write() -> None:
        sink = RecordSink(directory / "records", max_bytes=2000)
        for each in records:
            await sink.write(None, each)
        await sink.aclose()

    asyncio.run(write())


def known(number: int, state: str = "done") -> UrlFound:
    values = {name: None for name in UrlForm.__struct_fields__ if name != "part"}
    form = UrlForm(**{**values, "canonical": "c", "state": state, "number": number, "hit_count": 1, "found": ""})  # type: ignore[arg-type]
    return UrlFound(canonical="c", found=form)


def test_the_last_pages_of_all_parts_come_newest_first_and_failures_are_found_among_them(tmp_path: Path) -> None:
    write_layout(tmp_path, Layout.begin(2))
    disguise = '"state":"failed"'
    write_records(tmp_path / "part-0", *(record(n, second=2 * n, title=disguise) for n in range(20)))
    write_records(
        tmp_path / "part-1",
        *(record(100 + n, second=2 * n + 1, state="failed" if n % 4 == 0 else "done") for n in range(20)),
        record(200, second=None, state="failed"),
    )
    found = last_pages(tmp_path, limit=5, failed=False)
    assert [each.number for each in found.pages] == [200, 119, 19, 118, 18]
    assert all(each.references is None for each in found.pages)
    failed = last_pages(tmp_path, limit=50, failed=True)
    assert [each.number for each in failed.pages] == [200, 116, 112, 108, 104, 100]
    assert failed.searched_all
    # Who has looked at as many bytes as it may says so.
    bounded = last_pages(tmp_path, limit=50, failed=True, max_bytes=2000)
    assert not bounded.searched_all
    assert len(bounded.pages) < 6


def test_pages_of_a_crawl_without_records_are_none(tmp_path: Path) -> None:
    assert last_pages(tmp_path, limit=5, failed=False).pages == []
    (tmp_path / "records").mkdir()
    assert last_pages(tmp_path, limit=5, failed=False).pages == []


def test_the_story_of_a_url_has_the_last_copy_of_its_record(tmp_path: Path) -> None:
    write_records(
        tmp_path,
        record(7, second=1, title="first"),
        record(70, second=2),
        msgspec.structs.replace(record(7, second=3, title="last"), message="why", truncated="length"),
        *(record(n, second=4) for n in range(100, 110)),
    )
    story = story_of(tmp_path, known(7))
    assert story.record is not None
    assert (story.record.title, story.record.references) == ("last", ["http://a.test/other"])
    assert story.found is not None
    assert (story.found.message, story.found.truncated) == ("why", "length")
    missing = story_of(tmp_path, known(8))
    assert (missing.record, missing.searched_all) == (None, True)
    assert not story_of(tmp_path, known(7), max_bytes=100).searched_all
    assert story_of(tmp_path, known(7, state="pending")).record is None
    unknown = story_of(tmp_path, UrlFound(canonical="c", found=None, refused="excluded"))
    assert (unknown.found, unknown.refused) == (None, "excluded")


def test_the_tail_of_a_log_is_bounded_and_whole_lines(tmp_path: Path) -> None:
    assert log_tail(tmp_path, 5).lines == []
    path = CrawlDirectory(tmp_path).log
    path.parent.mkdir()
    path.write_bytes(b"".join(b"line %d\n" % n for n in range(200_000)) + b"x" * 10_000 + b"\nbad \xff\n")
    found = log_tail(tmp_path, 3)
    assert found.lines == ["line 199999", "x" * 4000, "bad \N{REPLACEMENT CHARACTER}"]
    assert log_tail(tmp_path, 1_000_000).lines[0].startswith("line ")


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    path = tmp_path / "a.toml"
    path.write_text('[crawl]\nseeds = ["http://a.test/"]\n[fetch]\ntimeout_s = 7\n')
    return load(path, environ={"ONCEOVER_FETCH__CONCURRENCY": "9"})


def test_settings_tell_their_origins_and_what_a_running_crawl_has_instead(tmp_path: Path, loaded: Loaded) -> None:
    rows = {row.key: row for row in settings_of(loaded, None, with_secrets=True).settings}
    assert (rows["fetch.timeout_s"].value, rows["fetch.timeout_s"].origin) == ("7.0", f"{tmp_path}/a.toml:4")
    assert rows["fetch.concurrency"].origin == "environment ONCEOVER_FETCH__CONCURRENCY"
    assert rows["crawl.parts"].origin == "default"
    assert all(row.meaning for row in rows.values())
    assert (rows["fetch.timeout_s"].holds, rows["daemon.schedule"].holds) == ("now", "now")
    assert (rows["fetch.user_agent"].holds, rows["urls.rules"].holds) == ("restart", None)
    assert [row.key for row in rows.values() if row.holds != "now" and not row.reason] == []
    by_hand = {row.key for row in rows.values() if row.reason == "it can only be changed by hand, in the file"}
    assert {"exchange.url", "fetch.logins", "render.browser"} <= by_hand
    directory = CrawlDirectory(tmp_path / "crawl")
    directory.path.mkdir()
    assert all(row.running is None for row in settings_of(loaded, directory.path, with_secrets=True).settings)
    fetch = msgspec.structs.replace(loaded.config.fetch, timeout_s=5.0)
    directory.write_configuration(render_toml(msgspec.structs.replace(loaded.config, fetch=fetch)))
    rows = {row.key: row for row in settings_of(loaded, directory.path, with_secrets=True).settings}
    running = {key: row.running for key, row in rows.items() if row.running is not None}
    assert running == {"fetch.timeout_s": "5.0"}


def test_who_may_only_read_sees_no_login_that_somebody_has_written_into_a_url(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        """
        crawl.seeds = [
            "http://a.test:80/@x", "http://me:hidden@b.test/", "https://hidden@c.test/", "you:hidden@d.test/"
        ]
        exchange.url = "redis://:hidden@e.test/0"
        fetch.user_agent = "mailto:me@f.test"
        visited.backend = "redis-exact"
        visited.options.url = "redis://onceover:hid@den@g.test"
        """
    )
    loaded = load(path, environ={}, require_contact=False)
    public = {row.key: row.value for row in settings_of(loaded, None, with_secrets=False).settings}
    assert "hidden" not in str(public)
    assert public["visited.options.url"] == '"redis://…@g.test"'
    assert public["fetch.user_agent"] == '"mailto:me@f.test"'
    assert '"http://a.test:80/@x"' in public["crawl.seeds"]
    assert '"…@d.test/"' in public["crawl.seeds"]
    whole = {row.key: row.value for row in settings_of(loaded, None, with_secrets=True).settings}
    assert whole["visited.options.url"] == '"redis://onceover:hid@den@g.test"'
