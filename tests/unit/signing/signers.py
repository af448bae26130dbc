"""Keys and signers for tests: the test key of RFC 9421, appendix B.1.4, at which no real server looks."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from yarl import URL

from crawler.fetch.signing.challenges import Challenges
from crawler.fetch.signing.signer import Signer, SigningKey
from crawler.fetch.signing.signing import Signing
from frontier.memory.notes import MemoryNotes
from tests.unit.fetch.test_cookies import Clock

X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
KEY_ID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
KEYS = {KEY_ID: X}
AGENT = "https://signature-agent.test"
TEST_KEY = SigningKey(
    KEY_ID,
    Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU=")),
    1e11,
)


def signer(clock: Callable[[], float] | None = None, **more: Any) -> Signer:
    settings: dict[str, Any] = {"agent": AGENT, "key": lambda _: TEST_KEY, "lifetime_s": 300.0}
    return Signer(**settings | more, clock=clock or Clock())


async def yes(_: URL) -> bool:
    return True


def signing(
    *,
    when_asked: bool = False,
    hosts: Sequence[str] = ("*",),
    is_public: Callable[[URL], Awaitable[bool]] = yes,
) -> Signing:
    clock = Clock()
    known = Challenges(MemoryNotes(), clock=clock)
    return Signing(signer(clock), known, when_asked=when_asked, hosts=hosts, is_public=is_public)
