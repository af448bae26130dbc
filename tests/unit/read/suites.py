"""Pages and suites of the corpora, read from their archives."""

import gzip
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from crawler.page import Page


def page(
    body: bytes, *, url: str = "https://example.org/a/page.html", headers: tuple[tuple[str, str], ...] | None = None
) -> Page:
    given = (("Content-Type", "text/html"),) if headers is None else headers
    return Page(
        url=url,
        status=200,
        headers=[(name.encode(), value.encode("latin-1")) for name, value in given],
        fetched_at=0.0,
        duration_s=0.1,
        body=body,
        raw_body=body,
    )


@lru_cache(maxsize=4)
def _archive(path: Path) -> ZipFile:
    return ZipFile(path)


def suite(corpora: Path, name: str) -> bytes:
    """One file of `html-suites.zip`, by the end of its name."""
    archive = _archive(corpora / "html-suites.zip")
    [found] = [each for each in archive.namelist() if each.endswith(name)]
    return archive.read(found)


def suite_files(corpora: Path, folder: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of the files below a folder of `html-suites.zip`."""
    archive = _archive(corpora / "html-suites.zip")
    for name in sorted(archive.namelist()):
        if folder in name and not name.endswith(("/", ".md")):
            yield name, archive.read(name)


def real_pages(corpora: Path) -> Iterator[tuple[dict[str, Any], Page]]:
    """What the oracle says of each real page, and the page."""
    archive = _archive(corpora / "html-real-pages.zip")
    names = set(archive.namelist())
    for oracle in sorted(name for name in names if "links_oracle" in name):
        folder = oracle.rpartition("/")[0]
        for line in gzip.decompress(archive.read(oracle)).splitlines():
            row = json.loads(line)
            name = f"{folder}/html/{row['file']}"
            if name in names:
                yield row, page(gzip.decompress(archive.read(name)), url=row["document_url"] or "http://fakehost/")
