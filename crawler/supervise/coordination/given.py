"""The configuration that the parts of a crawl were given, and what the supervisor itself does by it."""

from collections.abc import Callable

import msgspec

from config import Config, Loaded
from crawler.engine import Ending
from crawler.parts.line.services import SupervisorServices
from crawler.parts.sharing.configuration_giver import ConfigurationGiver
from crawler.parts.sharing.page_bank import PageBank
from crawler.supervise.coordination.limits import CrawlLimits
from crawler.supervise.coordination.openings import Openings
from crawler.supervise.preparing import Plan
from crawler.wiring.components.part_limits import supervisor_services


class GivenConfiguration:
    """What a part gets that is started now."""

    def __init__(self, plan: Plan, stop: Callable[[Ending], None], on_begun: Callable[[], object]) -> None:
        """A limit that is reached calls `stop`. `on_begun` is called when `pages_before` is known, and no page was
        allowed yet."""
        self.plan = plan
        self.limits = CrawlLimits(plan.loaded.config.limits)
        self.giver = ConfigurationGiver()
        self.openings = Openings()
        services = supervisor_services(plan.loaded.config, plan.parts, stop, begun=on_begun)
        self._bank = next((each for each in services if isinstance(each, PageBank)), None)
        self.services = SupervisorServices([*services, self.giver])

    @property
    def pages_before(self) -> int | None:
        """Pages of earlier runs, if there is a limit of pages and they are known."""
        return None if self._bank is None else self._bank.pages_before

    def go_on(self, pages_before: int | None) -> None:
        """The run has begun after so many pages of earlier runs, if that is known."""
        if self._bank is not None and pages_before is not None:
            self._bank.go_on(pages_before)

    def replace(self, loaded: Loaded) -> None:
        """Let a configuration hold for parts that start from now on, and for the supervisor."""
        self.plan = msgspec.structs.replace(self.plan, loaded=loaded)
        limits = loaded.config.limits
        self.limits.replace(limits)
        if self._bank is not None and limits.pages is not None:
            self._bank.set_limit(limits.pages)


def counts_pages(config: Config) -> bool:
    """Whether the parts count pages together. They do from their start, or not at all."""
    return config.limits.pages is not None
