"""Whether a database is a frontier's, of the format and the settings that it is opened with, and what it counted."""

from collections.abc import Mapping

import msgspec

from frontier import encoding
from frontier.database import Database
from frontier.encoding import DecodeError
from frontier.store import Counters
from frontier.values import StoreFailed, StoreRefused

FORMAT = 2
REBUILDING = b"Mrebuilding"
IN_USE = b"Min-use"

_encode = msgspec.msgpack.Encoder().encode
_decode_counters = encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)
_decode_identity = encoding.decoder(msgspec.msgpack.Decoder(dict[str, str]).decode)


def check_identity(database: Database, identity: Mapping[str, str], *, to_rebuild: bool) -> bool:
    """Make an empty database a frontier's. Raises `StoreRefused` if it is another's, or a name has another value.

    With `to_rebuild`, the latter is no reason to refuse: it returns whether the store has to be rebuilt.
    """
    directory = database.directory
    found = database.get(b"Mformat")
    if found is None:
        if next(database.keys(b"", b"\xff"), None) is not None:
            raise StoreRefused(
                f"{directory} holds a LevelDB that is not a frontier's; give the crawl another directory"
            )
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
        stored = _decode_identity(database.get(b"Midentity") or b"\x80")
    except DecodeError as error:
        raise StoreFailed(f"the identity of {directory} is damaged ({error}); restore a copy") from error
    if to_rebuild:
        return database.get(REBUILDING) is not None or stored != {**stored, **identity}
    if database.get(REBUILDING) is not None:
        raise StoreRefused(
            f"{directory} was being brought under other rules, and that was broken off: run the same command with "
            "--rebuild again"
        )
    for name, value in identity.items():
        if stored.get(name) != value:
            raise StoreRefused(
                f"{directory} was crawled with {name} = {stored.get(name)!r}, the configuration now says "
                f"{value!r}, or this version of onceover does; URLs would be mistaken for others. "
                "Restore the setting, give all URLs their new names with --rebuild, or begin anew with --fresh"
            )
    return False


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
        raise StoreFailed(
            f"the counters of {database.directory} are damaged ({error}); mend them with `onceover inspect DIR fsck "
            "--repair`, restore a copy, or begin anew with --fresh"
        ) from error
