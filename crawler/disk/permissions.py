"""Why a folder is missing, or can't be read or written to, or a file can't be locked, and what to do; and who holds a
lock."""

import errno
import fcntl
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from crawler.codes.full_disk import DISK_FULL


def why_no_place(directory: Path, folders: Sequence[Path], *, is_foreign: bool) -> str | None:
    """Say why a directory can't be a crawl's, with folders in it that need not exist; None if it can. What is in one
    that `is_foreign` may be anything."""
    if missing := next(filter(None, map(why_missing, (directory, *folders))), None):
        return missing
    files = [path for path in folders if not is_foreign and path.exists() and not path.is_dir()]
    then = "move it away, then run the same command again"
    if files:
        return f"expected a folder, found a file: {files[0]}; {then}"
    pipe = None if is_foreign else next(_pipes(folders), None)
    return None if pipe is None else f"expected a file, found a pipe: {pipe}; {then}"


def _pipes(folders: Sequence[Path]) -> Iterator[str]:
    """Pipes where files are expected. Whoever reads one waits for its end, which may never come."""
    for folder in folders:
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            with os.scandir(folder) as entries:
                yield from (each.path for each in entries if _is_pipe(each))


def _is_pipe(entry: os.DirEntry[str]) -> bool:
    try:
        return not (entry.is_file() or entry.is_dir()) and stat.S_ISFIFO(entry.stat().st_mode)
    except OSError:
        return False  # a link that leads nowhere: only who reads it needs to know


def why_missing(folder: Path) -> str | None:
    """For people; None unless it is a link to another disk, which is not there."""
    if not folder.is_symlink() or folder.exists():
        return None
    return (
        f"{folder} is a link to {folder.readlink()}, which is missing: mount its disk, or restore a copy there; if all "
        "of that is lost, delete the link"
    )


def found_instead(path: Path, *, is_folder: bool) -> str:
    """What to say where a folder was found, and a file was expected, or the other way round."""
    if is_folder:
        return f"expected a file, found a folder: {path}; move it away, or name another one"
    places = (path, *path.parents)
    if (why := next(filter(None, map(why_missing, places)), None)) is not None:
        return why
    found = next((each for each in places if each.exists() and not each.is_dir()), path)
    return f"expected a folder, found a file: {found}; move it away, or name another one"


def why_not_writable(folder: Path) -> str | None:
    """Say why this user may not write there; None if he may."""
    if os.access(folder, os.W_OK):
        return None
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"{folder} can't be written to: its file system is mounted for reading alone. Mount it for writing, too"
    found = folder.stat()
    if found.st_uid == os.geteuid():
        return f"{folder} can't be written to, not even by you, its owner: `chmod -R u+w {shlex.quote(str(folder))}`"
    owner = _owner(folder, found.st_uid)
    return f"{folder} can't be written to by this user: it belongs to {owner}; run the command as {owner}"


def to_write_there(error: OSError) -> str:
    """What lets this user write where the system has refused it with that error."""
    return "mount its file system for writing, too" if error.errno == errno.EROFS else "change its permissions"


def why_not_readable(folder: Path, *, with_files: bool) -> str | None:
    """For people; None if this user may read the folder, and perhaps the files in it."""
    if not os.access(folder, os.R_OK | os.X_OK):
        return f"{folder} can't be read by this user; run the command as the user of the crawl"
    files = folder.iterdir() if with_files else ()
    denied = next((path for path in files if path.is_file() and not os.access(path, os.R_OK)), None)
    return None if denied is None else f"{denied} can't be read by this user{instead_of_denied(denied)}"


def instead_of_denied(path: Path) -> str:
    """What to do, for people, when the access to a file was denied."""
    for each in (path, path.parent):
        with suppress(OSError):
            if (user := each.stat().st_uid) != os.geteuid():
                owner = _owner(each, user)
                return f": {each} belongs to {owner}; run the command as {owner}, or change its permissions"
    return "; change its permissions"


def why_not_lockable(path: Path, error: OSError) -> str:
    """Say why it can't be locked, for an error other than that another process has locked it."""
    return (
        f"{path} can't be locked: {error.strerror}. Without locks, two processes might change the same files: choose a "
        "directory on a file system that has them (flock), such as a local disk"
    )


def lock_now(file: int | IO[bytes], path: Path, *, refused: Callable[[str], Exception], in_use: str) -> None:
    """Lock an open file or folder for this process alone, without waiting. Raises `refused`, with `in_use` if another
    process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise refused(in_use) from error
    except OSError as error:
        raise refused(why_not_lockable(path, error)) from error


def _owner(folder: Path, number: int) -> str:
    try:
        return folder.owner()
    except KeyError:
        return f"user {number}"


def read_holder(lock: int) -> str:
    """Who holds an open lock; if nobody does, what the last one has left in it."""
    return os.pread(lock, 32, 0).decode("ascii", "replace").strip()


def write_holder(lock: int, path: Path, holder: str, *, must: bool) -> None:
    """Write into the open lock at `path` who holds it. Unless it `must`, a full disk is no error: others then learn
    less, but the holder may be the command that makes room. Raises `OSError`."""
    os.ftruncate(lock, 0)
    try:
        os.pwrite(lock, holder.encode(), 0)
    except OSError as error:
        if must or error.errno not in DISK_FULL:
            error.filename = str(path)  # the system knows the descriptor alone
            raise
