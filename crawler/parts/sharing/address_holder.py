"""Which addresses a part may ask: its frontier asks here, and the supervisor decides about those that others ask."""

import asyncio
from typing import Final

from crawler.parts.holder import Holder
from crawler.parts.line.services import Send
from crawler.parts.reservations import Granted, Join, ToHolder
from frontier import GroupGate

NAME: Final = "addresses"
KIND: Final = "ip "
GRANT_S: Final = 5.0
"""A grant that is not used for so long goes to another part: no worker may be free here, or the part is paused."""
LEAVE_S: Final = 1.0
"""How long a part holds on to an address of which it has no URL. Its next URL may be found soon."""


class AddressHolder:
    """A part's `Reservations` of addresses. While it is not connected, addresses that are shared or new wait."""

    name = NAME
    messages = ToHolder

    def __init__(self) -> None:
        self._holder = Holder()
        self._gate: GroupGate | None = None
        self._send: Send | None = None
        self._leaving: set[str] = set()
        self._leave_timer: asyncio.TimerHandle | None = None

    # the frontier

    def watch(self, gate: GroupGate, /) -> None:
        self._gate = gate

    def covers(self, group: str, /) -> bool:
        return group.startswith(KIND)

    def begin(self, group: str, /, *, now: float) -> bool:
        self._leaving.discard(group)
        has_begun = self._holder.begin(group, now)
        self._flush()
        return has_begun

    def begin_unasked(self, group: str, /) -> None:
        self._leaving.discard(group)
        self._holder.begin_unasked(group)
        self._flush()

    def wake_at(self, group: str, /) -> float | None:
        return self._holder.wake_at(group)

    def end(self, group: str, rest_s: float, /, *, now: float) -> None:
        self._holder.end(group, rest_s, now)
        self._flush()

    def leave(self, group: str, /, *, now: float) -> None:
        self._leaving.add(group)
        if self._leave_timer is None:
            self._leave_timer = asyncio.get_running_loop().call_later(LEAVE_S, self._drop)

    # the supervisor

    def connect(self, send: Send, /) -> None:
        self._send = send
        send(Join(tuple(self._holder.connect(self._now()))))
        self._flush()

    def disconnect(self) -> None:
        self._send = None
        self._holder.disconnect()

    def receive(self, message: ToHolder, /) -> None:
        group = self._holder.take(message, self._now())
        if group is not None and self._gate is not None:
            self._gate.open_group(group)
            if isinstance(message, Granted):
                asyncio.get_running_loop().call_later(GRANT_S, self._decline, group)
        self._flush()

    def close(self) -> None:
        if self._leave_timer is not None:
            self._leave_timer.cancel()

    def _decline(self, group: str) -> None:
        self._holder.decline(group)
        self._flush()

    def _drop(self) -> None:
        self._leave_timer = None
        now = self._now()
        for group in list(self._leaving):
            self._holder.decline(group)
            if group not in self._holder or self._holder.drop(group, now):
                self._leaving.discard(group)
        self._flush()
        if self._leaving:
            self._leave_timer = asyncio.get_running_loop().call_later(LEAVE_S, self._drop)

    def _now(self) -> float:
        return 0.0 if self._gate is None else self._gate.now()

    def _flush(self) -> None:
        for message in self._holder.messages():
            if self._send is not None:
                self._send(message)
