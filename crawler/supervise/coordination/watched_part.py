"""What the coordinator knows of a part."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from crawler.control.replies import CrawlStatus
from crawler.engine import Ending
from crawler.library.result import CrawlResult, end_run
from crawler.operate.parts.sums import sum_statuses
from crawler.parts.line.messages import Ended, Failed, Opened, ToPart
from crawler.status import Status
from frontier import FrontierStats

SendToPart = Callable[[ToPart], None]
_AWAY: Final = "the part does not run at the moment"
_HELD_BACK: Final = "the part does not run: {why}"
_LOST: Final = "the part can't be reached at the moment"
_NO_URLS: Final = FrontierStats(
    admitted=0,
    pending=0,
    in_process=0,
    retrying=0,
    done=0,
    failed=0,
    excluded=0,
    ready_queues=0,
    in_process_queues=0,
    snoozed_queues=0,
    next_wake_s=None,
    next_wake_key=None,
)


class WatchedPart:
    """A part, over all its processes in this run."""

    def __init__(self) -> None:
        self.pid: int | None = None
        """Of its process, if that runs on this machine."""
        self._send: SendToPart | None = None
        self.opened: Opened | None = None
        """What the first process has said when it was open."""
        self.is_open = False
        self.last_status: Status | None = None
        """The last that a process has said."""
        self.last: Ended | Failed | None = None
        """The last word of its process."""
        self.paused: str | None = None
        """Why its operator has paused it, as its last process has said. Only this machine knows."""
        self.held_back: str | None = None
        """Why it gets no process, if that is known; see `end`."""
        self._earlier: list[tuple[str | None, Status]] = []
        """The last status of each process that has died, or of all processes on a machine, with `agent`."""
        self.agent: str | None = None
        """The machine that runs it, whose processes `last_status` counts together; None if that is this one."""
        self.is_elsewhere = False
        """Whether another machine has the part, with all that is left of it; until it begins here again."""

    def pid_now(self) -> int | None:
        """The pid of its process at this moment, if that runs on this machine."""
        return self.pid

    def begin(self, send: SendToPart, pid: int | None) -> None:
        """The line to a process is there."""
        self._send, self.pid, self.last, self.held_back = send, pid, None, None
        self.is_elsewhere = False

    def end(self, why: str | None = None) -> None:
        """The process has ended. `why` says what keeps another one from beginning, until one does."""
        self.held_back = self.held_back if why is None else why
        self._leave(_AWAY if self.held_back is None else _HELD_BACK.format(why=self.held_back))

    def lose(self) -> None:
        """The line has ended. Nobody knows whether the process has."""
        self._leave(_LOST)

    def _leave(self, waiting: str) -> None:
        self._send, self.pid, self.is_open = None, None, False
        if self.last is None and self.last_status is not None:
            # What it waited for counts no more, its rate is that of nobody, and nothing of it is in flight.
            self.last_status = msgspec.structs.replace(
                self.last_status,
                recent_pages_per_s=0.0,
                waiting=waiting,
                links_wait=None,
                frontier=_without_leases(self.last_status.frontier),
            )

    def open(self, opened: Opened) -> None:
        """The process is open."""
        self.opened = self.opened or opened
        if self.last_status is not None:
            self._earlier.append((self.agent, self.last_status))
        self.last_status, self.is_open = opened.status, True

    def attach(self, opened: Opened, status: Status, agent: str) -> None:
        """A process that `agent` runs is open. `status` is that of all its processes there."""
        if self.last_status is not None:
            self._earlier.append((self.agent, self.last_status))
        # A part may move away and back.
        self._earlier = [each for each in self._earlier if each[0] != agent]
        self.agent, self.last_status = agent, None
        self.open(msgspec.structs.replace(opened, status=status))

    def note(self, status: Status) -> str | None:
        """The process has said how far it is. Returns what people should know: whether the part begins or ends to wait.
        The progress of the crawl says nothing about one part that waits while others work."""
        before, self.last_status = self.last_status, status
        paused = status.frontier.paused
        if before is None or (before.frontier.paused is None) == (paused is None):
            return None
        return "goes on." if paused is None else f"is paused: {paused}"

    def send(self, message: ToPart) -> None:
        """Send a message to the process, if there is a line to it."""
        if self._send is not None:
            self._send(message)

    def status(self, latest: Status | None = None) -> Status | None:
        """The part at this moment, with the counts of its processes that have died; None before it was open once.
        `latest` is what its process has said to somebody else."""
        status = self.last_status if latest is None or not self.is_open else latest
        if status is not None and self.is_elsewhere:
            status = _without_store(status)
        if status is None or not self._earlier:
            return status
        runs = sum_statuses(dict(enumerate([*(each for _, each in self._earlier), status])))
        return msgspec.structs.replace(
            runs,
            frontier=status.frontier,
            visited=status.visited,
            waiting=status.waiting,
            links_wait=status.links_wait,
            recent_pages_per_s=status.recent_pages_per_s,
        )


def _without_store(status: Status) -> Status:
    """Only what was done."""
    visited = msgspec.structs.replace(
        status.visited, count=0, memory_bytes=0, server_bytes=0, disk_bytes=0, expected_lost=0.0, lost_sigma=0.0
    )
    return msgspec.structs.replace(status, frontier=_NO_URLS, visited=visited)


def _without_leases(frontier: FrontierStats) -> FrontierStats:
    """As the next process opens it: what was in flight waits, and all hosts rest first."""
    active = frontier.in_process_queues + frontier.ready_queues
    return msgspec.structs.replace(
        frontier,
        in_process=0,
        in_process_queues=0,
        awaits_limit=0,
        ready_queues=0,
        snoozed_queues=frontier.snoozed_queues + active,
    )


def result_of_all(
    parts: Iterable[WatchedPart],
    ending: Ending,
    status: Status,
    *,
    directory: Path,
    is_whole: bool = True,
    where: str = "in this run",
) -> CrawlResult:
    """How a run has ended in these parts, which has also been logged. `is_whole`: there are no others elsewhere."""
    parts = list(parts)
    ended = [part.last for part in parts if isinstance(part.last, Ended)]
    if ending is Ending.COMPLETE and any(last.ending == Ending.INCOMPLETE for last in ended):
        ending = Ending.INCOMPLETE
    opened = [part.opened for part in parts if part.opened is not None]
    return end_run(
        ending,
        status,
        directory=str(directory),
        new_seeds=sum(each.new_seeds for each in opened),
        resumed=any(each.resumed for each in opened),
        has_page=not is_whole or any(last.has_page for last in ended),
        where=where,
    )


def lacks_of_all(parts: Iterable[WatchedPart]) -> dict[str, str]:
    """The settings that some part can't change while it runs, and why."""
    opened = (part.opened for part in parts if part.opened is not None)
    return {key: reason for each in opened for key, reason in each.lacks.items()}


def status_of_all(
    parts: Mapping[int, WatchedPart], elapsed_s: float, latest: Mapping[int, Status] = MappingProxyType({})
) -> Status | None:
    """Of these parts, by number, at this moment; None before all of them were open once. `latest` is what their
    processes have said to somebody else."""
    statuses: dict[int, Status] = {}
    for number, part in parts.items():
        status = part.status(latest.get(number))
        if status is None:
            return None
        statuses[number] = status
    summed = sum_statuses(statuses)
    pages_per_s = summed.pages / elapsed_s if elapsed_s > 0 else 0.0
    return msgspec.structs.replace(summed, elapsed_s=elapsed_s, pages_per_s=pages_per_s)


def over_all_processes(told: CrawlStatus, status: Callable[[Mapping[int, Status]], Status | None]) -> CrawlStatus:
    """What parts have told, with the counts of all of their processes in this run, as progress and summary have them.
    Each part by itself keeps those of its process. `status` is as `status_of_all`, with what is the latest."""
    runs = {each.part: each.status.run for each in told.parts or () if each.status is not None}
    run = status({number: each for number, each in runs.items() if each is not None})
    return told if run is None else msgspec.structs.replace(told, frontier=run.frontier, run=run)
