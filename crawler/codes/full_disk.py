"""The errors of a full disk."""

import errno
from typing import Final

DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
"""The second one comes when a user's quota of a disk is used up."""
