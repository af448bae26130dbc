"""Checks that a database is a frontier's, and has the format and the settings that it is opened with."""

from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from frontier.leveldb import encoding
from frontier.leveldb.database import Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.keys import SPACES
from frontier.leveldb.marks import IN_USE
from frontier.records import Counters
from frontier.values import REPAIR_ADVICE, StoreFailed, StoreRefused

FORMAT = 2
_KEYS_CHECKED = 1000
_FORMAT = b"Mformat"
_IDENTITY = b"Midentity"
_REBUILDING = b"Mrebuilding"

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
    """Make an empty database a frontier's, if it `may_begin`. Returns whether the store has to be rebuilt.

    Raises `StoreRefused` if the database is not a frontier's, or if a name has a value that is neither that in
    `identity` nor one that is `accepted`. With `to_rebuild`, other values are allowed, and the store has to be rebuilt.
    Raises `StoreFailed` if the database is damaged. With `to_repair`, a damaged identity is written again.
    """
    found = database.get(_FORMAT)
    if found is None:
        _begin(database, identity, to_repair=to_repair, may_begin=may_begin)
        return False
    if found != str(FORMAT).encode():
        raise StoreRefused(
            f"{database.directory} has frontier format {found.decode('latin-1')}, this version reads format {FORMAT}; "
            "use the version that wrote it, or another directory"
        )
    try:
        stored = read_identity(database)
    except StoreFailed:
        if not to_repair:
            raise
        stored = dict(identity)
        _write_identity(database, stored)
    is_rebuilding = database.get(_REBUILDING) is not None
    if to_rebuild:
        return is_rebuilding or stored != {**stored, **identity}
    if is_rebuilding:
        raise StoreRefused(
            f"a rebuild of {database.directory} by other rules was interrupted: run the same command with --rebuild "
            "again"
        )
    _check_values(database.directory, stored, identity, accepted)
    return False


def _begin(database: Database, identity: Mapping[str, str], *, to_repair: bool, may_begin: bool) -> None:
    """Write format and identity into a database that has no format."""
    directory = database.directory
    if next(database.keys(b"", b"\xff"), None) is None:
        if not (may_begin or to_repair):
            raise empty_error(directory)
    elif not _looks_like_a_frontier(database):
        raise StoreRefused(f"{directory} holds a LevelDB that is not a frontier's; give the crawl another directory")
    elif not to_repair:
        raise StoreFailed(f"the frontier in {directory} is damaged: it has no format; {REPAIR_ADVICE}")
    batch = database.batch()
    batch.put(_IDENTITY, _encode(dict(identity)))
    batch.put(_FORMAT, str(FORMAT).encode())
    database.write(batch)


def _looks_like_a_frontier(database: Database) -> bool:
    """Whether the first keys of a database without a format are those of a frontier."""
    return all(key[:1] in SPACES for key in islice(database.keys(b"", b"\xff"), _KEYS_CHECKED))


def _check_values(
    directory: Path, stored: Mapping[str, str], identity: Mapping[str, str], accepted: Mapping[str, Collection[str]]
) -> None:
    for name, value in identity.items():
        if stored.get(name) != value and stored.get(name) not in accepted.get(name, ()):
            raise StoreRefused(
                f"{directory} was crawled with {name} = {stored.get(name)!r}; the configuration, or this version of "
                f"onceover, now says {value!r}. URLs would be mistaken for others. Restore the setting, rename all "
                "URLs with --rebuild, or start over with --fresh"
            )


def read_identity(database: Database) -> dict[str, str]:
    """The settings that the stored URLs depend on, by name. Raises `StoreFailed` if they are damaged."""
    try:
        return _decode_identity(database.get(_IDENTITY) or b"")
    except DecodeError as error:
        raise StoreFailed(
            f"the frontier in {database.directory} is damaged: its identity: {error}; {REPAIR_ADVICE}"
        ) from error


def _write_identity(database: Database, identity: Mapping[str, str]) -> None:
    batch = database.batch()
    batch.put(_IDENTITY, _encode(dict(identity)))
    database.write(batch)


def empty_error(directory: Path) -> StoreFailed:
    """The error for a store that is empty although the crawl has output."""
    return StoreFailed(
        f"the frontier in {directory} is damaged: it is empty, but the crawl has written output; recover it with "
        f"`onceover inspect {directory.parent} fsck --repair`, restore a copy, or start over with --fresh"
    )


def begin_rebuild(database: Database) -> None:
    """From now on only a rebuild may open the database. It counts as in use, because the new queues do not know whose
    servers have just been asked."""
    batch = database.batch()
    batch.put(_REBUILDING, b"")
    batch.put(IN_USE, b"")
    database.write(batch)


def end_rebuild(database: Database, identity: Mapping[str, str]) -> None:
    batch = database.batch()
    batch.put(_IDENTITY, _encode(dict(identity)))
    batch.delete(_REBUILDING)
    database.write(batch)


def read_counters(database: Database, *, to_repair: bool = False) -> Counters:
    """The counters as last written. Raises `StoreFailed` if they are damaged; with `to_repair`, they start at 0."""
    value = database.get(b"Mcounters")
    if value is None:
        return Counters()
    try:
        return _decode_counters(value)
    except DecodeError as error:
        if to_repair:
            return Counters()
        raise StoreFailed(
            f"the frontier in {database.directory} is damaged: its counters: {error}; {REPAIR_ADVICE}"
        ) from error
