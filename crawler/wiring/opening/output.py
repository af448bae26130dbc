"""Opens the output of a crawl: its sinks, what retries them when the disk is full, and what watches the disk."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.repeats.stored import StoredFingerprints
from crawler.wiring.additions import Additions
from crawler.wiring.components import content, processing, repeating
from crawler.wiring.components.disk_space import DiskSpace, disk_space
from crawler.wiring.live.values import Values
from crawler.wiring.opening.kept import Kept
from frontier import Numbering, Timing


class Output(msgspec.Struct, frozen=True, kw_only=True):
    sinks: processing.OpenedSinks
    full_disk: FullDiskRetry
    space: DiskSpace
    """To be started before the first request."""
    fingerprints: Sequence[StoredFingerprints]
    """Of what the sinks got; nothing if near duplicates are not looked for."""


async def open_output(
    values: Values, directory: CrawlDirectory, kept: Kept, additions: Additions, stack: AsyncExitStack
) -> Output:
    """`stack` closes the sinks. Raises `ConfigError`, `DirectoryRefused` and `OSError`."""
    config, pauses, state = values.loaded.config, kept.frontier.pauses, kept.state
    full_disk = FullDiskRetry(
        pause=partial(pauses.pause, by="output"),
        resume=partial(pauses.resume, by="output"),
        before_write=additions.check,
    )
    fingerprints = repeating.fingerprints(config, directory.fingerprints, values.urls, stack)
    sinks = await processing.open_sinks(
        values.loaded,
        directory,
        full_disk,
        before=additions.sinks,
        after=fingerprints,
        keeps_loads_of=content.keeps_loads_of(config),
    )
    stack.push_async_callback(sinks.sink.aclose)
    space = disk_space(
        config,
        directory,
        pauses,
        next_number=lambda: state.next_number if isinstance(state, Numbering) else 0,
        latest_at=lambda: state.latest_at if isinstance(state, Timing) else None,
        forget_before=sinks.forget_before,
    )
    return Output(sinks=sinks, full_disk=full_disk, space=space, fingerprints=fingerprints)
