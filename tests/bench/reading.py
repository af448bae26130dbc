"""How fast pages are read: decoded, parsed, their links resolved and made canonical.

The pages are the real ones of the corpora, or made-up ones where these are missing. Each reader gets the same bytes,
and gives the distinct links in canonical form: this crawler's three, Scrapy's LinkExtractor, and parsel with w3lib.
This crawler's readers also find every other kind of link, the title, the abstract and the rest of a record, because a
crawl needs them; so their work is more, not less. `scrapy_all` is Scrapy's told to look for other elements than <a>,
too. A ratio is one of processor times, for the same pages in the same
process. `judged` is lexbor's once more, with each link judged by scope and traps and made an entry of the frontier, as
the engine has it.

What no reader in Python can pass: `bare` and `bare_lxml` only parse, and `joined` is `bare` with a URL parser called
for each distinct href, given for nothing. Where the time of ours goes is told at the end, by step and by function.
"""

import cProfile
import io
import pstats
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import lxml.etree
from ada_url import join_url
from parsel import Selector
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from selectolax.lexbor import LexborHTMLParser
from w3lib.url import canonicalize_url

from crawler.cli.run.allocator import settle_allocator
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.page import Extract, Page
from crawler.read.elements.element_reader import Document
from crawler.read.encoding.text import encoding_of, to_utf8
from crawler.read.html.bs4 import bs4_extractor
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lxml import lxml_extractor
from crawler.read.html.scan import scan
from crawler.read.options import DEFAULT_OPTIONS
from crawler.seams import LinkExtractor as OurExtractor
from crawler.steps import run_all
from crawler.url.urls import Target, UrlReader
from frontier import CrawlUrl
from tests.bench.report import emit, options, spread, tell
from tests.conftest import CORPORA
from tests.unit.read.suites import page, real_pages

Reader = Callable[[Page], int]
"""Reads a page, and returns how many links it found."""

MEANINGS = {
    "ratio_scrapy_lexbor": "times as fast as Scrapy's LinkExtractor",
    "ratio_scrapy_lxml": "the same with lxml",
    "ratio_scrapy_all": "with lexbor, where Scrapy too looks for images, scripts, style sheets and frames",
    "ratio_scrapy_links": "with lexbor, by links per second",
    "ratio_scrapy_judged": "with lexbor, and each link judged",
    "lexbor_mb_per_s": "megabytes of pages read per second, with lexbor",
    "links_per_s": "distinct links per second, resolved and canonical, with lexbor",
    "ratio_scrapy_bare": "a ceiling: lexbor's parser alone, without reading anything",
    "ratio_scrapy_joined": "a ceiling: that and a URL parser, without anything between them",
    "ratio_scrapy_bare_lxml": "a ceiling: lxml's parser alone",
}
_PROFILED_LINES = 18
_ELEMENTS = ("a", "area", "link", "img", "script", "iframe", "frame", "source", "embed", "video", "audio", "track")
_ATTRIBUTES = ("href", "src", "data-src", "poster")
"""What Scrapy must be told to find most links that ours finds; it has no reader for srcset, styles and <meta>."""


def pages(*, quick: bool) -> list[Page]:
    """Real pages, every fourth of them if it has to be quick."""
    if not CORPORA.is_dir():
        tell(f"no corpora at {CORPORA}: made-up pages instead")
        return _made_up()
    found = [each for _, each in real_pages(CORPORA)]
    return found[::4] if quick else found


def _made_up() -> list[Page]:
    links = "".join(f"<li><a href='../p{n}/x?b={n}&amp;a=1#s'>Link {n}</a> and some words</li>" for n in range(200))
    body = f"<!doctype html><meta charset=utf-8><title>T</title><ul>{links}</ul><p>{'words ' * 3000}"
    return [page(body.encode(), url=f"https://h{n}.example/a/b/") for n in range(100)]


def ours(extractor: OurExtractor) -> Reader:
    """Extractor and reader of URLs."""
    urls = UrlReader()

    def read(page: Page) -> int:
        extract = extractor.extract(page)
        hrefs = {href.partition("#")[0] if "#" in href else href for href in [link.href for link in extract.links]}
        targets = urls.read_many(list(hrefs), extract.base_url)
        return len({target.canonical for target in targets if isinstance(target, Target)})

    return read


def judged(extractor: OurExtractor) -> Reader:
    """Extractor and discovery, as the engine calls them."""
    discover = discovery()
    return lambda page: discover(page, extractor.extract(page))


def discovery() -> Callable[[Page, Extract], int]:
    """Counts the distinct links of an extract, resolved, canonical and judged."""
    urls = UrlReader()
    scoped = ScopedDiscovery(urls=urls, scope=Scope(within="any", seeds=[urls.seed("https://example.org/")]))

    def discover(page: Page, extract: Extract) -> int:
        parent = CrawlUrl(url=page.url, canonical=page.url, queue_key="org,example")
        return len(run_all(scoped.links(extract.base_url, extract.links, parent=parent)).urls)

    return discover


def bare() -> Reader:
    """The parser alone."""

    def read(page: Page) -> int:
        LexborHTMLParser(page.body)
        return 0

    return read


def bare_lxml() -> Reader:
    """The parser alone."""

    def read(page: Page) -> int:
        parser = lxml.etree.HTMLParser(encoding="utf-8", huge_tree=True)
        parser.feed(page.body)
        parser.close()
        return 0

    return read


def joined(given: Sequence[Page]) -> Reader:
    """lexbor's parser, and a URL parser for what was extracted before."""
    extractor = lexbor_extractor()
    extracts = {page.url: extractor.extract(page) for page in given}
    hrefs = {
        url: (extract.base_url, list({link.href.partition("#")[0]: None for link in extract.links}))
        for url, extract in extracts.items()
    }

    def read(page: Page) -> int:
        LexborHTMLParser(page.body)
        base_url, there = hrefs[page.url]
        for href in there:
            with suppress(ValueError):
                join_url(base_url, href)
        return 0

    return read


def scrapys(**elements: Sequence[str]) -> Reader:
    """With canonical links, all file types, as lenient as ours."""
    extractor = LinkExtractor(canonicalize=True, deny_extensions=(), **elements)

    def read(page: Page) -> int:
        response = HtmlResponse(page.url, body=page.body, headers=dict(page.headers))
        return len(extractor.extract_links(response))

    return read


def parsels() -> Reader:
    """What one writes by hand: select, join, canonicalize."""

    def read(page: Page) -> int:
        response = HtmlResponse(page.url, body=page.body, headers=dict(page.headers))
        hrefs = Selector(text=response.text).css("a::attr(href), area::attr(href)").getall()
        return len({_canonical(response, href) for href in hrefs})

    return read


def _canonical(response: HtmlResponse, href: str) -> str | None:
    try:
        return str(canonicalize_url(response.urljoin(href)))
    except ValueError:
        return None


def times_of(
    readers: Mapping[str, Reader], given: Sequence[Page], *, rounds: int
) -> dict[str, tuple[list[float], int]]:
    """Processor seconds for all pages in each round, and the links of one, by reader. They take turns, so that a
    machine that is busy for a while is so for all of them. A first round warms up."""
    samples: dict[str, list[float]] = {name: [] for name in readers}
    links: dict[str, int] = {}
    for number in range(rounds + 1):
        for name, read in readers.items():
            started = time.process_time()
            links[name] = sum(map(read, given))
            if number:
                samples[name].append(time.process_time() - started)
    return {name: (samples[name], links[name]) for name in readers}


def profile(read: Reader, given: Sequence[Page]) -> None:
    """Tell where the time goes. A profiler makes what is called often look dearer than it is."""
    steps = _steps(given)
    told = ", ".join(f"{name} {100 * seconds / sum(steps.values()):.0f} %" for name, seconds in steps.items())
    tell(f"steps of lexbor's reader: {told}")
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [read(each) for each in given])
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(_PROFILED_LINES)
    tell("\n".join(line for line in text.getvalue().splitlines() if line.strip()))


def _steps(given: Sequence[Page]) -> dict[str, float]:
    """Seconds of the steps, each done for all pages alone."""
    extractor = lexbor_extractor()
    bodies = [to_utf8(each.body, encoding_of(each.body, http_charset=None)) for each in given]
    documents = [Document(html=body, robots_names=frozenset({"robots"}), options=DEFAULT_OPTIONS) for body in bodies]
    extracts = [extractor.extract(each) for each in given]
    discover = discovery()
    seconds = {
        "decode": _seconds(lambda: [to_utf8(each.body, encoding_of(each.body, http_charset=None)) for each in given]),
        "scan": _seconds(lambda: [scan(document) for document in documents]),
    }
    seconds["parse where a tree is needed, and the rest"] = _seconds(
        lambda: [extractor.extract(each) for each in given]
    ) - sum(seconds.values())
    seconds["resolve, judge, canonicalize"] = _seconds(
        lambda: [discover(page, extract) for page, extract in zip(given, extracts, strict=True)]
    )
    return seconds


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    asked = options(__doc__ or "")
    settle_allocator()
    given = pages(quick=asked.quick)
    megabytes = sum(len(each.body) for each in given) / 1e6
    tell(f"{len(given)} pages, {megabytes:.1f} MB")
    readers: dict[str, Reader] = {
        "lexbor": ours(lexbor_extractor()),
        "lxml": ours(lxml_extractor()),
        "judged": judged(lexbor_extractor()),
        "scrapy": scrapys(),
        "scrapy_all": scrapys(tags=_ELEMENTS, attrs=_ATTRIBUTES),
        "parsel": parsels(),
        "bare": bare(),
        "joined": joined(given),
        "bare_lxml": bare_lxml(),
    }
    measured = times_of(readers, given, rounds=3)
    if not asked.quick:
        measured |= times_of({"bs4": ours(bs4_extractor())}, given[::4], rounds=1)
    figures: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for name, (samples, links) in measured.items():
        seconds[name] = statistics.median(samples)
        size = megabytes if name in readers else sum(len(each.body) for each in given[::4]) / 1e6
        figures[f"{name}_mb_per_s"] = size / seconds[name]
        if links:
            figures[f"{name}_links_per_s"] = links / seconds[name]
        tell(f"{name:>10} {links:>8,} links, {spread([size / sample for sample in samples])} MB/s")
    figures["links_per_s"] = figures["lexbor_links_per_s"]
    figures["ratio_scrapy_all"] = seconds["scrapy_all"] / seconds["lexbor"]
    figures["ratio_scrapy_links"] = figures["links_per_s"] / figures["scrapy_links_per_s"]
    for name in ("lexbor", "lxml", "judged", "bare", "joined", "bare_lxml"):
        figures[f"ratio_scrapy_{name}"] = seconds["scrapy"] / seconds[name]
        if name in ("lexbor", "lxml"):
            figures[f"ratio_parsel_{name}"] = seconds["parsel"] / seconds[name]
    profile(judged(lexbor_extractor()), given)
    emit(
        figures,
        asked=asked,
        packages=("selectolax", "lxml", "ada-url", "scrapy", "parsel", "w3lib"),
        meanings=MEANINGS,
    )


if __name__ == "__main__":
    main()
