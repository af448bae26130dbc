"""Compares a crawl of a simulated web with what the web has."""

from pathlib import Path

from crawler.disk.layout import record_directories
from crawler.page import LinkKind
from crawler.simweb.expected import Kind
from crawler.simweb.params import WorldParams
from crawler.simweb.world import World
from crawler.url.urls import UrlReader
from crawler.write.records import read_records


def page_urls(params: WorldParams, directory: Path) -> tuple[set[str], set[str]]:
    """The canonical URLs of all pages of a web, and of those that the records of a crawl of it have."""
    reader = UrlReader()
    found = {
        reader.seed(record.url).canonical
        for record in read_records(*record_directories(directory))
        if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
    }
    return {item.url for item in World(params).expected() if item.kind is Kind.PAGE}, found
