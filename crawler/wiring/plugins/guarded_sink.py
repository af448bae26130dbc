"""Checks what the functions of a sink of others return, beside the sink itself."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec

from crawler.wiring.plugins.failures import checked, failed
from crawler.write.descriptor import Parameters, Read, Written


def guarded_read(read: Read, title: str) -> Read:
    """A function that reads a sink, which `title` names. It raises `PluginFailed` instead of returning a wrong value,
    which would be told as a difference between outputs, or end `inspect verify` with a traceback."""

    async def read_checked(parameters: Parameters, options: Any) -> AsyncIterator[Sequence[Written]]:
        found: Any = read(parameters, options)
        if not isinstance(found, AsyncIterator):
            raise failed(title, f"expected an asynchronous iterator from read, found {type(found).__name__}")
        async for rows in found:
            if not isinstance(rows, Iterable):
                raise failed(title, f"expected batches of Written from read, found {type(rows).__name__}")
            yield [_checked(row, title) for row in rows]

    return read_checked


def _checked(row: Any, title: str) -> Written:
    written = checked(row, Written, "from read", title)
    try:
        return msgspec.convert(msgspec.structs.asdict(written), Written)
    except msgspec.ValidationError as error:
        raise failed(title, f"wrong Written from read: {error}") from error
