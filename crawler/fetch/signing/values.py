"""What the fetcher knows of signed requests. Does not need the extra."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec
from yarl import URL

from crawler.notes import NoteKind
from crawler.url.hosts import split_port

NOTES: Final = NoteKind(word="signatures", host_of=lambda authority: split_port(authority)[0])
"""What hosts want signed, by authority: host, and port unless it is that of the scheme."""


class Wish(msgspec.Struct, frozen=True):
    """What a server wants signed, by its Accept-Signature."""

    label: str
    components: tuple[str, ...]
    """Without the member of Signature-Agent, which is always signed."""
    nonce: str | None = None


class Signed(msgspec.Struct, frozen=True):
    """The headers of a signed request."""

    headers: Mapping[str, str]
    wish: Wish | None
    """What was done because the server wants it."""


class SignsRequests(Protocol):
    """Signs requests; see `signing.Signing`."""

    async def sign(self, url: URL, method: str, headers: Mapping[str, str]) -> Signed | None: ...

    async def learn(
        self, url: URL, headers: Mapping[str, str], signed: Signed | None, *, status: int, accepted: Sequence[str]
    ) -> bool: ...
