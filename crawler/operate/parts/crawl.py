"""A crawl in parts, as requests see it: its parts, and which of them a URL or a host belongs to."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from config import Loaded
from crawler.codes.exit_codes import FAILED, USAGE
from crawler.control.requests import Request
from crawler.operate.actions.queues import is_unknown, no_queue
from crawler.operate.parts.members import Parts, divide_replies
from crawler.operate.refused import Refused, reply_or_raise
from crawler.parts.ownership import Ownership
from crawler.status import name_parts
from crawler.url.hosts import split_port, surt_host
from crawler.wiring.components import discovering

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class CrawlInParts:
    """All parts of a crawl. `pid` is the process that runs all of them, if any does. Of a crawl on many machines, these
    are the parts on this machine, and `division` is the number of all.

    To find an owner, it needs no version of the canonical rules: none of them changes the domain of a URL, in a crawl
    in parts."""

    def __init__(
        self, directory: Path, loaded: Loaded, parts: Parts, *, pid: int | None = None, division: int | None = None
    ) -> None:
        self.directory = directory
        self.loaded = loaded
        self.parts = parts
        self.pid = pid
        self._ownership = Ownership(len(parts.numbers) if division is None else division)
        self._urls = discovering.url_reader(loaded)
        self._has_prefixes = discovering.queue_prefixes(loaded.config) is not None

    def part_of(self, url: str) -> int:
        """The part of a URL as a person wrote it. Part 0 may say what is wrong with one that can't be read."""
        try:
            return self._ownership.owner(self._urls.seed(url).queue_key)
        except ValueError:
            return 0

    def parts_of_host(self, host: str) -> Sequence[int]:
        """The parts that may have queues of a host, as people or `inspect queues` write it: one, or all if queues are
        named by other places than hosts."""
        if self._has_prefixes:
            return range(self._ownership.parts)
        name, port = split_port(host.lower())
        return [self._ownership.owner((name if "," in name else surt_host(name)) + port)]


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
