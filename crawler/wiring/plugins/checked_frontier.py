"""Checks what a frontier of others gives when it is opened. A wrong value would only show where somebody uses it."""

from typing import Any, Final

from crawler.wiring.plugins.failures import checked, failed
from crawler.wiring.plugins.loading import NamedBackend
from crawler.wiring.plugins.methods import find_misfit, methods_of, missing_methods
from frontier import Frontier, FrontierStats
from frontier.pauses import Pauses
from frontier.state import FrontierState

_METHODS: Final = methods_of(Frontier)


def check_state(state: FrontierState, backend: NamedBackend) -> FrontierState:
    """The state, if it has notes and describes itself. Otherwise it is closed. Raises `PluginFailed`."""
    if not backend.is_ours:
        try:
            if missing := [name for name in ("identity", "notes") if getattr(state, name, None) is None]:
                found = type(state).__name__
                raise failed(backend.title, f"expected a state with {' and '.join(missing)}, found {found}")
            checked(state.describe(), FrontierStats, "from describe", backend.title)
        except BaseException:
            state.close()
            raise
    return state


def check_frontier(opened: Any, backend: NamedBackend) -> Frontier:
    """What `open_frontier` has returned, if it is a frontier. Raises `PluginFailed` otherwise."""
    if not backend.is_ours:
        found = f"expected a frontier from open_frontier, found {type(opened).__name__}"
        if missing := missing_methods(opened, _METHODS):
            raise failed(backend.title, f"{found}, which has no {', '.join(missing)}")
        if misfit := find_misfit(opened, _METHODS):
            raise failed(backend.title, misfit)
        checked(getattr(opened, "pauses", None), Pauses, f"as pauses of {type(opened).__name__}", backend.title)
        checked(opened.describe(), FrontierStats, "from describe", backend.title)
    frontier: Frontier = opened
    return frontier
