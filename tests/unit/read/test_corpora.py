"""Pages and suites of others, read by the three extractors."""

import base64
import io
import json
import tarfile
from pathlib import Path

import pytest

from crawler.page import Extract, LinkKind
from crawler.read.html.bs4 import bs4_extractor
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lxml import lxml_extractor
from crawler.seams import LinkExtractor
from crawler.url.urls import join
from tests.unit.read.extractors import MAKERS, Make
from tests.unit.read.suites import page, real_pages, suite, suite_files


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


def _fuzz_inputs(corpora: Path) -> list[bytes]:
    with tarfile.open(fileobj=io.BytesIO(suite(corpora, "html_url.tar.gz"))) as archive:
        members = (archive.extractfile(member) for member in archive if member.isfile())
        return [file.read() for file in members if file is not None]


def test_fuzz_inputs_of_others_break_nothing(corpora: Path, make: Make) -> None:
    inputs = _fuzz_inputs(corpora)
    assert len(inputs) > 500
    extractor = make()
    for body in inputs if make is not bs4_extractor else inputs[::10]:
        assert extractor.extract(page(body)).error is None, body[:200]


def _link_set(extract: Extract) -> set[str]:
    joined = (join(extract.base_url, link.href) for link in extract.links if link.kind is LinkKind.LINK)
    return {url.partition("#")[0] for url in joined if url is not None}


def _differing(corpora: Path, extractor: LinkExtractor, every: int) -> list[str]:
    different, count = [], 0
    for number, (oracle, each) in enumerate(real_pages(corpora)):
        if number % every:
            continue
        count += 1
        extract = extractor.extract(each)
        assert extract.error is None
        if _link_set(extract) != set(oracle["links_http_no_fragment"]):
            different.append(oracle["file"])
    assert count >= 400 // every
    return different


def test_links_of_real_pages_are_those_of_the_oracle(corpora: Path) -> None:
    assert _differing(corpora, lexbor_extractor(), 4) == []
    assert _differing(corpora, lxml_extractor(), 8) == []


@pytest.mark.long
def test_links_of_all_real_pages_are_those_of_the_oracle(corpora: Path) -> None:
    assert _differing(corpora, lexbor_extractor(), 1) == []
    assert _differing(corpora, lxml_extractor(), 1) == []
    assert _differing(corpora, bs4_extractor(), 1) == []


def test_the_three_agree_on_sites_made_to_be_hard(corpora: Path) -> None:
    for name, body in suite_files(corpora, "heritrix-selftest-sites/"):
        if name.endswith((".html", ".htm")):
            by_turbohtml, *others = (_link_set(make().extract(page(body))) for make in MAKERS)
            assert all(found == by_turbohtml for found in others), name


def test_links_that_scrapy_expects_are_found(corpora: Path, make: Make) -> None:
    # Its policies (allowed and denied patterns, restricted areas, one of each URL) are not an extractor's.
    cases = [
        case for case in json.loads(suite(corpora, "link_extractor_tests.json")) if case["options"] == {"args": []}
    ]
    assert cases
    for case in cases:
        body = base64.b64decode(case["body_base64"])
        found = make().extract(
            page(body, url=case["url"], headers=(("Content-Type", f"text/html; charset={case['encoding']}"),))
        )
        missing = {link["url"].partition("#")[0] for link in case["links"]} - _link_set(found)
        assert {url for url in missing if url.startswith("http")} == set(), case["test"]
