"""Says which pages are rendered in browsers, and whether they can be."""

from collections.abc import Callable, Sequence

from config import Loaded
from crawler.discover.scope import pattern_search
from crawler.page import Page
from crawler.read.encoding.text import encoding_of
from crawler.read.headers import read_headers
from crawler.read.sniff import XHTML, is_html, sniff_type


def check(loaded: Loaded) -> None:
    """Check the patterns, and that there is a browser. Raises `ConfigError`."""
    render = loaded.config.render
    matcher(loaded, "render.patterns", render.patterns)
    matcher(loaded, "render.block_urls", render.block_urls)
    if render.patterns:
        from crawler.render.browser import BrowserRefused, find_browser  # noqa: PLC0415 - few crawls render pages

        with loaded.refusing("render.browser", (BrowserRefused,)):
            find_browser(render.browser)


def matcher(loaded: Loaded, key: str, patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says whether one of the patterns is found in a URL. Raises `ConfigError`."""
    with loaded.refusing(key):
        search = pattern_search(patterns, key)
    return lambda url: search is not None and search(url) is not None


def reads_as_html(page: Page) -> bool:
    """Whether the crawl reads a page as HTML, and not as the sitemap or feed that it is."""
    return is_html(detected_type(page))


def detected_type(page: Page) -> str:
    return sniff_type(read_headers(page.headers).media_type, page.body)


def detected_charset(page: Page) -> str | None:
    """The encoding that the crawl detects of a page that declares none."""
    headers = read_headers(page.headers)
    is_xhtml = sniff_type(headers.media_type, page.body) == XHTML
    encoding = encoding_of(page.body, http_charset=headers.charset, is_xhtml=is_xhtml)
    return encoding.name if encoding.source == "detected" else None
