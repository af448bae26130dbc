"""Decides which part may ask an address now, for the parts that are connected."""

import asyncio
from typing import Final

from crawler.parts.authority import Authority
from crawler.parts.line.services import Send
from crawler.parts.reservations import FromHolder, Join, Outgoing
from crawler.parts.sharing.address_holder import NAME

SHORTEST_WAIT_S: Final = 0.001


class AddressAuthority:
    """The supervisor's side of addresses. It is made in the event loop."""

    name = NAME
    messages = Join | FromHolder

    def __init__(self, *, parts: int, at_once: int, rest_s: float) -> None:
        """`at_once` requests may run to one address, which then rests for `rest_s`. At first, every address rests for
        so long: the parts of an earlier supervisor may have asked it."""
        self._loop = asyncio.get_running_loop()
        self._authority = Authority(parts=parts, longest_rest_s=rest_s, now=self._loop.time(), at_once=at_once)
        self._sends: dict[int, Send] = {}
        self._timer: asyncio.TimerHandle | None = None

    def connect(self, part: int, send: Send, /) -> None:
        self._sends[part] = send

    def lose(self, part: int, /) -> None:
        """The part keeps what it holds, because its requests may still be running."""
        self._sends.pop(part, None)

    def disconnect(self, part: int, /) -> None:
        self._sends.pop(part, None)
        self._tell(self._authority.forget_process(part, self._loop.time()))

    def receive(self, part: int, message: Join | FromHolder, /) -> None:
        now = self._loop.time()
        if isinstance(message, Join):
            self._tell(self._authority.join(part, message.held, now))
        else:
            self._tell(self._authority.take(part, message, now))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self, out: Outgoing) -> None:
        for part, message in out:
            if (send := self._sends.get(part)) is not None:
                send(message)
        self._set_timer()

    def _set_timer(self) -> None:
        at = self._authority.next_wake()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at is not None:
            # A loop may call a little early.
            self._timer = self._loop.call_at(max(at, self._loop.time() + SHORTEST_WAIT_S), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._tell(self._authority.wake(self._loop.time()))
