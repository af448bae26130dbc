"""A visited set: a hash of 64 bits for each URL."""

from hashlib import blake2b

from visited.descriptor import Descriptor
from visited.wrappers.simple import SimpleSet


def _hash(url: str) -> int:
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Hashes:
    """A `SimpleFilter`."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def add(self, url: str, /) -> bool:
        before = len(self._known)
        self._known.add(_hash(url))
        return len(self._known) > before

    def has(self, url: str, /) -> bool:
        return _hash(url) in self._known

    def discard(self, url: str, /) -> bool:
        before = len(self._known)
        self._known.discard(_hash(url))
        return len(self._known) < before

    def rate(self) -> float:
        return len(self._known) / 2**64

    def memory_bytes(self) -> int:
        return self._known.__sizeof__() + 36 * len(self._known)

    def dump(self) -> bytes:
        return b"".join(known.to_bytes(8) for known in self._known)

    def load(self, data: bytes, /) -> None:
        self._known = {int.from_bytes(data[start : start + 8]) for start in range(0, len(data), 8)}


DESCRIPTOR = Descriptor(name="hash-set", make=lambda *_: SimpleSet("hash-set", Hashes, parameters={}), can_forget=True)
