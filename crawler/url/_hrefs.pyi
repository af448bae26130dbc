from collections.abc import Callable
from typing import Final, TypeVar

from crawler.url.hrefs import Place

_Made = TypeVar("_Made")

VERSION: Final[int]

def read_many(
    hrefs: list[str],
    scheme: str | None,
    home: Place | None,
    directory: str,
    place_of: Callable[[str], Place | None],
    make: Callable[[str, str, str, str, str, str], _Made],
    max_length: int,
    otherwise: Callable[[str], _Made],
    /,
) -> list[_Made]: ...
def may_repeat(path: str, least: int, /) -> bool: ...
