"""Makes what the parts of a crawl do together with their supervisor to keep its limits: both sides."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from config import Config
from crawler.background import in_background
from crawler.engine import Ending
from crawler.parts.line.services import PartService, SupervisorService
from crawler.parts.sharing.address_authority import AddressAuthority
from crawler.parts.sharing.address_holder import AddressHolder
from crawler.parts.sharing.page_allowance import LimitedFrontier, PageAllowance
from crawler.parts.sharing.page_bank import PageBank
from crawler.wiring.queue_settings import grouping
from crawler.wiring.sharing import LeaseSource
from frontier import Frontier, PartLinks

_IP: Final = "ip"


async def share_limits(config: Config, links: PartLinks, leases_from: Frontier, stack: AsyncExitStack) -> LeaseSource:
    """The side of the part with these links. Its leases come from a frontier, as far as the limits of the whole crawl
    allow. `stack` ends it."""
    services: list[PartService] = []
    if _IP in grouping(config).limits:
        holder = AddressHolder()
        stack.callback(holder.close)
        links.reserve(holder)
        services.append(holder)
    if config.limits.pages is None:
        stored = links.pages.allowance
        if stored.allowed is not None:  # an earlier run had a limit, and this one may settle more pages
            await links.pages.set_allowance(msgspec.structs.replace(stored, allowed=None, total=0))
        return LeaseSource(frontier=leases_from, links=links, services=tuple(services))
    allowance = PageAllowance(links.pages, is_idle=lambda: links.is_idle)
    services.append(allowance)
    await stack.enter_async_context(in_background(allowance.run()))
    limited = LimitedFrontier(leases_from, allowance)
    return LeaseSource(frontier=limited, owe=allowance.owe, links=links, services=tuple(services))


def supervisor_services(
    config: Config, parts: int, stop: Callable[[Ending], None], *, begun: Callable[[], object]
) -> list[SupervisorService]:
    """The supervisor's side. A limit that is reached calls `stop`, and one of pages calls `begun` before it hands out
    any."""
    services: list[SupervisorService] = []
    if config.limits.pages is not None:
        limit_of_pages = config.limits.pages
        services.append(
            PageBank(limit=limit_of_pages, parts=parts, on_reached=lambda: stop(Ending.LIMIT), on_begun=begun)
        )
    if (limit := grouping(config).limits.get(_IP)) is not None:
        services.append(AddressAuthority(parts=parts, at_once=limit.at_once or 1, rest_s=limit.rest_s))
    return services
