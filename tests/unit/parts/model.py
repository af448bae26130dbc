"""A crawl in parts without clock, network and disk: what the pure machines decide is done to dictionaries.

A part can be killed, and then keeps what it wrote; or its machine loses power, and it falls back to its last sync. The
network loses, repeats and reorders the messages of a connection. A new connection ends the older one between the same
two parts.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from random import Random

import msgspec

from crawler.parts.ending import Answer, Gate, Report
from crawler.parts.messages import Confirm, Hello, Parcels, Skip, Welcome
from crawler.parts.ownership import Ownership
from crawler.parts.receiver import Intake, Positions, Receiver
from crawler.parts.sender import Sender
from frontier import CrawlUrl, Place
from frontier.sending.sent import SentUrls

WINDOW = 3


class World:
    """Pages and their links. Pages are numbers; each has a host of its own."""

    def __init__(self, seed: int, *, pages: int, parts: int) -> None:
        dice = Random(seed)
        self.pages = pages
        self.parts = parts
        self.links = [[dice.randrange(pages) for _ in range(dice.randint(1, 3))] for _ in range(pages)]
        self.ownership = Ownership(parts)

    def owner(self, page: int) -> int:
        return self.ownership.owner(f"test,h{page}")

    def reachable(self, pages: Iterable[int]) -> set[int]:
        found: set[int] = set()
        waiting = list(pages)
        while waiting:
            page = waiting.pop()
            if page not in found:
                found.add(page)
                waiting += self.links[page]
        return found


class Stored(msgspec.Struct):
    """What a part has on its disk."""

    transitions: int = 0
    pending: list[int] = []
    done: set[int] = set()
    outbox: dict[int, list[bytes]] = {}
    """By receiver."""
    trimmed: dict[int, Place] = {}
    """By receiver."""
    positions: dict[tuple[int, int], int] = {}
    generation: int = 0
    gaps: int = 0

    def knows(self, page: int) -> bool:
        return page in self.done or page in self.pending


class Sending:
    """One side of a connection, and what is under way on it in both directions."""

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.to_receiver: list[Hello | Skip | Parcels] = []
        self.to_sender: list[Welcome | Confirm] = []
        self.is_accepted = False
        self.ends_at_sender = False
        self.ends_at_receiver = False


class Part:
    """One part. While it is dead it has only what it `stored`."""

    def __init__(self, number: int, world: World, seeds: Iterable[int], draw: Callable[[], int]) -> None:
        self.number = number
        self.world = world
        self.seeds = [seed for seed in seeds if world.owner(seed) == number]
        self.stored = Stored()
        self.synced = Stored()
        self.history = [Stored()]
        """Older copies."""
        self._draw = draw
        self.is_alive = False
        self.open()

    def open(self) -> None:
        stored, others = self.stored, [other for other in range(self.world.parts) if other != self.number]
        self.is_alive = True
        self.incarnation = self._draw()
        self.senders = {
            other: Sender(
                sender=self.number,
                receiver=other,
                incarnation=self.incarnation,
                waiting=len(stored.outbox.get(other, [])),
                trimmed=stored.trimmed.get(other),
                window=WINDOW,
            )
            for other in others
        }
        self.receiver = Receiver(receiver=self.number, incarnation=self.incarnation, positions=stored.positions)
        self.receiver.generation = stored.generation
        self.sent = {other: SentUrls(max_sent=2, max_spared=2) for other in others}
        self.gate = Gate()
        self.leased: int | None = None
        self.syncing: tuple[Stored, Positions] | None = None
        self.admit([seed for seed in self.seeds if not stored.knows(seed)])

    def end(self, *, loses_power: bool) -> None:
        self.is_alive = False
        if loses_power:
            self.stored = deepcopy(self.synced)

    # transitions

    def admit(self, pages: Iterable[int], parcels: Iterable[tuple[int, list[CrawlUrl]]] = ()) -> None:
        """Admit pages and enqueue parcels, in one step."""
        for page in pages:
            assert self.world.owner(page) == self.number
            if not self.stored.knows(page):
                self.stored.pending.append(page)
        for receiver, urls in parcels:
            self.stored.outbox.setdefault(receiver, []).append(encode(urls))
            self.senders[receiver].append()
            self.sent[receiver].remember(urls)
        self.stored.transitions += 1

    def lease(self, choice: int) -> None:
        self.leased = self.stored.pending[choice % len(self.stored.pending)]

    def add_links(self) -> None:
        assert self.leased is not None
        links = self.world.links[self.leased]
        foreign: dict[int, list[CrawlUrl]] = {}
        for page in links:
            if (owner := self.world.owner(page)) != self.number:
                foreign.setdefault(owner, []).append(url_of(page))
        chosen = [(owner, urls) for owner, all_ in foreign.items() if (urls := self.sent[owner].choose(all_))]
        self.admit([page for page in links if self.world.owner(page) == self.number], chosen)

    def settle(self) -> None:
        assert self.leased is not None
        self.stored.pending.remove(self.leased)
        self.stored.done.add(self.leased)
        self.stored.transitions += 1
        self.leased = None

    def flush(self) -> None:
        """Send the counts of spared links."""
        for receiver, sent in self.sent.items():
            if urls := sent.take_spared():
                self.admit([], [(receiver, urls)])

    def forget(self, page: int) -> None:
        self.stored.done.remove(page)
        self.stored.generation += 1
        self.stored.transitions += 1
        self.receiver.generation = self.stored.generation

    def begin_sync(self) -> None:
        self.syncing = deepcopy(self.stored), self.receiver.begin_sync()

    def end_sync(self) -> None:
        assert self.syncing is not None
        self.synced, positions = self.syncing
        self.receiver.end_sync(positions)
        self.history.append(deepcopy(self.synced))
        self.syncing = None

    def report(self) -> Report:
        senders = self.senders.values()
        return Report(
            incarnation=self.incarnation,
            transitions=self.stored.transitions,
            is_idle=not self.stored.pending and not any(sent.spared for sent in self.sent.values()),
            welcomed_by={each.receiver: each.welcomed_by for each in senders if each.welcomed_by is not None},
            unconfirmed={each.receiver: each.end for each in senders if each.waiting},
        )

    def answer(self) -> Answer:
        if not self.is_alive:
            return Answer(report=None)
        return Answer(report=self.report(), gate_is_closed=self.gate.is_closed)

    # messages

    def connect(self, receiver: int) -> Sending:
        connection = Sending(self.number, receiver)
        connection.to_receiver.append(self.senders[receiver].hello())
        return connection

    def send(self, connection: Sending, *, most: int = WINDOW) -> None:
        sender = self.senders[connection.receiver]
        if (found := sender.next_range()) is None:
            return
        first, last = found[0], min(found[1], found[0] + most - 1)
        outbox = self.stored.outbox[connection.receiver]
        connection.to_receiver.append(sender.begin(first, outbox[first - sender.safe - 1 : last - sender.safe]))
        assert sender.sent - sender.committed <= WINDOW

    def take_at_receiver(self, connection: Sending, message: Hello | Skip | Parcels) -> None:
        receiver, sender, answers = self.receiver, connection.sender, connection.to_sender
        match message:
            case Hello():
                answers.append(receiver.welcome(message))
            case Skip():
                if (place := receiver.skip(sender, message)) is not None:
                    self.store_gap(sender, place)
                    receiver.commit(sender, place)
                if (welcome := receiver.welcome_again(sender)) is not None:
                    answers.append(welcome)
            case Parcels():
                if (intake := receiver.take(sender, message)) is not None:
                    self.store_intake(sender, intake)
                    receiver.commit(sender, intake.place)
                if (confirm := receiver.confirm(sender, after=message)) is not None:
                    answers.append(confirm)

    def store_gap(self, sender: int, place: Place) -> None:
        self.stored.positions[sender, place.incarnation] = place.sequence
        self.stored.gaps += 1
        self.stored.transitions += 1

    def store_intake(self, sender: int, intake: Intake) -> None:
        self.admit([page for parcel in intake.parcels for page in decode(parcel)])
        self.stored.positions[sender, intake.place.incarnation] = intake.place.sequence

    def take_at_sender(self, connection: Sending, message: Welcome | Confirm) -> None:
        sender = self.senders[connection.receiver]
        match message:
            case Welcome():
                self.forget_sent(connection.receiver)
                if (skip := sender.connect(message)) is not None:
                    connection.to_receiver.append(skip)
            case Confirm():
                safe = sender.safe
                confirmed = sender.confirm(message)
                if confirmed.forgets:
                    self.forget_sent(connection.receiver)
                if confirmed.trim_to is not None:
                    self.trim(connection.receiver, confirmed.trim_to, safe_before=safe)

    def forget_sent(self, receiver: int) -> None:
        self.sent[receiver].forget()

    def trim(self, receiver: int, upto: int, *, safe_before: int) -> None:
        trimmed = self.senders[receiver].trimmed
        assert trimmed is not None
        del self.stored.outbox[receiver][: upto - safe_before]
        self.stored.trimmed[receiver] = trimmed
        # Deleting what is safe changes nothing for others, so it is no transition.

    def confirm(self, connection: Sending) -> None:
        if (confirm := self.receiver.confirm(connection.sender)) is not None:
            connection.to_sender.append(confirm)


def url_of(page: int) -> CrawlUrl:
    return CrawlUrl(url=f"{page}", canonical=f"{page}", queue_key=f"test,h{page}")


def encode(urls: Iterable[CrawlUrl]) -> bytes:
    return ",".join(url.url for url in urls).encode()


def decode(parcel: bytes) -> list[int]:
    return [int(page) for page in parcel.decode().split(",")]
