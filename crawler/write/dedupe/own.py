"""The bodies that this crawl has archived last, from the indexes of its archives."""

from pathlib import Path

from crawler.page.digests import digest_text
from crawler.write.cdxj.making import OPEN, archives, index_of, serial_of
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
    found: dict[bytes, tuple[int, Response]] = {}
    for archive in reversed(archives(directory)):
        if len(found) >= count:
            break
        index, serial = index_of(archive), serial_of(archive)
        if archive.name.endswith(OPEN) or not index.exists():
            continue
        # A body that was cut off must be archived again, and not referred to.
        for response in responses_in(index):
            known = found.get(response.sha1)
            if known is None or _order((serial, response)) > _order(known):
                found[response.sha1] = serial, response
    last = sorted(found.values(), key=_order)[-count:]
    return {
        digest_text(each.sha1): Original(None, each.url, warc_date_of(each.moment), serial) for serial, each in last
    }


def _order(found: tuple[int, Response]) -> tuple[int, str, str]:
    """Dates follow a clock that may be set back, the numbers of archives do not."""
    serial, response = found
    return serial, response.moment, response.url
