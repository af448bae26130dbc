"""Replaces itself by the browser: `python -I launch.py PARENT_PID PIPE_FD BROWSER ARGUMENT...`

A process can bind its life to its parent, and leave the network, before it executes the browser; from outside, that
would be a race. An interpreter of its own runs this as a file, so it imports nothing of ours.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x1000_0000
_CLONE_NEWNET = 0x4000_0000
_FIRST_FD = 3
"""The browser reads from descriptor 3 and writes to 4 (`--remote-debugging-pipe`)."""


def main() -> None:
    parent, pipe, *command = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    libc = ctypes.CDLL(None)
    _die_with(parent, libc)
    if _may_leave_network(libc):
        _leave_network(libc)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(pipe, _FIRST_FD)
    os.dup2(pipe, _FIRST_FD + 1)
    os.closerange(_FIRST_FD + 2, max(pipe, _FIRST_FD + 1) + 1)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _die_with(parent: int, libc: ctypes.CDLL) -> None:
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended in the meantime
        os._exit(1)


def _may_leave_network(libc: ctypes.CDLL) -> bool:
    """Whether `_leave_network` would succeed, tried in a child: if it fails half-way, the process has lost its user."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if _leave_network(libc) else 1)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _leave_network(libc: ctypes.CDLL) -> bool:
    """Move this process to a network without an active interface; returns whether the system allows it."""
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib takes longer to load
            file.write(text)
    return True


if __name__ == "__main__":
    main()
