"""What an href means, and whether the crawl follows it: the value that is remembered. Pure."""

from typing import Final

import msgspec

from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.url.urls import BadUrl, Target

ANY_DEPTH: Final = 1 << 31


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """What an href means, and whether the crawl follows it."""

    target: Target | BadUrl
    refusal: ScopeRefusal | Trap | None = None
    """Why an ordinary link to it is refused on any page. Traps are more tolerant of other kinds of links."""
    max_depth: int = ANY_DEPTH
    """The pages that may link to it have a smaller depth."""
    allowed: Target | None = None
    """The target, if nothing but its depth can refuse an ordinary link to it. None for links to a mere fragment, and if
    its canonical URL is not ASCII, as only a rule of the user can make it."""
    outside: Target | None = None
    """The target, if it lies out of the seeds' scope. None for links to a mere fragment."""
