from collections.abc import Callable, Sequence
from typing import Final, overload

from crawler.page import Link, LinkKind

VERSION: Final[int]

class Links(Sequence[Link]):
    def are_ascii(self) -> bool: ...
    def group(self, start: int = 0, stop: int = ..., /) -> tuple[list[int], list[str], list[int]]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> Link: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Link]: ...

def scan(
    html: bytes,
    references: dict[str, str],
    make: Callable[..., Link],
    anchored: LinkKind,
    embedded: LinkKind,
    styled: LinkKind,
    kind_of_rel: dict[str, LinkKind | None],
    meta_names: frozenset[str],
    all_scripts: bool,
    /,
) -> tuple[Links, list[tuple[int, str, dict[str, str | None], str]], list[str], list[str], str | None] | None: ...
