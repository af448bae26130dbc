"""Who uses a store, who has paused the crawl, what a visited set on a server remembers, and what it was asked."""

from collections.abc import Sequence

import msgspec

from frontier.leveldb.database import Batch, Database
from frontier.leveldb.format.encoding import decode_postponed, encode_postponed
from frontier.leveldb.format.keys import SECONDS, text
from frontier.records import PendingUrl, PostponedUrl, order_of
from frontier.values import CrawlUrl

IN_USE = b"Min-use"
_CRASHED = b"Mcrashed"
_PAUSED = b"Mheld"
_REVISITS = b"Mrevisits"
MEMORY = b"Mmemory"
CLAIMS = b"Mclaims"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class LevelDBMarks:
    """The `Marks` of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def in_use(self) -> bool:
        return self._database.get(IN_USE) is not None

    @property
    def crashed_at(self) -> float | None:
        value = self._database.get(_CRASHED)
        # A damaged value counts as unknown; the rests of queues are stored elsewhere.
        return None if value is None or len(value) != SECONDS.size else SECONDS.unpack(value)[0]

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        batch = self._database.batch()
        if crashed_at is not None:
            batch.put(_CRASHED, SECONDS.pack(crashed_at))
        if in_use:
            batch.put(IN_USE, b"")
        else:
            batch.delete(IN_USE)
        self._database.write(batch)

    @property
    def paused(self) -> str | None:
        value = self._database.get(_PAUSED)
        return None if value is None else value.decode("utf-8", "replace")  # a damaged reason is still a pause

    def set_paused(self, reason: str | None, /) -> None:
        self._database.write_one(_PAUSED, None if reason is None else text(reason))

    @property
    def revisits_planned(self) -> bool:
        return self._database.get(_REVISITS) is not None

    def set_revisits_planned(self, planned: bool, /) -> None:
        self._database.write_one(_REVISITS, b"" if planned else None)

    @property
    def memory(self) -> str | None:
        value = self._database.get(MEMORY)
        return None if value is None else value.decode("utf-8", "replace")  # a damaged name is that of no memory

    def set_memory(self, memory: str | None, /) -> None:
        self._database.write_one(MEMORY, None if memory is None else text(memory))


class LevelDBClaims:
    """The `Claims` of a database: one value, because only one batch is asked at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_open = database.get(CLAIMS) is not None

    def urls(self) -> list[CrawlUrl]:
        """Raises `StoreFailed` if they can't be decoded."""
        value = self._database.get(CLAIMS)
        if value is None:
            return []
        return self._database.decode(_decode_claims, value, "what it has asked the visited set")

    def put(self, urls: Sequence[CrawlUrl], /) -> None:
        self._database.write_one(CLAIMS, _encode([_encode_url(url) for url in urls]))
        self.is_open = True

    def clear(self) -> None:
        self._database.write_one(CLAIMS, None)
        self.is_open = False

    def delete_with(self, batch: Batch) -> None:
        """Let a batch delete them, if there are any. Once it is written, the caller says that none `is_open`."""
        if self.is_open:
            batch.delete(CLAIMS)


def _decode_claims(value: bytes) -> list[CrawlUrl]:
    return [decode_postponed(each, due_ms=0).pending.url for each in _decode(value)]


def _encode_url(url: CrawlUrl) -> bytes:
    pending = PendingUrl(url=url, number=0, order=order_of(url.precedence, 0), found_at=0)
    return encode_postponed(PostponedUrl(pending=pending, due_ms=0))
