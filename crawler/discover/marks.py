"""Marks behind canonical URLs, by which the frontier knows one page under several names. Pure.

No canonical URL has a fragment, so a mark begins with `#`:

    #redirect-N    the page, which the N-th redirect in a row asks for once more
    #external      a check whether the page is there, because it is out of scope
    #external-N    the same, which the N-th redirect in a row asks for once more
"""

from collections.abc import Iterator
from typing import Final

from crawler.page import EMBEDDED, LinkKind
from frontier import CrawlUrl

EXTERNAL: Final = "#external"
_REDIRECT: Final = "#redirect-"
_MOST_REDIRECTS: Final = 10
"""Names with higher numbers are not looked for."""


def after_redirect(canonical: str, redirects: int, /) -> str:
    """The name of a page that is fetched once more because of a redirect, the last of so many in a row."""
    return f"{canonical}{_REDIRECT}{redirects}"


def is_after_redirect(name: str, /) -> bool:
    return _REDIRECT in name


def is_target(url: CrawlUrl, /) -> bool:
    """Whether a redirect has led there."""
    return url.kind == LinkKind.REDIRECT or (url.kind in EMBEDDED and url.redirects > 0)


def is_check(name: str, /) -> bool:
    return EXTERNAL in name


def name_of_page(name: str, /) -> str:
    """The canonical URL without a mark."""
    return name.partition("#")[0]


def names_after_redirects(canonical: str, /) -> Iterator[str]:
    """The names that a page may have because of redirects."""
    return (after_redirect(canonical, number) for number in range(1, _MOST_REDIRECTS + 1))


def names_of_checks(canonical: str, /) -> Iterator[str]:
    """The names that checks of a page may have."""
    yield f"{canonical}{EXTERNAL}"
    yield from (f"{canonical}{EXTERNAL}-{number}" for number in range(1, _MOST_REDIRECTS + 1))
