"""Opens the crawl in a directory for commands that inspect, change or repair it.

A database can't be opened without writing. So a directory without write permission, or on a full disk, is read
through a shadow: a temporary directory with copies of the files of frontier and visited set, and links to the tables of
LevelDB.
"""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from config import ConfigError, Loaded
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.free_space import free_bytes
from crawler.disk.layout import output_directories, part_at, read_layout, whole_crawl
from crawler.wiring.configuration import load
from crawler.wiring.plugins.blame import blaming, plugins_of
from crawler.wiring.storage import open_state
from frontier.state import FrontierState

_ROOM_BYTES: Final = 1_000_000
"""The space for what a frontier writes when it is opened, besides its logs."""


@contextmanager
def open_stored(path: Path, *, to_change: bool = False) -> Iterator[tuple[CrawlDirectory, Loaded, FrontierState]]:
    """The state of a crawl that does not run, which is locked in this context.

    With `to_change` it must be writable. Otherwise changes of it may be lost.
    """
    with (
        lock_stored(path, to_change=to_change) as (directory, loaded),
        closing(open_state(loaded.config, directory)) as state,
    ):
        yield directory, loaded, state


@contextmanager
def lock_stored(
    path: Path, *, to_repair: bool = False, to_change: bool = False, may_begin: bool = False
) -> Iterator[tuple[CrawlDirectory, Loaded]]:
    """A crawl that does not run, or a part of one, locked, with the configuration of its last run. To repair it, its
    output is enough. A part that has nothing is refused, because its disk may be missing, unless it `may_begin`
    anew."""
    directory = CrawlDirectory(path, to="change" if to_repair or to_change else "read")
    configuration = _configuration(path)
    directory.check_place()
    refuse_without_configuration(path)
    has_state, has_output = directory.has_state(), directory.has_output()
    is_part = part_at(path) is not None
    if has_output and not has_state and not to_repair:
        raise DirectoryRefused(
            f"the crawl in {path} has lost its frontier: expected {directory.frontier}. "
            f"`onceover inspect {whole_crawl(path)} fsck --repair` rebuilds it from the output"
        )
    if not configuration.exists() or not (has_state or has_output or (is_part and may_begin)):
        raise no_crawl(path)
    with _shadow(directory, needed=not to_repair and not to_change) as directory, directory:
        loaded = stored_configuration(path)
        if to_repair and loaded.unread:  # it judges links again, for which it needs the seeds
            raise ConfigError(loaded.unread)
        with blaming(plugins_of(loaded.config)):
            yield directory, loaded


def no_crawl(path: Path) -> DirectoryRefused:
    """The error that there is none in a directory, or nothing of a part."""
    frontier = CrawlDirectory(path).frontier
    part, whole = part_at(path), whole_crawl(path)
    layout = None if part is None else read_layout(whole)
    if part is not None and layout is not None and part.number in layout.elsewhere(whole):
        return DirectoryRefused(
            f"part {part.number} of the crawl in {whole} is on another machine: use this command there. `onceover "
            f"cluster status {shlex.quote(str(whole))}` says which one runs it"
        )
    if part is not None and _configuration(path).exists():
        return DirectoryRefused(
            f"the part of the crawl in {path} has no frontier: expected {frontier}. Mount its disk; if that is lost, "
            f"`onceover inspect {shlex.quote(str(whole))} fsck --repair` rebuilds the part from the "
            "output of all parts"
        )
    return DirectoryRefused(
        f"there is no crawl in {path}: expected {_configuration(path)} and {frontier}; {_named_instead(path)}"
    )


def refuse_without_configuration(path: Path) -> None:
    """Raise `DirectoryRefused` if there is a crawl in a directory, but no configuration of its last run."""
    configuration = _configuration(path)
    if not configuration.exists() and has_crawl(path):
        raise DirectoryRefused(
            f"the crawl in {path} has no configuration: expected {configuration}. Either it was stopped before it "
            f"had begun, or that file is lost: restore it, or run `onceover crawl CONFIG --dir {configuration.parent}` "
            "with the settings of the crawl"
        )


def has_crawl(path: Path) -> bool:
    """Whether a crawl has any state or output in a directory, or in those of its parts. Raises `DirectoryRefused`."""
    return any(each.has_state() or each.has_output() for each in map(CrawlDirectory, output_directories(path)))


def stored_configuration(path: Path) -> Loaded:
    """The configuration of the last run of the crawl in a directory, or of the one that the directory is a part of.
    Raises `ConfigError`, and `DirectoryRefused` if there is none."""
    refuse_without_configuration(path)
    if not _configuration(path).exists():
        raise no_crawl(path)
    return load(_configuration(path), environ={}, require_seeds=False, require_contact=False)


def _configuration(path: Path) -> Path:
    """Where the configuration is. The parts of a crawl share one."""
    return CrawlDirectory(whole_crawl(path)).configuration


@contextmanager
def lock_directory(path: Path, *, to_change: bool) -> Iterator[None]:
    """Keep others from running the crawl in a directory while this context lasts. Raises `DirectoryInUse`."""
    directory = CrawlDirectory(path, to="change" if to_change else "read")
    with directory if to_change or _is_writable(directory) else _check_unused(directory):
        yield


def is_of_daemon(path: Path) -> bool:
    """Whether a directory is the folder of a daemon, and not that of a crawl."""
    try:
        return (path / "daemon").is_dir() and not CrawlDirectory(path).configuration.exists()
    except PermissionError:
        return False  # the next that looks there says why


def _named_instead(path: Path) -> str:
    if is_of_daemon(path):
        return (
            f"this is the folder of a daemon: name the directory of one of its crawls, as {path}/crawls/NAME; "
            f"`onceover status {shlex.quote(str(path))}` lists them"
        )
    if crawls := sorted(each.parent for each in path.glob("*/crawl.toml")):  # such as the runs of a schedule
        return f"there are crawls in it: name one of them, as {crawls[-1]}"
    return 'name the directory of a crawl. One with frontier.backend = "memory" keeps no state'


@contextmanager
def _shadow(directory: CrawlDirectory, *, needed: bool) -> Iterator[CrawlDirectory]:
    """A shadow of a directory that can't be written to; the directory itself if it can, or no shadow is `needed`."""
    if not needed or _is_writable(directory):
        yield directory
        return
    with _check_unused(directory), tempfile.TemporaryDirectory(prefix="onceover-") as name:
        shadow = CrawlDirectory(Path(name) / "crawl", original=directory.path)
        shadow.path.mkdir()
        shadow.lock.touch()
        for path in directory.path.iterdir():
            if path in (directory.frontier, directory.visited):
                shutil.copytree(path, shadow.path / path.name, copy_function=_link_or_copy)
            elif path != directory.lock:
                (shadow.path / path.name).symlink_to(path.absolute())
        for folder in (shadow.frontier, shadow.visited):
            for path in (folder, *folder.rglob("*")):
                if path.is_dir():
                    path.chmod(0o700)
        yield shadow


def _is_writable(directory: CrawlDirectory) -> bool:
    """Whether the frontier can be opened here: LevelDB then writes its logs anew, as tables."""
    paths = (directory.path, directory.frontier, directory.lock)
    if not all(os.access(path, os.W_OK) for path in paths if path.exists()):
        return False
    logs = sum(path.stat().st_size for path in directory.frontier.glob("*.log"))
    return not directory.path.exists() or free_bytes(directory.path) >= logs + _ROOM_BYTES


@contextmanager
def _check_unused(directory: CrawlDirectory) -> Iterator[None]:
    """Make sure that no crawl runs there, which another user may have started. Raises `DirectoryRefused`."""
    if not os.access(directory.lock, os.R_OK):
        yield
        return
    with directory.lock.open() as lock:
        directory.flock(lock.fileno())
        yield


def _link_or_copy(source: str, target: str) -> None:
    """Tables are linked: they may be large, and nothing writes to them."""
    if source.endswith(".ldb"):
        Path(target).symlink_to(Path(source).absolute())
    else:
        shutil.copyfile(source, target)
