from typing import Final

from crawler.discover.links.bulk import Collected, Groups, LookedUp
from crawler.discover.links.judgement import Judgement
from crawler.page import Link

VERSION: Final[int]

def group_links(links: list[Link], /) -> Groups: ...
def look_up(hrefs: list[str], dicts: tuple[dict[str, Judgement], ...], /) -> LookedUp: ...
def follow(
    places: list[int],
    counts: list[int],
    judgements: list[Judgement],
    at: int,
    depth: int,
    collected: Collected,
    /,
) -> int: ...
