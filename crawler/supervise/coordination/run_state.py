"""How far a run is."""

import msgspec


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """What a coordinator must know of the run if another one has decided before."""

    pages_before: int | None = None
    """Pages of earlier runs; None until whoever shares a limit of pages knows them."""
    elapsed_s: float = 0.0
    """Since all parts were open first."""
