"""What traps and quotas have refused."""

from contextlib import suppress

import msgspec

from crawler.control.replies import RefusedForm, RefusedList
from crawler.control.requests import InspectRefused
from crawler.discover.refusal_counts import PREFIX, decode_refusal_count
from crawler.operate.actions.slices import in_slices
from crawler.operate.target import OperatedCrawl


def refusal_order(refused: RefusedForm) -> tuple[int, str, str]:
    return -refused.count, refused.rule, refused.host or ""


async def list_refused(crawl: OperatedCrawl, request: InspectRefused) -> RefusedList:
    found: list[RefusedForm] = []
    async for key, note in in_slices(crawl.state.notes.items(PREFIX)):
        rule, _, host = key.removeprefix(PREFIX).partition(" ")
        if request.match in host:
            with suppress(msgspec.DecodeError):
                counted = decode_refusal_count(note)
                found.append(RefusedForm(rule=rule, host=host or None, count=counted.count, examples=counted.examples))
    found.sort(key=refusal_order)
    return RefusedList(refused=found[: request.limit], left=max(0, len(found) - request.limit))
