"""Why a process does not answer, as far as the system tells."""

import re
import socket
import struct
from pathlib import Path
from typing import Final

WAIT_S: Final = 10.0
"""How long a crawl may take to listen after it has locked its directory, and to unlock it when it has ended."""
LOOK_AGAIN_S: Final = 0.1

_CREDENTIALS = struct.Struct("3i")
_STOPPED = ("T", "t")
_STATE = re.compile(r"^State:\s+(\w)", re.MULTILINE)


def pid_of(connection: socket.socket) -> int | None:
    """The process at the other end of a connection; None if the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, _, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return pid or None


def why_stopped(pid: int | None, *, is_sent: bool | None = False) -> str | None:
    """What a person should know and do about a process that somebody has stopped; None if it is not stopped.

    The socket keeps a request that was sent (`is_sent`), so the process carries it out later. None if there is none.
    """
    if pid is None or not is_stopped(pid):
        return None
    then = {None: "", True: ", and it then carries out the request", False: "; then try again"}[is_sent]
    return (
        f"process {pid}, which runs the crawl, is stopped (by Ctrl-Z, SIGSTOP or a debugger): `kill -CONT {pid}` lets "
        f"it go on{then}"
    )


def why_silent(pid: int | None, silence_s: float, *, is_sent: bool = False) -> str:
    """What a person should know and do about a process that says nothing. `is_sent`: it may have a request already."""
    if pid is None:
        return f"the process of the crawl does not answer within {silence_s:g} s; look whether it runs"
    stopped = why_stopped(pid, is_sent=is_sent)
    if stopped is not None:
        return stopped
    match state_of(pid):
        case "D":
            return f"process {pid}, which runs the crawl, waits for the disk or the system: try again when that is over"
        case "Z" | "X":
            return f"process {pid}, which ran the crawl, has ended; try again"
    return (
        f"process {pid}, which runs the crawl, does not answer within {silence_s:g} s: it hangs, or the machine is "
        f"overloaded. Try again; if it stays silent, `kill -INT {pid}` lets it finish what is in flight, and "
        f"`kill -9 {pid}` ends it without loss: the next run fetches again what was in flight"
    )


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped the process for a while."""
    return state_of(pid) in _STOPPED


def state_of(pid: int) -> str | None:
    """The state of a process as /proc names it; None if that is unknown."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    match = _STATE.search(status)
    return match[1] if match else None
