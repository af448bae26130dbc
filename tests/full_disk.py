"""A disk without room, for tests: put `no_space` in place of a call of the system."""

import errno
import os
from typing import NoReturn


def no_space(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
