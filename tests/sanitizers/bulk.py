"""Cases for the loops over the links of a page. The reference is written in Python."""

from collections.abc import Callable
from operator import attrgetter
from random import Random
from types import SimpleNamespace
from typing import Any

from crawler.discover.links import _bulk as compiled
from crawler.discover.links.bulk import (
    divide_in_python,
    follow_in_python,
    group_in_python,
    judge_in_python,
    look_up_in_python,
)
from crawler.discover.links.judgement import ANY_DEPTH, Judgement
from crawler.discover.scope import ScopeRefusal
from tests.sanitizers.calls import Call, odd_value
from tests.sanitizers.corpus import Corpus, make_href


class _Slotted:
    """Holds its attributes as a Struct does. Some may have no value."""

    __slots__ = (
        "allowed",
        "canonical",
        "href",
        "kind",
        "max_depth",
        "outside",
        "refusal",
        "site",
        "told",
        "trap",
        "url",
    )

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)


class _Inheriting(_Slotted):
    pass


_SITES = "abc"
_MAKERS = SimpleNamespace, _Slotted, _Slotted, _Slotted, _Inheriting


def compare(chance: Random, corpus: Corpus) -> None:
    links = _links(chance, corpus)
    groups = compiled.group_links(links)
    assert groups == group_in_python(links)
    firsts, hrefs, counts = groups
    dicts = _dicts(chance, hrefs)
    assert compiled.look_up(hrefs, dicts) == look_up_in_python(hrefs, dicts)
    meant = [_target(chance, href) for href in hrefs]
    by = _by_scope(chance)
    judged = compiled.judge(Judgement, ScopeRefusal.OUT_OF_SCOPE, ANY_DEPTH, hrefs, meant, *by)
    assert judged == judge_in_python(hrefs, meant, *by)
    longest = chance.choice((9, 512))
    assert compiled.divide(hrefs, judged, longest) == divide_in_python(hrefs, judged, longest)
    judgements, depth = [_judgement(chance, href) for href in hrefs], chance.randrange(4)
    results = []
    for follow in (compiled.follow, follow_in_python):
        found: dict[str, int] = {"b": 3}
        targets: list[Any] = []
        taken: list[Any] = []
        places, refused = [-1], {"r", ""}
        refusals: list[Any] | None = [] if depth else None
        while places[-1] < len(firsts):
            at = places[-1] + 1
            places.append(follow(firsts, counts, judgements, at, depth, (found, refused, taken, targets, refusals)))
        results.append((found, taken, targets, places, refused, refusals))
    assert results[0] == results[1]


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    links = _links(chance, corpus)
    odd = [*links, _made(chance, href=odd_value(chance)), _made(chance, href="a", kind=odd_value(chance))]
    judgements: list[Any] = [_judgement(chance, link.href) for link in links]
    values = {name: odd_value(chance) for name in ("allowed", "max_depth", "outside", "refusal")}
    odd_judgements = [*judgements, _made(chance, **values)] * 2

    def follow(judged: list[Any]) -> Call:
        counts: list[Any] = [1 for _ in judged]
        return compiled.follow, (list(judged), counts, judged, 0, 1, ({"a": 1}, {"r"}, [], [], []))

    return [
        (compiled.group_links, (links,)),
        (compiled.group_links, (odd,)),
        (compiled.look_up, ([link.href for link in links], _dicts(chance, [link.href for link in links]))),
        _judge(chance, [link.href for link in links], lambda href: _target(chance, href)),
        _judge(chance, [link.href for link in odd], lambda _: _odd_target(chance)),
        (compiled.divide, ([link.href for link in odd], list(odd), 512)),
        follow(judgements),
        follow(odd_judgements),
    ]


def _judge(chance: Random, hrefs: list[Any], target: Callable[[Any], Any]) -> Call:
    made_by = Judgement, ScopeRefusal.OUT_OF_SCOPE, ANY_DEPTH
    return compiled.judge, (*made_by, hrefs, [target(href) for href in hrefs], *_by_scope(chance))


def _by_scope(chance: Random) -> tuple[Any, bool, Any]:
    """How targets or their sites are judged. Functions of Python may not survive to be called without memory."""
    reasons = ScopeRefusal.OUT_OF_SCOPE, ScopeRefusal.PORT, None, None
    told = {site: (chance.choice(reasons), chance.choice((None, 2))) for site in _SITES}
    by_site = chance.random() < 0.5
    return told.__getitem__ if by_site else attrgetter("told"), by_site, attrgetter("trap")


def _target(chance: Random, href: str) -> Any:
    if chance.random() < 0.2:
        return "no URL"
    told = chance.choice((ScopeRefusal.OUT_OF_SCOPE, None)), chance.choice((None, 2))
    canonical = chance.choice((href, "\xe9", "\ud800"))
    return _made(chance, canonical=canonical, site=chance.choice(_SITES), told=told, trap=chance.choice((None, "t")))


def _odd_target(chance: Random) -> Any:
    values = {name: odd_value(chance) for name in ("canonical", "site", "told", "trap")}
    return chance.choice((odd_value(chance), _made(chance, **values)))


def _links(chance: Random, corpus: Corpus) -> list[Any]:
    hrefs = [make_href(chance, corpus) for _ in range(chance.randrange(6))]
    return [
        _made(chance, href=f"{href}{chance.choice(('', '#', '#a'))}", kind=chance.choice("ab")) for href in hrefs * 4
    ]


def _made(chance: Random, **values: Any) -> Any:
    return chance.choice(_MAKERS)(**values)


def _dicts(chance: Random, hrefs: list[str]) -> tuple[dict[str, Any], ...]:
    return tuple({href: number for href in hrefs if chance.random() < 0.5} for number in range(3))


def _judgement(chance: Random, href: str) -> Any:
    canonical = chance.choice((href[:1], "b", "r", href))
    target = _made(chance, canonical=canonical, url=href) if chance.random() < 0.8 else None
    allowed, outside = chance.choice(((target, None), (target, None), (None, target)))
    max_depth = chance.choice((1 << 31, 1 << 31, 2))
    return _made(chance, allowed=allowed, outside=outside, max_depth=max_depth, refusal="out")
