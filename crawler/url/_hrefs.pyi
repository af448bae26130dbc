from collections.abc import Callable
from typing import Final, TypeVar

from crawler.url.hrefs import Origin

_Target = TypeVar("_Target")

VERSION: Final[int]

def read_many(
    hrefs: list[str],
    scheme: str | None,
    home: Origin | None,
    directory: str,
    parse_origin: Callable[[str], Origin | None],
    make: Callable[[str, str, str, str, str, str], _Target],
    max_length: int,
    fallback: Callable[[str], _Target],
    /,
) -> list[_Target]: ...
def may_repeat(path: str, least: int, /) -> bool: ...
