"""Copies of an open LevelDB by hard links."""

import os
import shutil
import threading
from pathlib import Path

import plyvel

from frontier.leveldb.linking import link_database, link_tables
from frontier.leveldb.opening import open_leveldb

KEYS = 300


def values(database: plyvel.DB) -> dict[bytes, bytes]:
    with database.iterator() as items:
        return dict(items)


def copy_of(source: Path, folder: Path) -> dict[bytes, bytes]:
    """What a copy holds that is made now, up to the lengths that it had then."""
    links, copy = folder / "links", folder / "copy"
    links.mkdir(parents=True)
    link_tables(source, links)
    lengths = link_database(source, links)
    copy.mkdir()
    for name, size in lengths.items():
        (copy / name).write_bytes((links / name).read_bytes()[:size])
    database = open_leveldb(copy)
    try:
        return values(database)
    finally:
        database.close()
        shutil.rmtree(folder)


def test_a_copy_holds_what_was_written_before_it_also_while_tables_are_compacted(tmp_path: Path) -> None:
    source = tmp_path / "db"
    database = open_leveldb(source, write_buffer_bytes=1 << 16)
    ended = threading.Event()

    def compact() -> None:
        while not ended.is_set():
            database.compact_range()

    thread = threading.Thread(target=compact)
    thread.start()
    try:
        for number in range(20):
            with database.write_batch() as batch:
                for key in range(KEYS):
                    batch.put(b"%d" % (key * (number + 1)), os.urandom(200))
            assert copy_of(source, tmp_path / f"at-{number}") == values(database)
    finally:
        ended.set()
        thread.join()
        database.close()


def test_what_is_written_later_is_not_in_the_copy(tmp_path: Path) -> None:
    source, links = tmp_path / "db", tmp_path / "links"
    links.mkdir()
    database = open_leveldb(source)
    database.put(b"before", b"1")
    lengths = link_database(source, links)
    database.put(b"after", b"2")
    database.close()
    (tmp_path / "copy").mkdir()
    for name, size in lengths.items():
        (tmp_path / "copy" / name).write_bytes((links / name).read_bytes()[:size])
    copy = open_leveldb(tmp_path / "copy")
    assert values(copy) == {b"before": b"1"}
    copy.close()
