from collections.abc import Callable
from typing import Final

from crawler.page import Link, LinkKind

VERSION: Final[int]

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
) -> tuple[list[Link], list[tuple[int, str, dict[str, str | None], str]], list[str], list[str], str | None] | None: ...
