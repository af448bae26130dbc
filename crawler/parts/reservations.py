"""Messages about addresses that several parts of a crawl may ask. `authority` and `holder` are the two sides.

A part registers each address before its first request. While no other part has registered it, the part asks it by its
own rules, without a message for each request. When a second part registers it, the first acknowledges: it hands over
how many requests are running and how long the address still has to rest. Only then may the second begin. From then on
the address is shared: each request needs a grant.

Messages carry rests as durations, because the clocks of machines differ. The longest rest of all holders counts.
"""

import msgspec


class Register(msgspec.Struct, frozen=True, gc=False, tag="register"):
    """A part wants to ask an address."""

    address: str


class Reserve(msgspec.Struct, frozen=True, gc=False, tag="reserve"):
    """A part wants to send a request to a shared address."""

    address: str


class Release(msgspec.Struct, frozen=True, gc=False, tag="release"):
    """A request to a shared address has ended, or a grant is not needed."""

    address: str
    rest_s: float


class Held(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="held"):
    """The state of an address at a part, which sends it when it shares the address or joins an authority."""

    address: str
    is_shared: bool
    in_flight: int
    rest_s: float


class Join(msgspec.Struct, frozen=True, gc=False, tag="join"):
    """A part has connected, and tells all addresses that it holds."""

    held: tuple[Held, ...]


class Drop(msgspec.Struct, frozen=True, gc=False, tag="drop"):
    """A part does not ask an address any more."""

    address: str
    rest_s: float


class Sole(msgspec.Struct, frozen=True, gc=False, tag="sole"):
    """The part may ask the address by its own rules, after `rest_s`."""

    address: str
    rest_s: float


class Share(msgspec.Struct, frozen=True, gc=False, tag="share"):
    """Acknowledge with `Held` that each request to the address needs a grant from now on."""

    address: str


class Shared(msgspec.Struct, frozen=True, gc=False, tag="shared"):
    """Each request to the address needs a grant."""

    address: str


class Granted(msgspec.Struct, frozen=True, gc=False, tag="granted"):
    """One request may be sent to the address."""

    address: str


FromHolder = Register | Reserve | Release | Held | Drop
ToHolder = Sole | Share | Shared | Granted
Outgoing = list[tuple[int, ToHolder]]
"""Messages, each with the part it is for."""
