"""How the process of a trial ends before its time: one whose set lies on a server deletes that first."""

from typing import Final

from crawler.compare.measure.trial import Trial
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.loading import PluginRefused

_DELETING_S: Final = 12.0
"""Somewhat longer than a server may take to answer."""
_STOPPING_S: Final = 1.0
"""After this a crawl drops what is in flight."""


def interrupts_s(trial: Trial) -> tuple[float, ...]:
    """After how many seconds each the process is interrupted again, and at last ended; none if it ends at once."""
    if not _is_on_server(trial):
        return ()
    return (_STOPPING_S, _DELETING_S) if trial.kind == "crawl" else (_DELETING_S,)


def to_clean_up_s(trial: Trial) -> float:
    """How long the process of a trial may take to end."""
    return sum(interrupts_s(trial))


def _is_on_server(trial: Trial) -> bool:
    try:
        return "server" in descriptor(VISITED, trial.competitor.backend).needs
    except (KeyError, PluginRefused):
        return False  # its process says so
