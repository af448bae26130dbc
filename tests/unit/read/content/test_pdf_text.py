"""The text of PDF documents, and what documents can't do to a crawl."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from crawler.page import Content, Wanted
from crawler.read.content.reading import read_content
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.options import Options, PdfContent, PdfFailed
from crawler.read.pdf import processes
from crawler.read.pdf.document import read_pdf
from crawler.read.pdf.once import PdfReadOnce
from crawler.read.pdf.processes import PdfProcesses
from tests.unit.read.suites import page

TEXT = Wanted(pdf_text=True)


def pdf(*texts: str) -> bytes:
    """A document with these texts, one on each page."""
    writer = PdfWriter()
    for text in texts:
        made = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        made[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        made[NameObject("/Contents")] = writer._add_object(stream)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def read(body: bytes, wanted: Wanted = TEXT, **limits: float) -> Content:
    documents = PdfProcesses(**limits)  # type: ignore[arg-type] # of their kinds
    document = page(body, headers=(("Content-Type", "application/pdf"),))
    return read_content(document, lexbor_extractor().extract(document), wanted, pdf=documents.read)


def test_the_text_of_all_pages_is_read() -> None:
    assert read(pdf("First page", "Second page")) == Content(text="First page\n\nSecond page")
    assert read(pdf("First page"), Wanted(text=True)) == Content()


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_document_whose_links_and_text_are_wanted_is_read_once(is_broken: bool) -> None:
    documents, orders = PdfProcesses(), []

    def counted(body: bytes, /, **order: Any) -> PdfContent:
        orders.append(order)
        return documents.read(body, **order)

    once = PdfReadOnce(counted, text_bytes=101)
    extractor = lexbor_extractor(options=Options(pdf=once.read))
    body = b"%PDF-1.7 nothing" if is_broken else pdf("First page", "Second page")
    document = page(body, headers=(("Content-Type", "application/pdf"),))
    extract = extractor.extract(document)
    for count in (1, 2):  # what it remembers is of one document
        found = read_content(document, extract, Wanted(pdf_text=True, max_bytes=100), pdf=once.read)
        assert (found.text is None) == is_broken
        assert (extract.error is not None) == (found.troubles != ()) == is_broken
        assert len(orders) == count
        extract = extractor.extract(document)
    assert len(orders) == 3
    read_content(document, extract, Wanted(pdf_text=True, max_bytes=1000), pdf=once.read)  # longer than was foreseen
    assert len(orders) == 4
    documents.close()


def test_a_long_text_is_cut() -> None:
    found = read(pdf("a" * 90, "b" * 90), Wanted(pdf_text=True, max_bytes=100))
    assert found == Content(text="a" * 90 + "\n\n" + "b" * 8, troubles=("its text is cut at 100 bytes",))


def test_links_and_text_are_read_as_wanted() -> None:
    body = pdf("First", "Second")
    assert read_pdf(body).text is None
    assert (read_pdf(body).pages_read, read_pdf(body, with_links=False).pages_read) == (2, 0)
    assert read_pdf(body, text_bytes=99, until=0).pages_read == 0


@pytest.mark.parametrize("body", [b"%PDF-1.7 nothing", b"%PDF-1.7\n" + b"1 0 obj << " * 5000, b"junk %PDF-"])
def test_a_broken_document_is_told_and_the_next_one_is_read(body: bytes) -> None:
    documents = PdfProcesses()
    with pytest.raises(PdfFailed):
        documents.read(body)
    assert documents.read(pdf("x"), text_bytes=9).text == "x"
    [told] = read(body).troubles
    assert told.startswith("its content can't be read: ")


def endless(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(processes, "_COMMAND", (sys.executable, "-c", program))


def test_a_document_that_takes_too_long_ends_only_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    endless(monkeypatch, "import sys; sys.stdin.buffer.read(9)\nwhile True: pass")
    assert read(pdf("x"), time_s=0.5).troubles == ("its content can't be read: reading it takes longer than 0.5 s",)


def test_a_document_that_crashes_its_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    endless(monkeypatch, "import os; os.abort()")
    assert "crashed its process" in read(pdf("x") * 10).troubles[0]


def test_a_document_gets_no_more_memory_than_it_may_have() -> None:
    found = read(pdf("x" * 5_000_000), memory_bytes=1_000_000)  # what is free in its heap is enough for a short one
    assert found.text is None
    assert found.troubles


def test_a_process_is_used_again_and_ends_with_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def counted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", counted)
    documents = PdfProcesses()
    for _ in range(3):
        documents.read(pdf("x"))
    assert len(started) == 1
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(documents.read, [pdf("x")] * 6))
    assert len(found) == 6
    assert len(started) <= 2
    del documents, found
    assert all(each.returncode is not None for each in started)


def test_an_extractor_reads_links_in_the_same_processes() -> None:
    documents = PdfProcesses()
    extractor = lexbor_extractor(options=Options(pdf=documents.read))
    found = extractor.extract(page(pdf("x"), headers=(("Content-Type", "application/pdf"),)))
    assert (found.content_type, found.error) == ("application/pdf", None)
    broken = extractor.extract(page(b"%PDF-1.7 nothing", headers=(("Content-Type", "application/pdf"),))).error
    assert broken is not None
    assert broken.startswith("its links can't be read: ")
    assert "PdfFailed" not in broken
