"""Asks for values of Redis whose keys may have become something else."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.exceptions import ResponseError

from crawler.cluster.decoding import damaged
from crawler.redis.client import TIMEOUT_S


@asynccontextmanager
async def only(client: Any, kind: str, keys: Sequence[str]) -> AsyncIterator[None]:
    """Ask for values of one type. Raises `RegisterDamaged` for a key that has another one."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            yield
    except ResponseError as error:
        for key in keys if "WRONGTYPE" in str(error) else ():
            if (found := (await client.type(key)).decode()) not in (kind, "none"):
                raise damaged([key], f"a {kind}", f"a {found}") from error
        raise
