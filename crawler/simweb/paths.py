"""Paths of the simulated web: maps resources to paths and back, whether they exist or not."""

import re
from enum import StrEnum

import msgspec

from crawler.simweb.text import WORDS

SECTIONS = (
    *("docs", "news", "guide", "archive", "people", "topics", "reports", "events"),
    *("projects", "notes", "papers", "places", "products", "support", "history", "research"),
)
_SESSION = re.compile(r";jsessionid=[0-9a-z]{32}|(?<=[?&])PHPSESSID=[0-9a-z]{32}&?", re.IGNORECASE)


class Sort(StrEnum):
    """The sort of a resource."""

    PAGE = "page"
    DISALLOWED = "disallowed"
    """A page that robots.txt disallows."""
    HIDDEN = "hidden"
    """A page that only the sitemap lists."""
    REDIRECT = "redirect"
    LOOP = "loop"
    DEAD = "dead"
    BROKEN = "broken"
    CUT = "cut"
    CALENDAR = "calendar"
    MAZE = "maze"
    ROBOTS = "robots"
    ROBOTS_MOVED = "robots-moved"
    SITEMAP = "sitemap"


class Spot(msgspec.Struct, frozen=True, gc=False):
    """One resource of a host: the n-th of its sort. `step` is the position in a chain or loop, or the depth in a
    trap."""

    sort: Sort
    number: int = 0
    step: int = 0


def path_of(index: int, spot: Spot) -> str:
    """Path and query of a resource, in canonical form."""
    n = spot.number
    match spot.sort:
        case Sort.PAGE:
            return page_path(index, n)
        case Sort.DISALLOWED:
            return f"/cgi-bin/report.cgi?n={n}" if n & 1 else f"/private/staff-{n}.html"
        case Sort.HIDDEN:
            return f"/hidden/{page_word(index, n)}-{n}.html"
        case Sort.REDIRECT:
            return f"/go/{n}/{spot.step}"
        case Sort.LOOP:
            return f"/loop/{n}/{spot.step}"
        case Sort.DEAD:
            return f"/gone/{page_word(index, n)}-{n}.html"
        case Sort.BROKEN:
            return f"/error/{n}.html"
        case Sort.CUT:
            return f"/cut/{n}.html"
        case Sort.CALENDAR:
            return f"/calendar/{2026 + spot.step // 12}/{spot.step % 12 + 1:02d}/"
        case Sort.MAZE:
            return "/maze/" + "a/b/" * (spot.step // 2) + "a/" * (spot.step % 2)
        case Sort.ROBOTS:
            return "/robots.txt"
        case Sort.ROBOTS_MOVED:
            return "/about/robots.txt"
        case Sort.SITEMAP:
            return f"/sitemap-{n}.xml" if n else "/sitemap.xml"


def page_word(index: int, number: int) -> str:
    return WORDS[((number * 2654435761 + index * 40503) >> 8) & 255]


def page_path(index: int, number: int) -> str:
    """Path and query of a page: most are in sections, some have a query, some are in the allowed part of /private/."""
    if number == 0:
        return "/"
    mix = number * 2654435761 + index * 40503
    if mix & 15 == 0:
        return f"/item.php?id={number}"
    if mix & 31 == 1:
        return f"/private/open-{WORDS[(mix >> 8) & 255]}-{number}.html"
    return f"/{SECTIONS[(mix >> 16) & 15]}/{WORDS[(mix >> 8) & 255]}-{number}.html"


def canonical_target(target: str) -> str:
    """Path and query without session ids."""
    if "sess" not in target.lower():
        return target
    plain, found = _SESSION.subn("", target)
    return plain.rstrip("?&") if found else target


def with_session(path: str, session: str) -> str:
    """A path with a session id of 32 hexadecimal digits, as Java (paths) and PHP (queries) write them."""
    return f"{path}&PHPSESSID={session}" if "?" in path else f"{path};jsessionid={session}"


_FIXED = {
    "/": Spot(Sort.PAGE, 0),
    "/robots.txt": Spot(Sort.ROBOTS),
    "/about/robots.txt": Spot(Sort.ROBOTS_MOVED),
    "/sitemap.xml": Spot(Sort.SITEMAP),
}
_NUMBERED = {
    "hidden": Sort.HIDDEN,
    "gone": Sort.DEAD,
    "error": Sort.BROKEN,
    "cut": Sort.CUT,
    "go": Sort.REDIRECT,
    "loop": Sort.LOOP,
}
_NUMBERS = re.compile(r"\d{1,12}", re.ASCII)


def spot_at(index: int, target: str) -> Spot | None:
    """The resource at a path without session ids, whether it exists or not; None if the path has another form. The
    inverse of `path_of`."""
    spot = _guess(target)
    return spot if spot is not None and path_of(index, spot) == target else None


def _guess(target: str) -> Spot | None:
    if target in _FIXED:
        return _FIXED[target]
    head, _, rest = target[1:].partition("/")
    if head == "calendar":
        return _guess_calendar(rest)
    if head == "maze":
        return Spot(Sort.MAZE, 0, rest.count("/"))
    numbers = _NUMBERS.findall(rest or target)
    if not numbers:
        return None
    if head.startswith("sitemap-"):
        return Spot(Sort.SITEMAP, int(numbers[0]))
    if head in ("go", "loop"):
        return Spot(_NUMBERED[head], int(numbers[0]), int(numbers[-1]))
    if head == "cgi-bin" or (head == "private" and rest.startswith("staff-")):
        return Spot(Sort.DISALLOWED, int(numbers[-1]))
    return Spot(_NUMBERED.get(head, Sort.PAGE), int(numbers[-1]))


def _guess_calendar(rest: str) -> Spot | None:
    year, _, month = rest.rstrip("/").partition("/")
    if not (_NUMBERS.fullmatch(year) and _NUMBERS.fullmatch(month)):
        return None
    return Spot(Sort.CALENDAR, 0, (int(year) - 2026) * 12 + int(month) - 1)
