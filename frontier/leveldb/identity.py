"""Checks that a database is a frontier's, and has the format and the settings that it is opened with."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import msgspec

from frontier.leveldb.database import Database
from frontier.leveldb.format import encoding
from frontier.leveldb.format.keys import (
    COUNTERS_KEY,
    LEDGER_SPACE,
    PENDING_SPACE,
    POSTPONED_SPACE,
    SPACES,
    end_of,
)
from frontier.leveldb.format.lengths import length_if_short
from frontier.leveldb.marks import IN_USE
from frontier.leveldb.opening import damage_error
from frontier.parts.protocol import Part, lineage_of
from frontier.records import Counters, first_number
from frontier.terms import Terms, check_identity, check_part
from frontier.values import StoreFailed, StoreRefused

FORMAT, FORMAT_OF_PARTS = b"3", b"4"
"""The formats of a store that belongs to no part of a crawl, and of one that does."""
_KEYS_CHECKED = 1000
_RECORDS_CHECKED = 100
"""Of each kind. A later version may have gone on with the store, and so have written some anew."""
_FORMAT = b"Mformat"
_IDENTITY = b"Midentity"
_REBUILDING = b"Mrebuilding"
_PART = b"Mpart"
_LINEAGE = b"Mlineage"
"""The lineage of a store that belongs to no part. It is not stored if it is 0."""
_LINEAGE_BYTES = 3  # 2 in stores of earlier versions
_REGROUPING = b"Mregrouping"

_encode = msgspec.msgpack.Encoder().encode
_decode_counters = encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)
_decode_part = encoding.decoder(msgspec.msgpack.Decoder(Part).decode)
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
    if not terms.to_regroup and is_regrouping(database):
        raise StoreRefused(
            f"{database.directory} is being divided among other parts, and that was interrupted: run the same "
            "`onceover parts` again"
        )
    if found not in (FORMAT, FORMAT_OF_PARTS):
        raise StoreRefused(
            f"{database.directory} has frontier format {found.decode('latin-1')}, this version reads formats "
            f"{FORMAT.decode()} and {FORMAT_OF_PARTS.decode()}; use the version that wrote it, or another directory"
        )
    _check_lengths(database)
    _check_part(database, terms, is_part=found == FORMAT_OF_PARTS)
    try:
        stored = read_identity(database)
    except StoreFailed:
        if not terms.to_repair:
            raise
        stored = dict(terms.identity)
        database.write_one(_IDENTITY, _encode(stored))
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


def _check_lengths(database: Database) -> None:
    """Raise `StoreRefused` if an earlier version has written the store, whose records have fewer values. It wrote the
    same format. In a running crawl these would count as damaged, and so their URLs as lost."""
    ranges = [(space, end_of(space)) for space in (LEDGER_SPACE, PENDING_SPACE, POSTPONED_SPACE)]
    try:
        found = database.first_of_each(ranges, _RECORDS_CHECKED)
    except StoreFailed:
        return  # whoever needs these records tells that they are damaged
    for _, value in chain.from_iterable(found):
        if (lengths := length_if_short(value)) is not None:
            raise StoreRefused(
                f"{database.directory} has records of an earlier version: expected {lengths[1]} values in one, found "
                f"{lengths[0]}; use the version that wrote it, or build it anew from the output with `onceover "
                "frontier rebuild DIR --from-records`, where DIR is the directory of the crawl"
            )


def _check_part(database: Database, terms: Terms, *, is_part: bool) -> None:
    """Raise `StoreRefused` if the store is not the one of the part that is to be opened. To be repaired, a damaged
    record of its part is written again."""
    try:
        stored = read_part(database) if is_part else None
    except StoreFailed:
        if not terms.to_repair or terms.part is None:
            raise
        database.write_one(_PART, _encode(terms.part))
        return
    check_part(database.directory, stored, terms.part)


def read_part(database: Database) -> Part:
    """Which part of its crawl a store belongs to. Raises `StoreFailed` if its record is damaged."""
    return database.decode(_decode_part, database.get(_PART) or b"", "the record of its part")


def set_lineage(database: Database, lineage: int) -> None:
    """From its next opening on, the store gives numbers of another lineage. If it belongs to a part, that has it too,
    and has to be named so."""
    if database.get(_PART) is None:
        database.write_one(_LINEAGE, lineage.to_bytes(_LINEAGE_BYTES, "big"))
    else:
        database.write_one(_PART, _encode(msgspec.structs.replace(read_part(database), lineage=lineage)))


def _begin(database: Database, terms: Terms) -> None:
    """Write format and identity into a database that has no format."""
    directory = database.directory
    if next(database.keys(b"", b"\xff"), None) is None:
        if not (terms.may_begin or terms.to_repair):
            raise empty_error(directory)
    elif any(key[:1] not in SPACES for key in islice(database.keys(b"", b"\xff"), _KEYS_CHECKED)):
        raise StoreRefused(f"{directory} holds a LevelDB that is not a frontier's; give the crawl another directory")
    elif not terms.to_repair:
        raise damage_error(directory, "it has no format")
    batch = database.batch()
    batch.put(_IDENTITY, _encode(dict(terms.identity)))
    batch.put(_FORMAT, FORMAT if terms.part is None else FORMAT_OF_PARTS)
    if terms.part is not None:
        batch.put(_PART, _encode(terms.part))
    elif terms.lineage:
        batch.put(_LINEAGE, terms.lineage.to_bytes(_LINEAGE_BYTES, "big"))
    database.write(batch)


def read_identity(database: Database) -> dict[str, str]:
    """The settings that the stored URLs depend on, by name. Raises `StoreFailed` if they are damaged."""
    return database.decode(_decode_identity, database.get(_IDENTITY) or b"", "its identity")


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


def is_regrouping(database: Database) -> bool:
    """Whether the URLs of the store are being moved to other stores, or it is still being filled from there."""
    return database.get(_REGROUPING) is not None


def begin_regrouping(database: Database) -> None:
    """Mark a store: until `end_regrouping`, nobody else may open it."""
    if database.get(_FORMAT) is not None:
        database.write_one(_REGROUPING, b"")


def end_regrouping(database: Database, *, without: Sequence[bytes] = ()) -> None:
    """Remove the mark, if there is one, and these keys with it."""
    if not is_regrouping(database):
        return
    batch = database.batch()
    for key in (_REGROUPING, *without):
        batch.delete(key)
    database.write(batch)


def read_counters(database: Database, part: Part | None, *, to_repair: bool = False) -> Counters:
    """The counters as a store begins with them: if its lineage is new, with the first number of that."""
    counters = stored_counters(database, to_repair=to_repair)
    lineage = int.from_bytes(database.get(_LINEAGE) or b"", "big") if part is None else part.lineage
    if lineage_of(counters.next_number) != lineage:
        counters.earlier = counters.all_earlier()
        counters.next_number = first_number(lineage)
    return counters


def stored_counters(database: Database, *, to_repair: bool = False) -> Counters:
    """The counters as last written. Raises `StoreFailed` if they are damaged; with `to_repair`, they start at 0."""
    value = database.get(COUNTERS_KEY)
    if value is None:
        return Counters()
    try:
        return database.decode(_decode_counters, value, "its counters")
    except StoreFailed:
        if to_repair:
            return Counters()
        raise
