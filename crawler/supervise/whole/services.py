"""What the parts of a crawl and its supervisor do together, on the supervisor's side."""

from collections.abc import Callable

from config import Loaded
from crawler.engine import Ending
from crawler.parts.line.services import SupervisorService
from crawler.wiring.components.part_limits import supervisor_services

Stop = Callable[[Ending], None]
"""Ends the crawl: no part begins a further URL."""


def make_services(
    loaded: Loaded, parts: int, stop: Stop, *, begun: Callable[[], object] = lambda: None
) -> list[SupervisorService]:
    """The services of a crawl with this configuration. A service may call `stop`. One that shares a limit of pages
    calls `begun` before it hands out any."""
    return supervisor_services(loaded.config, parts, stop, begun=begun)
