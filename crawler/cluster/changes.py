"""What happens to the parts that a machine wants or holds."""

import msgspec


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The part may be opened. Its directory stores the epoch."""

    part: int
    epoch: int
    until: float


class Renewed(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is `Held` may go on for longer. Its process must learn that."""

    part: int
    until: float


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """The part was `Held`, and is not any more. Its process must be killed, which stores nothing of what is in
    flight."""

    part: int
    why: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A wanted part can't be had now. It is said again only when the reason changes."""

    part: int
    why: str


Change = Held | Renewed | Lost | Refused
