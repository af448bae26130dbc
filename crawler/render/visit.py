"""Shows one page to one browser, from its first byte to the document that its scripts made."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from crawler.page import Link, LinkKind, Page, Rendering, Screenshot
from crawler.render.behaviours import Behaviours
from crawler.render.browser import Browser
from crawler.render.completion import Completion
from crawler.render.devtools import BrowserGone, CommandRefused, Event, Params, ignore
from crawler.render.document import read_document
from crawler.render.interceptor import Interceptor
from crawler.render.limits import Limits
from crawler.render.loads import Loads, SubRequest, response_headers
from crawler.render.rendered import Rendered
from crawler.render.responses import SubResponse
from crawler.render.screenshots import TO_TOP, WINDOW, take_screenshots
from crawler.url.urls import host_of

_log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.25
_LEAVE_S: Final = 10.0
MAX_LINKS: Final = 10_000
MAX_HREF_CHARACTERS: Final = 65_536
MAX_LINK_CHARACTERS: Final = 4_000_000
"""Of all addresses together: a script can open thousands of windows in the time that a page has."""
_ATTACH: Final = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_PREPARATION: Final[tuple[tuple[str, Params], ...]] = (
    ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
    ("Page.enable", {}),
    ("Target.setAutoAttach", _ATTACH),
    ("Runtime.runIfWaitingForDebugger", {}),
)


class Visit:
    """Shows one page to a browser, once. If there is no document, the browser must be ended."""

    def __init__(self, browser: Browser, page: Page, loads: Loads, limits: Limits) -> None:
        self._browser = browser
        self._devtools = browser.devtools
        self._page = page
        self._limits = limits
        self._completion = Completion(limits, lambda: bool(self._interceptor.tasks))
        self._interceptor = Interceptor(
            browser.devtools,
            loads,
            limits,
            host=host_of(page.url),
            on_change=self._completion.update,
            on_flood=self._completion.over.set,
        )
        self._context: str | None = None
        self._session: str | None = None
        self._frame: str | None = None
        """The main frame, whose id is that of its target."""
        self._loader: str | None = None
        """Identifies the shown document."""
        self._is_parsed = False
        """Whether the parser of the browser has reached the end of the page."""
        self._is_served = False
        self._end: Rendering | None = None
        """Why there is no document."""
        self._links: dict[str, Link] = {}
        self._link_characters = 0
        self._why_unfinished: str | None = None

    async def run(self) -> Rendered:
        """Render the page. When this returns or raises, all its tasks have ended."""
        self._devtools.hear = self._hear
        self._devtools.gone.add_done_callback(self._browser_gone)
        async with asyncio.TaskGroup() as self._tasks:
            watching = self._tasks.create_task(self._watch_memory())
            try:
                async with asyncio.timeout(self._limits.timeout_s) as time:
                    rendering, document = await self._render()
                screenshots = await take_screenshots(
                    () if document is None else self._limits.screenshots,
                    self._ask,
                    self._scroll_to_top,
                    max_bytes=self._limits.max_document_bytes,
                    until=time.when(),
                )
                self._interceptor.stop()
                rendered = self._result(rendering, document, screenshots)
                await self._leave()
                return rendered
            except TimeoutError:
                self._finish(Rendering.HUNG)
            except (BrowserGone, CommandRefused) as error:
                _log.info("%s can't be rendered: %s", self._page.url, error)
                self._finish(Rendering.CRASHED)
            finally:
                self._devtools.hear = ignore
                self._devtools.gone.remove_done_callback(self._browser_gone)
                watching.cancel()
                self._interceptor.stop()
                self._completion.cancel_timer()
        assert self._end is not None
        return self._result(self._end)

    async def _render(self) -> tuple[Rendering, bytes | None]:
        """What came of the page, and its document; None if that lacks an end which the page as received has."""
        await self._open()
        # The browser answers when it shows the document, before its scripts have run. So the wait begins here.
        shown = await self._ask("Page.navigate", url=self._page.url)
        if "errorText" in shown:
            raise CommandRefused(shown["errorText"])
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await self._completion.over.wait()
                if self._limits.scroll or self._limits.click:
                    await self._behave()
        except TimeoutError:
            self._interceptor.note_shortage(Rendering.TIME)
            if not self._is_parsed:
                # The rest of the page waits for a script or a style.
                self._interceptor.stop()
                await self._completion.over.wait()
        document = await read_document(
            partial(self._call, await self._world()),
            self._page.url,
            max_bytes=self._limits.max_document_bytes,
            max_links=MAX_LINKS,
        )
        for link in document.links:
            self._add_link(link.href, LinkKind(link.kind), text=link.text, rel=link.rel)
        if not self._is_parsed or document.is_broken:
            # The browser also reads no further when a script wants to navigate, or calls `window.stop`.
            return Rendering.LEFT, None
        shortage = Rendering.LENGTH if document.is_cut else self._interceptor.shortage
        return shortage or Rendering.WHOLE, document.text

    async def _behave(self) -> None:
        world = await self._world()
        behaviours = Behaviours(
            partial(self._call, world),
            self._limits,
            wait_until_idle=self._wait_until_idle,
            is_short=lambda: self._interceptor.shortage is not None,
        )
        try:
            await behaviours.run()
        except CommandRefused as error:
            self._why_unfinished = str(error)

    async def _wait_until_idle(self) -> None:
        if not self._devtools.gone.done():
            self._completion.restart()
        await self._completion.over.wait()

    async def _leave(self) -> None:
        """Dispose of the page, or give up the browser if it can't."""
        self._devtools.hear = ignore
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._devtools.ask("Target.disposeBrowserContext", {"browserContextId": self._context})
        except (TimeoutError, BrowserGone, CommandRefused):
            self._devtools.give_up("it can't dispose of a page")

    async def _scroll_to_top(self) -> None:
        await self._call(await self._world(), TO_TOP)

    def _result(
        self, rendering: Rendering, document: bytes | None = None, screenshots: tuple[Screenshot, ...] = ()
    ) -> Rendered:
        requests = self._interceptor
        return Rendered(
            rendering=rendering,
            document=document,
            links=tuple(self._links.values()),
            busy_s=requests.busy_s,
            troubled_loads=frozenset(requests.troubles),
            loads=requests.take_for_archive(),
            screenshots=screenshots,
            why_unfinished=self._why_unfinished,
        )

    async def _watch_memory(self) -> None:
        measure = self._browser.memory_bytes  # it takes milliseconds
        while await asyncio.to_thread(measure) <= self._limits.max_memory_bytes:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(_LOOK_EVERY_S)
        self._finish(Rendering.MEMORY)

    async def _open(self) -> None:
        """Open an empty page in a context of its own. It and its children wait until we have prepared them."""
        ask = self._devtools.ask
        await ask("Target.setAutoAttach", _ATTACH)
        context = await ask("Target.createBrowserContext", {"disposeOnDetach": True})
        self._context = context["browserContextId"]
        where = {"browserContextId": self._context}
        await ask("Browser.setDownloadBehavior", {"behavior": "deny", **where})
        await ask("Target.createTarget", {"url": "about:blank", **where})
        if self._session is None:
            raise CommandRefused("the page was not attached to")
        for method, params in (*(WINDOW if self._limits.screenshots else ()), *_PREPARATION):
            # One after the other: if the page is shown too soon, we lose events.
            await ask(method, params, session=self._session)

    async def _world(self) -> int:
        """A new isolated world in the page."""
        world = await self._ask("Page.createIsolatedWorld", frameId=self._frame, worldName="crawl")
        context: int = world["executionContextId"]
        return context

    async def _call(self, world: int, function: str, *arguments: str | int | Sequence[str]) -> Any:
        """Call a function in an isolated world, where the page's scripts can't change what the function uses."""
        wrapped = [{"value": argument} for argument in arguments]
        params = {"functionDeclaration": function, "arguments": wrapped, "executionContextId": world}
        result = await self._ask("Runtime.callFunctionOn", returnByValue=True, **params)
        if "exceptionDetails" in result:
            raise CommandRefused(str(result["exceptionDetails"].get("exception", {}).get("description")))
        return result["result"].get("value")

    async def _ask(self, method: str, **params: Any) -> Params:
        return await self._devtools.ask(method, params, session=self._session)

    # events of the browser

    def _hear(self, event: Event) -> None:
        match event.method:
            case "Fetch.requestPaused":
                self._respond(event.params, event.session_id or self._session)
            case "Target.attachedToTarget":
                self._attach(event.params)
            case "Page.domContentEventFired" if event.session_id == self._session:
                self._is_parsed = True
            case "Page.loadEventFired" if event.session_id == self._session:
                self._completion.mark_loaded()
            case "Page.frameStoppedLoading" if event.params["frameId"] == self._frame and self._loader is not None:
                self._completion.mark_loaded()  # if a script tried to navigate, there is no load event
            case "Page.frameNavigated" if event.params["frame"]["id"] == self._frame:
                self._navigate(event.params["frame"]["loaderId"])
            case "Page.windowOpen":
                self._add_link(event.params["url"], LinkKind.LINK)
            case "Page.javascriptDialogOpening":
                # Accept only the question whether to leave the page.
                accept = {"accept": event.params["type"] == "beforeunload"}
                session = event.session_id or self._session
                self._devtools.post("Page.handleJavaScriptDialog", accept, session=session)
            case "Inspector.targetCrashed" if event.session_id == self._session:
                self._finish(Rendering.CRASHED)
            case "Target.detachedFromTarget" if event.params["sessionId"] == self._session:
                self._finish(Rendering.CLOSED)

    def _browser_gone(self, _: object) -> None:
        self._completion.over.set()

    def _attach(self, params: Params) -> None:
        """Attach to a target: the page itself, which comes first, or a frame or a worker of it. Close any other."""
        target, session = params["targetInfo"], params["sessionId"]
        if target["type"] == "page" and target.get("browserContextId") == self._context and self._session is None:
            self._session, self._frame = session, target["targetId"]
        elif target["type"] in ("iframe", "worker"):
            for method, how in _PREPARATION:
                self._devtools.post(method, how, session=session)
        else:
            self._devtools.post("Target.closeTarget", {"targetId": target["targetId"]})

    def _navigate(self, loader: str) -> None:
        if self._is_served and self._loader is None:
            self._loader = loader
        elif self._loader not in (None, loader):
            self._finish(Rendering.LEFT)

    def _respond(self, params: Params, session: str | None) -> None:
        request = SubRequest.of(params, session)
        if request.kind != "frame" or params["frameId"] != self._frame:
            self._interceptor.respond(request, task_group=self._tasks)
        elif self._is_served:
            # A script wants to navigate: that URL is a link, unless a form is sent there. The document stays.
            if request.method == "GET":
                self._add_link(request.url, LinkKind.REFRESH)
            self._interceptor.refuse(request)
        else:
            self._is_served = True
            page = SubResponse(self._page.status, response_headers(self._page), self._page.body)
            self._interceptor.fulfil(request, page)

    # the end of the visit

    def _finish(self, end: Rendering) -> None:
        """End the visit without a document."""
        self._end = self._end or end
        self._completion.over.set()
        self._devtools.give_up(f"of a page: {self._end}")

    def _add_link(self, url: str, kind: LinkKind, *, text: str = "", rel: str = "") -> None:
        if url in self._links or len(url) > MAX_HREF_CHARACTERS or not url.startswith(("http://", "https://")):
            return
        if len(self._links) < MAX_LINKS and self._link_characters + len(url) <= MAX_LINK_CHARACTERS:
            self._link_characters += len(url)
            self._links[url] = Link(url, kind, text=" ".join(text.split()), rel=rel.lower())
