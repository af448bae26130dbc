"""Directories of crawls, with records as a crawl writes them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from crawler.page import LinkDetail, PageRecord

PAGE_URL = "https://www.shop.example.co.uk:8443/a/b.html?x=1&y=2"
FULL = PageRecord(
    number=1,
    url=PAGE_URL,
    state="done",
    status=200,
    depth=2,
    via="https://example.org/",
    kind="link",
    fetched_at="2026-11-20T18:38:16.352Z",
    duration_s=0.25,
    redirect="https://example.org/next",
    content_type="text/html",
    declared_type="text/plain",
    charset="utf-8",
    title='A "title", with\nlines',
    language="de",
    truncated="length",
    digest="sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    noindex=True,
    last_modified="2026-01-02T00:00:00Z",
    refused={"scope": 2},
)


def record(number: int, **fields: Any) -> PageRecord:
    plain = PageRecord(number=number, url=f"http://h1.test/{number}", state="done", status=200, depth=0, kind="link")
    return msgspec.structs.replace(plain, **fields)


def linking(number: int, *targets: str) -> PageRecord:
    return record(number, link_details=[LinkDetail(url=each, kind="link", text=f"to {each}") for each in targets])


def write_crawl(directory: Path, *files: Iterable[PageRecord], name: str = "site") -> Path:
    """A crawl with these files of records."""
    records = directory / "records"
    records.mkdir(parents=True, exist_ok=True)
    (directory / "lock").touch()
    (directory / "crawl.toml").write_text(f'[crawl]\nname = "{name}"\nseeds = ["http://h1.test/"]\n')
    for number, of_file in enumerate(files):
        path = records / f"records-{number:05d}.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in of_file))
    return directory
