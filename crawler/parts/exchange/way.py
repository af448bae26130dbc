"""One end of a connection over a medium that may lose what it was given, repeat it, or end. Pure.

Each end numbers its messages from 1, and says in each frame how many it has sent, and how many of the other's its
reader has taken. So a loss shows with the next frame, and a repeat is ignored. What is under way is bounded, because an
end sends no more before the other has taken enough.
"""

from collections import deque
from enum import IntEnum
from typing import Final

import msgspec

from crawler.parts.exchange.protocol import ExchangeBroken

MOST_FRAMES: Final = 64
"""Messages of one end that may be under way."""
MOST_BYTES: Final = 1 << 20
"""Bytes of them. A larger message goes alone."""


Address = int | str
"""The number of a part, or the name of whatever else can be reached."""


def name_of(address: Address) -> str:
    """The name of a part in messages to people."""
    return f"part {address}" if isinstance(address, int) else address


class FrameKind(IntEnum):
    """What a frame is for."""

    OPEN = 0
    MESSAGE = 1
    TAKEN = 2
    """Nothing but the counts."""
    END = 3


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What travels."""

    origin: int
    """The registration of the sender's exchange."""
    part: Address
    """The sender."""
    connection: int
    """Drawn at random by the part that has made the connection."""
    kind: FrameKind
    sent: int
    """How many messages its end has sent, this one included."""
    taken: int
    """How many of the other's messages its end has taken."""
    message: bytes = b""


class Way:
    """The counts of one end."""

    def __init__(self) -> None:
        self.sent = 0
        self.taken = 0
        self._received = 0
        self._told = 0
        """What the other end knows of `taken`."""
        self._untold_bytes = 0
        self._under_way: deque[int] = deque()
        """The sizes of messages that the other end has not taken."""
        self._bytes = 0

    @property
    def is_waiting(self) -> bool:
        """Whether the other end has still to take something."""
        return bool(self._under_way)

    def may_send(self, size: int) -> bool:
        """Whether a message of this size may go now."""
        return not self._under_way or (len(self._under_way) < MOST_FRAMES and self._bytes + size <= MOST_BYTES)

    def send(self, size: int) -> None:
        """A message goes."""
        self.sent += 1
        self._under_way.append(size)
        self._bytes += size
        self.tell()

    def tell(self) -> None:
        """A frame goes, and tells what was taken."""
        self._told = self.taken
        self._untold_bytes = 0

    def receive(self, frame: Frame) -> bool:
        """A frame has arrived. Whether its message is new. Raises `ExchangeBroken` if messages were lost."""
        is_message = frame.kind is FrameKind.MESSAGE
        if frame.sent > self._received + is_message:
            raise ExchangeBroken(f"{frame.sent - self._received - is_message} messages were lost on their way")
        if not self.sent - len(self._under_way) <= frame.taken <= self.sent:
            if frame.taken > self.sent:
                raise ExchangeBroken(f"the other part has taken {frame.taken} messages of {self.sent}")
            return False  # a repeat
        for _ in range(frame.taken - (self.sent - len(self._under_way))):
            self._bytes -= self._under_way.popleft()
        if not is_message or frame.sent <= self._received:
            return False
        self._received += 1
        return True

    def take(self, size: int) -> bool:
        """The reader has taken a message. Whether the other end must be told now, so that it need not wait."""
        self.taken += 1
        self._untold_bytes += size
        return self.taken - self._told >= MOST_FRAMES // 2 or self._untold_bytes >= MOST_BYTES // 2
