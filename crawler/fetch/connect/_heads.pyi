from collections.abc import Callable
from typing import Final, TypeVar

_Head = TypeVar("_Head")

VERSION: Final[int]

def read_plain_head(
    make: Callable[..., _Head], version_10: object, version_11: object, received: bytes, /
) -> _Head | None: ...
