"""Makes what reads the content of pages and documents, and says what of them is kept."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Final

from config import Config
from crawler.fetch.robots.rules import product_token
from crawler.page import Content, Extract, Page, PageRecord, Wanted
from crawler.preferences.judging import Preferences
from crawler.protocols import ContentReading
from crawler.read.options import ReadPdf
from crawler.read.pdf.once import PdfReadOnce
from crawler.read.pdf.processes import PdfProcesses
from crawler.record import ArchiveFilter

_READING: Final = "crawler.read.content.reading"


def pdf_reading(config: Config, stack: AsyncExitStack) -> ReadPdf:
    """What reads documents for their links and for their text: once, if both are wanted. `stack` ends its processes."""
    pdf = PdfProcesses()
    stack.callback(pdf.close)
    if not (config.scope.pdf and config.output.pdf_text):
        return pdf.read
    return PdfReadOnce(pdf.read, text_bytes=config.output.text_max_bytes + 1).read


def content_reading(config: Config, pdf: ReadPdf) -> ContentReading:
    """What reads the content of pages. If it is wanted, the libraries for that are imported now: that takes a while,
    and later the event loop would stand still meanwhile."""
    if wanted_content(config).anything:
        import_module(_READING)

    def read(page: Page, extract: Extract, wanted: Wanted, /) -> Content:
        from crawler.read.content import reading  # noqa: PLC0415 - takes a while to import, and few crawls need it

        return reading.read_content(page, extract, wanted, pdf=pdf)

    return read


def archive_filter(config: Config) -> ArchiveFilter | None:
    types, max_body_bytes = config.output.warc_types, config.output.warc_max_body_bytes
    return ArchiveFilter(types=types, max_body_bytes=max_body_bytes) if types or max_body_bytes is not None else None


def wanted_content(config: Config) -> Wanted:
    output = config.output
    return Wanted(
        text=output.text,
        markdown=output.markdown,
        pdf_text=output.pdf_text,
        structured_data=output.structured_data,
        anchors=output.check_fragments,
        max_bytes=output.text_max_bytes,
    )


def preferences(config: Config) -> Preferences:
    return Preferences(
        config.crawl.purpose,
        are_respected=config.crawl.respect_preferences,
        robots_names={"robots", product_token(config.fetch.user_agent)},
    )


def keeps_loads_of(config: Config) -> Callable[[PageRecord], bool] | None:
    """Says of a rendered page whether what it loaded, and its screenshots, are archived with it. None if no page has
    any."""
    if not (config.render.patterns and (config.render.archive or config.render.screenshot)):
        return None
    judge = preferences(config)
    return lambda record: not judge.usage(record.preferences or ()).refuses_embeds
