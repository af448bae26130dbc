"""Notes what parts say of themselves, and tells people."""

import logging
from collections import Counter
from collections.abc import Callable

from crawler.library.log_handlers import PER_KIND
from crawler.parts.line.messages import (
    Answered,
    Connected,
    Ended,
    Failed,
    FromPart,
    Opened,
    Progress,
    Rebuilding,
    ToService,
    Warned,
)
from crawler.status import number_of
from crawler.supervise.coordination.watched_part import WatchedPart

log = logging.getLogger(__name__)


class Reporter:
    """People hear the first few warnings of each kind, whichever parts these come from."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._warnings: Counter[str] = Counter()
        """How many there were of each kind."""

    def take(self, number: int, part: WatchedPart, message: FromPart) -> None:
        match message:
            case Rebuilding(what=what, urls=urls):
                self._tell(f"part {number}: rebuilding {what}: {number_of(urls, 'URL')} so far.")
            case Progress(status=status, paused=paused):
                part.paused = paused
                if (change := part.note(status)) is not None:
                    self._tell(f"part {number} {change}")
            case Warned(kind=kind, text=text):
                log.info("part %d: %s", number, text, extra={"fields": {"of_part": number}})
                self._warnings[kind] += 1
                if self._warnings[kind] <= PER_KIND:
                    self._tell(f"part {number}: {text}")
            case Ended(status=status):
                part.last_status, part.last = status, message
            case Failed():
                part.last = message
            case Opened() | Connected() | Answered() | ToService():
                pass
