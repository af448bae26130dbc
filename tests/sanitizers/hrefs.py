"""Cases for hrefs. Reading many at once must give what reading each alone gives."""

from random import Random
from types import SimpleNamespace

from crawler.url import _hrefs as compiled
from crawler.url.hrefs import Origin, base_of, parse_origin
from crawler.url.urls import UrlReader
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus, make_href

BASES = ("https://docs.example.org/a/b/page.html?x=1", "http://u:p@e.org:81/a;sid=1/b", "ftp://e.org/", "no base", "")
READERS = (UrlReader(), UrlReader(queue_by="domain"), UrlReader(max_length=40))
KNOWN = (
    *("https://o.org/a", "https://o.org/b?c=1", "//o.org", "//p.org:81/", "../../a", "./b", "../", "/%2e/"),
    *("/a?sid=1", "/a?s=1", "/a?s=" + 40 * "0", ";jsessionid=1", "/a;s", "/a?phpsessid=0&asid=1", "/(X(1))/"),
    "/(" + 24 * "a" + ")",
)
"""So a page has several of an origin, and some that a rule may change."""
PARTS: tuple[object, ...] = (
    None,
    (),
    ("https://e.org",),
    ("https://e.org", 1, None),
    ("\ud800", "e.org", "org,e"),
    ("x" * 1000, "e.org", "org,e"),
    ["https://e.org", "e.org", "org,e"],
)


def compare(chance: Random, corpus: Corpus) -> None:
    reader, base, hrefs = chance.choice(READERS), _base(chance, corpus), _hrefs(chance, corpus)
    assert reader.read_many(hrefs, base) == [reader.read(href, base) for href in hrefs]
    path, least = "/".join(hrefs), chance.randrange(8)
    segments = path.split("/")
    repeated = sum(each in segments[max(0, at - 4) : at] for at, each in enumerate(segments) if each)
    is_odd = path.encode("utf-8", "replace").decode() != path
    assert compiled.may_repeat(path, least) == (repeated >= least or is_odd)


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    base, hrefs = base_of(_base(chance, corpus)), _hrefs(chance, corpus)
    scheme, directory = (None, "") if base is None else (base.origin.scheme, base.directory)
    home = None if base is None or base.marks else base.origin

    def odd_origin_of(origin: str) -> object:
        hrefs[chance.randrange(len(hrefs) + 1) :] = ["https://e.org/a"]
        return SimpleNamespace(parts=chance.choice(PARTS))

    def known_origin_of(origin: str) -> Origin:
        return parse_origin("https://e.org")

    return [
        (
            compiled.read_many,
            (hrefs, scheme, home, directory, origin_of, lambda *of: of, chance.choice((0, 40, 2083)), str),
        )
        for origin_of in (known_origin_of, odd_origin_of)
    ] + [
        (compiled.may_repeat, ("/".join(hrefs), chance.randrange(8))),
    ]


def _base(chance: Random, corpus: Corpus) -> str:
    return chance.choice(BASES) if chance.random() < 0.7 else f"https://e.org/{make_href(chance, corpus)}"


def _hrefs(chance: Random, corpus: Corpus) -> list[str]:
    return [
        chance.choice(KNOWN) if chance.random() < 0.3 else make_href(chance, corpus) for _ in range(chance.randrange(6))
    ]
