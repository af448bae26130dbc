"""Requests about all URLs to which something applies, to a crawl in parts: one part after the other."""

import msgspec

from crawler.control.requests import ForgetSelected, GetStatus, Recrawl
from crawler.control.selections import Selected
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.refused import Refused


async def work_on_next(crawl: CrawlInParts, request: ForgetSelected | Recrawl) -> Selected:
    """A piece of the ledger of one part. Its place names the part before the URL."""
    numbers = crawl.parts.numbers
    named, _, after = request.after.partition(" ")
    number = int(named) if named.isdecimal() else numbers[0]
    if number not in numbers or bool(named) != named.isdecimal():
        raise Refused(f"expected the place `after` of an earlier reply, found {request.after!r}")
    if not named:
        # Nothing may be changed if some part can't be.
        await crawl.parts.all(GetStatus())
    found = await crawl.parts.one(number, msgspec.structs.replace(request, after=after))
    if found.after is not None:
        return msgspec.structs.replace(found, after=f"{number} {found.after}")
    following = numbers[numbers.index(number) + 1 :]
    return msgspec.structs.replace(found, after=f"{following[0]} " if following else None)
