"""A connection to PostgreSQL that is made anew when it breaks. Needs asyncpg."""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import asyncpg
import msgspec

from crawler.write.database.leaving_out import LeavingOut, RowRefused
from crawler.write.database.postgres_dsn import read_dsn
from crawler.write.database.postgres_tables import COMMAND_TIMEOUT_S, check, prepare, read_pages, store
from crawler.write.database.rows import Row
from crawler.write.descriptor import LeftOut

CONNECT_TIMEOUT_S: Final = 10.0
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
"""Between two attempts to connect. The pause doubles with each one that fails."""

_log = logging.getLogger(__name__)
_BROKEN: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_OF_ROW: Final = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.PLPGSQLError,
    asyncpg.WithCheckOptionViolationError,
    asyncpg.UnknownPostgresError,
)
"""What a server says of a row that it does not take, as for a constraint, an index, a trigger or a view that users have
made. Triggers may raise errors with codes of their own, which asyncpg does not know."""
_Begin = Callable[[asyncpg.Connection, str], Awaitable[None]]
_MISCONFIGURED: Final = (
    asyncpg.ClientConfigurationError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    ssl.SSLCertVerificationError,
)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pages go."""

    dsn: str
    password_file: Path | None
    schema: str
    crawl: str


class PostgresClient:
    """Stores pages. What goes wrong is an `OSError`, and the next call connects anew, after a pause that grows."""

    def __init__(self, target: Target, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._monotonic = monotonic
        self._connection: asyncpg.Connection | None = None
        self._pause_s = 0.0
        self._try_at = 0.0
        self._why = ""
        self._has_warned = False
        self._has_begun = False
        """Whether it has made the tables, or found them."""
        self._leaving_out = LeavingOut("postgres", store=self._store, takes=self._takes)

    def tell_refusals(self, tell: Callable[[LeftOut], object], /) -> None:
        """See `LeavesOut`."""
        self._leaving_out.tell_refusals(tell)

    async def begin(self) -> None:
        """Connect, and make the tables. Raises ValueError if the configuration, a right or a table is wrong; a server
        that does not answer is tried again by the first call of `store`."""
        try:
            await self._connect(self._prepare)
        except OSError as error:
            _log.warning("the sink postgres: %s; the crawl tries again when it has a page", error)

    async def check(self) -> None:
        """Raises ValueError as `begin`, and if the right to store pages is missing; but makes nothing."""
        with suppress(OSError):
            await self._connect(check)
            await self.aclose()

    async def store(self, rows: Sequence[Row]) -> None:
        """See `LeavingOut`."""
        await self._leaving_out.store(rows)

    async def _store(self, rows: Sequence[Row]) -> None:
        try:
            connection = await self._connected()
        except ValueError as error:  # a right that was taken away while the crawl runs may be given back
            raise OSError(str(error)) from error
        try:
            replaced = await store(connection, self._target.schema, self._target.crawl, rows)
        except _OF_ROW as error:
            await self.aclose()
            raise RowRefused(error.message) from error
        except _BROKEN as error:
            if _is_end(error):
                self._drop()
            else:
                await self.aclose()  # so that a server that is slow stops what took too long
            raise OSError(_told(error)) from error
        except BaseException:
            self._drop()
            raise
        if replaced is not None:
            self._warn_of_another(replaced)

    async def _takes(self, row: Row) -> bool:
        connection: asyncpg.Connection | None = None
        try:
            connection = await self._open()
            await check(connection, self._target.schema, self._target.crawl, row)
        except (*_BROKEN, ValueError):
            return False
        finally:
            if connection is not None:
                connection.terminate()
        return True

    async def read(self, columns: Sequence[str]) -> AsyncGenerator[list[Sequence[Any]]]:
        """Some columns of all pages of the crawl. Raises `OSError`."""
        connection: asyncpg.Connection | None = None
        try:
            connection = await self._open()
            async for rows in read_pages(connection, self._target.schema, self._target.crawl, columns):
                yield rows
        except _BROKEN as error:
            raise OSError(self._named(error)) from error
        finally:
            if connection is not None:
                connection.terminate()

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=CONNECT_TIMEOUT_S)
            except _BROKEN:
                connection.terminate()  # all that was written is committed

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        return await self._connect(self._prepare)

    async def _connect(self, begin: _Begin) -> asyncpg.Connection:
        if self._monotonic() < self._try_at:
            # The crawl shows the reason with which a pause began, whatever the pause is later.
            raise OSError(f"{self._why}; tries again within {LONGEST_PAUSE_S:.0f} s")
        try:
            connection = await self._open()
            try:
                await begin(connection, self._target.schema)
            except BaseException:
                connection.terminate()
                raise
        except _MISCONFIGURED as error:
            self._pause(error)
            raise ValueError(self._why) from error
        except _BROKEN as error:
            self._pause(error)
            raise OSError(self._why) from error
        self._connection, self._pause_s = connection, 0.0
        return connection

    async def _prepare(self, connection: asyncpg.Connection, schema: str) -> None:
        await prepare(connection, schema, was_there=self._has_begun)
        self._has_begun = True

    async def _open(self) -> asyncpg.Connection:
        try:
            dsn, service_file = read_dsn(self._target.dsn, os.environ)
        except ValueError as error:
            raise asyncpg.ClientConfigurationError(str(error)) from error
        return await asyncpg.connect(
            dsn,
            servicefile=service_file,
            password=await self._password(),
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            server_settings={"application_name": f"onceover {self._target.crawl}"},
        )

    async def _password(self) -> str | None:
        """Read anew each time, since it may have been changed."""
        file = self._target.password_file
        if file is None:
            return None
        try:
            return (await asyncio.to_thread(file.read_text, encoding="utf-8")).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise asyncpg.ClientConfigurationError(f"password_file: {error}") from error

    def _warn_of_another(self, url: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the sink postgres: this crawl replaces rows of another one with the name %r, such as that of %s: give "
                "each crawl a name of its own, and delete the rows of a crawl before it begins anew",
                self._target.crawl,
                url,
            )

    def _pause(self, error: BaseException) -> None:
        self._why = self._named(error)
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        self._try_at = self._monotonic() + self._pause_s

    def _named(self, error: BaseException) -> str:
        """The server, which the DSN names without a password, and what went wrong."""
        server = self._target.dsn or "the server of PGHOST"
        return f"{server}: {error.strerror if isinstance(error, OSError) and error.strerror else _told(error)}"

    def _drop(self) -> None:
        """Drop a connection that failed, whose state nobody knows."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if _is_end(error) or (isinstance(error, asyncpg.InterfaceError) and text.endswith("connection is closed")):
        return "the server closed the connection"
    if isinstance(error, asyncpg.InternalClientError):  # such as "got result for unknown protocol state 3"
        return "the connection broke while the server was asked"
    return text or ("the server did not answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def _is_end(error: BaseException) -> bool:
    """Whether the server has said that it ends the connection, and has not closed it yet. As asyncpg tells it, another
    operation is in progress; of ours there is never more than one."""
    return isinstance(error, asyncpg.InternalClientError) and "another operation" in str(error)
