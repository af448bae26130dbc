"""What is done for each of some hundred links of a page: in C (`_bulk`) where that is compiled. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, cast

from crawler.discover.links.judgement import ANY_DEPTH, Judgement
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.page import Link
from crawler.url.urls import BadUrl, Target

try:
    from crawler.discover.links import _bulk as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 11  # False if it was compiled from older code

Groups = tuple[list[int], list[str], list[int]]
"""Where the first link of each group of equal ones stands among all, its href without fragment, and their number."""

LookedUp = tuple[list[Judgement | None], list[int]]

JudgeByScope = Callable[[Any], tuple[ScopeRefusal | None, int | None]]
"""Tells of a target, or of its site, why scope refuses it, and its greatest depth."""

Divided = tuple[dict[str, Judgement], dict[str, Judgement], dict[str, Judgement], list[str]]

Collected = tuple[dict[str, int], set[str], list[int], list[Target], list[tuple[str, str]] | None]
"""What is known of a page's links: `found`, `refused`, `firsts`, `targets` and `refusals`, see `follow`."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST: Final = 2048
"""Characters of an href that is grouped."""


def without_fragment(href: str, /) -> str:
    """Keeps a `#` behind white space: there it belongs to the URL, and at the end of an href it would not."""
    before, mark, _ = href.partition("#")
    return f"{before}{mark}" if before and before[-1] <= " " else before


def group_in_python(links: list[Link], /) -> Groups:
    """Group the links of a page.

    A link joins the last group of its href if that is of the same kind: kinds are compared by identity. A link stays
    alone if its href is long, or no valid text, or if a page chose its hrefs so that they are slow to group.
    """
    firsts: list[int] = []
    bare: list[str] = []
    counts: list[int] = []
    last_group: dict[str, int] = {}
    for place, link in enumerate(links):
        href = link.href
        before = without_fragment(href) if "#" in href else href
        if len(href) <= _LONGEST and (href.isascii() or not _SURROGATE.search(href)):
            group = last_group.get(before)
            if group is not None and links[firsts[group]].kind is link.kind:
                counts[group] += 1
                continue
            last_group[before] = len(firsts)
        firsts.append(place)
        bare.append(before)
        counts.append(1)
    return firsts, bare, counts


def group_links(links: Sequence[Link], start: int, stop: int, /) -> Groups:
    """Group the links of a page from one place up to another; links that can do so themselves, such as those of a scan,
    need not be made for it."""
    group: Callable[[int, int], Groups] | None = getattr(links, "group", None)
    if group is not None:
        return group(start, stop)
    firsts, hrefs, counts = group_list(list(links[start:stop]))
    return [start + place for place in firsts] if start else firsts, hrefs, counts


def look_up_in_python(hrefs: list[str], dicts: tuple[dict[str, Judgement], ...], /) -> LookedUp:
    """What the first of several dicts has for each href, None where none has it; and the places of these."""
    looked_up: Iterable[Judgement | None] = repeat(None, len(hrefs))
    for each in reversed(dicts):
        looked_up = map(each.get, hrefs, looked_up)
    found = list(looked_up)
    return found, [] if all(found) else [place for place, known in enumerate(found) if known is None]


def judge_in_python(
    hrefs: list[str],
    targets: list[Target | BadUrl],
    judge: JudgeByScope,
    by_site: bool,
    trap_of: Callable[[Target], Trap | None],
    /,
) -> list[Judgement]:
    """The judgements on hrefs that mean those targets. `judge` is asked of the site of a target if `by_site`."""
    judgements: list[Judgement] = []
    for href, target in zip(hrefs, targets, strict=True):
        if isinstance(target, str):
            judgements.append(Judgement(target))
            continue
        reason, max_depth = judge(target.site if by_site else target)
        refusal = trap_of(target) if reason is None else reason
        allowed = target if refusal is None and href and target.canonical.isascii() else None
        outside = target if reason is ScopeRefusal.OUT_OF_SCOPE and href else None
        most = ANY_DEPTH if max_depth is None else max_depth
        judgements.append(Judgement(target, refusal, most, allowed, outside))
    return judgements


def divide_in_python(hrefs: list[str], judgements: list[Judgement], longest: int, /) -> Divided:
    """The judgements on hrefs that have at most so many characters, and begin with http or https, with a slash, or
    otherwise; and the hrefs of which only a closer look tells that."""
    absolute: dict[str, Judgement] = {}
    rooted: dict[str, Judgement] = {}
    relative: dict[str, Judgement] = {}
    odd: list[str] = []
    for href, judgement in zip(hrefs, judgements, strict=True):
        if len(href) > longest:
            continue
        if href.startswith(("https://", "http://")):
            absolute[href] = judgement
        elif (first := href[:1]) == "/":
            rooted[href] = judgement
        elif first > "?" and (first not in "hH" or ":" not in href):
            relative[href] = judgement
        else:
            odd.append(href)
    return absolute, rooted, relative, odd


def follow_in_python(
    places: list[int],
    counts: list[int],
    judgements: list[Judgement],
    at: int,
    depth: int,
    collected: Collected,
    /,
) -> int:
    """Follow links of a page of that depth, which stand at those places, from the one at `at` on. Returns where it has
    come: at a link that is not allowed there or whose canonical URL is `refused`, or behind the last one.

    `found` gets the canonical URLs and their counts, `firsts` the place of the first link to each, `targets` where it
    leads. With `refusals`, a link out of the seeds' scope is refused and passed: `refused` gets its canonical URL,
    `refusals` its URL and the reason."""
    found, refused, firsts, targets, refusals = collected
    for number in range(at, len(places)):
        judgement = judgements[number]
        target = judgement.allowed
        if target is None or depth >= judgement.max_depth:
            outside = judgement.outside
            if refusals is None or outside is None or outside.canonical in found or outside.canonical in refused:
                return number
            refused.add(outside.canonical)
            refusals.append((outside.url, cast(str, judgement.refusal)))
            continue
        canonical = target.canonical
        if canonical in found:
            found[canonical] += counts[number]
        elif canonical in refused:
            return number
        else:
            found[canonical] = counts[number]
            firsts.append(places[number])
            targets.append(target)
    return len(places)


group_list = compiled.group_links if IS_COMPILED else group_in_python  # type: ignore[possibly-undefined]
look_up = compiled.look_up if IS_COMPILED else look_up_in_python
judge = partial(compiled.judge, Judgement, ScopeRefusal.OUT_OF_SCOPE, ANY_DEPTH) if IS_COMPILED else judge_in_python
divide = compiled.divide if IS_COMPILED else divide_in_python
follow = compiled.follow if IS_COMPILED else follow_in_python
