"""Responds to the requests that the browser makes for one page, within its limits."""

import asyncio
from collections.abc import Callable
from typing import Final

from crawler.page import LoadAnswer, Rendering, WithBody
from crawler.render.devtools import Devtools
from crawler.render.limits import Limits
from crawler.render.loads import Loads, SubRequest, preflight_response
from crawler.render.responses import SubResponse
from crawler.url.urls import host_of

AT_ONCE: Final = 6
"""Requests of one page at the same time, as in browsers."""
_FLOOD: Final = 10
"""A page that makes this many times the allowed number of requests is not waited for any longer."""


class Interceptor:
    """Responds to the requests of one page, which is on `host`.

    `on_change` is called when a response begins or ends, `on_flood` when the page makes far too many requests."""

    def __init__(
        self,
        devtools: Devtools,
        loads: Loads,
        limits: Limits,
        *,
        host: str,
        on_change: Callable[[], None],
        on_flood: Callable[[], None],
    ) -> None:
        self.shortage: Rendering | None = None
        """The first limit that the page met."""
        self.busy_s = 0.0
        """How long servers were busy with these requests. Of those without a response, the ones to the page's host
        count, because a host that is slow should rest; another host that is dead should not make it rest."""
        self.troubles: set[LoadAnswer] = set()
        """The answers of the page's host that were errors or had Retry-After."""
        self._for_archive: list[WithBody] = []
        self.tasks: dict[asyncio.Task[None], SubRequest] = {}
        """One for each response under way."""
        self._devtools = devtools
        self._loads = loads
        self._limits = limits
        self._host = host
        self._on_change = on_change
        self._on_flood = on_flood
        self._requests = 0
        self._bytes = 0
        self._is_stopped = False
        self._asked_at: dict[asyncio.Task[None], float] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    def respond(self, request: SubRequest, *, task_group: asyncio.TaskGroup) -> None:
        """Respond to a request that the browser has paused."""
        self._requests += 1
        if self._requests > self._limits.max_requests:
            self.note_shortage(Rendering.REQUESTS)
            if self._requests > self._limits.max_requests * _FLOOD:
                self._on_flood()
            self.refuse(request)
        elif request.is_preflight:
            self.fulfil(request, preflight_response(request))
        elif self._is_stopped or not self._loads.passes(request):
            self.refuse(request)
        elif self._bytes >= self._limits.max_bytes:
            self.note_shortage(Rendering.BYTES)
            self.refuse(request)
        else:
            self.tasks[task_group.create_task(self._load(request))] = request
            self._on_change()

    def stop(self) -> None:
        """Refuse the requests that have no response yet, and all further ones."""
        self._is_stopped = True
        now = asyncio.get_running_loop().time()
        for task, request in self.tasks.items():
            task.cancel()
            self.refuse(request)
            if host_of(request.url) == self._host:
                self.busy_s += now - self._asked_at.get(task, now)
        self.tasks.clear()
        self._on_change()

    def note_shortage(self, limit: Rendering) -> None:
        self.shortage = self.shortage or limit

    def take_for_archive(self) -> tuple[WithBody, ...]:
        """What the archive gets of what the browser was given. It is not held here any more: what is left of a visit
        may stay in memory for a while, because its parts refer to each other."""
        taken, self._for_archive = tuple(self._for_archive), []
        return taken

    def fulfil(self, request: SubRequest, response: SubResponse) -> None:
        self._devtools.post("Fetch.fulfillRequest", response.params(request.id), session=request.session)

    def refuse(self, request: SubRequest) -> None:
        params = {"requestId": request.id, "errorReason": "Aborted"}
        self._devtools.post("Fetch.failRequest", params, session=request.session)

    async def _load(self, request: SubRequest) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            async with self._slots:
                self._asked_at[task] = asyncio.get_running_loop().time()
                response, busy_s, trouble = await self._loads.load(request)
            self.busy_s += busy_s
            if trouble is not None and host_of(request.url) == self._host:
                self.troubles.add(trouble)
            if response is not None:
                self._bytes += len(response.body)
                if self._bytes > self._limits.max_bytes:
                    self.note_shortage(Rendering.BYTES)
                    response = None
            if response is None:
                self.refuse(request)
            else:
                self.fulfil(request, response)
                if response.for_archive is not None:
                    self._for_archive.append(response.for_archive)
        finally:
            self.tasks.pop(task, None)
            self._asked_at.pop(task, None)
            self._on_change()
