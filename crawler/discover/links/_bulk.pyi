from collections.abc import Callable
from typing import Final

from crawler.discover.links.bulk import Collected, Divided, Groups, JudgeByScope, LookedUp
from crawler.discover.links.judgement import Judgement
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.page import Link
from crawler.url.urls import BadUrl, Target

VERSION: Final[int]

def group_links(links: list[Link], /) -> Groups: ...
def look_up(hrefs: list[str], dicts: tuple[dict[str, Judgement], ...], /) -> LookedUp: ...
def judge(
    make: type[Judgement],
    out_of_scope: ScopeRefusal,
    any_depth: int,
    hrefs: list[str],
    targets: list[Target | BadUrl],
    judge: JudgeByScope,
    by_site: bool,
    trap_of: Callable[[Target], Trap | None],
    /,
) -> list[Judgement]: ...
def divide(hrefs: list[str], judgements: list[Judgement], longest: int, /) -> Divided: ...
def follow(
    places: list[int],
    counts: list[int],
    judgements: list[Judgement],
    at: int,
    depth: int,
    collected: Collected,
    /,
) -> int: ...
