"""Answers commands on the socket of a machine, for the parts that are there."""

import os
from collections.abc import Callable

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Refusal, Stopping
from crawler.control.requests import AnyRequest, Reload, Set, Stop
from crawler.control.server import answer_in
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import CrawlInParts, Parts, RunningPart
from crawler.supervise.cluster.agent import CrawlAgent


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
        if not here:
            return Refusal(
                "no part of the crawl runs on this machine now; `onceover cluster status` says where", FAILED
            )
        directories = agent.plan.directories
        watched = agent.here.watched
        parts = Parts({each: RunningPart(directories[each], watched[each].pid_now) for each in sorted(here)})
        division = len(agent.plan.layout.parts)
        crawl = CrawlInParts(path, agent.plan.loaded, parts, pid=os.getpid(), division=division)
        return await answer_by_parts(crawl, request)

    await answer_in(path, answer)
