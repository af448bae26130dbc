"""What a part does together with the supervisor of its crawl: both sides of the services, from the configuration."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from config import Config
from crawler.engine import Ending
from crawler.parts.line.services import PartService, SupervisorService
from crawler.parts.sharing.address_authority import AddressAuthority
from crawler.parts.sharing.address_holder import AddressHolder
from crawler.parts.sharing.limited_frontier import LimitedFrontier
from crawler.parts.sharing.page_allowance import PageAllowance
from crawler.parts.sharing.page_bank import PageBank
from crawler.wiring.queue_settings import grouping
from frontier import Frontier, InParts, PartLinks

_IP = "ip"


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """A part's side."""

    frontier: Frontier
    """The one to take leases from."""
    allowance: PageAllowance | None = None
    services: tuple[PartService, ...] = ()


async def share(config: Config, frontier: Frontier, stack: AsyncExitStack) -> Shared:
    """What the part with this frontier shares with the others; nothing if the crawl is not in parts. `stack` ends
    it."""
    links = frontier.part_links if isinstance(frontier, InParts) else None
    if links is None:
        return Shared(frontier=frontier)
    services: list[PartService] = []
    if _IP in grouping(config).limits:
        holder = AddressHolder()
        stack.callback(holder.close)
        links.reserve(holder)
        services.append(holder)
    allowance = None
    if config.limits.pages is None:
        await _lift_limit(links)
    else:
        allowance = PageAllowance(links.pages, is_idle=lambda: links.is_idle)
        services.append(allowance)
        frontier = LimitedFrontier(frontier, allowance)
        obeying = asyncio.create_task(allowance.run())
        stack.push_async_callback(_end, obeying)
    return Shared(frontier=frontier, allowance=allowance, services=tuple(services))


async def _lift_limit(links: PartLinks) -> None:
    """A run without a limit may settle more pages than an earlier one has allowed."""
    stored = links.pages.allowance
    if stored.allowed is not None:
        await links.pages.set_allowance(msgspec.structs.replace(stored, allowed=None, total=0))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def supervisor_services(config: Config, parts: int, stop: Callable[[Ending], None]) -> list[SupervisorService]:
    """The supervisor's side. A limit that is reached calls `stop`."""
    services: list[SupervisorService] = []
    if config.limits.pages is not None:
        services.append(PageBank(limit=config.limits.pages, parts=parts, on_reached=lambda: stop(Ending.LIMIT)))
    if (limit := grouping(config).limits.get(_IP)) is not None:
        services.append(AddressAuthority(parts=parts, at_once=limit.at_once or 1, rest_s=limit.rest_s))
    return services
