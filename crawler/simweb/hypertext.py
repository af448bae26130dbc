"""The pages of a simulated web: their text, their links, their encoding and their faults, from numbers alone."""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

import msgspec

from crawler.simweb.geography import TRAP_ENTRIES, Geography, Obstacle, Site, draws, share
from crawler.simweb.paths import Sort, Spot, page_path, page_word, path_of, with_session
from crawler.simweb.text import (
    CHINESE,
    ENGLISH,
    FRENCH,
    GERMAN,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    Language,
    paragraphs,
    phrase,
    steps,
)


class Encoding(msgspec.Struct, frozen=True):
    """A character encoding as the web names it, and as Python does."""

    label: str
    codec: str
    language: Language


UTF_8 = Encoding("utf-8", "utf-8", ENGLISH)
UTF_8_WITH_BOM = Encoding("utf-8", "utf-8-sig", FRENCH)
LEGACY_ENCODINGS = (
    Encoding("windows-1252", "cp1252", FRENCH),
    Encoding("iso-8859-1", "latin-1", GERMAN),
    Encoding("koi8-r", "koi8_r", RUSSIAN),
    Encoding("windows-1251", "cp1251", RUSSIAN),
    Encoding("shift_jis", "shift_jis", JAPANESE),
    Encoding("euc-jp", "euc_jp", JAPANESE),
    Encoding("gb2312", "gb2312", CHINESE),
    Encoding("euc-kr", "euc_kr", KOREAN),
    UTF_8_WITH_BOM,
)
CONTENT_CODINGS = ("br", "gzip", "deflate")

_FOREIGN_LINKS = 20
"""One of this many links to known pages goes to another host."""
_EXTRA_LINKS = 12
"""One of this many repeats a link to something that is not a page."""
_AUTHORS = ("Ada Quill", "Ben Moss", "Carla Finch", "Dan Reed", "Eva Stone", "Finn Marsh", "Gia Wells", "Hugo Lane")
_WRITTEN = (Sort.PAGE, Sort.DISALLOWED, Sort.HIDDEN, Sort.CUT)
"""The sorts that are pages with text."""
_ATTACHED = (Sort.DISALLOWED, Sort.REDIRECT, Sort.LOOP, Sort.DEAD, Sort.BROKEN, Sort.CUT)


class Declared(StrEnum):
    """Where a page names its encoding."""

    HEADER = "header"
    META = "meta"
    BOM = "bom"
    NOWHERE = "nowhere"


class PageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of one page, to compare with what a crawler found out."""

    source: int
    """The page whose body this one has; its own number unless it is a duplicate."""
    obstacle: Obstacle | None
    title: str
    description: str
    author: str
    encoding: Encoding
    declared: Declared
    broken: bool
    content_coding: str | None
    """For clients that accept it."""
    chunked: bool
    size_bytes: int
    """Aimed at."""
    noise: int
    """Where the random choices of the body start."""


class Hypertext:
    """Writes the pages of one world."""

    def __init__(self, geography: Geography) -> None:
        self._geography = geography
        self._params = geography.params
        self._navigation = lru_cache(maxsize=1024)(self._write_navigation)

    def facts(self, site: Site, spot: Spot) -> PageFacts:
        """Of a page, a disallowed or a hidden one."""
        p = self._params
        tag = _WRITTEN.index(spot.sort)
        obstacle, source = self._geography.fate(site, spot.number) if spot.sort is Sort.PAGE else (None, spot.number)
        noise, legacy, style, coded, size, broken, *_ = draws(p.seed, site.index, 7, tag, source)
        encoding, declared = _encoding(legacy >> 16, style) if share(legacy) < p.legacy_charsets else _PLAIN
        word = page_word(site.index, source)
        return PageFacts(
            source=source,
            obstacle=obstacle,
            title=f"{word.capitalize()} {spot.sort} {source}: {phrase(encoding.language, noise, 3)}",
            description=f"{phrase(encoding.language, noise + 1, 9)} ({source}, {site.name})",
            author=_AUTHORS[noise % len(_AUTHORS)],
            encoding=encoding,
            declared=declared,
            broken=share(broken) < p.broken_html,
            content_coding=CONTENT_CODINGS[(coded >> 4) % 3] if share(coded) < p.compressed else None,
            chunked=share(style) < p.chunked,
            size_bytes=p.page_bytes // 2 + int(share(size) * p.page_bytes),
            noise=noise,
        )

    def body(self, site: Site, spot: Spot, facts: PageFacts, *, port: int | None) -> bytes:
        """The page as its server has it, before compression. `port` stands in absolute links, unless None."""
        number = facts.source
        is_page = spot.sort is Sort.PAGE
        needed = list(self._needed_links(site, number, port)) if is_page else []
        navigation, navigation_links = self._navigation(site.index)
        spare = max(0, self._params.links_per_page - navigation_links - len(needed))
        known = self._known_links(site, facts.noise, spare, port=port)
        link = _bare_link if facts.broken else _link
        listed = "".join(f"<li>{link(href, text)}</li>\n" for href, text in needed)
        inline = [link(href, text) for href, text in known]
        charset = f'<meta charset="{facts.encoding.label}">\n' if facts.declared is Declared.META else ""
        canonical = f'<link rel="canonical" href="{page_path(site.index, number)}">\n' if is_page else ""
        head = (
            f'<!DOCTYPE html>\n<html lang="{facts.encoding.language.code}">\n<head>\n{charset}'
            f'<title>{facts.title}</title>\n<meta name="description" content="{facts.description}">\n'
            f'<meta name="author" content="{facts.author}">\n{canonical}</head>\n<body>\n{navigation}'
            f"<main>\n<h1>{facts.title}</h1>\n<ul>\n{listed}</ul>\n"
        )
        foot = f"</main>\n<footer>{facts.author}, {site.name}</footer>\n</body>\n</html>\n"
        room = facts.size_bytes - len(head) - len(foot) - sum(map(len, inline))
        language = facts.encoding.language
        text = _text(language, facts.noise, int(room / language.bytes_per_character), links=inline)
        html = _break(head, text, foot) if facts.broken else f"{head}{text}{foot}"
        return html.encode(facts.encoding.codec)

    def _needed_links(self, site: Site, number: int, port: int | None) -> Iterator[tuple[str, str]]:
        """The links that keep the web connected: children, child hosts, and all that hangs on this page."""
        index = site.index
        for child in self._geography.child_pages(site, number):
            yield page_path(index, child), f"{page_word(index, child)} {child}"
        if number < site.trunk_count:
            for sort in _ATTACHED:
                for extra in range(number, site.counts[sort], site.trunk_count):
                    yield path_of(index, Spot(sort, extra)), f"{sort} {extra}"
        if number == 0:
            for host in self._geography.child_hosts(index):
                yield f"{self._geography.origin(host, port=port)}/", f"host {host}"
            if site.trapped:
                for entry in TRAP_ENTRIES:
                    yield path_of(index, entry), entry.sort

    def _known_links(self, site: Site, noise: int, count: int, *, port: int | None) -> Iterator[tuple[str, str]]:
        """Links to what is linked anyway, some of them with session ids or written oddly."""
        p = self._params
        index = site.index
        pages = site.page_count
        attached = [sort for sort in _ATTACHED if site.counts[sort]]
        sessions = int(p.session_ids * 1024)
        odd = sessions + int(p.odd_links * 1024)
        numbers = steps(noise)
        for _ in range(count):
            number = next(numbers)
            chance = number & 1023
            number >>= 10
            if attached and number % _EXTRA_LINKS == 1:
                sort = attached[number // _EXTRA_LINKS % len(attached)]
                extra = number // 64 % site.counts[sort]
                yield path_of(index, Spot(sort, extra)), f"{sort} {extra}"
                continue
            host = index
            if number % _FOREIGN_LINKS == 0:
                host = next(numbers) % self._geography.host_count
                number = next(numbers)
                target = number % self._geography.page_count(host)
            else:
                target = (number >> 4) % pages
            path = page_path(host, target)
            word = page_word(host, target)
            if chance < sessions:
                path = with_session(path, f"{noise:016x}{number:016x}")
            if host != index:
                path = self._geography.origin(host, port=port) + path
            elif sessions <= chance < odd:
                path = _odd(path, number, origin=self._geography.origin(index, port=port))
            yield path, word

    def _write_navigation(self, index: int) -> tuple[str, int]:
        count = min(self._geography.site(index).page_count, self._params.links_per_page // 2)
        items = "".join(f"<li>{_link(page_path(index, n), f'{page_word(index, n)} {n}')}</li>\n" for n in range(count))
        return f"<nav>\n<ul>\n{items}</ul>\n</nav>\n", count


_PLAIN = (UTF_8, Declared.HEADER)


def trap_page(title: str, next_href: str) -> bytes:
    """A page that leads to the next of its kind, forever."""
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{title}</title></head>\n<body><p>{title}</p>\n"
        f'<a href="{next_href}">next</a> <a href="/">home</a></body></html>\n'
    ).encode()


def error_page(status: int, reason: str) -> bytes:
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{status} {reason}</title></head>\n"
        f'<body><h1>{reason}</h1><a href="/">home</a></body></html>\n'
    ).encode()


def _encoding(pick: int, style: int) -> tuple[Encoding, Declared]:
    encoding = LEGACY_ENCODINGS[pick % len(LEGACY_ENCODINGS)]
    if encoding is UTF_8_WITH_BOM:
        return encoding, Declared.BOM
    return encoding, (Declared.HEADER, Declared.META, Declared.NOWHERE)[style % 3]


def _link(href: str, text: str) -> str:
    return f'<a href="{href.replace("&", "&amp;")}">{text}</a>'


def _bare_link(href: str, text: str) -> str:
    return f"<a href={href}>{text}</a>" if href.isprintable() and " " not in href else _link(href, text)


def _odd(path: str, pick: int, *, origin: str) -> str:
    """The same page, written as people and programs write links."""
    host = origin.removeprefix("http:")
    forms = (
        f"{path}#part-{pick & 7}",
        f"/.{path}",
        f"/nowhere/..{path}",
        f"HTTP:{host.upper()}{path}",
        f"\n  {path} ",
        f"{host}{path}",
        f"..{path}",
        f"{path[:3]}\n{path[3:]}",
        "javascript:void(0)",
        "mailto:webmaster@example.org",
    )
    return forms[pick % len(forms)]


def _text(language: Language, noise: int, characters: int, *, links: list[str]) -> str:
    """Paragraphs of that many characters, links spread over them."""
    pool = paragraphs(language)
    numbers = steps(noise ^ 0x5EED)
    chosen = []
    while characters > 0:
        paragraph = pool[next(numbers) % len(pool)]
        chosen.append(paragraph[:characters])
        characters -= len(paragraph) + 8
    if not chosen:
        chosen = [""]
    per_paragraph, rest = divmod(len(links), len(chosen))
    parts = []
    start = 0
    for position, paragraph in enumerate(chosen):
        end = start + per_paragraph + (position < rest)
        parts.append(f"<p>{paragraph} {' '.join(links[start:end])}</p>\n")
        start = end
    return "".join(parts)


def _break(head: str, text: str, foot: str) -> str:
    """The same page as careless people write it; every link survives in a parser that follows the HTML standard."""
    head = head.replace("<!DOCTYPE html>\n", "").replace("</li>", "").replace("</head>\n<body>", "<body bgcolor=#fff>")
    text = text.replace("</p>\n", "\n<b><i>\x00</b></i>")
    table = "<table><tr><td><table><tr><td>nested<td>cells</table><tr><td>and a row"
    foot = foot.replace("</footer>", "").replace("</body>", '<p title="never closed>')
    return f"{head}{table}</table>\n{text}{foot}"
