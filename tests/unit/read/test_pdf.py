"""Links and metadata of PDF documents."""

import gc
import io
import weakref

import pytest
from pypdf import PdfWriter, annotations
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DictionaryObject,
    NameObject,
    NullObject,
    NumberObject,
    TextStringObject,
)

from crawler.page import LinkKind
from crawler.read.options import Options, PdfContent
from crawler.read.pdf import document
from crawler.read.pdf.document import read_pdf
from tests.unit.read.extractors import MAKERS, Make
from tests.unit.read.suites import page


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


def _pdf(*uris: str) -> bytes:
    writer = PdfWriter()
    for uri in uris:
        writer.add_blank_page(100, 100)
        writer.add_annotation(len(writer.pages) - 1, annotations.Link(rect=(0, 0, 9, 9), url=uri))
    writer.add_metadata({"/Title": " A  title ", "/Author": "Ada"})
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_links_of_pdf_documents_are_read_where_wanted(make: Make) -> None:
    body = _pdf("https://e.org/a", "/b?c")
    assert list(make().extract(page(body, headers=(("Content-Type", "text/html"),))).links) == []
    reader = make(options=Options(pdf=read_pdf))
    found = reader.extract(page(body, headers=()))
    assert (found.content_type, found.title, found.author) == ("application/pdf", "A title", "Ada")
    assert [(link.href, link.kind) for link in found.links] == [
        ("https://e.org/a", LinkKind.LINK),
        ("/b?c", LinkKind.LINK),
    ]
    for broken in (body[: len(body) // 2], b"%PDF-1.7 nothing", body.replace(b"/Annots", b"/Annotz")):
        assert reader.extract(page(broken, headers=())).content_type == "application/pdf"


def test_an_extractor_that_is_gone_keeps_no_processes_that_read_documents(make: Make) -> None:
    class Processes:
        def read(self, body: bytes) -> PdfContent:
            return read_pdf(body)

    processes = Processes()
    reader = make(options=Options(pdf=processes.read))
    for html in (b"<a href=a>", b"<table><a href=a>"):  # the second is not only scanned
        assert [link.href for link in reader.extract(page(html)).links] == ["a"]
    assert reader.extract(page(_pdf("b"), headers=())).error is None
    kept = weakref.ref(processes)
    del processes, reader
    gc.collect()
    assert kept() is None


def test_a_broken_annotation_loses_only_its_own_link() -> None:
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    whole = [annotations.Link(rect=(0, 0, 9, 9), url=f"https://e.org/{name}") for name in "ab"]
    broken = [NullObject(), NumberObject(1), DictionaryObject({NameObject("/A"): NumberObject(1)})]
    writer.pages[0][NameObject("/Annots")] = ArrayObject([whole[0], *broken, whole[1]])
    file = io.BytesIO()
    writer.write(file)
    assert [each.href for each in read_pdf(file.getvalue()).links] == ["https://e.org/a", "https://e.org/b"]


@pytest.mark.parametrize(
    ("written", "href"),
    [
        ("https://e.org/café".encode(), "https://e.org/café"),
        ("https://e.org/Straße".encode(), "https://e.org/Straße"),
        ("https://e.org/caf\xe9".encode("latin-1"), "https://e.org/café"),
        ("https://e.org/Stra\xdfe\x9f".encode("latin-1"), "https://e.org/Straße\x9f"),
        (b"\xfe\xff" + "https://e.org/é".encode("utf-16-be"), "https://e.org/é"),
        (b" https://e.org/a ", "https://e.org/a"),
    ],
)
def test_a_uri_beyond_ascii_is_utf8_if_it_can_be(written: bytes, href: str) -> None:
    body = _pdf("x").replace(b"/URI (x)", b"/URI <%b>" % written.hex().encode())
    assert [each.href for each in read_pdf(body).links] == [href]


def test_links_that_begin_with_www_lack_only_the_scheme() -> None:
    found = read_pdf(_pdf("www.example.org/a", "www.pdf", "example.org", "https://www.e.org/"))
    assert [each.href for each in found.links] == [
        "http://www.example.org/a",
        "www.pdf",
        "example.org",
        "https://www.e.org/",
    ]


def test_a_document_may_name_the_base_of_its_links() -> None:
    writer = PdfWriter(io.BytesIO(_pdf("a.pdf", "https://e.org/b", "www.e.org/c", "mailto:d@e.org", "#e")))
    for base, hrefs in (
        ("https://b.example/x/y.pdf", ["https://b.example/x/a.pdf", "https://b.example/x/y.pdf#e"]),
        ("https://b.example/" + "x" * 3000 + "/", ["a.pdf", "#e"]),
        ("/no/base", ["a.pdf", "#e"]),
    ):
        writer.root_object[NameObject("/URI")] = DictionaryObject({NameObject("/Base"): TextStringObject(base)})
        file = io.BytesIO()
        writer.write(file)
        assert [each.href for each in read_pdf(file.getvalue()).links] == [
            hrefs[0],
            "https://e.org/b",
            "http://www.e.org/c",
            "mailto:d@e.org",
            hrefs[1],
        ]


def test_links_to_other_documents_are_relative_to_this_one() -> None:
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    files = [
        TextStringObject("../b.pdf"),
        DictionaryObject({NameObject("/F"): TextStringObject("c.pdf")}),
        DictionaryObject(
            {NameObject("/F"): TextStringObject("no.pdf"), NameObject("/UF"): TextStringObject("d é.pdf")}
        ),
        TextStringObject("/C/no.pdf"),
        ByteStringObject(b"/C/no\x9f.pdf"),
        TextStringObject("\\\\server\\no.pdf"),
        DictionaryObject(),
        NumberObject(1),
        TextStringObject("e.pdf"),
    ]
    writer.pages[0][NameObject("/Annots")] = ArrayObject(
        DictionaryObject(
            {NameObject("/A"): DictionaryObject({NameObject("/S"): NameObject("/GoToR"), NameObject("/F"): file})}
        )
        for file in files
    )
    base = TextStringObject("https://b.example/x/")  # of URIs alone
    writer.root_object[NameObject("/URI")] = DictionaryObject({NameObject("/Base"): base})
    file = io.BytesIO()
    writer.write(file)
    assert [each.href for each in read_pdf(file.getvalue()).links] == ["../b.pdf", "c.pdf", "d é.pdf", "e.pdf"]


def test_links_that_share_a_long_uri_take_no_more_memory_than_links_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_HREF_CHARACTERS", 1000)
    writer = PdfWriter()
    for _ in range(2):
        writer.add_blank_page(100, 100)
    link = writer._add_object(annotations.Link(rect=(0, 0, 9, 9), url="https://e.org/" + "x" * 286))
    writer.pages[0][NameObject("/Annots")] = ArrayObject([link] * 5)
    writer.add_annotation(1, annotations.Link(rect=(0, 0, 9, 9), url="https://e.org/after"))
    file = io.BytesIO()
    writer.write(file)
    found = read_pdf(file.getvalue())
    assert [len(each.href) for each in found.links] == [300, 300, 300]
    assert found.pages_read == 1
