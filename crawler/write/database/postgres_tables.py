"""The tables of the PostgreSQL sink: makes and migrates them, and stores pages in them. Needs asyncpg.

A function that fails leaves its transaction open: drop the connection then. A server that does not answer would let a
ROLLBACK wait as long as what failed.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

import asyncpg

from crawler.write.database.leaving_out import EMPTY_ROW
from crawler.write.database.rows import COLUMNS, Kind, Row

_log = logging.getLogger(__name__)

VERSION: Final = 1
"""Of the schema. A change that needs more than new columns raises it, and adds a step to `_change`."""
COMMAND_TIMEOUT_S: Final = 60.0
SLOWEST_BYTES_PER_S: Final = 50_000
"""A slower connection does not store large pages."""
_LIMITS: Final = (
    "SET lock_timeout = '50 s'; SET idle_in_transaction_session_timeout = '60 s'; "
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
"""When a network drops a connection silently, the server keeps its transaction, for two hours by default. The next
connection would wait for the rows of that, and the server would collect connections that wait."""

_TYPES: Final = {
    Kind.INTEGER: "bigint",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "boolean",
    Kind.MOMENT: "timestamptz",
    Kind.JSON: "jsonb",
    Kind.BYTES: "bytea",
}
_NAMES: Final = ("crawl", *(column.name for column in COLUMNS))
_QUOTED: Final = ", ".join(f'"{name}"' for name in _NAMES)
_MOMENTS: Final = tuple(at for at, column in enumerate(COLUMNS) if column.kind is Kind.MOMENT)
_INFINITE: Final = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
"""What asyncpg takes for `infinity`, which many clients can't read. Servers say the first when they know no time."""
_NEW_PAGES: Final = "onceover_new_pages"
# None on the targets of links: that would take most of the time of the sink, and a join needs none.
_INDEXES: Final = {
    "pages": (
        'pages_host ON "{}".pages (crawl, host, status)',
        'pages_fetched_at ON "{}".pages (crawl, fetched_at)',
        # A URL may be longer than what an entry of an index may have.
        'pages_url ON "{}".pages (md5(url))',
    )
}
_TABLES: Final = {
    "pages": "crawl text NOT NULL, "
    + ", ".join(f'"{each.name}" {_TYPES[each.kind]}{" NOT NULL" if each.name == "number" else ""}' for each in COLUMNS)
    + ", PRIMARY KEY (crawl, number)",
    "links": "crawl text NOT NULL, number bigint NOT NULL, position integer NOT NULL, target text NOT NULL, "
    "PRIMARY KEY (crawl, number, position)",
    "schema_version": "version integer NOT NULL",
}
# With our columns and types alone, and without constraints: users may have added columns that must not be null, or have
# given ours other types, to which the server converts.
_NEW_COLUMNS: Final = "crawl text, " + ", ".join(f'"{each.name}" {_TYPES[each.kind]}' for each in COLUMNS)
_LINK_NAMES: Final = ("crawl", "number", "position", "target")
_READ_AT_ONCE: Final = 1000


async def prepare(connection: asyncpg.Connection, schema: str, *, was_there: bool = False) -> None:
    """Make or migrate the tables, and those of this connection. `was_there` says that this crawl has met the schema
    before. Raises ValueError for tables of a newer version, and for a database that can't hold all texts.

    Several parts of a crawl do this at the same time, so one waits for the other.
    """
    for name in await _prepare(connection, schema, was_there=was_there):
        _log.warning('the sink postgres: the table "%s".%s was missing, and is made anew', schema, name)


async def _prepare(connection: asyncpg.Connection, schema: str, *, was_there: bool = False) -> list[str]:
    """Returns the tables that somebody has dropped."""
    if (encoding := await connection.fetchval("SHOW server_encoding")) != "UTF8":
        raise ValueError(
            f"expected a database with the encoding UTF8, found {encoding}, which can't hold all characters: "
            "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )
    await connection.execute(_LIMITS)
    async with _transaction(connection):
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"onceover schema {schema}")
        dropped = await _migrate(connection, schema, was_there=was_there)
    # A server that loses what it has acknowledged would lose pages that are done.
    if await connection.fetchval("SHOW synchronous_commit") == "off":
        await connection.execute("SET synchronous_commit = on")
    await connection.execute(f"CREATE TEMPORARY TABLE {_NEW_PAGES} ({_NEW_COLUMNS}) ON COMMIT DELETE ROWS")
    return dropped


async def check(
    connection: asyncpg.Connection, schema: str, crawl: str = "onceover check", row: Row = EMPTY_ROW
) -> None:
    """Prepare, and store a page, or an empty one without links, in a transaction that is rolled back. Raises as both of
    them."""
    transaction = connection.transaction()
    await transaction.start()
    await _prepare(connection, schema)
    await store(connection, schema, crawl, [row])
    await transaction.rollback()


async def store(connection: asyncpg.Connection, schema: str, crawl: str, rows: Sequence[Row]) -> str | None:
    """Store pages, all of them or none. A page replaces its former row and links. Returns the URL of one that was
    replaced by a page of another URL: that was of another crawl with this name."""
    linked = [row for row in rows if row.links is not None]
    links = [(crawl, row.number, at, link) for row in linked for at, link in enumerate(row.links or ())]
    timeout_s = copy_timeout_s(rows)
    async with _transaction(connection):
        pages = [(crawl, *_with_moments(row.values)) for row in rows]
        await connection.copy_records_to_table(_NEW_PAGES, records=pages, columns=_NAMES, timeout=timeout_s)
        replaced: str | None = await connection.fetchval(_upsert(schema))
        if linked:
            numbers = [row.number for row in linked]
            await connection.execute(
                f'DELETE FROM "{schema}".links WHERE crawl = $1 AND number = ANY($2::bigint[])',  # noqa: S608  # checked
                crawl,
                numbers,
            )
            await connection.copy_records_to_table(
                "links", records=links, columns=_LINK_NAMES, schema_name=schema, timeout=timeout_s
            )
    return replaced


def copy_timeout_s(rows: Sequence[Row]) -> float:
    """How long it may take to send these rows. With a fixed limit, a large page would be sent over a slow connection
    again and again."""
    return COMMAND_TIMEOUT_S + sum(row.size_bytes for row in rows) / SLOWEST_BYTES_PER_S


@asynccontextmanager
async def _transaction(connection: asyncpg.Connection, *, readonly: bool = False) -> AsyncIterator[None]:
    transaction = connection.transaction(readonly=readonly)
    await transaction.start()
    yield
    await transaction.commit()


async def read_pages(
    connection: asyncpg.Connection, schema: str, crawl: str, columns: Sequence[str]
) -> AsyncIterator[list[Sequence[Any]]]:
    """Some columns of all pages of a crawl, by their numbers."""
    names = ", ".join(f'"{name}"' for name in columns)
    query = f'SELECT {names} FROM "{schema}".pages WHERE crawl = $1 ORDER BY number'  # noqa: S608  # our names
    async with _transaction(connection, readonly=True):
        batch: list[Sequence[Any]] = []
        async for row in connection.cursor(query, crawl, prefetch=_READ_AT_ONCE):
            batch.append(row)
            if len(batch) == _READ_AT_ONCE:
                yield batch
                batch = []
        yield batch


def _upsert(schema: str) -> str:
    changes = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in _NAMES if name not in ("crawl", "number"))
    return (  # the last part sees the table as it was before
        f'WITH stored AS (INSERT INTO "{schema}".pages ({_QUOTED}) SELECT {_QUOTED} FROM {_NEW_PAGES} '  # noqa: S608
        f"ON CONFLICT (crawl, number) DO UPDATE SET {changes}) "
        f'SELECT former.url FROM "{schema}".pages AS former JOIN {_NEW_PAGES} AS new USING (crawl, number) '
        "WHERE former.url <> new.url LIMIT 1"
    )


async def _migrate(connection: asyncpg.Connection, schema: str, *, was_there: bool) -> list[str]:
    """Returns the tables that somebody has dropped."""
    exists = await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", f'"{schema}".schema_version')
    version = 0
    if exists:
        version = await connection.fetchval(f'SELECT max(version) FROM "{schema}".schema_version') or 0  # noqa: S608
    if version > VERSION:
        raise ValueError(
            f'the tables in the schema "{schema}" have version {version}, and this onceover knows {VERSION}: use the '
            "version of onceover that made them, or name another schema"
        )
    made = await _make_missing(connection, schema, is_new=not exists)
    # What is there already needs no right to change tables.
    known = await connection.fetch(
        "SELECT column_name::text FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'pages'",
        schema,
    )
    present = {name for (name,) in known}
    for column in COLUMNS:
        if column.name not in present:
            await connection.execute(f'ALTER TABLE "{schema}".pages ADD COLUMN "{column.name}" {_TYPES[column.kind]}')
    return made if exists or was_there else []


async def _make_missing(connection: asyncpg.Connection, schema: str, *, is_new: bool) -> list[str]:
    """Make the tables that are not there: all, or those that somebody has dropped. Returns their names."""
    made = []
    if is_new and not await connection.fetchval("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema):
        await connection.execute(f'CREATE SCHEMA "{schema}"')
    for name, columns in _TABLES.items():
        if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", f'"{schema}".{name}'):
            continue
        await connection.execute(f'CREATE TABLE "{schema}".{name} ({columns})')
        for index in _INDEXES.get(name, ()):
            await connection.execute(f"CREATE INDEX {index.format(schema)}")
        made.append(name)
    if is_new:
        await connection.execute(f'INSERT INTO "{schema}".schema_version VALUES ($1)', VERSION)  # noqa: S608  # checked
    return made


def _with_moments(values: tuple[Any, ...]) -> list[Any]:
    found = list(values)
    for at in _MOMENTS:
        found[at] = _moment(values[at])
    return found


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return None if moment in _INFINITE else moment
