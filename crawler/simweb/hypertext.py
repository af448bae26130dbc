"""Writes the pages of a simulated web, computed from numbers alone: links, text, and the errors of careless authors."""

from collections.abc import Iterator
from functools import lru_cache

from crawler.simweb.changes import Changes
from crawler.simweb.geography import TRAP_ENTRIES, Geography, Site, draws, share
from crawler.simweb.page_facts import (
    CONTENT_CODINGS,
    LEGACY_ENCODINGS,
    UTF_8,
    UTF_8_WITH_BOM,
    Declared,
    Encoding,
    PageFacts,
)
from crawler.simweb.paths import Sort, Spot, page_path, page_word, path_of, with_session
from crawler.simweb.text import Language, paragraphs, phrase, steps

_FOREIGN_LINKS = 20
"""One in so many links to known pages goes to another host."""
_EXTRA_LINKS = 12
"""One in so many repeats a link to a resource that is not a page."""
_AUTHORS = ("Ada Quill", "Ben Moss", "Carla Finch", "Dan Reed", "Eva Stone", "Finn Marsh", "Gia Wells", "Hugo Lane")
WRITTEN_SORTS = (Sort.PAGE, Sort.DISALLOWED, Sort.HIDDEN, Sort.CUT)
"""The sorts of resources that are pages with text."""
_ATTACHED = (Sort.DISALLOWED, Sort.REDIRECT, Sort.LOOP, Sort.DEAD, Sort.BROKEN, Sort.CUT)


class Hypertext:
    """Writes the pages of one world."""

    def __init__(self, geography: Geography) -> None:
        self._geography = geography
        self._params = geography.params
        self.changes = Changes(geography.params)
        self._navigation = lru_cache(maxsize=1024)(self._write_navigation)

    def facts(self, site: Site, spot: Spot, *, now: float = 0.0) -> PageFacts:
        """The facts about a page of one of the written sorts, at that time (seconds since 1970)."""
        p = self._params
        tag = WRITTEN_SORTS.index(spot.sort)
        is_page = spot.sort is Sort.PAGE
        obstacle, source, is_near = self._geography.fate(site, spot.number) if is_page else (None, spot.number, False)
        noise, legacy, style, coded, size, broken, *_ = draws(p.seed, site.index, 7, tag, source)
        is_fleeting = self._geography.is_fleeting(site, spot)
        version = self.changes.version(site.index, tag, source, now=now)
        if version is not None:
            noise ^= version.noise
        encoding, declared = _encoding(legacy >> 16, style) if share(legacy) < p.legacy_charsets else _PLAIN
        word = page_word(site.index, source)
        return PageFacts(
            source=source,
            edition=spot.number if is_near else None,
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
            changed_at=None if version is None else version.since,
            missing=is_fleeting and version is not None and version.noise >> 32 & 1 == 1,
        )

    def body(self, site: Site, spot: Spot, facts: PageFacts, *, port: int | None) -> bytes:
        """The body of a page before compression. Absolute links contain `port`, unless it is None."""
        number = facts.source
        is_page = spot.sort is Sort.PAGE
        needed = list(self._needed_links(site, number, port)) if is_page else []
        navigation, navigation_links = self._navigation(site.index)
        spare = max(0, self._params.links_per_page - navigation_links - len(needed))
        known = self._known_links(site, facts.noise, spare, port=port)
        write_link = _bare_link if facts.broken else _link
        listed = "".join(f"<li>{write_link(href, text)}</li>\n" for href, text in needed)
        inline = [write_link(href, text) for href, text in known]
        charset = f'<meta charset="{facts.encoding.label}">\n' if facts.declared is Declared.META else ""
        canonical = f'<link rel="canonical" href="{page_path(site.index, number)}">\n' if is_page else ""
        head = (
            f'<!DOCTYPE html>\n<html lang="{facts.encoding.language.code}">\n<head>\n{charset}'
            f'<title>{facts.title}</title>\n<meta name="description" content="{facts.description}">\n'
            f'<meta name="author" content="{facts.author}">\n{canonical}</head>\n<body>\n{navigation}'
            f"<main>\n<h1>{facts.title}</h1>\n<ul>\n{listed}</ul>\n"
        )
        edition = "" if facts.edition is None else f"<p>{page_word(site.index, facts.edition)} {facts.edition}</p>\n"
        foot = f"</main>\n<footer>{facts.author}, {site.name}</footer>\n</body>\n</html>\n"
        room = facts.size_bytes - len(head) - len(foot) - sum(map(len, inline))
        language = facts.encoding.language
        text = _text_with_links(language, facts.noise, int(room / language.bytes_per_character), links=inline)
        html = _break_markup(head, text, edition + foot) if facts.broken else f"{head}{text}{edition}{foot}"
        return html.encode(facts.encoding.codec)

    def _needed_links(self, site: Site, number: int, port: int | None) -> Iterator[tuple[str, str]]:
        """The links that connect the web: to child pages, child hosts, and the resources attached to this page."""
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
        """Links to pages that are linked elsewhere too, some with session ids or in odd spellings."""
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
                path = _odd_path(path, number, origin=self._geography.origin(index, port=port))
            yield path, word

    def _write_navigation(self, index: int) -> tuple[str, int]:
        count = min(self._geography.site(index).page_count, self._params.links_per_page // 2)
        items = "".join(f"<li>{_link(page_path(index, n), f'{page_word(index, n)} {n}')}</li>\n" for n in range(count))
        return f"<nav>\n<ul>\n{items}</ul>\n</nav>\n", count


_PLAIN = (UTF_8, Declared.HEADER)


def _encoding(pick: int, style: int) -> tuple[Encoding, Declared]:
    encoding = LEGACY_ENCODINGS[pick % len(LEGACY_ENCODINGS)]
    if encoding is UTF_8_WITH_BOM:
        return encoding, Declared.BOM
    return encoding, (Declared.HEADER, Declared.META, Declared.NOWHERE)[style % 3]


def trap_page(title: str, next_href: str) -> bytes:
    """A page that links to the next page of its kind, forever."""
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{title}</title></head>\n<body><p>{title}</p>\n"
        f'<a href="{next_href}">next</a> <a href="/">home</a></body></html>\n'
    ).encode()


def error_page(status: int, reason: str) -> bytes:
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{status} {reason}</title></head>\n"
        f'<body><h1>{reason}</h1><a href="/">home</a></body></html>\n'
    ).encode()


def _link(href: str, text: str) -> str:
    return f'<a href="{href.replace("&", "&amp;")}">{text}</a>'


def _bare_link(href: str, text: str) -> str:
    return f"<a href={href}>{text}</a>" if href.isprintable() and " " not in href else _link(href, text)


def _odd_path(path: str, pick: int, *, origin: str) -> str:
    """A link to the same page, written as some people and programs write links."""
    scheme, _, host = origin.partition(":")
    forms = (
        f"{path}#part-{pick & 7}",
        f"/.{path}",
        f"/nowhere/..{path}",
        f"{scheme.upper()}:{host.upper()}{path}",
        f"\n  {path} ",
        f"{host}{path}",
        f"..{path}",
        f"{path[:3]}\n{path[3:]}",
        "javascript:void(0)",
        "mailto:webmaster@example.org",
    )
    return forms[pick % len(forms)]


def _text_with_links(language: Language, noise: int, characters: int, *, links: list[str]) -> str:
    """Paragraphs of that many characters, with the links spread over them."""
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


def _break_markup(head: str, text: str, foot: str) -> str:
    """The same page as careless people write it. A parser that follows the HTML standard still finds every link."""
    head = head.replace("<!DOCTYPE html>\n", "").replace("</li>", "").replace("</head>\n<body>", "<body bgcolor=#fff>")
    text = text.replace("</p>\n", "\n<b><i>\x00</b></i>")
    table = "<table><tr><td><table><tr><td>nested<td>cells</table><tr><td>and a row"
    foot = foot.replace("</footer>", "").replace("</body>", '<p title="never closed>')
    return f"{head}{table}</table>\n{text}{foot}"
