"""Carries the links of one part to the other parts, and takes theirs."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Final

from crawler.parts.agreement import Agreement
from crawler.parts.ending import Gate, Report
from crawler.parts.exchange.protocol import Exchange
from crawler.parts.exchange.receiving import Receiving
from crawler.parts.exchange.sending import Sending
from crawler.status import duration, name_parts, number_of
from frontier import PartLinks, Pauses

SYNC_S: Final = 1.0
"""Between two syncs of what was admitted from other parts."""
MAX_WAITING: Final = 200_000
"""Parcels in the outbox for one receiver, beyond which the part fetches nothing: some hundred MB of disk."""
_SHOWN_S: Final = 5.0
"""How long another part must be silent until people are told."""
_PAUSES: Final = "outbox"


class Carrier:
    """Works while `run` runs. If the parts can't work together, `run` raises `PartsDisagree` in an exception group.

    A part whose outbox is full fetches nothing, but goes on taking the links of others. So no two parts can wait for
    each other.
    """

    def __init__(
        self,
        links: PartLinks,
        exchange: Exchange,
        pauses: Pauses,
        *,
        agreement: Mapping[str, str],
        passing: Collection[str] = (),
        on_new: Callable[[int], object] = lambda _: None,
        sync_s: float = SYNC_S,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        """`agreement` is what all parts of the crawl must agree on, by name. What differs for a moment
        only is named in `passing`. `on_new` hears how many URLs of other parts were new."""
        self.gate = Gate()
        self.agreement = Agreement(agreement, passing=passing)
        self._links = links
        self._exchange = exchange
        self._pauses = pauses
        self._sync_s = sync_s
        self._max_waiting = max_waiting
        others = (number for number in range(links.part.parts) if number != links.part.number)
        self._sendings = {
            receiver: Sending(links, exchange, receiver, agreement=self.agreement, on_trimmed=self._check_waiting)
            for receiver in others
        }
        self._receiving = Receiving(links, agreement=self.agreement, on_new=on_new)
        links.watch(self._append, self._receiving.confirm_all)
        self._check_waiting()

    async def run(self) -> None:
        """Carry links until cancelled."""
        async with asyncio.TaskGroup() as group:
            for sending in self._sendings.values():
                group.create_task(sending.run())
            group.create_task(self._sync())
            while (connection := await self._exchange.accept()) is not None:
                group.create_task(self._receiving.serve(connection))

    async def report(self) -> Report:
        """What the part says when the supervisor asks whether the crawl is complete."""
        if self._is_idle and self._links.has_counts:
            await self._links.send_counts()
        senders = [sending.sender for sending in self._sendings.values()]
        return Report(
            incarnation=self._links.incarnation,
            transitions=self._links.transitions,
            is_idle=self._is_idle and not self._links.has_counts,
            welcomed_by={each.receiver: each.welcomed_by for each in senders if each.welcomed_by is not None},
            unconfirmed={each.receiver: each.end for each in senders if each.waiting},
        )

    def trouble(self) -> str | None:
        """Why links do not reach other parts, for people; None while they do."""
        waiting = sum(each.sender.waiting for each in self._sendings.values())
        parcels = f"; {number_of(waiting, 'parcel')} of links {'waits' if waiting == 1 else 'wait'}"
        if (trouble := self._exchange.trouble) is not None:
            return trouble + (parcels if waiting else "")
        now = asyncio.get_running_loop().time()
        silent = {
            number: now - each.lacks_since
            for number, each in self._sendings.items()
            if each.sender.waiting and each.lacks_since is not None and now - each.lacks_since >= _SHOWN_S
        }
        if not silent:
            return None
        differing = [number for number in silent if self._sendings[number].differs]
        others = [number for number in silent if number not in differing]
        named = [f"{name_parts(others)} {'does' if len(others) == 1 else 'do'} not answer"] if others else []
        if differing:
            named.append(f"{name_parts(differing)} {'has' if len(differing) == 1 else 'have'} other settings")
        return f"{', and '.join(named)}, for {duration(max(silent.values()))}{parcels}"

    @property
    def _is_idle(self) -> bool:
        return self._links.is_idle and not self.gate.adding

    def _append(self, receiver: int, parcels: int) -> None:
        self._sendings[receiver].append(parcels)
        self._check_waiting()

    def _check_waiting(self) -> None:
        """Pause the part while its outbox is full, and for half of that again."""
        senders = [sending.sender for sending in self._sendings.values()]
        fullest = max(senders, key=lambda each: each.waiting, default=None)
        if fullest is None:
            return
        if fullest.waiting >= self._max_waiting:
            parcels = number_of(fullest.waiting, "parcel")
            self._pauses.pause(f"part {fullest.receiver} has not taken {parcels} of links yet", by=_PAUSES)
        elif 2 * fullest.waiting <= self._max_waiting:
            self._pauses.resume(by=_PAUSES)

    async def _sync(self) -> None:
        while True:
            await self._receiving.must_sync.wait()
            await self._receiving.make_safe()
            await asyncio.sleep(self._sync_s)
