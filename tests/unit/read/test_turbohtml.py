"""What turbohtml reads is what lexbor reads."""

from pathlib import Path

import pytest

from crawler.page import Page
from crawler.read.html.lexbor_trees import LexborTrees
from crawler.read.html.turbohtml import TurboHtmlTrees
from crawler.read.options import Options
from crawler.read.pages import PageReader
from tests.unit.read.pieces import WHOLE
from tests.unit.read.suites import page, real_pages, suite_files

OPTIONS = Options(forms=True, scripts=True, preview_images=True)
BY_TURBOHTML = PageReader(TurboHtmlTrees(OPTIONS).read, options=OPTIONS)
BY_LEXBOR = PageReader(LexborTrees(OPTIONS).read, options=OPTIONS)


def differs(given: Page) -> bool:
    return BY_TURBOHTML.extract(given) != BY_LEXBOR.extract(given)


@pytest.mark.long
def test_of_all_real_pages_both_read_the_same(corpora: Path) -> None:
    assert [row["file"] for row, each in real_pages(corpora) if differs(each)] == []


def test_of_real_pages_and_sites_made_to_be_hard_both_read_the_same(corpora: Path) -> None:
    assert [row["file"] for row, each in list(real_pages(corpora))[::16] if differs(each)] == []
    hard = [(name, body) for name, body in suite_files(corpora, "") if name.endswith((".html", ".htm"))]
    assert len(hard) > 150
    assert [name for name, body in hard if differs(page(body))] == []


def test_a_page_that_ends_anywhere_is_read_as_by_lexbor() -> None:
    body = WHOLE.encode()
    assert [body[:length] for length in range(len(body)) if differs(page(body[:length]))] == []


@pytest.mark.parametrize(
    ("html", "hrefs"),
    [
        ("<template><a href=no></template><a href=yes>", ["yes"]),
        ("<template shadowrootmode=open><a href=1><template><a href=no></template></template><a href=2>", ["1", "2"]),
        ("<template><template shadowrootmode=open><a href=no></template></template><a href=yes>", ["yes"]),
        ("<span><use xlink:href=no></use></span><svg><use xlink:href=yes></svg>", ["yes"]),
        ("<svg><feImage xlink:href=f /><image href=i /></svg><image src=j>", ["f", "i", "j"]),
        ("<p style='u&#114;l(s)' data-bg=b><table background=t>", ["t", "s", "b"]),
        ("<a href><a href=''><a>no</a>", ["", ""]),
        ("<a href=x\0y>", ["x\ufffdy"]),
    ],
)
def test_elements_are_read_as_the_standard_has_them(html: str, hrefs: list[str]) -> None:
    assert [link.href for link in BY_TURBOHTML.extract(page(html.encode())).links] == hrefs
