"""Pages in tables of PostgreSQL."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Meta

from crawler.page import Fetched, PageRecord
from crawler.write.database.batches import Batches
from crawler.write.database.rows import RowOptions, row_of
from crawler.write.descriptor import Descriptor, LeftOut, Parameters, Written

_SECRETS: Final = frozenset({"password", "sslpassword"})
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class PostgresOptions(RowOptions, frozen=True, kw_only=True):
    """The options of the sink."""

    dsn: Annotated[
        str,
        Meta(
            description="The server and the database, as postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full, "
            "without a password. Empty means what the variables PGHOST, PGDATABASE and so on say."
        ),
    ] = ""
    password_file: Annotated[
        str, Meta(description="A file with the password alone. Empty means PGPASSWORD, or the file of PGPASSFILE.")
    ] = ""
    schema: Annotated[str, Meta(description="The schema of the tables.")] = "onceover"
    crawl: Annotated[str, Meta(description="The name of the crawl in the tables. Empty means crawl.name.")] = ""

    def __post_init__(self) -> None:
        if self.dsn and _has_secret(self.dsn):
            raise ValueError(
                "expected a dsn without a password, which would be stored in crawl.toml: give the password by "
                "password_file, PGPASSWORD or ~/.pgpass"
            )
        if self.dsn and not self.dsn.startswith(("postgresql://", "postgres://")):
            raise ValueError("expected a dsn that begins with postgresql://")
        if not _NAME.fullmatch(self.schema):
            raise ValueError(f"expected a schema of lower-case letters, digits and underscores, found {self.schema!r}")


def _has_secret(dsn: str) -> bool:
    if not dsn.startswith(("postgresql://", "postgres://")):
        return "password" in dsn
    parts = urlsplit(dsn)
    user = parts.netloc.rpartition("@")[0]
    return ":" in user or any(name in _SECRETS for name, _ in parse_qsl(parts.query, keep_blank_values=True))


class PostgresSink:
    """A page that is written again replaces its row. If the server does not answer, `write` raises `OSError`."""

    def __init__(self, parameters: Parameters, options: PostgresOptions) -> None:
        self._options = options
        self._client = _client(parameters, options)
        self._batches = Batches(self._client.store)
        self._closed = False

    async def begin(self) -> None:
        await self._client.begin()

    def tell_refusals(self, tell: Callable[[LeftOut], object], /) -> None:
        self._client.tell_refusals(tell)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        if self._closed:
            raise ValueError("the PostgreSQL sink is closed; it can't be written to any more")
        await self._batches.add(row_of(page, record, self._options))

    async def aclose(self) -> None:
        self._closed = True
        # A crawl that stops at once does not wait for a server that does not answer.
        await self._batches.aclose(cancels=True)
        await self._client.aclose()


def _client(parameters: Parameters, options: PostgresOptions) -> Any:
    """The `PostgresClient`, which stores pages. Raises ValueError without the extra."""
    try:
        from crawler.write.database.postgres_client import PostgresClient, Target  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ValueError("asyncpg is not installed: pip install 'onceover-crawler[postgres]'") from error
    target = Target(
        dsn=options.dsn,
        password_file=Path(options.password_file) if options.password_file else None,
        schema=options.schema,
        crawl=options.crawl or parameters.about.get("isPartOf", "crawl"),
    )
    return PostgresClient(target)


async def _check(parameters: Parameters, options: PostgresOptions) -> None:
    await _client(parameters, options).check()


async def _read(parameters: Parameters, options: PostgresOptions) -> AsyncIterator[Sequence[Written]]:
    async with aclosing(_client(parameters, options).read(Written.__struct_fields__)) as batches:
        async for rows in batches:
            yield [Written(*row) for row in rows]


DESCRIPTOR: Final = Descriptor(
    name="postgres", make=PostgresSink, options=PostgresOptions, read=_read, check=_check, from_records=True
)
