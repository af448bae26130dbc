"""What a server sent before a request failed is archived, and replay does not show it as a page."""

from pathlib import Path

import msgspec

from crawler.page import Failure, FailureKind, Fetched
from crawler.write.warc import WarcOptions, WarcSink
from tests.unit.export.test_tables import run
from tests.unit.export.test_wacz import Opened
from tests.unit.export.written import write_crawl
from tests.unit.write.samples import page, record_of
from tests.unit.write.test_exchanges import failure, record_of_failure

BODY = b"no gzip at all"


async def test_the_index_names_no_response_of_a_failed_request_unless_a_page_needs_its_body(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    failures: list[Failure] = [
        msgspec.structs.replace(failure(FailureKind.ENCODING, response=broken), url=broken.url)
        for broken in (page(2, b"torn" * 50), page(3, BODY))
    ]
    good, same = page(1), page(4, BODY)
    records = [record_of(good, 1), *(record_of_failure(at, each) for at, each in enumerate(failures, 2))]
    records.append(record_of(same, 4))
    sink = WarcSink(crawl / "warc", WarcOptions(revisits=9))
    every: list[Fetched] = [good, *failures, same]
    for found, record in zip(every, records, strict=True):
        await sink.write(found, record)
    await sink.aclose()
    write_crawl(crawl, records)

    result = run(crawl, "wacz", tmp_path / "a.wacz")
    opened = Opened(tmp_path / "a.wacz")
    # The second failure stays, because the last page has its body.
    expected = [("response", good.url), ("response", failures[1].url), ("revisit", same.url)]
    assert [(kind, url) for kind, url, _ in opened.captures()] == expected
    assert opened.payloads()[same.url] == BODY
    assert result.stdout.startswith("1 WARC file, 3 captures")
    opened.close()
