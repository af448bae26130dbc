"""The errors of a system that can start no process now."""

import errno
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SCARCE: Final[Mapping[int, str]] = MappingProxyType(
    {
        errno.EAGAIN: "end other processes, or raise their limit (`ulimit -u`, TasksMax of systemd)",
        errno.ENOMEM: "free some memory",
        errno.EMFILE: "raise the limit of open files (`ulimit -n`, LimitNOFILE of systemd)",
        errno.ENFILE: "raise the limit of open files of all processes (`sysctl fs.file-max`)",
    }
)
"""What to do about each. They pass when other processes end, or need less."""
