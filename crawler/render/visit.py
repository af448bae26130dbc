"""One page in one browser, from its first byte to the document that its scripts made."""

import asyncio
import logging
from importlib.resources import files
from typing import Any, Final

import msgspec

from crawler.page import Link, LinkKind, Page, Rendering
from crawler.render.answers import Answer
from crawler.render.browser import Browser
from crawler.render.devtools import BrowserGone, CommandRefused, Event, Params
from crawler.render.limits import Limits
from crawler.render.loads import Asked, Loads, preflight_answer, told_headers

_log = logging.getLogger(__name__)

AT_ONCE: Final = 6
"""Requests of one page that are under way, as in browsers."""
_LOOK_EVERY_S: Final = 0.25
_LEAVE_S: Final = 10.0
MAX_LINKS: Final = 10_000
MAX_HREF_CHARACTERS: Final = 65_536
_FLOOD: Final = 10
"""So many times as many requests as a page may make, and it is not waited for any longer."""
_PIECE_CHARACTERS: Final = 1_000_000
"""Of a document, handed over at a time: at most 6 MB as JSON."""
_DOCUMENT: Final = files("crawler.render").joinpath("document.js").read_text(encoding="utf-8")
_PIECE: Final = """(from, length) => {
    let to = from + length;
    if (to < kept.length && (kept.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1;
    return kept.slice(from, to);
}"""
"""Pairs of surrogates stay together."""
_ATTACH: Final = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_PREPARATION: Final[tuple[tuple[str, Params], ...]] = (
    ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
    ("Page.enable", {}),
    ("Target.setAutoAttach", _ATTACH),
    ("Runtime.runIfWaitingForDebugger", {}),
)


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a page."""

    rendering: Rendering
    document: bytes | None = None
    """As UTF-8."""
    links: tuple[Link, ...] = ()
    """That are not in the document: where its scripts wanted to go, and what stands in shadow trees."""
    busy_s: float = 0.0
    """How long servers were kept busy with what it loaded."""


class Visit:
    """Shows one page to a browser, once. After a rendering without a document the browser is given up."""

    def __init__(self, browser: Browser, page: Page, loads: Loads, limits: Limits) -> None:
        self._browser = browser
        self._devtools = browser.devtools
        self._page = page
        self._loads = loads
        self._limits = limits
        self._context: str | None = None
        self._session: str | None = None
        self._frame: str | None = None
        """The main frame, whose id is that of its target."""
        self._loader: str | None = None
        """Names the document that is shown."""
        self._served = False
        self._loaded = False
        self._over = asyncio.Event()
        """Nothing more is waited for: the page is done, or gone."""
        self._end: Rendering | None = None
        """How, if it is gone."""
        self._shortage: Rendering | None = None
        """Which limit kept something from it."""
        self._requests = 0
        self._bytes = 0
        self._busy_s = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._places = asyncio.Semaphore(AT_ONCE)
        self._answering: set[asyncio.Task[None]] = set()
        self._links: dict[str, Link] = {}

    async def run(self) -> Rendered:
        """Render the page. When it returns or raises, nothing of it is under way any more."""
        self._devtools.hear = self._hear
        self._devtools.gone.add_done_callback(self._browser_gone)
        async with asyncio.TaskGroup() as self._tasks:
            watching = self._tasks.create_task(self._watch_memory())
            try:
                async with asyncio.timeout(self._limits.timeout_s):
                    rendered = await self._render()
                await self._leave()
                return rendered
            except TimeoutError:
                self._finish(Rendering.HUNG)
            except (BrowserGone, CommandRefused) as error:
                _log.info("%s can't be rendered: %s", self._page.url, error)
                self._finish(Rendering.CRASHED)
            finally:
                self._devtools.hear = _ignore
                self._devtools.gone.remove_done_callback(self._browser_gone)
                if self._idle is not None:
                    self._idle.cancel()
                for task in (watching, *self._answering):
                    task.cancel()
        assert self._end is not None
        return self._rendered(self._end)

    async def _render(self) -> Rendered:
        await self._open()
        # Answered once the document is shown, before its scripts have run: what it waits for begins here.
        shown = await self._ask("Page.navigate", url=self._page.url)
        if "errorText" in shown:
            raise CommandRefused(shown["errorText"])
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await self._over.wait()
        except TimeoutError:
            self._shortage = self._shortage or Rendering.TIME
        document, cut = await self._document()
        return self._rendered(Rendering.LENGTH if cut else self._shortage or Rendering.WHOLE, document)

    async def _leave(self) -> None:
        """Throw the page away; or the browser, where it does not let go of it."""
        self._devtools.hear = _ignore
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._devtools.ask("Target.disposeBrowserContext", {"browserContextId": self._context})
        except (TimeoutError, BrowserGone, CommandRefused):
            self._devtools.give_up("it does not let go of a page")

    def _rendered(self, rendering: Rendering, document: bytes | None = None) -> Rendered:
        return Rendered(rendering=rendering, document=document, links=tuple(self._links.values()), busy_s=self._busy_s)

    async def _watch_memory(self) -> None:
        """Nothing tells when a browser has taken too much."""
        look = self._browser.memory_bytes  # it takes milliseconds
        while await asyncio.to_thread(look) <= self._limits.max_memory_bytes:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_LOOK_EVERY_S)
        self._finish(Rendering.MEMORY)

    async def _open(self) -> None:
        """An empty page in a context of its own. It and all that it opens wait until they are looked after."""
        ask = self._devtools.ask
        await ask("Target.setAutoAttach", _ATTACH)
        context = await ask("Target.createBrowserContext", {"disposeOnDetach": True})
        self._context = context["browserContextId"]
        where = {"browserContextId": self._context}
        await ask("Browser.setDownloadBehavior", {"behavior": "deny", **where})
        await ask("Target.createTarget", {"url": "about:blank", **where})
        if self._session is None:
            raise CommandRefused("the page was not attached to")
        for method, params in _PREPARATION:
            # Each before the next: events of a page that is shown too soon get lost.
            await ask(method, params, session=self._session)

    async def _document(self) -> tuple[bytes, bool]:
        """The document as UTF-8, and whether it is cut."""
        world = await self._ask("Page.createIsolatedWorld", frameId=self._frame, worldName="crawl")
        where = world["executionContextId"]
        most = self._limits.max_document_bytes
        told = await self._call(where, _DOCUMENT, self._page.url, most, MAX_LINKS)
        for link in told["links"]:
            self._note(link["href"], LinkKind(link["kind"]), text=link.get("text", ""), rel=link.get("rel", ""))
        starts = range(0, told["characters"], _PIECE_CHARACTERS)
        pieces = [await self._call(where, _PIECE, start, _PIECE_CHARACTERS) for start in starts]
        document = "".join(pieces).encode("utf-8", "replace")
        if len(document) <= most:
            return document, told["cut"]
        return document[:most].decode("utf-8", "ignore").encode(), True

    async def _call(self, world: int, function: str, *arguments: str | int) -> Any:
        """What a function answers in an isolated world: scripts of the page can't touch what it uses."""
        listed = [{"value": argument} for argument in arguments]
        params = {"functionDeclaration": function, "arguments": listed, "executionContextId": world}
        told = await self._ask("Runtime.callFunctionOn", returnByValue=True, **params)
        if "exceptionDetails" in told:
            raise CommandRefused(str(told["exceptionDetails"].get("exception", {}).get("description")))
        return told["result"].get("value")

    async def _ask(self, method: str, **params: Any) -> Params:
        return await self._devtools.ask(method, params, session=self._session)

    def _post(self, method: str, *, session: str | None = None, **params: Any) -> None:
        self._devtools.post(method, params, session=session or self._session)

    # what the browser tells

    def _hear(self, event: Event) -> None:
        match event.method:
            case "Fetch.requestPaused":
                self._paused(event.params, event.session_id)
            case "Target.attachedToTarget":
                self._found(event.params)
            case "Page.loadEventFired" if event.session_id == self._session:
                self._has_loaded()
            case "Page.frameStoppedLoading" if event.params["frameId"] == self._frame and self._loader is not None:
                self._has_loaded()  # without the event, where a script has tried to go elsewhere
            case "Page.frameNavigated" if event.params["frame"]["id"] == self._frame:
                self._navigated(event.params["frame"]["loaderId"])
            case "Page.windowOpen":
                self._note(event.params["url"], LinkKind.LINK)
            case "Page.javascriptDialogOpening":
                # Only a page that is asked to leave is to be obeyed.
                accept = event.params["type"] == "beforeunload"
                self._post("Page.handleJavaScriptDialog", session=event.session_id, accept=accept)
            case "Inspector.targetCrashed" if event.session_id == self._session:
                self._finish(Rendering.CRASHED)
            case "Target.detachedFromTarget" if event.params["sessionId"] == self._session:
                self._finish(Rendering.CLOSED)

    def _browser_gone(self, _: object) -> None:
        self._over.set()

    def _found(self, params: Params) -> None:
        """A target: the page itself, which comes first, a frame or a worker of it; no other may live."""
        target, session = params["targetInfo"], params["sessionId"]
        if target["type"] == "page" and target.get("browserContextId") == self._context and self._session is None:
            self._session, self._frame = session, target["targetId"]
        elif target["type"] in ("iframe", "worker"):
            for method, how in _PREPARATION:
                self._devtools.post(method, how, session=session)
        else:
            self._devtools.post("Target.closeTarget", {"targetId": target["targetId"]})

    def _navigated(self, loader: str) -> None:
        if self._served and self._loader is None:
            self._loader = loader
        elif self._loader not in (None, loader):
            self._finish(Rendering.LEFT)

    def _paused(self, params: Params, session: str | None) -> None:
        request = params["requestId"]
        asked = Asked.of(params)
        if asked.kind == "frame" and params["frameId"] == self._frame:
            if self._served:
                # Where scripts want to go is a discovery. This error leaves the document in its place.
                self._note(asked.url, LinkKind.REFRESH)
                self._refuse(request, session)
            else:
                self._served = True
                self._fulfil(request, session, Answer(self._page.status, told_headers(self._page), self._page.body))
            return
        self._requests += 1
        if self._requests > self._limits.max_requests:
            self._shortage = self._shortage or Rendering.REQUESTS
            if self._requests > self._limits.max_requests * _FLOOD:
                self._over.set()
            self._refuse(request, session)
        elif asked.is_preflight:
            self._fulfil(request, session, preflight_answer(asked))
        elif not self._loads.passes(asked):
            self._refuse(request, session)
        elif self._bytes >= self._limits.max_bytes:
            self._shortage = self._shortage or Rendering.BYTES
            self._refuse(request, session)
        else:
            task = self._tasks.create_task(self._answer(asked, request, session))
            self._answering.add(task)
            self._consider()

    async def _answer(self, asked: Asked, request: str, session: str | None) -> None:
        try:
            async with self._places:
                answer, busy_s = await self._loads.answer(asked)
            self._busy_s += busy_s
            if answer is not None:
                self._bytes += len(answer.body)
                if self._bytes > self._limits.max_bytes:
                    self._shortage = self._shortage or Rendering.BYTES
                    answer = None
            if answer is None:
                self._refuse(request, session)
            else:
                self._fulfil(request, session, answer)
        finally:
            self._answering.discard(asyncio.current_task())
            self._consider()

    def _fulfil(self, request: str, session: str | None, answer: Answer) -> None:
        self._post("Fetch.fulfillRequest", session=session, **answer.params(request))

    def _refuse(self, request: str, session: str | None) -> None:
        self._post("Fetch.failRequest", session=session, requestId=request, errorReason="Aborted")

    # when it is over

    def _has_loaded(self) -> None:
        self._loaded = True
        self._consider()

    def _consider(self) -> None:
        """Begin to wait for the end, or go on waiting."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._loaded:
            return
        if self._limits.wait == "load":
            self._over.set()
        elif not self._answering:
            self._idle = asyncio.get_running_loop().call_later(self._limits.idle_s, self._over.set)

    def _finish(self, end: Rendering) -> None:
        """End it without a document, wherever it is."""
        self._end = self._end or end
        self._over.set()
        self._devtools.give_up(f"of a page: {self._end}")

    def _note(self, url: str, kind: LinkKind, *, text: str = "", rel: str = "") -> None:
        if len(self._links) < MAX_LINKS and len(url) <= MAX_HREF_CHARACTERS and url.startswith(("http://", "https://")):
            self._links.setdefault(url, Link(url, kind, text=" ".join(text.split()), rel=rel.lower()))


def _ignore(_: Event) -> None: ...
