"""How long suites and tests wait. Machines differ tenfold and are loaded, so this is minutes for what takes seconds."""

from typing import Final

MAX_WAIT_S: Final = 600.0
"""A test that waits longer hangs."""
