from collections.abc import Sequence
from typing import Final

from crawler.discover.links.bulk import Groups, Judged
from crawler.page import Link
from crawler.url.urls import Target

VERSION: Final[int]

def group_links(links: list[Link], /) -> Groups: ...
def follow(
    links: list[Link],
    counts: list[int],
    judgements: Sequence[Judged],
    at: int,
    depth: int,
    found: dict[str, int],
    refused: set[str],
    sources: list[tuple[Link, Target]],
    /,
) -> int: ...
