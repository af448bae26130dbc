"""A filter that keeps short hashes, one URL at a time."""

from hashlib import blake2b

from visited.wrappers.simple import SimpleSet


class ShortHashes:
    """A `SimpleFilter` whose rate is n/2^bits."""

    def __init__(self, size_bytes: int) -> None:
        self._size = size_bytes
        self._met: set[bytes] = set()

    def add(self, url: str, /) -> bool:
        before = len(self._met)
        self._met.add(self._hash(url))
        return len(self._met) > before

    def has(self, url: str, /) -> bool:
        return self._hash(url) in self._met

    def discard(self, url: str, /) -> bool:
        known = self.has(url)
        self._met.discard(self._hash(url))
        return known

    def rate(self) -> float:
        return len(self._met) / 2.0 ** (8 * self._size)

    def memory_bytes(self) -> int:
        return 100 * len(self._met)

    def dump(self) -> bytes:
        return b"".join(self._met)

    def load(self, data: bytes, /) -> None:
        if len(data) % self._size:
            raise ValueError(f"expected hashes of {self._size} bytes, found {len(data)} in all")
        self._met = {data[start : start + self._size] for start in range(0, len(data), self._size)}

    def _hash(self, url: str) -> bytes:
        return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=self._size).digest()


def short_hashes(size_bytes: int = 8) -> SimpleSet:
    return SimpleSet("short-hashes", lambda: ShortHashes(size_bytes), parameters={"size_bytes": size_bytes})
