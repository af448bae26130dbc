"""How long tests wait. Machines differ tenfold and are loaded, so this is minutes for what takes seconds."""

MAX_WAIT_S = 600.0
"""A test that waits longer hangs."""
