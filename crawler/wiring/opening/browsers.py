"""Makes the fetcher that renders pages in browsers."""

from collections.abc import Callable, Sequence
from functools import partial

from config import Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.fetch.robots.robots_txt import RobotsAtOnce
from crawler.page import Page, Preference, WithBody
from crawler.record import ArchiveFilter
from crawler.render.browser import Browser, find_browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Keeps, Loads
from crawler.render.responses import ResponseCache
from crawler.seams import Fetcher, Robots
from crawler.wiring.components.content import preferences
from crawler.wiring.components.rendering import detected_charset, detected_type, matcher, reads_as_html


async def fetcher_in_browsers(
    loaded: Loaded,
    directory: CrawlDirectory,
    fetcher: Fetcher,
    robots: Robots,
    *,
    may_ask: Callable[[str], bool],
    chosen_for_archive: Callable[[], ArchiveFilter | None] | None,
) -> RenderingFetcher:
    """The fetcher around `fetcher` that renders the configured pages. Raises `BrowserRefused`. `may_ask`: whether the
    host of a URL may be asked now. `chosen_for_archive`: what of all that they load the archive gets now. None if there
    is no archive for it."""
    render = loaded.config.render
    blocks = matcher(loaded, "render.block_urls", render.block_urls)
    start = partial(Browser.start, find_browser(render.browser), user_agent=loaded.config.fetch.user_agent)
    browsers = Browsers(start, directory.browsers, at_once=render.concurrency)
    await browsers.open()
    return RenderingFetcher(
        fetcher,
        browsers,
        matches=matcher(loaded, "render.patterns", render.patterns),
        reads_as_html=reads_as_html,
        charset_of=detected_charset,
        loads=Loads(
            fetcher,
            blocked=frozenset(render.block),
            refuses=lambda url: blocks(url) or not may_ask(url),
            robots=RobotsAtOnce(robots, rest_s=loaded.config.politeness.min_delay_s) if render.robots else None,
            cache=ResponseCache(),
            keeps=None if chosen_for_archive is None else _keeps(loaded, chosen_for_archive),
        ),
        limits=Limits(
            wait=render.wait,
            idle_s=render.idle_s,
            wait_s=min(render.wait_s, render.timeout_s),
            timeout_s=render.timeout_s,
            scroll=render.scroll,
            click=render.click,
            max_clicks=render.max_clicks,
            screenshots=tuple(dict.fromkeys(render.screenshot)),
            max_requests=render.max_requests,
            max_bytes=render.max_bytes,
            max_memory_bytes=render.max_memory_bytes,
            max_document_bytes=loaded.config.fetch.max_body_bytes,
        ),
    )


def _keeps(loaded: Loaded, chosen: Callable[[], ArchiveFilter | None]) -> Keeps:
    usage = preferences(loaded.config)

    def keeps(response: WithBody, /, *, of_origin: Sequence[Preference]) -> bool:
        if usage.judge(response, of_origin=of_origin).is_refused:
            return False
        archive_filter = chosen()
        if archive_filter is None or not isinstance(response, Page) or response.status >= 300:
            return True
        return archive_filter.refusal(response, detected_type(response)) is None

    return keeps
