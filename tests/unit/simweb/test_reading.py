"""The crawler's own readers on the simulated pages: broken or foreign, the links and facts are read."""

from urllib.parse import urlsplit

import pytest

from crawler.page import LinkKind, Page
from crawler.read.html.bs4 import bs4_extractor
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lxml import lxml_extractor
from crawler.seams import LinkExtractor
from crawler.simweb.expected import Kind
from crawler.simweb.page_facts import Declared
from crawler.simweb.params import WorldParams
from crawler.simweb.world import Reply, World
from crawler.testing.read.suite import page
from crawler.url.urls import Target, UrlReader
from tests.unit.simweb.walking import charset_of, links

PARAMS = WorldParams(
    hosts=2,
    pages_per_host=60,
    redirects=0.1,
    not_found=0.1,
    legacy_charsets=0.5,
    broken_html=0.5,
    odd_links=0.3,
    session_ids=0.3,
    page_bytes=3_000,
)
EXTRACTORS: dict[str, LinkExtractor] = {"lexbor": lexbor_extractor(), "lxml": lxml_extractor(), "bs4": bs4_extractor()}


def page_of(url: str, reply: Reply) -> Page:
    assert reply.status == 200
    return page(reply.body, url=url, headers=reply.headers)


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_extractor_reads_the_links_that_a_naive_reader_sees(name: str) -> None:
    world = World(PARAMS)
    reader = UrlReader()
    for expected in world.expected():
        if expected.kind is not Kind.PAGE:
            continue
        parts = urlsplit(expected.url)
        reply = world.respond(parts.netloc, f"{parts.path}?{parts.query}" if parts.query else parts.path)
        extract = EXTRACTORS[name].extract(page_of(expected.url, reply))
        assert extract.error is None
        targets = [reader.read(link.href, extract.base_url) for link in extract.links if link.kind is LinkKind.LINK]
        found = [target.canonical for target in targets if isinstance(target, Target)]
        assert found == links(reply.body, charset_of(reply), expected.url)


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_extractor_finds_the_facts_of_a_page(name: str) -> None:
    world = World(PARAMS)
    seen = set()
    for number in range(PARAMS.pages_per_host):
        facts = world.facts(0, number)
        url = world.url(0, number)
        extract = EXTRACTORS[name].extract(page_of(url, world.respond("h00000.sim.test", url[len(world.origin(0)) :])))
        seen.add((facts.encoding.label, facts.declared))
        if facts.declared is Declared.NOWHERE:
            continue
        assert (extract.title, extract.description, extract.author, extract.language) == (
            facts.title,
            facts.description,
            facts.author,
            facts.encoding.language.code,
        )
    assert len(seen) > 10
