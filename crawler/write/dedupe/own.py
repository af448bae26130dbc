"""The bodies that this crawl has archived last, from the indexes of its archives."""

from collections.abc import Iterator
from pathlib import Path

from crawler.page.digests import digest_text
from crawler.write.cdxj.making import OPEN, archives, index_of
from crawler.write.dedupe.sources import Response, responses_in, warc_date_of
from crawler.write.warc_records import Original


def bodies_archived_last(directory: Path, count: int) -> dict[str, Original]:
    """At most `count` bodies by payload digest, the one that was archived last at the end. Of several copies of a body
    the last one counts.

    Reads the newest indexes until they have so many bodies: 3 to 5 s for a million responses, 1 s for a million
    revisits. All are read if there are fewer, because the body that many revisits repeat may be in the oldest one. It
    needs memory for the lines of one more: 650 bytes for each body. An archive without an index is passed over, because
    it would have to be read whole.
    """
    found: dict[bytes, Response] = {}
    for index in _newest_first(directory):
        if len(found) >= count:
            break
        for response in responses_in(index):
            known = found.get(response.sha1)
            if known is None or (response.moment, response.url) > (known.moment, known.url):
                found[response.sha1] = response
    last = sorted(found.values(), key=lambda each: (each.moment, each.url))[-count:]
    return {digest_text(each.sha1): Original(None, each.url, warc_date_of(each.moment)) for each in last}


def _newest_first(directory: Path) -> Iterator[Path]:
    for archive in reversed(archives(directory)):
        index = index_of(archive)
        if not archive.name.endswith(OPEN) and index.exists():
            yield index
