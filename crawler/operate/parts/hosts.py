"""Requests about one host, to a crawl in parts."""

from typing import TypeVar

import msgspec

from crawler.codes.exit_codes import FAILED, USAGE
from crawler.control.replies import Changed
from crawler.control.requests import Request, Retire, SetBudget, Unretire
from crawler.operate.actions.queues import is_unknown, no_queue
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.parts.members import divide_replies
from crawler.operate.refused import Refused, reply_or_raise
from crawler.status import name_parts

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


async def ask_of_host(crawl: CrawlInParts, host: str, request: Request[_Reply]) -> dict[int, _Reply]:
    """The replies of the parts that have queues of a host: of its owner, or of several if its queues are spread over
    them. Raises `Refused` if there is none, or one of them fails."""
    replies = await crawl.parts.each(request, of=crawl.parts_of_host(host))
    found, refusals = divide_replies(replies)
    if not found:
        if all(is_unknown(refusal.message, host) for refusal in refusals.values()):
            raise Refused(no_queue(crawl.directory, host))
        reply_or_raise(next(iter(refusals.values())))
    # Parts that have no queue of this host refuse, too.
    failed = [refusal.message for refusal in refusals.values() if refusal.exit_code != USAGE]
    if failed:
        raise Refused(f"{name_parts(found)} took this, but not all: {'; '.join(failed)}. Try again", FAILED)
    return found


async def change_host(crawl: CrawlInParts, request: Retire | Unretire | SetBudget) -> Changed:
    found = await ask_of_host(crawl, request.host, request)
    return Changed(
        queues=[
            msgspec.structs.replace(queue, part=number) for number, changed in found.items() for queue in changed.queues
        ]
    )
