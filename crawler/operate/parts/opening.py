"""Opens the parts of a crawl that nobody watches over, for commands."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.control import address
from crawler.control.asking import open_channel
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.layout import Layout
from crawler.operate.opening import lock_directory, stored_configuration
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.parts.members import BrokenPart, Member, Parts, RunningPart, StoredPart
from crawler.operate.stored import open_stored_crawl
from crawler.wiring.parts import use_suffixes_of
from frontier import StoreFailed, StoreRefused


@asynccontextmanager
async def open_parts(path: Path, layout: Layout, *, to_change: bool) -> AsyncIterator[CrawlInParts]:
    """The crawl in `path`, which no other process takes over while this context lasts.

    Its parts that run are asked. The others are opened, and locked in this context; one that can't be opened answers
    why. Raises `DirectoryInUse` if somebody watches over the crawl or is about to run a part, `SocketRefused` and
    `ConfigError`.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_directory(path, to_change=to_change))
        use_suffixes_of(CrawlDirectory(path))
        parts: dict[int, Member] = {}
        for number, directory in layout.directories_here(path).items():
            parts[number] = await _open_part(directory, stack, to_change=to_change)
        yield CrawlInParts(path, stored_configuration(path), Parts(parts), division=len(layout.parts))


async def _open_part(directory: Path, stack: AsyncExitStack, *, to_change: bool) -> Member:
    try:
        CrawlDirectory(directory).check_place()
    except DirectoryRefused as error:
        return BrokenPart(directory, str(error), REFUSED)
    if address.check(directory):
        async with open_channel(directory) as channel:
            if channel is not None:
                return RunningPart(directory)
    try:
        return StoredPart(await stack.enter_async_context(open_stored_crawl(directory, to_change=to_change)))
    except DirectoryInUse:
        raise
    except (DirectoryRefused, StoreFailed, StoreRefused) as error:
        return BrokenPart(directory, str(error), FAILED if isinstance(error, StoreFailed) else REFUSED)
