"""Exports by the API: asked for, made one at a time, carried on by the next daemon, downloaded."""

import asyncio
import errno
import fcntl
import os
import shutil
import signal
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import duckdb
import msgspec
import pytest

from crawler.serve.api.gate.tokens import Rights, Tokens
from crawler.serve.api.server import Listen
from crawler.serve.exports import stored
from crawler.serve.exports.exporter import Exporter
from crawler.serve.exports.forms import ExportBody, ExportForm, StoredExport
from crawler.serve.exports.stored import ExportFolders
from crawler.serve.inspection import Commands
from crawler.serve.keeper import Keeper
from crawler.serve.life.facts import KeeperOptions, Plan
from crawler.serve.records import Home
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.export.written import record, write_crawl
from tests.unit.serve.api.serving import BASE, IDLE_S, LOOPBACK, Answer, Api, served
from tests.unit.serve.api.test_api_tls import Files

EXPORTS = "/crawls/a/exports"
PARQUET = ExportBody(format="parquet")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    records = [record(number, status=200 if number % 3 else 404) for number in range(3000)]
    write_crawl(folder / "crawls" / "a", records[:1500], records[1500:], name="a")
    return folder


@asynccontextmanager
async def serving(home: Path, listen: Listen = LOOPBACK, **limits: Any) -> AsyncIterator[Api]:
    async with served(home, listen, **limits) as api:
        keeper = Keeper("a", Home(home), KeeperOptions(), commands=Commands())
        plan = Plan(directory=str(home / "crawls" / "a"), digest="")
        keeper.change(lambda facts: msgspec.structs.replace(facts, plan=plan))
        api.daemon.keepers["a"] = keeper
        yield api


def read(answer: Answer, status: int = 200) -> ExportForm:
    assert answer.status == status, answer.body
    return msgspec.json.decode(answer.body, type=ExportForm)


async def ended(api: Api, export: ExportForm) -> ExportForm:
    async with asyncio.timeout(MAX_WAIT_S):
        while export.state in ("waiting", "running"):
            await asyncio.sleep(0.05)
            export = read(await api.ask("GET", f"{EXPORTS}/{export.id}"))
    return export


async def begin(api: Api, **what: Any) -> ExportForm:
    return read(await api.ask("POST", EXPORTS, msgspec.json.encode(what)), 202)


async def test_an_export_is_made_told_downloaded_in_ranges_and_deleted(home: Path, tmp_path: Path) -> None:
    async with serving(home) as api:
        asked = await begin(api, format="parquet", partition_by=["crawl", "subset"])
        made = await ended(api, asked)
        assert (made.state, made.share, made.rows) == ("complete", 1.0, 3000)
        assert "3,000 rows in 2 files" in (made.message or "")
        assert [each.name for each in made.files] == [
            f"crawl=a/subset={subset}/pages-00000.parquet" for subset in ("crawldiagnostics", "warc")
        ]
        listed = msgspec.json.decode((await api.ask("GET", EXPORTS)).body)["exports"]
        assert [each["id"] for each in listed] == [made.id]

        reader = Tokens(home).add("reader", Rights.READ)
        path = f"{EXPORTS}/{made.id}/file?file={made.files[1].name}"
        whole = await api.ask("GET", path, token=reader)
        assert (whole.status, len(whole.body)) == (200, made.files[1].bytes)
        assert whole.headers["Content-Type"] == "application/octet-stream"
        assert whole.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a-pages-00000.parquet"
        (tmp_path / "got.parquet").write_bytes(whole.body)
        assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/got.parquet'").fetchall() == [(2000,)]
        part = await api.ask("GET", path, headers={"Range": "bytes=100-199"})
        assert (part.status, part.body) == (206, whole.body[100:200])
        assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole.body)}"
        for nothing in (f"bytes={len(whole.body)}-", "bytes=-0"):
            beyond = await api.ask("GET", path, headers={"Range": nothing})
            assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{len(whole.body)}")
        for ignored in ("items=1-2", "bytes=1-2,5-6", "bytes=-"):
            got = await api.ask("GET", path, headers={"Range": ignored})
            assert (got.status, got.body) == (200, whole.body)
            got = await api.ask("HEAD", path, headers={"Range": ignored})
            assert (got.status, got.headers["Content-Length"]) == (200, str(len(whole.body)))
        for ranges in ("bytes=7-", "items=1-2", "bytes=-0"):
            for name, tag, status in (("If-None-Match", whole.headers["Etag"], 304), ("If-Match", '"another"', 412)):
                assert (await api.ask("GET", path, headers={"Range": ranges, name: tag})).status == status
        assert (await api.ask("GET", path, headers={"If-None-Match": whole.headers["Etag"]})).status == 304
        # A download goes on only with the file that it has begun with.
        for tag, status, body in (
            (whole.headers["Etag"], 206, whole.body[7:]),
            ('"another"', 200, whole.body),
            ("W/" + whole.headers["Etag"], 200, whole.body),
            (whole.headers["Last-Modified"], 206, whole.body[7:]),
            ("Tue, 30 Nov 2010 00:00:00 GMT", 200, whole.body),
        ):
            got = await api.ask("GET", path, headers={"Range": "bytes=7-", "If-Range": tag})
            assert (got.status, got.body) == (status, body)
            for name in ("Etag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Content-Type"):
                assert got.headers[name] == whole.headers[name]

        for refused in (f"{EXPORTS}/{made.id}/file?file=../export.json", f"{EXPORTS}/{made.id}/file?file=/etc/passwd"):
            assert (await api.ask("GET", refused)).status == 404
        assert (await api.ask("GET", f"{EXPORTS}/{made.id}/file?file=_pages.export.json")).status == 404
        assert (await api.ask("GET", f"{EXPORTS}/..%2F{made.id}")).status == 404
        assert (await api.ask("GET", path, token="")).status == 401
        assert (await api.ask("POST", EXPORTS, b'{"format": "csv"}', token=reader)).status == 403
        assert (await api.ask("DELETE", f"{EXPORTS}/{made.id}", token=reader)).status == 403
        assert (await api.ask("DELETE", f"{EXPORTS}/{made.id}")).status == 204
        assert (await api.ask("GET", f"{EXPORTS}/{made.id}")).status == 404
        assert not list((home / "daemon" / "exports" / "a").iterdir())


def running(home: Path, what: ExportBody) -> tuple[ExportFolders, StoredExport]:
    """An export that is being made, and the folders that have it."""
    folders = ExportFolders(home / "daemon" / "exports")
    export = msgspec.structs.replace(folders.add("a", str(home / "crawls" / "a"), what), state="running")
    folders.store(export)
    folders.files_of(export).mkdir()
    return folders, export


def test_an_export_of_a_crawl_that_cannot_be_read_is_told_without_its_share(home: Path) -> None:
    folders, export = running(home, ExportBody(format="wacz"))
    (home / "crawls" / "a" / "parts.json").write_text("{")
    assert folders.form(export).share is None


def test_files_that_go_while_an_export_is_looked_at_are_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, export = running(home, ExportBody(format="wacz"))
    for name in ("a.csv", "going.csv", "a.wacz.open"):
        (folders.files_of(export) / name).write_bytes(b"x")
    stat = Path.stat

    def going(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = stat(path, follow_symlinks=follow_symlinks)
        if path.name in ("going.csv", "a.wacz.open"):
            path.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", lambda path: S_ISREG(going(path).st_mode))
    assert [each.name for each in folders.form(export).files] == ["a.csv"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"format": "xlsx"}, 422),
        ({"format": "wacz", "table": "links"}, 422),
        ({"format": "csv", "table": "links", "partition_by": ["crawl"]}, 422),
        ({"format": "csv", "partition_by": ["crawl", "crawl"]}, 422),
        ({"format": "csv", "to": "/etc"}, 422),
    ],
)
async def test_what_makes_no_sense_is_refused_and_leaves_nothing(home: Path, body: Any, status: int) -> None:
    async with serving(home) as api:
        assert (await api.ask("POST", EXPORTS, msgspec.json.encode(body))).status == status
        assert not (home / "daemon" / "exports").exists()


async def test_exports_wait_for_each_other_and_those_that_wait_or_run_can_be_cancelled(home: Path) -> None:
    async with serving(home) as api:
        many = [await begin(api, format="csv", rows_per_file=1) for _ in range(3)]
        running = await until_running(api, many[0])
        waiting = read(await api.ask("GET", f"{EXPORTS}/{many[2].id}"))
        assert waiting.state == "waiting"
        assert (await api.ask("DELETE", f"{EXPORTS}/{running.id}")).status == 409
        for each in (waiting, running):
            assert read(await api.ask("POST", f"{EXPORTS}/{each.id}/cancel"), 202).state == "cancelled"
        assert (await api.ask("POST", f"{EXPORTS}/{running.id}/cancel")).status == 409
        await until_running(api, many[1])
        read(await api.ask("POST", f"{EXPORTS}/{many[1].id}/cancel"), 202)
        last = await begin(api, format="jsonl")
        assert (await ended(api, last)).state == "complete"
        states = [each["state"] for each in msgspec.json.decode((await api.ask("GET", EXPORTS)).body)["exports"]]
        assert states == ["complete", "cancelled", "cancelled", "cancelled"]


async def until_running(api: Api, export: ExportForm) -> ExportForm:
    """Until some of it is there."""
    async with asyncio.timeout(MAX_WAIT_S):
        while not (export.files and export.share):
            await asyncio.sleep(0.02)
            export = read(await api.ask("GET", f"{EXPORTS}/{export.id}"))
    assert export.state == "running"
    assert export.share is not None
    assert 0 < export.share < 1
    return export


async def test_what_a_daemon_leaves_unfinished_the_next_one_finishes(home: Path) -> None:
    async with serving(home) as api:
        export = await until_running(api, await begin(api, format="csv", rows_per_file=3))
        kept = export.files[0]
    begun = (home / "daemon" / "exports" / "a" / export.id / "files" / kept.name).stat().st_mtime_ns
    async with serving(home) as api:
        made = await ended(api, export)
        assert (made.state, made.rows, len(made.files)) == ("complete", 3000, 1000)
    assert (home / "daemon" / "exports" / "a" / export.id / "files" / kept.name).stat().st_mtime_ns == begun


async def state_of(exporter: Exporter, name: str, *, after: str) -> str:
    """The next state."""
    state = after
    async with asyncio.timeout(MAX_WAIT_S):
        while state == after:
            await asyncio.sleep(0.02)
            found = await exporter.find("a", name)
            assert found is not None
            state = found.state
    return state


async def until_locked(path: Path) -> None:
    """Until another process has the lock."""
    async with asyncio.timeout(MAX_WAIT_S):
        while True:
            with path.open("ab") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
            await asyncio.sleep(0.02)


async def lock_once_it_is_free(lock: BinaryIO) -> None:
    """Whoever has it may need the event loop to give it back."""
    async with asyncio.timeout(MAX_WAIT_S):
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await asyncio.sleep(0.02)
            else:
                return


async def test_a_process_that_outlives_its_daemon_is_waited_for(home: Path) -> None:
    exporter = Exporter(home / "daemon" / "exports")
    (home / "daemon").mkdir()
    asked = await exporter.ask_for("a", str(home / "crawls" / "a"), PARQUET)
    # A killed daemon leaves its process, which has the lock.
    folder = home / "daemon" / "exports" / "a" / asked.id
    left = await asyncio.create_subprocess_exec("flock", str(folder / "lock"), "sleep", "600", start_new_session=True)
    try:
        await until_locked(folder / "lock")
        running = asyncio.create_task(exporter.run())
        await state_of(exporter, asked.id, after="waiting")
        assert not (folder / "files").exists()
        os.killpg(left.pid, signal.SIGKILL)
        assert await state_of(exporter, asked.id, after="running") == "complete"
        running.cancel()
        await asyncio.wait({running})
    finally:
        await left.wait()


async def test_an_export_whose_folder_is_damaged_holds_up_no_other(home: Path) -> None:
    exporter = Exporter(home / "daemon" / "exports")
    (home / "daemon").mkdir()
    damaged, good = [await exporter.ask_for("a", str(home / "crawls" / "a"), PARQUET) for _ in range(2)]
    (home / "daemon" / "exports" / "a" / damaged.id / "messages").mkdir()
    running = asyncio.create_task(exporter.run())
    assert await state_of(exporter, good.id, after="waiting") == "running"
    assert await state_of(exporter, good.id, after="running") == "complete"
    running.cancel()
    await asyncio.wait({running})


async def test_an_export_is_deleted_once_nobody_writes_it_and_whole_also_after_a_crash(home: Path) -> None:
    async with serving(home) as api:
        made = await ended(api, await begin(api, format="csv"))
        folder = home / "daemon" / "exports" / "a" / made.id
        with (folder / "lock").open("wb") as lock:
            await lock_once_it_is_free(lock)
            refused = await api.ask("DELETE", f"{EXPORTS}/{made.id}")
            assert refused.status == 409
            assert b"ask again" in refused.body
            assert read(await api.ask("GET", f"{EXPORTS}/{made.id}")).files == made.files
        shutil.rmtree(folder / "files")  # and then it crashed
        assert (await api.ask("DELETE", f"{EXPORTS}/{made.id}")).status == 204
        assert not folder.exists()


async def test_a_cancelled_export_ends_also_when_its_process_has_just_begun(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = Exporter(home / "daemon" / "exports")
    (home / "daemon").mkdir()
    begins = asyncio.create_subprocess_exec
    asked = await exporter.ask_for("a", str(home / "crawls" / "a"), PARQUET)
    export = await exporter.find("a", asked.id)
    assert export is not None
    begun: asyncio.Future[asyncio.subprocess.Process] = asyncio.get_running_loop().create_future()

    async def begin_slowly(*_command: str, **options: Any) -> asyncio.subprocess.Process:
        process = await begins("sleep", "600", **options)
        await exporter.cancel(export)
        begun.set_result(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", begin_slowly)
    running = asyncio.create_task(exporter.run())
    async with asyncio.timeout(MAX_WAIT_S):
        await (await begun).wait()
    running.cancel()
    await asyncio.wait({running})
    found = await exporter.find("a", asked.id)
    assert found is not None
    assert found.state == "cancelled"


def test_an_unfinished_export_reads_its_crawl_where_the_folder_of_the_daemon_was_moved(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    made = ExportFolders(before / "daemon" / "exports").add("a", str(before / "crawls" / "a"), PARQUET)
    before.rename(after)
    (found,) = ExportFolders(after / "daemon" / "exports").unfinished()
    assert (found.id, found.directory) == (made.id, str(after / "crawls" / "a"))


async def test_a_failure_is_told_in_the_words_of_the_command(home: Path) -> None:
    async with serving(home) as api:
        made = await ended(api, await begin(api, format="wacz"))
        assert made.state == "failed"
        assert "onceover: " in (made.message or "")


def test_a_crawl_has_a_bounded_number_of_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MAX_EXPORTS", 3)
    folders = ExportFolders(tmp_path)
    made = [folders.add("a", "/x", PARQUET) for _ in range(3)]
    assert [each.id for each in folders.all_of("a")] == [each.id for each in reversed(made)]
    assert [each.id for each in folders.unfinished()] == [each.id for each in made]
    with pytest.raises(stored.TooMany, match="delete some"):
        folders.add("a", "/x", PARQUET)


class Download:
    """A client that reads a file of an export as slowly as it likes."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.read = 0

    async def take(self, size: int) -> bool:
        """False at the end of the connection."""
        try:
            got = await self._reader.read(size)
        except ConnectionError:
            return False
        self.read += len(got)
        return got != b""


@asynccontextmanager
async def downloading(api: Api, path: str, tls: ssl.SSLContext | None) -> AsyncIterator[Download]:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", api.port))
    name = None if tls is None else "crawls.test"
    reader, writer = await asyncio.open_connection(sock=connection, ssl=tls, server_hostname=name)
    try:
        head = f"GET {BASE}{path} HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nAuthorization: Bearer {api.token}\r\n\r\n"
        writer.write(head.encode())
        yield Download(reader)
    finally:
        writer.transport.abort()


def test_an_export_for_which_the_disk_has_no_room_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stored, "replace_file", fail)
    with pytest.raises(OSError, match="No space left"):
        ExportFolders(tmp_path).add("a", "crawls/a", PARQUET)
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
async def test_a_download_may_last_as_long_as_its_client_reads(home: Path, tmp_path: Path, *, is_tls: bool) -> None:
    async with serving(home) as api:
        made = await ended(api, await begin(api, format="jsonl"))
    (file,) = made.files
    size = 32 << 20
    with (home / "daemon" / "exports" / "a" / made.id / "files" / file.name).open("r+b") as stored:
        stored.truncate(size)
    path = f"{EXPORTS}/{made.id}/file?file={file.name}"
    files = Files(tmp_path)
    listen, tls = (files.listen(), files.trusting()) if is_tls else (LOOPBACK, None)
    async with serving(home, listen, idle_s=IDLE_S) as api:
        async with downloading(api, path, tls) as slow, downloading(api, path, tls) as stalled:
            async with asyncio.timeout(MAX_WAIT_S):
                assert await stalled.take(100)
                began = time.monotonic()
                while time.monotonic() < began + 3 * IDLE_S:
                    assert await slow.take(32_768)
                    await asyncio.sleep(0.1)
                for each in (slow, stalled):
                    while await each.take(1 << 20):
                        pass
        assert stalled.read < size <= slow.read
        for _ in range(10):  # connections with the numbers of those that were aborted
            answer = await (api.ask_locally if is_tls else api.ask)("GET", EXPORTS)
            assert answer.status == 200
