"""Answers commands on the socket of a machine, for the parts that are there."""

import os
from collections.abc import Callable

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import CrawlStatus, PartStatus, Refusal, Stopping
from crawler.control.requests import AnyRequest, GetStatus, Reload, Set, Stop
from crawler.control.server import answer_in
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import BrokenPart, CrawlInParts, Member, Parts, RunningPart
from crawler.operate.parts.sums import same_of_all
from crawler.status import Status
from crawler.supervise.cluster.agent import CrawlAgent
from crawler.supervise.coordination.watched_part import over_all_processes


async def answer_operator(agent: CrawlAgent, *, stop: Callable[[bool], object]) -> None:
    """Answer until cancelled. `stop` ends the work of this machine: it lets URLs in flight finish, or, if called with
    True, drops them. A machine whose directory takes no socket goes on without."""
    path = agent.plan.directory.path

    async def answer(request: AnyRequest) -> msgspec.Struct | Refusal:
        match request:
            case Set(settings=settings, dry_run=dry_run):
                return await agent.client.change(list(settings), dry_run=dry_run)
            case Reload():
                return Refusal(
                    "a crawl on many machines has its configuration in Redis, and no file that could be read again: "
                    f"`onceover set {path} KEY=VALUE` changes it on all of them"
                )
            case Stop(now=now):
                status = agent.status()
                stop(now)
                return Stopping(was_running=True, in_flight=0 if status is None else status.frontier.in_process)
        here = agent.here.numbers
        words = agent.words()
        if not here and isinstance(request, GetStatus) and (known := agent.status()) is not None:
            return _status_of_none(agent, known)
        if not here:
            why = same_of_all(words)
            reasons = "" if why is None else f" ({why})"
            return Refusal(
                f"no part of the crawl runs on this machine now{reasons}; `onceover cluster status` says where", FAILED
            )
        directories = agent.plan.directories
        watched = agent.here.watched
        members: dict[int, Member] = {each: RunningPart(directories[each], watched[each].pid_now) for each in here}
        if isinstance(request, GetStatus):
            members |= {each: BrokenPart(directories[each], words[each], FAILED) for each in words.keys() - here}
        division = len(agent.plan.layout.parts)
        parts = Parts(dict(sorted(members.items())))
        crawl = CrawlInParts(path, agent.plan.loaded, parts, pid=os.getpid(), division=division)
        reply = await answer_by_parts(crawl, request)
        return over_all_processes(reply, agent.status) if isinstance(reply, CrawlStatus) else reply

    await answer_in(path, answer)


def _status_of_none(agent: CrawlAgent, known: Status) -> CrawlStatus:
    """The status of a machine that has run parts, and runs none now."""
    directories = agent.plan.directories
    left = {number: part for number, part in agent.here.watched.items() if not part.is_elsewhere}
    return CrawlStatus(
        directory=str(agent.plan.directory.path),
        running=True,
        pid=os.getpid(),
        paused=same_of_all({number: part.paused for number, part in left.items()}),
        frontier=known.frontier,
        run=known,
        parts=[
            PartStatus(part=number, directory=str(directories[number]), status=None, error=why)
            for number, why in sorted(agent.words().items())
        ],
    )
