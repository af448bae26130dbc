"""Which command holds a lock, as far as the system tells."""

import os
import re
import shlex
import time
from pathlib import Path
from typing import Final

from crawler.status import duration

_NAMES: Final = ("onceover", "onceover_crawler")
_WIDTH: Final = 200

_MAY_BE_SECRET: Final = re.compile("[=@]")
"""Arguments with these may be the value of a setting, or a URL with a login. Messages may go to a log, or over HTTP."""


def typed_for(pid: str) -> str:
    """What was typed to start a command of ours, and for how long it has run, to end a message. Empty if the system
    does not tell, as of a process in another container."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        started = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        names = [Path(each).name for each in arguments]
        behind = next(names.index(each) for each in _NAMES if each in names) + 1
        shown = ("…" if _MAY_BE_SECRET.search(each) else shlex.quote(each) for each in arguments[behind:])
        typed = " ".join(["onceover", *shown])
        since_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration, AttributeError):
        return ""
    return f": `{typed if len(typed) <= _WIDTH else f'{typed[:_WIDTH]}…'}`, for {duration(max(0.0, since_s))}"
