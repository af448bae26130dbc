"""What the supervisor knows of a part."""

from collections.abc import Iterable

import msgspec

from crawler.operate.parts.sums import sum_statuses
from crawler.parts.line.messages import Ended, Failed, Opened, ToPart
from crawler.status import Status
from crawler.supervise.process import PartProcess
from crawler.supervise.restarts import Restarts


class WatchedPart:
    """A part, over all its processes that this supervisor has started."""

    def __init__(self, restarts: Restarts) -> None:
        self.restarts = restarts
        self.process: PartProcess | None = None
        self.opened: Opened | None = None
        """What the first process has said when it was open."""
        self.is_open = False
        self.last_status: Status | None = None
        """The last that a process has said."""
        self.last: Ended | Failed | None = None
        """The last word of its process."""
        self._earlier: list[Status] = []
        """The last status of each process that has died."""

    def begin(self, process: PartProcess) -> None:
        """A process has started."""
        self.process, self.last = process, None

    async def end(self) -> None:
        """The process has ended, or will as soon as its line does."""
        process, self.process, self.is_open = self.process, None, False
        if process is not None:
            await process.line.aclose()

    def open(self, opened: Opened) -> None:
        """The process is open."""
        self.opened = self.opened or opened
        if self.last_status is not None:
            self._earlier.append(self.last_status)
        self.last_status, self.is_open = opened.status, True

    def note(self, status: Status) -> str | None:
        """The process has said how far it is. Returns what people should know: whether the part begins or ends to wait.
        The progress of the crawl says nothing about one part that waits while others work."""
        before, self.last_status = self.last_status, status
        paused = status.frontier.paused
        if before is None or (before.frontier.paused is None) == (paused is None):
            return None
        return "goes on." if paused is None else f"is paused: {paused}"

    @property
    def pid(self) -> int | None:
        """Of its process, if there is one."""
        return None if self.process is None else self.process.pid

    def send(self, message: ToPart) -> None:
        """Send a message to the process, if there is one."""
        if self.process is not None:
            self.process.line.send(message)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def status(self) -> Status | None:
        """The part at this moment, with the counts of its processes that have died; None before it was open once."""
        status = self.last_status
        if status is None or not self._earlier:
            return status
        runs = sum_statuses(dict(enumerate([*self._earlier, status])))
        return msgspec.structs.replace(
            runs,
            frontier=status.frontier,
            visited=status.visited,
            waiting=status.waiting,
            recent_pages_per_s=status.recent_pages_per_s,
        )


def lacks_of_all(parts: Iterable[WatchedPart]) -> dict[str, str]:
    """The settings that some part can't change while it runs, and why."""
    opened = (part.opened for part in parts if part.opened is not None)
    return {key: reason for each in opened for key, reason in each.lacks.items()}


def status_of_all(parts: Iterable[WatchedPart], elapsed_s: float) -> Status | None:
    """The crawl at this moment; None before all parts were open once."""
    statuses: dict[int, Status] = {}
    for number, part in enumerate(parts):
        status = part.status()
        if status is None:
            return None
        statuses[number] = status
    summed = sum_statuses(statuses)
    pages_per_s = summed.pages / elapsed_s if elapsed_s > 0 else 0.0
    return msgspec.structs.replace(summed, elapsed_s=elapsed_s, pages_per_s=pages_per_s)
