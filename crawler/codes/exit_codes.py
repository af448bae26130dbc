"""Exit codes of the command, which refusals of requests have, too."""

from typing import Final

COMPLETE: Final = 0
FAILED: Final = 1
"""Also of what was asked rightly, and can't be done."""
USAGE: Final = 2
LIMIT: Final = 3
STOPPED: Final = 4
REFUSED: Final = 5
AWAY: Final = 6
