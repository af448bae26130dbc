"""Checks that a database is a frontier's, and has the format and the settings that it is opened with."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import msgspec

from frontier.leveldb import encoding
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.keys import SPACES
from frontier.leveldb.marks import IN_USE
from frontier.records import Counters
from frontier.terms import Terms, check_identity
from frontier.values import REPAIR_ADVICE, StoreFailed, StoreRefused

FORMAT = 3
_READABLE_FORMATS = (b"2", b"3")
"""Format 2 has no space `C`. Its stores become format 3 when they get one."""
_KEYS_CHECKED = 1000
_FORMAT = b"Mformat"
_IDENTITY = b"Midentity"
_REBUILDING = b"Mrebuilding"

_encode = msgspec.msgpack.Encoder().encode
_decode_counters = encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)
_decode_identity = encoding.decoder(msgspec.msgpack.Decoder(dict[str, str]).decode)


def check_terms(database: Database, terms: Terms) -> bool:
    """Make an empty database a frontier's, if it may begin. Returns whether the URLs of the store have to be renamed.

    Raises `StoreRefused` if the database is not a frontier's, or not on these terms, and `StoreFailed` if it is
    damaged. To be repaired, a damaged identity is written again.
    """
    found = database.get(_FORMAT)
    if found is None:
        _begin(database, terms)
        return False
    if found not in _READABLE_FORMATS:
        readable = " and ".join(map(bytes.decode, _READABLE_FORMATS))
        raise StoreRefused(
            f"{database.directory} has frontier format {found.decode('latin-1')}, this version reads formats "
            f"{readable}; use the version that wrote it, or another directory"
        )
    try:
        stored = read_identity(database)
    except StoreFailed:
        if not terms.to_repair:
            raise
        stored = dict(terms.identity)
        _write_identity(database, stored)
    is_rebuilding = database.get(_REBUILDING) is not None
    if terms.to_rename:
        return is_rebuilding or stored != {**stored, **terms.identity}
    if is_rebuilding:
        raise StoreRefused(
            f"a rebuild of {database.directory} by other rules was interrupted: run the same command with --rebuild "
            "again"
        )
    check_identity(database.directory, stored, terms)
    return False


def _begin(database: Database, terms: Terms) -> None:
    """Write format and identity into a database that has no format."""
    directory = database.directory
    if next(database.keys(b"", b"\xff"), None) is None:
        if not (terms.may_begin or terms.to_repair):
            raise empty_error(directory)
    elif not _looks_like_a_frontier(database):
        raise StoreRefused(f"{directory} holds a LevelDB that is not a frontier's; give the crawl another directory")
    elif not terms.to_repair:
        raise StoreFailed(f"the frontier in {directory} is damaged: it has no format; {REPAIR_ADVICE}")
    batch = database.batch()
    batch.put(_IDENTITY, _encode(dict(terms.identity)))
    mark_format(batch)
    database.write(batch)


def mark_format(batch: Batch) -> None:
    """The store now has what only this format has."""
    batch.put(_FORMAT, str(FORMAT).encode())


def _looks_like_a_frontier(database: Database) -> bool:
    """Whether the first keys of a database without a format are those of a frontier."""
    return all(key[:1] in SPACES for key in islice(database.keys(b"", b"\xff"), _KEYS_CHECKED))


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
    mark_format(batch)
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
