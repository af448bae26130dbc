"""Answers commands on the socket of a crawl in parts, for all parts together."""

import os
from collections.abc import Callable

import msgspec

from crawler.control.replies import CrawlStatus, Refusal, Stopping
from crawler.control.requests import AnyRequest, Reload, Set, Stop
from crawler.control.server import answer_in
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import CrawlInParts, Parts, RunningPart
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.coordination.watched_part import over_all_processes
from crawler.supervise.settings import SettingsOfParts, reconfigure


async def answer_operator(
    coordinator: Coordinator, settings: SettingsOfParts, *, stop: Callable[[bool], object]
) -> None:
    """Answer until cancelled. `stop` ends the crawl: it lets URLs in flight finish, or, if called with True, drops
    them. A crawl whose directory takes no socket goes on without."""
    plan = coordinator.plan
    watched = zip(plan.directories, coordinator.parts, strict=True)
    parts = Parts({number: RunningPart(path, each.pid_now) for number, (path, each) in enumerate(watched)})
    crawl = CrawlInParts(plan.directory.path, plan.loaded, parts, pid=os.getpid())

    async def answer(request: AnyRequest) -> msgspec.Struct | Refusal:
        if isinstance(request, Set | Reload):
            return await reconfigure(coordinator, settings, request)
        if not isinstance(request, Stop):
            reply = await answer_by_parts(crawl, request)
            if isinstance(reply, CrawlStatus):
                whole = over_all_processes(reply, coordinator.status)
                return msgspec.structs.replace(whole, next_settings=settings.next_settings)
            return reply
        status = coordinator.status()
        stop(request.now)
        return Stopping(was_running=True, in_flight=0 if status is None else status.frontier.in_process)

    await answer_in(plan.directory.path, answer)
