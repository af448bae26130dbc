"""Opens the crawl of a directory for commands that look into it, act on it or mend it.

LevelDB can't be opened without writing. So what can't be written to is looked into through a shadow: a directory of its
own, in which the tables are links and the few other files of LevelDB copies.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config import Config, Loaded, load
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.wiring.storage import open_leveldb
from frontier.leveldb.store import LevelDBStore


@contextmanager
def opened(path: Path, *, to_change: bool = False) -> Iterator[tuple[CrawlDirectory, Config, LevelDBStore]]:
    """The store of a crawl that does not run, which is locked meanwhile. It must be writable only if it is `to_change`;
    else what is changed of it may be forgotten."""
    with locked(path, to_change=to_change) as (directory, loaded):
        store = open_leveldb(loaded.config, directory)
        try:
            yield directory, loaded.config, store
        finally:
            store.close()


@contextmanager
def locked(path: Path, *, to_repair: bool = False, to_change: bool = False) -> Iterator[tuple[CrawlDirectory, Loaded]]:
    """A crawl that does not run, with the configuration it was last run with. To repair it, its output is enough."""
    directory = CrawlDirectory(path)
    has_state, has_output = directory.has_state(), directory.has_output()
    if not directory.configuration.exists() and (has_state or has_output):
        raise DirectoryRefused(
            f"the crawl in {path} has lost its configuration: expected {directory.configuration}. Bring that file "
            f"back, or run `onceover crawl CONFIG --dir {path}` with the settings that it had"
        )
    if has_output and not has_state and not to_repair:
        raise DirectoryRefused(
            f"the crawl in {path} has lost its frontier: expected {directory.frontier}, as frontier.backend leveldb "
            f"leaves it. `onceover inspect {path} fsck --repair` makes it anew from the output"
        )
    if not directory.configuration.exists() or not (has_state or has_output):
        raise DirectoryRefused(
            f"there is no crawl to look into in {path}: expected {directory.configuration} and {directory.frontier}, "
            "as frontier.backend leveldb leaves them; name the directory of a crawl"
        )
    with _shadow(directory, needed=not to_repair and not to_change) as directory, directory:
        yield directory, load(directory.configuration, environ={}, require_seeds=False)


@contextmanager
def _shadow(directory: CrawlDirectory, *, needed: bool) -> Iterator[CrawlDirectory]:
    """A stand-in for a directory that can't be written to; the directory itself where it can, or none is `needed`."""
    places = (directory.path, directory.frontier, directory.lock)
    if not needed or all(os.access(place, os.W_OK) for place in places if place.exists()):
        yield directory
        return
    with _in_use_by_nobody(directory), tempfile.TemporaryDirectory(prefix="onceover-") as name:
        shadow = CrawlDirectory(Path(name) / "crawl")
        shadow.path.mkdir()
        shadow.lock.touch()
        for place in directory.path.iterdir():
            if place in (directory.frontier, directory.visited):
                shutil.copytree(place, shadow.path / place.name, copy_function=_copied)
            elif place != directory.lock:
                (shadow.path / place.name).symlink_to(place.absolute())
        for folder in (shadow.frontier, shadow.visited):
            for place in (folder, *folder.rglob("*")):
                if place.is_dir():
                    place.chmod(0o700)
        yield shadow


@contextmanager
def _in_use_by_nobody(directory: CrawlDirectory) -> Iterator[None]:
    """A crawl may run there that has the right to write. Raises `DirectoryRefused`."""
    if not os.access(directory.lock, os.R_OK):
        yield
        return
    with directory.lock.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DirectoryRefused(
                f"the crawl directory {directory.path} is in use by process {lock.read(32).strip() or 'unknown'}; "
                "wait until it ends"
            ) from error
        yield


def _copied(source: str, target: str) -> None:
    """Tables are never written to again; they may be large."""
    if source.endswith(".ldb"):
        Path(target).symlink_to(Path(source).absolute())
    else:
        shutil.copyfile(source, target)
