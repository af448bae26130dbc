"""Binds, finds and checks the socket of a crawl.

The address of a Unix socket has at most 107 bytes. A longer path is shortened through a descriptor of the directory,
as /proc/self/fd/N/NAME, which only Linux has.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from crawler.files.folders import opened_folder

NAME: Final = "control"
NAME_OF_API: Final = "api"
"""The name of the socket of a daemon, in its folder."""
MAX_ADDRESS_BYTES: Final = 107
_UNFINISHED: Final = ".new"
"""Behind the name of a socket that does not listen yet."""
_BACKLOG: Final = 64
_MODE: Final = 0o600


class SocketRefused(Exception):
    """The socket can't be bound, or must not be used. The message says why, and what to do."""


class SocketOfOther(SocketRefused):
    """The socket belongs to another user."""


def listen(directory: Path, name: str = NAME) -> socket.socket:
    """A socket that listens in a directory whose lock the caller holds. Raises `SocketRefused`.

    It gets its name when it listens and has its mode. So whoever finds it can connect, and finds nothing that is open
    to others."""
    path, unfinished = directory / name, directory / f"{name}{_UNFINISHED}"
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            _remove_stale(path)
            _remove_stale(unfinished)
            with address(directory, unfinished.name) as short:
                listening.bind(short)
            # Nobody can connect before `listen`, so nobody can before the mode is set.
            unfinished.chmod(_MODE)
            listening.listen(_BACKLOG)
            listening.setblocking(False)
            unfinished.rename(path)
        except OSError as error:
            raise SocketRefused(f"{path} can't be used as a socket: {error.strerror or error}") from error
        stack.pop_all()
    return listening


def remove(directory: Path, name: str = NAME) -> None:
    """Remove the socket from a directory whose lock the caller holds. One that stays, as on a disk that takes no writes
    any more, harms nobody: the next `listen` takes its place."""
    with suppress(OSError):
        (directory / name).unlink()


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketRefused(
            f"{path} is in the way: expected nothing, or the socket of an earlier run, found {_kind(mode)}; it was not "
            "touched: move it away, then start the crawl again"
        )
    path.unlink()


def check(directory: Path) -> bool:
    """Whether a directory has a socket. Raises `SocketRefused` if there is something else, or others may use it."""
    path = directory / NAME
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError as error:
        raise SocketRefused(
            f"{directory} can't be read by this user; run the command as the user of the crawl"
        ) from error
    if not stat.S_ISSOCK(found.st_mode):
        raise SocketRefused(f"expected the socket of a crawl at {path}, found {_kind(found.st_mode)}; move it away")
    if os.geteuid() not in (found.st_uid, 0):
        user = _user(found.st_uid)
        raise SocketOfOther(
            f"the crawl in {directory} belongs to {user}: run the command as {user} or as root, as with sudo -u {user}"
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & ~_MODE:
        raise SocketRefused(
            f"{path} is open to other users: expected mode 600, found {mode:o}. Check who has changed it, then "
            f"`chmod 600 {path}`"
        )
    return True


@contextmanager
def address(directory: Path, name: str = NAME) -> Iterator[str]:
    """The address of the socket in a directory, while the context lasts. Raises `OSError`."""
    path = directory / name
    if len(os.fsencode(path)) <= MAX_ADDRESS_BYTES:
        yield str(path)
        return
    with opened_folder(directory) as descriptor:
        yield f"/proc/self/fd/{descriptor}/{name}"


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    return "a directory" if stat.S_ISDIR(mode) else "a file"


def _user(number: int) -> str:
    import pwd  # noqa: PLC0415 - not available everywhere

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
