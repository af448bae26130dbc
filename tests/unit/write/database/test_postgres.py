"""The sink that writes tables of PostgreSQL."""

import asyncio
import hashlib
import socket
from collections.abc import Awaitable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
import trustme

from crawler.testing.sink.pages import write, write_failure, write_unfetched
from crawler.write.database.postgres import DESCRIPTOR, PostgresOptions, PostgresSink
from crawler.write.database.postgres_client import FIRST_PAUSE_S, LONGEST_PAUSE_S, PostgresClient, Target
from crawler.write.database.postgres_dsn import read_dsn
from crawler.write.database.postgres_tables import (
    COMMAND_TIMEOUT_S,
    SLOWEST_BYTES_PER_S,
    copy_timeout_s,
    prepare,
    store,
)
from crawler.write.database.rows import Row, RowOptions, row_of
from crawler.write.descriptor import LeftOut, Parameters
from tests.postgres import PostgresServer, owned_by_server, running_postgres
from tests.unit.write.database.samples import rich_page

NOWHERE = "postgresql://crawl@127.0.0.1:1/pages"
"""Nobody listens there."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def open_sink(dsn: str, **options: object) -> PostgresSink:
    return PostgresSink(Parameters(about={"isPartOf": "docs"}), PostgresOptions(dsn=dsn, **options))  # type: ignore[arg-type]


def numbers(server: PostgresServer, schema: str) -> list[int]:
    return [int(number) for (number,) in server.query(f"SELECT number FROM {schema}.pages ORDER BY number")]


async def test_rows_have_types_and_links_are_replaced_with_their_page(server: PostgresServer) -> None:
    sink = open_sink(server.dsn, schema="rich", headers=True, bodies=True)
    fetched, record = rich_page(7)
    await sink.write(fetched, record)
    await sink.write(*rich_page(7, references=["http://h1.sim.test:8080/c"], expires_at="not a date"))
    await write_unfetched(sink, 8)
    await write_failure(sink, 9)
    await sink.aclose()
    [found] = server.query(
        "SELECT crawl, host, status, title, refused->>'off-site', refusals->1->>0, headers->0->>0, length(body),"
        " noindex, extract(epoch FROM last_modified - '2026-01-01Z'::timestamptz)::int, expires_at IS NULL"
        " FROM rich.pages WHERE number = 7"
    )
    text = ["docs", "h1.sim.test", "200", "Zo\u00eb ? \ufffd end", "3", "java\ufffdscript:", "Server"]
    assert found == [*text, str(len(fetched.body)), "t", str(86_400 + 3 * 3600 + 4 * 60 + 5), "t"]
    assert server.query("SELECT * FROM rich.links") == [["docs", "7", "0", "http://h1.sim.test:8080/c"]]
    assert server.query("SELECT number, state, reason FROM rich.pages WHERE number > 7 ORDER BY number") == [
        ["8", "excluded", "robots"],
        ["9", "failed", "timeout"],
    ]


async def test_all_parts_may_begin_at_once_and_a_later_sink_adds_columns_that_are_missing(
    server: PostgresServer,
) -> None:
    sinks = [open_sink(server.dsn, schema="many") for _ in range(8)]
    await asyncio.gather(*(sink.begin() for sink in sinks))
    await asyncio.gather(*(write(sink, number) for number, sink in enumerate(sinks)))
    for sink in sinks:
        await sink.aclose()
    server.query("ALTER TABLE many.pages DROP COLUMN title, ADD COLUMN mine text DEFAULT 'kept'")
    later = open_sink(server.dsn, schema="many")
    await write(later, 8)
    await later.aclose()
    assert numbers(server, "many") == list(range(9))
    assert server.query("SELECT title IS NULL, mine FROM many.pages WHERE number IN (0, 8) ORDER BY number") == [
        ["t", "kept"],
        ["f", "kept"],
    ]


async def test_columns_may_have_got_other_types(server: PostgresServer) -> None:
    for attempt in (1, 2):
        sink = open_sink(server.dsn, schema="typed")
        await write(sink, attempt)
        await sink.aclose()
        server.query(
            "ALTER TABLE typed.pages ALTER status TYPE text, ALTER refused TYPE text, ALTER noindex TYPE text,"
            " ALTER title TYPE varchar(1000), ALTER fetched_at TYPE timestamp"
        )
    assert server.query("SELECT number, status, fetched_at IS NULL FROM typed.pages ORDER BY number") == [
        ["1", "200", "f"],
        ["2", "200", "f"],
    ]


async def test_a_crawl_that_replaces_rows_of_another_with_its_name_says_so_once(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(server.dsn, schema="shared")
    fetched, record = rich_page(7)
    for _ in range(2):  # as after a crash
        await sink.write(fetched, record)
    await sink.aclose()
    assert not caplog.messages
    another = open_sink(server.dsn, schema="shared")
    for _ in range(2):
        for path in ("one", "two"):
            await another.write(fetched, msgspec.structs.replace(record, url=f"http://b.test/{path}"))
    await another.aclose()
    [told] = caplog.messages
    assert "replaces rows of another one with the name 'docs'" in told
    assert record.url in told
    assert server.query("SELECT number, url FROM shared.pages") == [["7", "http://b.test/two"]]


async def test_what_waiting_does_not_mend_is_refused_at_the_beginning(server: PostgresServer) -> None:
    first = open_sink(server.dsn, schema="newer")
    await first.begin()
    await first.aclose()
    server.query("UPDATE newer.schema_version SET version = 99")
    with pytest.raises(ValueError, match=r"version 99.* knows 1"):
        await open_sink(server.dsn, schema="newer").begin()
    with pytest.raises(ValueError, match='database "nowhere" does not exist'):
        await open_sink(server.dsn.replace("/postgres?", "/nowhere?")).begin()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_that_cannot_hold_all_texts_is_refused_at_the_beginning(
    server: PostgresServer, encoding: str
) -> None:
    name = encoding.lower()
    server.query(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ValueError, match=f"encoding UTF8, found {encoding}"):
        await open_sink(server.dsn.replace("/postgres?", f"/{name}?")).begin()


async def test_a_check_finds_what_would_be_refused_and_leaves_nothing(server: PostgresServer) -> None:
    def check(dsn: str) -> Awaitable[None]:
        assert DESCRIPTOR.check is not None
        return DESCRIPTOR.check(Parameters(about={"isPartOf": "docs"}), PostgresOptions(dsn=dsn, schema="checked"))

    await check(server.dsn)
    assert server.query("SELECT nspname FROM pg_namespace WHERE nspname = 'checked'") == []
    server.query("CREATE ROLE reader LOGIN")
    reader = server.dsn.replace("crawl@", "reader@")
    with pytest.raises(ValueError, match="permission denied for database"):
        await check(reader)
    sink = open_sink(server.dsn, schema="checked")
    await write(sink, 1)
    await sink.aclose()
    await check(server.dsn)
    server.query("GRANT USAGE ON SCHEMA checked TO reader")
    server.query("GRANT SELECT ON ALL TABLES IN SCHEMA checked TO reader")
    with pytest.raises(ValueError, match="permission denied for table pages"):
        await check(reader)
    assert numbers(server, "checked") == [1]
    await check(NOWHERE)


async def test_columns_of_users_that_must_not_be_null_get_their_defaults_and_keep_their_values(
    server: PostgresServer,
) -> None:
    sink = open_sink(server.dsn, schema="mine")
    await write(sink, 1)
    await sink.aclose()
    server.query("ALTER TABLE mine.pages ADD COLUMN note text NOT NULL DEFAULT 'new'")
    server.query("UPDATE mine.pages SET note = 'read'")
    sink = open_sink(server.dsn, schema="mine")
    await write(sink, 1)
    await write(sink, 2)
    await sink.aclose()
    assert server.query("SELECT number, note FROM mine.pages ORDER BY number") == [["1", "read"], ["2", "new"]]


async def test_no_page_can_hold_a_value_that_the_server_refuses_for_ever(server: PostgresServer) -> None:
    odd = {"a": "\\u0000 \0 \\\0", "b": [float("nan"), float("inf"), 1e308, 10**400], "\0": "\ud800"}
    long = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(200))
    sink = open_sink(server.dsn, schema="odd")
    await sink.write(*rich_page(1, json_ld=[odd], last_modified="0001-01-01T00:00:00+14:00"))
    await sink.write(*rich_page(2, url=f"http://{long}.test/"))
    await sink.aclose()
    [[text]] = server.query("SELECT json_ld->0->>'a' FROM odd.pages WHERE number = 1")
    assert text == "\\u0000 \ufffd \\\ufffd"
    [[found]] = server.query(
        "SELECT json_ld->0->'b'->>0 IS NULL AND json_ld->0->'b'->>2 = '1e308'::numeric::text"
        " FROM odd.pages WHERE number = 1"
    )
    assert found == "t"
    assert server.query("SELECT number FROM odd.pages WHERE host IS NULL") == [["2"]]


async def test_a_row_that_the_server_refuses_is_left_out_and_holds_up_no_other(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(server.dsn, schema="strict")
    await write(sink, 1)
    server.query("ALTER TABLE strict.pages ADD CHECK (title <> 'bad')")
    pages = [rich_page(number, title="bad" if number in (4, 7) else "good") for number in range(2, 10)]
    await asyncio.gather(*(sink.write(*each) for each in pages))
    await sink.aclose()
    assert numbers(server, "strict") == [1, 2, 3, 5, 6, 8, 9]
    refused = [(pages[number - 2][1].url, number) for number in (4, 7)]
    why = 'new row for relation "pages" violates check constraint "pages_title_check"'
    for message, (url, number) in zip(caplog.messages, refused, strict=True):
        assert f"{url} (number {number}) is left out, because the database refuses its row: {why};" in message


async def test_a_row_that_a_trigger_or_a_view_refuses_is_left_out(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(server.dsn, schema="judged")
    await write(sink, 1)
    server.query(
        "CREATE FUNCTION judged.judge() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN IF new.title = 'bad' THEN RAISE EXCEPTION 'no bad title'; END IF;"
        "IF new.title = 'odd' THEN RAISE EXCEPTION 'no odd title' USING ERRCODE = 'U0001'; END IF; RETURN new; END$$;"
        "CREATE TRIGGER judge BEFORE INSERT ON judged.pages FOR EACH ROW EXECUTE FUNCTION judged.judge();"
        "ALTER TABLE judged.pages RENAME TO stored;"
        "CREATE VIEW judged.pages AS SELECT * FROM judged.stored WHERE title <> 'worse' WITH CHECK OPTION"
    )
    for number, title in enumerate(("bad", "odd", "worse", "good"), start=2):
        await sink.write(*rich_page(number, title=title))
    await sink.aclose()
    assert numbers(server, "judged") == [1, 5]
    reasons = ("no bad title", "no odd title", "check option")
    assert [why in message for why, message in zip(reasons, caplog.messages, strict=True)] == [True, True, True]


async def test_a_server_that_refuses_every_row_is_waited_for(server: PostgresServer) -> None:
    sink = open_sink(server.dsn, schema="closed")
    await write(sink, 1)
    server.query("ALTER TABLE closed.pages ADD COLUMN note text NOT NULL DEFAULT ''")
    server.query("ALTER TABLE closed.pages ALTER COLUMN note DROP DEFAULT")
    for _ in range(2):
        with pytest.raises(OSError, match="violates not-null constraint"):
            await write(sink, 2)
    server.query("ALTER TABLE closed.pages DROP COLUMN note")
    await write(sink, 2)
    await sink.aclose()
    assert numbers(server, "closed") == [1, 2]


async def test_a_row_may_lack_what_other_rows_have(server: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
    """An empty row has no title either."""
    sink = open_sink(server.dsn, schema="titled")
    await write(sink, 1)
    server.query("ALTER TABLE titled.pages ALTER COLUMN title SET NOT NULL")
    for number in (2, 3):
        await sink.write(*rich_page(number, title=None))
    await sink.aclose()
    assert numbers(server, "titled") == [1]
    assert [f"(number {number}) is left out" in caplog.text for number in (1, 2, 3)] == [False, True, True]


async def test_a_server_that_refuses_each_page_is_waited_for(
    server: PostgresServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it takes an empty row, as most constraints do."""
    monkeypatch.setattr("crawler.write.database.leaving_out.MOST_LEFT_OUT", 2)
    sink = open_sink(server.dsn, schema="against")
    await sink.begin()
    server.query("ALTER TABLE against.pages ADD CHECK (title <> 'bad')")
    for number in (1, 2, 3):
        await sink.write(*rich_page(number, title="good" if number == 2 else "bad"))
    await sink.write(*rich_page(4, title="bad"))
    for _ in range(2):
        with pytest.raises(OSError, match="violates check constraint"):
            await sink.write(*rich_page(5, title="bad"))
    server.query("ALTER TABLE against.pages DROP CONSTRAINT pages_title_check")
    await sink.write(*rich_page(5, title="bad"))
    await sink.aclose()
    assert numbers(server, "against") == [2, 5]
    assert [number for number in range(6) if f"(number {number}) is left out" in caplog.text] == [1, 3, 4]


async def test_a_repair_is_told_of_all_pages_that_the_server_refuses_and_goes_on(
    server: PostgresServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.write.database.leaving_out.MOST_LEFT_OUT", 2)
    sink = open_sink(server.dsn, schema="repaired")
    await sink.begin()
    server.query("ALTER TABLE repaired.pages ADD CHECK (title <> 'bad')")
    refused: list[LeftOut] = []
    sink.tell_refusals(refused.append)
    for number in range(1, 6):
        await sink.write(*rich_page(number, title="bad" if number < 5 else "good"))
    await sink.aclose()
    assert numbers(server, "repaired") == [5]
    assert [each.number for each in refused] == [1, 2, 3, 4]
    assert "violates check constraint" in refused[0].why
    assert caplog.messages == []


async def test_a_repair_goes_on_where_the_server_would_refuse_an_empty_row_too(server: PostgresServer) -> None:
    sink = open_sink(server.dsn, schema="untitled")
    await sink.begin()
    server.query("ALTER TABLE untitled.pages ALTER COLUMN title SET NOT NULL")
    refused: list[LeftOut] = []
    sink.tell_refusals(refused.append)
    await sink.write(*rich_page(1, title=None))
    await sink.write(*rich_page(2, title="good"))
    await sink.aclose()
    assert numbers(server, "untitled") == [2]
    assert [(each.number, "title" in each.why) for each in refused] == [(1, True)]


async def test_a_check_that_is_taken_back_tells_of_no_table_that_it_makes(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(server.dsn, schema="checked")
    await sink.begin()
    await sink.aclose()
    server.query("DROP TABLE checked.links")
    client = PostgresClient(Target(dsn=server.dsn, password_file=None, schema="checked", crawl="docs"))
    await client.check()
    assert caplog.messages == []
    assert server.query("SELECT to_regclass('checked.links') IS NULL") == [["t"]]


@pytest.mark.parametrize(
    ("dropped", "tables"),
    [
        ("TABLE dropped.links", ["links"]),
        ("TABLE dropped.pages", ["pages"]),
        ("SCHEMA dropped CASCADE", ["pages", "links", "schema_version"]),
    ],
    ids=["links", "pages", "schema"],
)
async def test_a_table_that_was_dropped_is_made_again(
    server: PostgresServer, caplog: pytest.LogCaptureFixture, dropped: str, tables: list[str]
) -> None:
    sink = open_sink(server.dsn, schema="dropped")
    await sink.write(*rich_page(1))
    server.query(f"DROP {dropped}")
    with pytest.raises(OSError, match="does not exist"):
        await sink.write(*rich_page(2))
    await sink.write(*rich_page(2))
    await sink.aclose()
    assert 2 in numbers(server, "dropped")
    told = [f'the sink postgres: the table "dropped".{table} was missing, and is made anew' for table in tables]
    assert caplog.messages == told


async def test_no_time_becomes_an_infinite_one(server: PostgresServer) -> None:
    """Programs in .NET send `Mon, 01 Jan 0001 00:00:00 GMT` when they know no time."""
    sink = open_sink(server.dsn, schema="times")
    await sink.write(*rich_page(1, last_modified="0001-01-01T00:00:00Z", expires_at="9999-12-31T23:59:59Z"))
    await sink.write(*rich_page(2, last_modified="9999-12-31T23:59:59.999999Z", expires_at="0001-01-01T00:00:01Z"))
    await sink.aclose()
    found = server.query(
        "SELECT last_modified IS NULL, extract(year FROM expires_at AT TIME ZONE 'UTC') FROM times.pages"
        " ORDER BY number"
    )
    assert found == [["t", "9999"], ["t", "1"]]


async def test_certificates_and_services_are_obeyed_or_refused_at_the_beginning(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "root.pem"))
    other.cert_pem.write_to_path(str(tmp_path / "other.pem"))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]

    def with_tls(folder: Path) -> list[str]:
        issued = authority.issue_cert("localhost")
        for name, content in (("server.crt", issued.cert_chain_pems[0]), ("server.key", issued.private_key_pem)):
            content.write_to_path(str(folder / name))
            owned_by_server(folder / name)
        files = [f"ssl_cert_file={folder}/server.crt", f"ssl_key_file={folder}/server.key"]
        return ["ssl=on", *files, "listen_addresses=127.0.0.1"]

    async def begin(dsn: str) -> None:
        client = PostgresClient(Target(dsn=dsn, password_file=None, schema="tls", crawl="docs"))
        await client.begin()
        await client.aclose()

    services = tmp_path / "services"
    services.write_text(
        f"[pages]\nhost=localhost\nport={port}\nuser=crawl\ndbname=postgres\nsslmode=verify-full\n"
        f"sslrootcert={tmp_path}/root.pem\n[broken]\nsslrootcert=/none\n"
    )
    place = f"postgresql://crawl@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={tmp_path}"
    with running_postgres(with_tls, port=port) as server:
        for good in (f"{place}/root.pem", f"postgresql:///?service=pages&servicefile={services}"):
            await begin(good)
            assert server.query("SELECT version FROM tls.schema_version") == [["1"]]
            server.query("DROP SCHEMA tls CASCADE")
        for wrong, why in (
            (f"{place}/other.pem", "CERTIFICATE_VERIFY_FAILED"),
            (f"{place}/none.pem", "sslrootcert: there is no file"),
            (f"postgresql:///?service=none&servicefile={services}", "has no service none; it has pages, broken"),
            (f"postgresql:///?service=broken&servicefile={services}", "there is no file /none"),
            (f"postgresql:///?service=pages&servicefile={services}.none", "there is no service file"),
        ):
            with pytest.raises(ValueError, match=why):
                await begin(wrong)
        gone = Target(dsn=place, password_file=tmp_path / "gone", schema="tls", crawl="docs")
        with pytest.raises(ValueError, match=r"password_file: .*No such file"):
            await PostgresClient(gone).begin()


def test_without_a_dsn_the_service_of_the_environment_counts(tmp_path: Path) -> None:
    (tmp_path / "services").write_text("[pages]\nhost=a.test\n")
    environ = {"PGSERVICE": "pages", "PGSERVICEFILE": str(tmp_path / "services")}
    assert read_dsn("", environ) == ("postgresql://?service=pages", tmp_path / "services")
    assert read_dsn("postgresql://a.test/x?sslmode=require", environ)[0] == "postgresql://a.test/x?sslmode=require"
    assert read_dsn("", {}) == (None, None)


async def test_a_server_that_is_killed_in_mid_batch_loses_nothing_and_repeats_nothing() -> None:
    with running_postgres() as server:
        sink = open_sink(server.dsn)
        await sink.begin()
        written: set[int] = set()
        is_written = asyncio.Event()

        async def write_until_taken(number: int) -> None:
            while True:
                try:
                    await write(sink, number)
                except OSError:
                    await asyncio.sleep(0.05)  # as the crawl does, which waits
                else:
                    written.add(number)
                    is_written.set()
                    return

        async with asyncio.TaskGroup() as writers:
            for number in range(2000):
                writers.create_task(write_until_taken(number))
            await is_written.wait()
            await asyncio.to_thread(server.kill)
            acknowledged = set(written)
            with pytest.raises(OSError, match=r"\S"):
                await write(sink, 1_000_000)
            await asyncio.to_thread(server.start)
            assert acknowledged <= set(numbers(server, "onceover"))
        assert set(numbers(server, "onceover")) - {1_000_000} == set(range(2000))
        await sink.aclose()


def test_rows_have_the_time_that_a_slow_connection_takes_to_send_them() -> None:
    large = [Row(number, (), None, 10_000_000) for number in range(2)]
    assert copy_timeout_s(large) >= 20_000_000 / SLOWEST_BYTES_PER_S + COMMAND_TIMEOUT_S


def waiting_for_locks(server: PostgresServer, schema: str) -> int:
    """How many sessions wait for a lock in a schema. One that is in a transaction would always see the same ones."""
    query = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{schema}%'"
    [[count]] = server.query(query)
    return int(count)


async def test_a_change_that_takes_too_long_is_not_rolled_back(server: PostgresServer) -> None:
    """A server that does not answer would let the ROLLBACK take as long again. The client drops the connection."""
    connection = await asyncpg.connect(server.dsn)
    other = await asyncpg.connect(server.dsn)
    try:
        await prepare(connection, "slow")
        await other.execute("BEGIN; LOCK TABLE slow.pages")
        storing = asyncio.create_task(store(connection, "slow", "docs", [row_of(*rich_page(7), RowOptions())]))
        while not await asyncio.to_thread(waiting_for_locks, server, "slow"):
            pass
        storing.cancel()
        await asyncio.wait([storing])
        assert connection.is_in_transaction()
    finally:
        connection.terminate()
        other.terminate()


async def test_a_server_gives_up_what_a_connection_has_left_behind(server: PostgresServer) -> None:
    """It does not learn of a connection that a network has dropped, and keeps its transaction. Others wait for that."""
    connection = await asyncpg.connect(server.dsn)
    try:
        await prepare(connection, "left_behind")
        names = "lock_timeout", "idle_in_transaction_session_timeout"
        for name in names:
            assert await connection.fetchval("SELECT setting::int FROM pg_settings WHERE name = $1", name) > 0
        await connection.execute("SET idle_in_transaction_session_timeout = 1; BEGIN; LOCK TABLE left_behind.pages")
        sink = open_sink(server.dsn, schema="left_behind")
        await write(sink, 1)
        await sink.aclose()
    finally:
        connection.terminate()
    assert numbers(server, "left_behind") == [1]


async def test_what_took_too_long_is_stopped_on_the_server(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = PostgresClient(Target(dsn=server.dsn, password_file=None, schema="late", crawl="docs"))
    await client.begin()
    other = await asyncpg.connect(server.dsn)
    try:
        await other.execute("BEGIN; LOCK TABLE late.pages")
        connection: Any = client._connection
        monkeypatch.setattr(connection, "_config", connection._config._replace(command_timeout=0.1))
        with pytest.raises(OSError, match="did not answer in time"):
            await client.store([row_of(*rich_page(7), RowOptions())])
        while await asyncio.to_thread(waiting_for_locks, server, "late"):
            pass
        assert "canceling statement due to user request" in server.log()
    finally:
        other.terminate()
    await client.aclose()


async def test_a_server_that_does_not_answer_is_asked_less_and_less_often() -> None:
    now = 0.0
    client = PostgresClient(
        Target(dsn=NOWHERE, password_file=None, schema="onceover", crawl="docs"), monotonic=lambda: now
    )
    await client.begin()  # it may be there when the first page comes
    tries: list[float] = []
    while len(tries) < 8:
        with pytest.raises(OSError, match=r"; tries again within 30 s$|Connect") as raised:
            await client.store([Row(1, (), None, 1)])
        if "tries again" not in str(raised.value):
            tries.append(now)
        now += 0.5
    pauses = [after - before for before, after in zip([0.0, *tries], tries, strict=False)]
    assert pauses == [FIRST_PAUSE_S, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    await client.aclose()


async def test_a_connection_that_the_server_ends_and_has_not_closed_yet_is_told_as_that(server: PostgresServer) -> None:
    ended, may_close = asyncio.Event(), asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hands on all that the server says, but not yet that it closes the connection."""
        from_server, to_server = await asyncio.open_unix_connection(server.socket)
        up = asyncio.create_task(_copy(reader, to_server))
        await _copy(from_server, writer)
        ended.set()
        await may_close.wait()
        writer.close()
        await up
        to_server.close()

    relaying = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = relaying.sockets[0].getsockname()[1]
    dsn = f"postgresql://crawl@127.0.0.1:{port}/postgres?sslmode=disable"
    sink = open_sink(dsn, schema="ended")
    await write(sink, 1)
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onceover docs'"
    await asyncio.to_thread(server.query, query)
    await ended.wait()
    with pytest.raises(OSError, match=r"^the server closed the connection$"):
        await write(sink, 2)
    may_close.set()
    await write(sink, 2)
    await sink.aclose()
    relaying.close()
    assert numbers(server, "ended") == [1, 2]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            asyncpg.InterfaceError("cannot call Transaction.__aexit__(): the underlying connection is closed"),
            "the server closed the connection",
        ),
        (
            asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
            "the server closed the connection",
        ),
        (
            asyncpg.InternalClientError("got result for unknown protocol state 3"),
            "the connection broke while the server was asked",
        ),
    ],
    ids=["closed", "ended", "broken"],
)
async def test_a_connection_that_breaks_while_it_begins_is_told_as_that(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, told: str
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(asyncpg, "connect", broken)
    await PostgresClient(Target(dsn=NOWHERE, password_file=None, schema="onceover", crawl="docs")).begin()
    assert f"{NOWHERE}: {told}; the crawl tries" in caplog.text


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:s3cret@db.test/pages",
        "postgresql://db.test/pages?user=me&password=s3cret",
        "postgresql://db.test/pages?sslpassword=s3cret",
        "host=db.test password=s3cret",
    ],
)
def test_a_dsn_with_a_password_is_refused_and_the_password_is_not_told(dsn: str) -> None:
    with pytest.raises(ValueError, match=r"without a password.*password_file, PGPASSWORD or ~/\.pgpass") as raised:
        PostgresOptions(dsn=dsn)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"dsn": "mysql://db.test/pages"}, "begins with postgresql://"), ({"schema": 'a"b'}, "lower-case letters")],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        PostgresOptions(**options)  # type: ignore[arg-type]


async def test_a_password_file_is_read_anew_for_each_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords: list[object] = []

    async def connect(_dsn: str, *, password: str | None, **_: object) -> object:
        passwords.append(password)
        raise OSError("nobody there")

    monkeypatch.setattr("crawler.write.database.postgres_client.asyncpg.connect", connect)
    file = tmp_path / "password"
    target = Target(dsn=NOWHERE, password_file=file, schema="onceover", crawl="docs")
    for word in ("old", "new"):
        file.write_text(f"{word}\n")
        await PostgresClient(target).begin()
    assert passwords == ["old", "new"]
