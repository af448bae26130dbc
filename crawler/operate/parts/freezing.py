"""freeze, hold-parcels: for copies of a crawl in parts.

Each part is frozen at a moment of its own. A part deletes a link from its outbox when it is safe at the receiver. If
that happened after the receiver was frozen and before the sender was, neither copy would have the link. So all parts
first hold what is safe, then all are frozen.
"""

from typing import Final

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.control.frozen import Frozen, Held
from crawler.control.requests import Freeze, HoldParcels
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.refused import Refused

_HOLD_S: Final = 1800.0
"""Longer than all parts take to be frozen. After it they go on by themselves, should nobody tell them to."""


async def freeze(crawl: CrawlInParts) -> Frozen:
    await hold_parcels(crawl, HoldParcels(seconds=_HOLD_S))
    try:
        frozen = await crawl.parts.all(Freeze())
    finally:
        await crawl.parts.each(HoldParcels(seconds=0))
    states = [msgspec.structs.replace(state, part=number) for number, each in frozen.items() for state in each.states]
    restarted = [str(state.part) for state in states if not state.holds_parcels]
    if restarted:
        raise Refused(
            f"part {', '.join(restarted)} was started anew while the crawl was to be copied; try again", FAILED
        )
    return Frozen(states=states)


async def hold_parcels(crawl: CrawlInParts, request: HoldParcels) -> Held:
    await crawl.parts.all(request)
    return Held(seconds=request.seconds)
