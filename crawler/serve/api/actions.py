"""What requests to the API do. Each raises `Refused` if it is not carried out."""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from aiohttp import web

from config import Loaded
from crawler.codes.exit_codes import AWAY, FAILED, REFUSED
from crawler.control.requests import Request
from crawler.disk.directory import DirectoryRefused
from crawler.disk.layout import part_directory
from crawler.files.folders import sync_directory
from crawler.files.replacing import replace_file
from crawler.serve.api.events.hub import Events
from crawler.serve.api.forms import (
    CrawlDetails,
    CrawlList,
    PauseBody,
    ReloadForm,
    crawl_details,
    crawl_form,
)
from crawler.serve.api.gate.caller import caller_of
from crawler.serve.api.problems import Refused
from crawler.serve.asking import Asker, Unanswered
from crawler.serve.daemon import CrawlRuns, Daemon
from crawler.serve.exports.exporter import Exporter
from crawler.serve.folder import SUFFIX, problems_of_new
from crawler.serve.inspection import CrawlWaits, NotDone
from crawler.serve.keeper import Keeper
from crawler.serve.life.facts import Wish
from crawler.serve.reporting import Reporter

log = logging.getLogger(__name__)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TOML: Final = "application/toml"
STARTING_S: Final = 5.0
"""For so long a request waits for a daemon that starts."""
_ANOTHER: Final = (
    "there is a crawl {name} with another configuration: POST the new one to /api/v1/crawls/{name}/configuration/text, "
    "or change its file and POST /api/v1/reload"
)

_STATUSES: Final = {
    None: HTTPStatus.GATEWAY_TIMEOUT,
    FAILED: HTTPStatus.SERVICE_UNAVAILABLE,
    REFUSED: HTTPStatus.CONFLICT,
    AWAY: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""By the exit code of a command that asks the same."""

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class Actions:
    """Carries out requests to a daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self.home = daemon.home
        self.recorder = daemon.recorder
        self.keepers: Mapping[str, Keeper] = daemon.keepers
        self.read_folder = daemon.reload
        self.writing = asyncio.Lock()
        """Held while configurations are written. Two requests for one name would write the same files."""
        self._asker = Asker()
        self.reporter = Reporter()
        self.exporter = Exporter(daemon.folder / "exports")
        self.events = Events(self._crawls)
        daemon.watchers.append(self._notice)

    async def wait_for_start(self) -> None:
        """Wait until the daemon has read its folder, and knows its crawls."""
        try:
            async with asyncio.timeout(STARTING_S):
                await self._daemon.knows_crawls.wait()
        except TimeoutError as error:
            detail = "the daemon is starting, and still reads its folder; ask again"
            headers = {"Retry-After": f"{STARTING_S:.0f}"}
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers=headers) from error

    async def list_crawls(self, _request: web.Request) -> CrawlList:
        """All crawls, also those that have finished, with their states."""
        return self._crawls()

    def _crawls(self) -> CrawlList:
        return CrawlList(crawls=tuple(crawl_form(self.keepers[name]) for name in sorted(self.keepers)))

    def _notice(self, name: str) -> None:
        keeper = self.keepers.get(name)
        self.events.notice(name, None if keeper is None else crawl_form(keeper))

    async def show_crawl(self, request: web.Request) -> CrawlDetails:
        """A crawl with its history."""
        return crawl_details(self.keeper(request))

    async def create_crawl(self, request: web.Request) -> CrawlDetails:
        """Create a crawl from its configuration (application/toml); a repetition changes nothing."""
        name = request.match_info["name"]
        if not _NAME.fullmatch(name):
            detail = (
                "expected a name of letters, digits, dots, dashes and underscores, first a letter or digit, at most "
                f"100, found {name[:100]!r}"
            )
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
        if request.content_type != TOML:
            detail = f"expected a configuration as {TOML}, found {request.content_type}"
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
        text = await request.read()
        async with self.writing:
            await self._create(request, name, text)
        return crawl_details(self.keeper(request))

    async def _create(self, request: web.Request, name: str, text: bytes) -> None:
        path = self._daemon.home / f"{name}{SUFFIX}"
        if path.exists() or path.is_symlink():
            if not path.is_file() or path.read_bytes() != text:
                raise Refused(HTTPStatus.CONFLICT, _ANOTHER.format(name=name))
            if (keeper := self.keepers.get(name)) is not None and not keeper.facts.is_removed:
                return
        else:
            problems = await asyncio.to_thread(problems_of_new, self._daemon.home, name, text)
            if problems:
                detail = "the configuration can't be used; nothing was created"
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail, problems)
            await asyncio.to_thread(_write_new, path, text)
            audit(request, f"created {name}")
        await self._daemon.reload()

    async def start_crawl(self, request: web.Request) -> CrawlDetails:
        """Let a crawl run: one that was stopped or is held; one that waits for its schedule begins anew."""
        return await self._wish(request, Wish.RUN)

    async def stop_crawl(self, request: web.Request) -> CrawlDetails:
        """Let a crawl finish what is in flight, and keep it stopped."""
        return await self._wish(request, Wish.STOP)

    async def _wish(self, request: web.Request, wish: Wish) -> CrawlDetails:
        keeper = self.keeper(request)
        if keeper.facts.is_removed:
            raise Refused(HTTPStatus.CONFLICT, f"the configuration file of {keeper.name} is gone")
        await keeper.wish(wish)
        audit(request, f"told {keeper.name} to {wish}")
        return crawl_details(keeper)

    async def pause_crawl(self, request: web.Request, body: PauseBody) -> CrawlDetails:
        """Let a crawl fetch nothing until it is resumed."""
        return await self._ask(request, lambda keeper: keeper.pause(body.reason), f"paused: {body.reason}")

    async def resume_crawl(self, request: web.Request) -> CrawlDetails:
        """End a pause."""
        return await self._ask(request, lambda keeper: keeper.resume(), "resumed")

    async def _ask(self, request: web.Request, ask: Callable[[Keeper], Awaitable[None]], done: str) -> CrawlDetails:
        keeper = self.keeper(request)
        try:
            await ask(keeper)
        except CrawlWaits as error:
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, str(error)) from error
        except NotDone as error:
            raise Refused(HTTPStatus.CONFLICT, str(error)) from error
        audit(request, f"{keeper.name}: {done}")
        return crawl_details(keeper)

    async def delete_crawl(self, request: web.Request) -> None:
        """Remove a crawl that does not run from the list, with its configuration; its directory is kept."""
        keeper = self.keeper(request)
        try:
            await self._daemon.delete(keeper.name)
        except CrawlRuns:
            detail = f"{keeper.name} runs: stop it first, and wait until it has ended"
            raise Refused(HTTPStatus.CONFLICT, detail) from None
        audit(request, f"deleted {keeper.name}; its directory is kept")

    async def replace(self, keeper: Keeper, write: Callable[[], None]) -> None:
        """Write the configuration of a crawl, unless somebody has deleted the crawl meanwhile."""
        async with self._daemon.folder_turn:
            if self.keepers.get(keeper.name) is not keeper:
                raise Refused(HTTPStatus.NOT_FOUND, f"{keeper.name} was deleted")
            await asyncio.to_thread(write)

    async def reload(self, request: web.Request) -> ReloadForm:
        """Read the folder again, as SIGHUP does."""
        audit(request, "reads the folder again")
        return ReloadForm(changes=tuple(await self._daemon.reload()))

    async def ask_crawl(
        self,
        keeper: Keeper,
        request: Request[_Reply],
        *,
        part: int | None = None,
        refused_as: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY,
    ) -> _Reply:
        """The reply of a crawl, or of one part of it, whether it runs or not. `refused_as` is for requests that make no
        sense to it."""
        with answering(refused_as):
            return await self._asker.ask(self.directory(keeper, part), request)

    def configuration(self, keeper: Keeper) -> Loaded:
        """The configuration of a crawl in the folder."""
        loaded = self._daemon.loaded.get(keeper.name)
        if loaded is None:
            detail = f"the configuration of {keeper.name} can't be used, or is gone"
            raise Refused(HTTPStatus.CONFLICT, detail, keeper.facts.broken)
        return loaded

    def directory(self, keeper: Keeper, part: int | None = None) -> Path:
        """Where the crawl, or one part of it, runs or has run."""
        directory = keeper.facts.directory_now
        if directory is None:
            raise Refused(HTTPStatus.CONFLICT, f"{keeper.name} has no directory yet: {keeper.summary.reason}")
        try:
            return Path(directory) if part is None else part_directory(Path(directory), part)
        except (ValueError, DirectoryRefused) as error:
            raise Refused(HTTPStatus.CONFLICT, str(error)) from error

    def keeper(self, request: web.Request) -> Keeper:
        """The crawl that the path of a request names."""
        return self.named(request.match_info["name"])

    def named(self, name: str) -> Keeper:
        keeper = self.keepers.get(name)
        if keeper is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no crawl {name[:100]!r}; GET /api/v1/crawls lists them")
        return keeper


@contextmanager
def answering(refused_as: HTTPStatus) -> Iterator[None]:
    """A context in which a crawl answers. `refused_as` is for what it takes for wrong usage."""
    try:
        yield
    except Unanswered as error:
        raise Refused(_STATUSES.get(error.exit_code, refused_as), str(error)) from error


def _write_new(path: Path, text: bytes) -> None:
    """Write a file that must not exist, in one step that a power failure does not undo."""
    aside = path.with_name(f"..{path.name}.made")
    replace_file(aside, text)
    try:
        os.link(aside, path)
    except FileExistsError as error:
        raise Refused(HTTPStatus.CONFLICT, f"there is a crawl {path.stem} already") from error
    finally:
        aside.unlink()
    sync_directory(path.parent)


def audit(request: web.Request, what: str) -> None:
    """Log a change."""
    client = f" at {request.remote}" if request.remote else ""
    log.info("API, %s%s: %s", caller_of(request).name, client, what.replace("\n", " "))
