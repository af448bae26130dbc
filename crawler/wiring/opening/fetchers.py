"""Makes the fetchers of a crawl, one around the other, and the robots.txt that they fetch."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from time import time

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.fetch.http import HttpFetcher
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.page import Fetched
from crawler.seams import Fetcher, Robots
from crawler.wiring.components import discovering, fetching, signing
from crawler.wiring.live.values import Latest
from crawler.wiring.opening.kept import Kept
from crawler.wiring.queue_settings import upcoming_hosts
from frontier import Foreseeing


class Fetchers(msgspec.Struct, frozen=True):
    http: HttpFetcher
    outermost: Fetcher
    """What fetches pages: `http`, or what surrounds it."""
    robots: RobotsTxt
    robots_and_tdm: Robots
    """`robots`, and what origins say in `tdmrep.json`, if they may refuse the purpose of the crawl there."""


async def open_fetchers(
    latest: Latest,
    directory: CrawlDirectory,
    kept: Kept,
    *,
    archive: Callable[[Fetched, str], Awaitable[None]] | None,
    before_request: Callable[[], object] | None,
    stack: AsyncExitStack,
) -> Fetchers:
    """`archive` gets what is fetched beside pages, and why. `stack` closes them. Raises `BrowserRefused`."""
    loaded, frontier, notes = latest.values.loaded, kept.frontier, kept.state.notes
    config = loaded.config
    http = fetching.fetcher(
        loaded,
        notes,
        limits=latest.request_limits,
        allows_port=latest.allows_port,
        queues_of=discovering.queues_of(loaded),
        signing=partial(signing.signing, loaded, notes),
        before_request=before_request,
    )
    if isinstance(frontier, Foreseeing) and config.frontier.queue_by != "domain":
        http.look_ahead(partial(upcoming_hosts, frontier))
    stack.push_async_callback(http.aclose)
    fetcher = fetching.chosen_fetcher(loaded, http, before_request=before_request)
    stack.push_async_callback(fetcher.aclose)
    robots = fetching.robots(config, fetcher, notes, is_obeyed=latest.obeys_robots, archive=archive)
    outermost = fetcher
    if config.render.patterns:
        from crawler.wiring.opening.browsers import fetcher_in_browsers  # noqa: PLC0415 - few crawls render pages

        is_archiving = config.render.archive and archive is not None
        chosen = latest.archive_filter if is_archiving else None
        outermost = await fetcher_in_browsers(
            loaded,
            directory,
            fetcher,
            robots,
            may_ask=lambda url: latest.policy(url).closed_for_s(time()) <= 0,
            chosen_for_archive=chosen,
        )
    stack.push_async_callback(outermost.aclose)
    robots_and_tdm = fetching.with_tdm_files(config, robots, fetcher, notes, archive=archive)
    return Fetchers(http, outermost, robots, robots_and_tdm)
