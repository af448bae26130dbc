"""Makes what keeps a crawl within its disk space: what watches the space, and what deletes old output."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.disk.free_space import FreeSpaceGuard, one_on_each_disk
from crawler.disk.layout import output_directories, part_directories, replaced_directories, whole_crawl
from crawler.disk.pruned import read_pruned
from crawler.disk.used_space import UsedSpaceGuard, growing_folders
from crawler.prune.choosing import Keep
from crawler.prune.keeping import Keeping, Referring
from crawler.prune.recorded import recorded_since, visits_since
from frontier import CrawlUrl, VisitsSince
from frontier.pauses import Pauses


class DiskSpace(msgspec.Struct, frozen=True, kw_only=True):
    free: FreeSpaceGuard
    used: UsedSpaceGuard
    keeping: Keeping
    recorded: VisitsSince
    """The visits of which the records tell."""
    archives: bool
    """Whether this run writes an archive."""
    is_resumed: bool
    """Whether a run before may have fetched pages."""

    def set(self, config: Config) -> None:
        """Let the settings of a configuration hold from now on."""
        self.free.min_free_bytes = config.output.min_free_bytes
        self.used.set_max_bytes(config.output.max_disk_bytes)
        self.keeping.set_keep(kept(config))

    def may_be_conditional(self, url: CrawlUrl, /) -> bool:
        """Whether the request for a URL may be conditional: if the page has not changed, no output gets it."""
        is_recorded = url.last_visit is None or self.recorded.has(url.last_visit)
        return is_recorded and self.keeping.may_be_conditional(url)

    async def start(self, stack: AsyncExitStack) -> None:
        """`stack` ends it. Awaited before the first request."""
        await self.keeping.prepare(archives=self.archives, is_resumed=self.is_resumed)
        await stack.enter_async_context(self.keeping.running())
        await stack.enter_async_context(self.used.running())
        await stack.enter_async_context(self.free.running())


def disk_space(
    config: Config,
    directory: CrawlDirectory,
    pauses: Pauses,
    *,
    next_number: Callable[[], int],
    latest_at: Callable[[], float | None],
    forget_before: Callable[[int], None],
) -> DiskSpace:
    """`next_number`, `latest_at` and `forget_before` are as in `Referring`. Raises `DirectoryRefused` if nobody can
    tell what was deleted, and `OSError`."""
    whole = whole_crawl(directory.original)
    # That of the whole crawl is there before any part has begun, if it is on many machines.
    before = (directory, *map(CrawlDirectory, replaced_directories(directory.original)))
    is_resumed = any(each.configuration.exists() for each in before)
    return DiskSpace(
        free=FreeSpaceGuard(
            one_on_each_disk(growing_folders(directory)),
            min_free_bytes=config.output.min_free_bytes,
            pause=partial(pauses.pause, by="space"),
            resume=partial(pauses.resume, by="space"),
        ),
        used=UsedSpaceGuard(
            lambda: [folder for each in _directories(whole) for folder in growing_folders(each)],
            max_bytes=config.output.max_disk_bytes,
            pause=partial(pauses.pause, by="disk"),
            resume=partial(pauses.resume, by="disk"),
        ),
        keeping=Keeping(
            partial(_outputs, directory, whole),
            partial(_owns, directory, whole),
            keep=kept(config),
            referring=Referring(
                since=_since(directory, _outputs(directory, whole)),
                next_number=next_number,
                latest_at=latest_at,
                forget_before=forget_before,
            ),
            own=directory,
        ),
        recorded=recorded_since(
            directory,
            records=config.output.records,
            is_resumed=is_resumed,
            next_number=next_number,
            latest_at=latest_at,
            clock=time.time,
        ),
        archives=config.output.warc,
        is_resumed=is_resumed,
    )


def kept(config: Config) -> Keep:
    """How much output the configuration keeps."""
    return Keep(seconds=config.output.keep_s, bytes=config.output.keep_bytes)


def _directories(whole: Path) -> list[CrawlDirectory]:
    return [CrawlDirectory(each) for each in (whole, *part_directories(whole))]


def _outputs(own: CrawlDirectory, whole: Path) -> Sequence[CrawlDirectory]:
    return [own if _is(own, each) else CrawlDirectory(each) for each in output_directories(whole)]


def _since(own: CrawlDirectory, outputs: Sequence[CrawlDirectory]) -> VisitsSince:
    """When the present cycle began, or the last one before the crawl was divided as it is now. Or later: after the last
    page of any archive that was pruned."""
    pruned = [read_pruned(each).total("warc").last for each in outputs]
    moments = [datetime.fromisoformat(each).timestamp() + 1 for each in pruned if each is not None]
    cycles, replaced = read_pruned(own).cycles, map(CrawlDirectory, replaced_directories(own.original))
    before = [cycle for each in replaced for cycle in read_pruned(each).cycles]
    moments += [datetime.fromisoformat(cycle.began).timestamp() for cycle in (*before, *cycles)]
    return visits_since(cycles[-1] if cycles else None, at=max(moments, default=0.0))


def _owns(own: CrawlDirectory, whole: Path, output: CrawlDirectory) -> bool:
    """Whether a part deletes the output in a directory: its own, and the first part what is older than all parts."""
    parts = part_directories(whole)
    return output is own or (_is(own, parts[0]) and not any(_is(output, each) for each in parts))


def _is(directory: CrawlDirectory, path: Path) -> bool:
    return Path(os.path.normpath(directory.original.absolute())) == Path(os.path.normpath(path.absolute()))
