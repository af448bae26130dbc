"""URLs that an operator gives to a crawl in parts: each goes to its owner. Those that he selects are looked for in one
part after the other."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from crawler.codes.exit_codes import USAGE
from crawler.control.replies import Imported, Judged, JudgedUrl, Refusal
from crawler.control.requests import Add, Forget, ForgetSelected, GetStatus, Import, Recrawl
from crawler.control.selections import Selected
from crawler.operate.actions.exported import read_line
from crawler.operate.parts.crawl import CrawlInParts, divide_replies
from crawler.operate.refused import Refused
from crawler.status import number_of

_Item = TypeVar("_Item")


async def judge(crawl: CrawlInParts, request: Add | Forget) -> Judged:
    """What became of each URL, in their order. If a part does not answer, its URLs say so."""
    owners = [_owner(crawl, url) for url in request.urls]
    judged: list[JudgedUrl | None] = [None] * len(owners)
    for number, places in _by_owner(owners, range(len(owners))).items():
        urls = [request.urls[place] for place in places]
        reply = await crawl.parts.try_one(number, msgspec.structs.replace(request, urls=urls))
        if isinstance(reply, Refusal) and reply.exit_code == USAGE:
            raise Refused(reply.message, reply.exit_code)
        for place, each in zip(places, _judgements(urls, reply), strict=True):
            judged[place] = each
    return Judged(urls=[each for each in judged if each is not None])


def _owner(crawl: CrawlInParts, url: str) -> int:
    """The part of a URL. Any part can say what is wrong with one that can't be read."""
    try:
        return crawl.part_of(url)
    except ValueError:
        return crawl.parts.numbers[0]


def _judgements(urls: Sequence[str], reply: Judged | Refusal) -> list[JudgedUrl]:
    if isinstance(reply, Refusal):
        return [JudgedUrl(url=url, outcome="refused", reason=reply.message) for url in urls]
    return reply.urls


async def import_lines(crawl: CrawlInParts, request: Import) -> Imported:
    """Enter lines of an export, each at the owner of its URL."""
    owners: list[int] = []
    for line in request.lines:
        try:
            owners.append(crawl.part_of(read_line(line).url))
        except ValueError as error:
            raise Refused(f"expected URLs as `frontier export` prints them: {error}") from error
    replies = {
        number: await crawl.parts.try_one(number, Import(lines=lines))
        for number, lines in _by_owner(owners, request.lines).items()
    }
    imported, refusals = divide_replies(replies)
    added = sum(each.added for each in imported.values())
    if refusals:
        reasons = "; ".join(refusal.message for refusal in refusals.values())
        code = max(refusal.exit_code for refusal in refusals.values())
        raise Refused(f"{number_of(added, 'URL')} added, but not all: {reasons}. Import the same lines again", code)
    return Imported(added=added)


def _by_owner(owners: Sequence[int], items: Sequence[_Item]) -> dict[int, list[_Item]]:
    found: defaultdict[int, list[_Item]] = defaultdict(list)
    for owner, item in zip(owners, items, strict=True):
        found[owner].append(item)
    return found


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
