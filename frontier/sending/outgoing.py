"""Sends links to the parts of a crawl that they belong to, through the outbox."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from secrets import randbits

from frontier.parts.parcels import encode_parcels
from frontier.parts.protocol import INCARNATION_BITS, Part, Place
from frontier.records import Incarnation, Parcel, Trimmed
from frontier.sending.sent import MAX_SENT, MAX_SPARED, SentUrls
from frontier.store import Store
from frontier.values import CrawlUrl

Chosen = Mapping[int, Sequence[CrawlUrl]]
"""URLs to send, by receiver."""


def open_outgoing(store: Store, owner: Callable[[str], int] | None) -> "Outgoing | None":
    """The outbox of a store that belongs to a part; None for a crawl that has no parts."""
    if (store.part is None) != (owner is None):
        raise ValueError(f"the store of {store.part or 'a crawl that is not in parts'} was opened as another")
    return None if store.part is None or owner is None else Outgoing(store, store.part, owner)


class Outgoing:
    """The outbox of a part. `owner` gives the part that a queue belongs to."""

    def __init__(self, store: Store, part: Part, owner: Callable[[str], int]) -> None:
        self.part = part
        self.owner = owner
        self.incarnation = randbits(INCARNATION_BITS)
        self._outbox = store.outbox
        others = [number for number in range(part.parts) if number != part.number]
        self._trimmed = {receiver: self._outbox.trimmed(receiver) for receiver in others}
        self._bases = {receiver: trimmed.index for receiver, trimmed in self._trimmed.items()}
        """The index of the parcel before the first one of this incarnation."""
        self._ends = {receiver: self._outbox.end(receiver) for receiver in others}
        self._sent = {
            receiver: SentUrls(max_sent=MAX_SENT // len(others), max_spared=MAX_SPARED // len(others))
            for receiver in others
        }
        self._watchers: list[tuple[Callable[[int, int], None], Callable[[], None]]] = []
        self._outbox.begin(Incarnation(self.incarnation, self._bases))

    # a page's links

    def split(self, urls: Iterable[CrawlUrl]) -> tuple[list[CrawlUrl], dict[int, list[CrawlUrl]]]:
        """The URLs of this part, and those of others by part."""
        own: list[CrawlUrl] = []
        foreign: dict[int, list[CrawlUrl]] = {}
        owner, number = self.owner, self.part.number
        for url in urls:
            receiver = owner(url.queue_key)
            if receiver == number:
                own.append(url)
            elif receiver in foreign:
                foreign[receiver].append(url)
            else:
                foreign[receiver] = [url]
        return own, foreign

    def choose(self, foreign: Mapping[int, Iterable[CrawlUrl]]) -> Chosen:
        """The URLs that were not sent lately. Counts the links to the others."""
        chosen = {receiver: self._sent[receiver].choose(urls) for receiver, urls in foreign.items()}
        return {receiver: urls for receiver, urls in chosen.items() if urls}

    def take_spared(self) -> Chosen:
        """The URLs whose links were counted and not sent."""
        taken = {receiver: sent.take_spared() for receiver, sent in self._sent.items()}
        return {receiver: urls for receiver, urls in taken.items() if urls}

    @property
    def has_spared(self) -> bool:
        return any(sent.spared for sent in self._sent.values())

    def pack(self, chosen: Chosen) -> list[Parcel]:
        """The parcels that a transition is to write."""
        return [
            Parcel(receiver=receiver, index=index, content=content)
            for receiver, urls in chosen.items()
            for index, content in enumerate(encode_parcels(urls), self._ends[receiver] + 1)
        ]

    def note_written(self, chosen: Chosen, parcels: Sequence[Parcel]) -> None:
        """The parcels of these URLs have been written."""
        for receiver, urls in chosen.items():
            self._sent[receiver].remember(urls)
            count = sum(parcel.receiver == receiver for parcel in parcels)
            self._ends[receiver] += count
            for on_parcels, _ in self._watchers:
                on_parcels(receiver, count)

    def note_forgotten(self) -> None:
        """URLs of this part have been forgotten."""
        for _, on_forgotten in self._watchers:
            on_forgotten()

    def watch(self, on_parcels: Callable[[int, int], None], on_forgotten: Callable[[], None]) -> None:
        self._watchers.append((on_parcels, on_forgotten))

    # what receivers confirm

    def waiting(self, receiver: int) -> int:
        return self._ends[receiver] - self._trimmed[receiver].index

    def trimmed(self, receiver: int) -> Place | None:
        return self._trimmed[receiver].place

    def parcels(self, receiver: int, first: int, last: int, *, max_bytes: int | None) -> list[bytes]:
        base = self._bases[receiver]
        return self._outbox.parcels(receiver, base + first, base + last, max_bytes=max_bytes)

    def check_place(self, receiver: int, place: Place) -> None:
        """Raise ValueError for a place that this incarnation has not reached."""
        if place.incarnation != self.incarnation or self._bases[receiver] + place.sequence > self._ends[receiver]:
            raise ValueError(f"part {receiver} can't have {place} of incarnation {self.incarnation}")

    def trim(self, receiver: int, place: Place) -> None:
        trimmed = Trimmed(self._bases[receiver] + place.sequence, place)
        if trimmed.index > self._trimmed[receiver].index:
            self._outbox.trim(receiver, trimmed)
            self._trimmed[receiver] = trimmed

    def forget_sent(self, receiver: int) -> None:
        self._sent[receiver].forget()
