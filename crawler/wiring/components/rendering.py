"""Makes the fetcher that renders pages in browsers."""

from collections.abc import Callable, Sequence
from functools import partial

from config import Loaded
from crawler.discover.scope import pattern_search
from crawler.disk.directory import CrawlDirectory
from crawler.fetch.robots.robots_txt import RobotsAtOnce
from crawler.protocols import Fetcher, Robots
from crawler.render.browser import Browser, BrowserRefused, find_browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.responses import ResponseCache


def check(loaded: Loaded) -> None:
    """Check the patterns, and that there is a browser. Raises `ConfigError`."""
    render = loaded.config.render
    _matcher(loaded, "render.patterns", render.patterns)
    _matcher(loaded, "render.block_urls", render.block_urls)
    if render.patterns:
        try:
            find_browser(render.browser)
        except BrowserRefused as error:
            raise loaded.refuse("render.browser", str(error)) from error


async def rendering_fetcher(loaded: Loaded, directory: CrawlDirectory, fetcher: Fetcher, robots: Robots) -> Fetcher:
    """`fetcher`, or one around it that renders pages in browsers, if any are to be rendered. Raises
    `BrowserRefused`."""
    render = loaded.config.render
    if not render.patterns:
        return fetcher
    start = partial(Browser.start, find_browser(render.browser), user_agent=loaded.config.fetch.user_agent)
    browsers = Browsers(start, directory.browsers, at_once=render.concurrency)
    await browsers.open()
    return RenderingFetcher(
        fetcher,
        browsers,
        matches=_matcher(loaded, "render.patterns", render.patterns),
        loads=Loads(
            fetcher,
            blocked=frozenset(render.block),
            refuses=_matcher(loaded, "render.block_urls", render.block_urls),
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


def _matcher(loaded: Loaded, key: str, patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says whether one of the patterns is found in a URL."""
    try:
        search = pattern_search(patterns, key)
    except ValueError as error:
        raise loaded.refuse(key, str(error)) from error
    return lambda url: search is not None and search(url) is not None
