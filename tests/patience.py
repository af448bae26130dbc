"""How long tests wait. Machines differ tenfold and are loaded: a bound tells a test that hangs, and never one that is
slow, so it is minutes for what takes seconds."""

PATIENCE_S = 600.0
