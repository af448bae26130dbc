"""Whether a database is a frontier's, of the format and the settings that it is opened with, and what it counted."""

from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from frontier.leveldb import encoding
from frontier.leveldb.database import Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.keys import SPACES
from frontier.store import Counters
from frontier.values import MEND, StoreFailed, StoreRefused

FORMAT = 2
_LOOKED_AT = 1000
REBUILDING = b"Mrebuilding"
IN_USE = b"Min-use"

_encode = msgspec.msgpack.Encoder().encode
_decode_counters = encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)
_decode_identity = encoding.decoder(msgspec.msgpack.Decoder(dict[str, str]).decode)


def check_identity(
    database: Database,
    identity: Mapping[str, str],
    *,
    accepted: Mapping[str, Collection[str]],
    to_rebuild: bool,
    to_repair: bool,
    may_begin: bool,
) -> bool:
    """Make an empty database a frontier's, if it `may_begin`. Raises `StoreRefused` if it is another's, or a name has a
    value that is neither the one in `identity` nor `accepted`, and `StoreFailed` if it is damaged: with `to_repair`, it
    is given its identity anew then.

    With `to_rebuild`, another value is no reason to refuse: it returns whether the store has to be rebuilt.
    """
    directory = database.directory
    found = database.get(b"Mformat")
    if found is None:
        is_empty = next(database.keys(b"", b"\xff"), None) is None
        if not is_empty and not _is_of_a_frontier(database):
            raise StoreRefused(
                f"{directory} holds a LevelDB that is not a frontier's; give the crawl another directory"
            )
        if is_empty and not (may_begin or to_repair):
            raise empty(directory)
        if not is_empty and not to_repair:
            raise StoreFailed(f"the frontier in {directory} is damaged: it does not tell its format; {MEND}")
        batch = database.batch()
        batch.put(b"Midentity", _encode(dict(identity)))
        batch.put(b"Mformat", str(FORMAT).encode())
        database.write(batch)
        return False
    if found != str(FORMAT).encode():
        raise StoreRefused(
            f"{directory} has frontier format {found.decode('latin-1')}, this version reads format {FORMAT}; "
            "use the version that wrote it, or another directory"
        )
    try:
        stored = read_identity(database)
    except StoreFailed:
        if not to_repair:
            raise
        stored = dict(identity)
        batch = database.batch()
        batch.put(b"Midentity", _encode(stored))
        database.write(batch)
    if to_rebuild:
        return database.get(REBUILDING) is not None or stored != {**stored, **identity}
    if database.get(REBUILDING) is not None:
        raise StoreRefused(
            f"{directory} was being brought under other rules, and that was broken off: run the same command with "
            "--rebuild again"
        )
    for name, value in identity.items():
        if stored.get(name) != value and stored.get(name) not in accepted.get(name, ()):
            raise StoreRefused(
                f"{directory} was crawled with {name} = {stored.get(name)!r}, the configuration now says "
                f"{value!r}, or this version of onceover does; URLs would be mistaken for others. "
                "Restore the setting, give all URLs their new names with --rebuild, or begin anew with --fresh"
            )
    return False


def read_identity(database: Database) -> dict[str, str]:
    """What the stored URLs depend on, by name. Raises `StoreFailed` if that is damaged."""
    try:
        return _decode_identity(database.get(b"Midentity") or b"")
    except DecodeError as error:
        raise StoreFailed(f"the frontier in {database.directory} is damaged: its identity: {error}; {MEND}") from error


def empty(directory: Path) -> StoreFailed:
    return StoreFailed(
        f"the frontier in {directory} is damaged: it is empty, though the crawl has written output; bring it back with "
        f"`onceover inspect {directory.parent} fsck --repair`, restore a copy, or begin anew with --fresh"
    )


def _is_of_a_frontier(database: Database) -> bool:
    """Whether a database that does not tell its format has what else a frontier's has."""
    return all(key[:1] in SPACES for key in islice(database.keys(b"", b"\xff"), _LOOKED_AT))


def begin_rebuild(database: Database) -> None:
    """From now on only a rebuild may open it. It counts as in use: no queue knows whom its URLs' servers answered."""
    batch = database.batch()
    batch.put(REBUILDING, b"")
    batch.put(IN_USE, b"")
    database.write(batch)


def end_rebuild(database: Database, identity: Mapping[str, str]) -> None:
    batch = database.batch()
    batch.put(b"Midentity", _encode(dict(identity)))
    batch.delete(REBUILDING)
    database.write(batch)


def read_counters(database: Database, *, or_none: bool = False) -> Counters:
    """Raises `StoreFailed` if they are damaged; with `or_none` they are as of nothing then."""
    value = database.get(b"Mcounters")
    if value is None:
        return Counters()
    try:
        return _decode_counters(value)
    except DecodeError as error:
        if or_none:
            return Counters()
        raise StoreFailed(f"the frontier in {database.directory} is damaged: its counters: {error}; {MEND}") from error
