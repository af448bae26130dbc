"""Makes the fetcher that renders pages in browsers."""

from functools import partial

from config import Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.fetch.robots.robots_txt import RobotsAtOnce
from crawler.protocols import Fetcher, Robots
from crawler.render.browser import Browser, find_browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.responses import ResponseCache
from crawler.wiring.components.rendering import matcher, reads_as_html


async def fetcher_in_browsers(
    loaded: Loaded, directory: CrawlDirectory, fetcher: Fetcher, robots: Robots
) -> RenderingFetcher:
    """The fetcher around `fetcher` that renders the configured pages. Raises `BrowserRefused`."""
    render = loaded.config.render
    start = partial(Browser.start, find_browser(render.browser), user_agent=loaded.config.fetch.user_agent)
    browsers = Browsers(start, directory.browsers, at_once=render.concurrency)
    await browsers.open()
    return RenderingFetcher(
        fetcher,
        browsers,
        matches=matcher(loaded, "render.patterns", render.patterns),
        reads_as_html=reads_as_html,
        loads=Loads(
            fetcher,
            blocked=frozenset(render.block),
            refuses=matcher(loaded, "render.block_urls", render.block_urls),
            robots=RobotsAtOnce(robots, rest_s=loaded.config.politeness.min_delay_s) if render.robots else None,
            cache=ResponseCache(),
        ),
        limits=Limits(
            wait=render.wait,
            idle_s=render.idle_s,
            wait_s=min(render.wait_s, render.timeout_s),
            timeout_s=render.timeout_s,
            max_requests=render.max_requests,
            max_bytes=render.max_bytes,
            max_memory_bytes=render.max_memory_bytes,
            max_document_bytes=loaded.config.fetch.max_body_bytes,
        ),
    )
