"""Deletes a crawl with its visited sets on servers, also to begin another one in its directory."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from config import Config, ConfigError, Loaded
from crawler.disk.clearing import check_parts, clear_crawl, delete_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import output_directories
from crawler.wiring.additions import NO_ADDITIONS, Additions
from crawler.wiring.auto_backend import choose_backend
from crawler.wiring.components.exchanging import checked_redis
from crawler.wiring.components.processing import check_servers_of_sinks
from crawler.wiring.configuration import load
from crawler.wiring.parts import number_of_parts
from crawler.wiring.storage import chosen_set, is_on_server, make_chosen, reaching_server
from visited import SharedSet, Unanswered, Unavailable, Unreachable, VisitedSet

log = logging.getLogger(__name__)


def check_servers(loaded: Loaded, directory: CrawlDirectory, *, additions: Additions = NO_ADDITIONS) -> None:
    """Check that a crawl can use the servers that it needs to begin: one that can't must not take the place of another.
    Raises `ConfigError`."""
    _run(_check_servers(loaded, directory, additions))


def start_over(directory: CrawlDirectory, config: Config) -> None:
    """Delete state and output of the crawl in a locked directory, those of its parts included, and the visited sets on
    servers that belong to it alone. If such a server can't be reached, it keeps them, and the log says so. A crawl
    without a configuration, as one whose first start was refused, has what `config` says.

    Raises `DirectoryInUse` if a process still runs a part, and `OSError` if its notes can't be read.
    """
    _delete_sets(directory, config, pace=None)
    clear_crawl(directory)


def delete_for_good(directory: CrawlDirectory, *, pace: Path) -> None:
    """Delete the crawl in a locked directory as `start_over` does, and the directory, unless it has files of others.
    With other crawls it kept the pace of hosts by the file `pace`. Raises `DirectoryInUse`, and `OSError`."""
    _delete_sets(directory, None, pace=pace)
    delete_crawl(directory)


def _delete_sets(directory: CrawlDirectory, otherwise: Config | None, *, pace: Path | None) -> None:
    """The sets go first: a crash in between leaves a crawl, which fills its set again, and not keys that nobody
    knows. Raises `DirectoryInUse`, before anything is deleted, if a process still runs a part, and `OSError`."""
    check_parts(directory)
    found = list(_own_sets(directory, otherwise, pace))
    if found:
        _run(_delete_all(found))


def _run(work: Coroutine[None, None, None]) -> None:
    """In a thread of its own, because this one may have an event loop that runs."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


async def _check_servers(loaded: Loaded, directory: CrawlDirectory, additions: Additions) -> None:
    if number_of_parts(loaded.config) > 1 and loaded.config.exchange.backend == "redis":
        async with checked_redis(loaded):
            pass
    await check_servers_of_sinks(loaded, directory)
    config, _ = choose_backend(loaded.config, directory)
    if additions.visited is not None or not is_on_server(chosen := chosen_set(config)):
        return
    visited = make_chosen(chosen, config, directory, is_temporary=True)
    try:
        with reaching_server(config):
            if isinstance(visited, SharedSet):
                await visited.connect()
    finally:
        await visited.aclose()


def _own_sets(
    directory: CrawlDirectory, otherwise: Config | None, pace: Path | None
) -> Iterator[tuple[Path, VisitedSet]]:
    """The visited sets on servers that a crawl and its parts have begun, by their directories."""
    for path in dict.fromkeys((directory.path, *output_directories(directory.path))):
        place = CrawlDirectory(path)
        if not any(each.is_dir() for each in place.visited.glob("*")):  # where sets on servers have their names
            continue
        from visited.redis.making import own_keys  # noqa: PLC0415 - most crawls have no sets on servers

        chosen = None
        try:
            file = place.earlier_configuration or directory.earlier_configuration
            config = otherwise if file is None else load(file, require_seeds=False, require_contact=False).config
            if config is None:
                continue
            config, _ = choose_backend(config, place)
            chosen = chosen_set(config)
            if is_on_server(chosen) and chosen.folder is not None and (place.visited / chosen.folder).is_dir():
                yield path, make_chosen(chosen, config, place, pace=pace)
        except (ConfigError, DirectoryRefused) as error:
            log.warning("if the crawl in %s had its visited set on a server, that keeps it: %s", path, error)
        for pattern in own_keys(place.visited, besides=None if chosen is None else chosen.folder):
            log.warning(
                "before its visited set was changed, the crawl in %s had one on a server, which keeps it; to delete it "
                "there: redis-cli --scan --pattern '%s' | xargs redis-cli UNLINK",
                path,
                pattern,
            )


async def _delete_all(found: list[tuple[Path, VisitedSet]]) -> None:
    outcomes = await asyncio.gather(*(_delete(path, visited) for path, visited in found), return_exceptions=True)
    for failure in filter(None, outcomes):
        raise failure


async def _delete(path: Path, visited: VisitedSet) -> None:
    try:
        if isinstance(visited, SharedSet):
            await visited.delete()
    except (Unanswered, Unavailable, Unreachable) as error:
        log.warning("the server keeps the visited set of the crawl in %s, which is deleted: %s", path, error)
    finally:
        await visited.aclose()
