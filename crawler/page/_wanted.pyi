from collections.abc import Sequence
from typing import Final

VERSION: Final[int]

def wanted_headers(
    headers: Sequence[tuple[bytes, bytes]], names: tuple[bytes, ...], /
) -> list[tuple[bytes, bytes]]: ...
