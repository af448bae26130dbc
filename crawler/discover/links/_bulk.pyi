from collections.abc import Sequence
from typing import Final

from crawler.discover.links.bulk import Collected, Groups, Judged
from crawler.page import Link

VERSION: Final[int]

def group_links(links: list[Link], /) -> Groups: ...
def follow(
    links: list[Link],
    counts: list[int],
    judgements: Sequence[Judged],
    at: int,
    depth: int,
    collected: Collected,
    /,
) -> int: ...
