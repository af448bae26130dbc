"""Who uses a store, and who has paused the crawl."""

from frontier.leveldb.database import Database
from frontier.leveldb.format.keys import SECONDS, text

IN_USE = b"Min-use"
_CRASHED = b"Mcrashed"
_PAUSED = b"Mheld"
_REVISITS = b"Mrevisits"


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
        batch = self._database.batch()
        if reason is None:
            batch.delete(_PAUSED)
        else:
            batch.put(_PAUSED, text(reason))
        self._database.write(batch)

    @property
    def revisits_planned(self) -> bool:
        return self._database.get(_REVISITS) is not None

    def set_revisits_planned(self, planned: bool, /) -> None:
        batch = self._database.batch()
        if planned:
            batch.put(_REVISITS, b"")
        else:
            batch.delete(_REVISITS)
        self._database.write(batch)
