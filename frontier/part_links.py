"""Links on their way between the parts of a crawl."""

from collections.abc import Sequence
from functools import partial

from frontier.parts.parcels import decode_parcel
from frontier.parts.protocol import Allowance, Misrouted, Place
from frontier.records import InboxPosition, Transit
from frontier.sending.outgoing import Outgoing
from frontier.store import Store
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.admission import Admission
from frontier.transitions.commit import Commit
from frontier.transitions.leasing import Leases


class StoredPages:
    """The `PartPages` of a frontier over a store."""

    def __init__(self, store: Store, active: ActiveQueues, commit: Commit) -> None:
        self._store = store
        self._active = active
        self._commit = commit

    @property
    def settled(self) -> int:
        return self._store.counters.pages

    @property
    def allowance(self) -> Allowance:
        return self._store.counters.allowance

    async def set_allowance(self, allowance: Allowance, /) -> None:
        await self._commit.run(partial(self._set, allowance))
        await self._commit.sync(whatever_durability=True)

    def _set(self, allowance: Allowance) -> None:
        counters = self._active.copy_counters(self._active.now())
        counters.allowance = allowance
        self._store.update_queues([], counters)


class StoredPartLinks:
    """The `PartLinks` of a frontier over a store."""

    def __init__(
        self,
        store: Store,
        outgoing: Outgoing,
        admission: Admission,
        active: ActiveQueues,
        leases: Leases,
        commit: Commit,
    ) -> None:
        self._store = store
        self._outgoing = outgoing
        self._admission = admission
        self._active = active
        self._leases = leases
        self._commit = commit
        self.part = outgoing.part
        self.incarnation = outgoing.incarnation
        self.pages = StoredPages(store, active, commit)
        self.reserve, self.positions = active.reserve, store.positions
        self.waiting, self.trimmed = outgoing.waiting, outgoing.trimmed
        self.watch, self.forget_sent = outgoing.watch, outgoing.forget_sent
        self._held_until = 0.0
        self._held: dict[int, Place] = {}
        """Up to where parcels are to be deleted afterwards, by receiver."""

    @property
    def generation(self) -> int:
        return self._store.counters.generation

    @property
    def transitions(self) -> int:
        return self._store.counters.batches

    @property
    def is_idle(self) -> bool:
        return not (self._leases or self._active.pauses) and self._active.is_complete()

    @property
    def has_counts(self) -> bool:
        return self._outgoing.has_spared

    def owns(self, queue_key: str, /) -> bool:
        return self._outgoing.owner(queue_key) == self.part.number

    # out

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        self._commit.check()
        return self._outgoing.parcels(receiver, first, last, max_bytes=max_bytes)

    async def trim(self, receiver: int, place: Place, /) -> None:
        self._outgoing.check_place(receiver, place)
        if self.holds_parcels:
            self._held[receiver] = place
        else:
            await self._commit.run(partial(self._outgoing.trim, receiver, place))

    @property
    def holds_parcels(self) -> bool:
        return self._active.now() < self._held_until

    async def hold_parcels(self, seconds: float, /) -> None:
        self._held_until = self._active.now() + seconds if seconds else 0.0
        if not self.holds_parcels:
            held, self._held = self._held, {}
            for receiver, place in held.items():
                await self.trim(receiver, place)

    async def send_counts(self) -> None:
        await self._admission.send(self._outgoing.take_spared())

    # in

    async def admit(self, sender: int, place: Place, parcels: Sequence[bytes], /) -> int:
        urls = [url for parcel in parcels for url in decode_parcel(parcel)]
        for url in urls:
            if (owner := self._outgoing.owner(url.queue_key)) != self.part.number:
                raise Misrouted(
                    f"part {self.part.number} was sent {url.url} by part {sender}, which belongs to part {owner}; "
                    "the parts of a crawl must be run by the same version, with the same configuration"
                )
        return await self._admission.receive(urls, InboxPosition(sender=sender, place=place))

    async def skip(self, sender: int, place: Place, /) -> None:
        await self._commit.run(partial(self._skip, sender, place))

    def _skip(self, sender: int, place: Place) -> None:
        counters = self._active.copy_counters(self._active.now())
        counters.gaps += 1
        transit = Transit(position=InboxPosition(sender=sender, place=place))
        self._store.admit([], [], [], counters, transit=transit)

    async def make_safe(self) -> None:
        await self._commit.sync(whatever_durability=True)
