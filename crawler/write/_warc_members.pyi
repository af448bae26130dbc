from collections.abc import Callable, Iterable
from typing import Final

from crawler.write.warc_members import Field, Hash, Value

VERSION: Final[int]

def lines(first: Value, fields: Iterable[Field], /) -> bytes: ...
def record(
    sha1: Callable[[bytes], Hash],
    kind: str,
    urn: str,
    common: bytes,
    fields: Iterable[Field],
    block: tuple[bytes, ...],
    /,
) -> bytes: ...
