"""How pages that need scripts are rendered."""

from typing import Annotated, Literal

import msgspec

from config.schema.kinds import DAY_S, MOST, Text, between, matching, meaning

RenderWait = Literal["load", "idle"]
RenderBlock = Annotated[
    str,
    matching(
        r"(image|media|font|stylesheet|script|data|frame)",
        "image, media, font, stylesheet, script, data (what scripts ask for) or frame",
    ),
]

RenderScreenshot = Annotated[
    str, matching(r"(view|fullPage|thumbnail)", "view (what the window shows), fullPage or thumbnail")
]


class Render(msgspec.Struct, frozen=True, kw_only=True):
    """Rendering of pages that need scripts. A headless Chromium loads the page, and its document is read instead of the
    response. Without patterns, no page is rendered."""

    patterns: Annotated[
        tuple[Text, ...], meaning("Patterns (RE2). An HTML page is rendered if one of them is found in its URL.")
    ] = ()
    browser: Annotated[Text, meaning("Command or path of the browser. On Debian the package is chromium.")] = "chromium"
    concurrency: Annotated[
        int,
        between(1, 100, "pages"),
        meaning("Pages rendered at once. Each has its own browser, which takes about 300 MB."),
    ] = 2
    wait: Annotated[
        RenderWait,
        meaning(
            "When a page is complete: when it has loaded (load), or when it has then loaded nothing more for idle_s "
            "(idle)."
        ),
    ] = "idle"
    idle_s: Annotated[
        float, between(0, 3600, "seconds"), meaning("With wait idle: how long a page must load nothing.")
    ] = 0.5
    wait_s: Annotated[
        float,
        between(0.001, DAY_S, "seconds"),
        meaning("Longest wait until a page is complete. Then its document is read as it is."),
    ] = 10.0
    timeout_s: Annotated[
        float,
        between(0.001, DAY_S, "seconds"),
        meaning("Longest duration of a rendering. After that the page is kept as the server sent it."),
    ] = 20.0
    scroll: Annotated[
        int,
        between(0, 100_000, "screens"),
        meaning("Screens that a page is scrolled down at most, so that it loads more."),
    ] = 0
    click: Annotated[
        tuple[Text, ...],
        meaning(
            "CSS selectors of buttons that load more. They are clicked as long as there is one; links, and buttons "
            "that send forms, are not."
        ),
    ] = ()
    max_clicks: Annotated[int, between(0, 10_000, "clicks"), meaning("Clicks on one page.")] = 20
    block: Annotated[tuple[RenderBlock, ...], meaning("What pages may not load.")] = ("image", "media", "font")
    block_urls: Annotated[
        tuple[Text, ...], meaning("Patterns (RE2). A page may not load a URL if one of them is found in it.")
    ] = ()
    archive: Annotated[bool, meaning("Archive what pages load, so that they can be replayed from the archive.")] = True
    screenshot: Annotated[
        tuple[RenderScreenshot, ...],
        meaning("Screenshots of each page for the archive. Images are in them only if block lets them load."),
    ] = ()
    robots: Annotated[bool, meaning("Obey robots.txt also for what pages load, if the crawl obeys it.")] = True
    max_requests: Annotated[int, between(0, 1_000_000, "requests"), meaning("Requests that one page may make.")] = 200
    max_bytes: Annotated[int, between(0, MOST, "bytes"), meaning("Bytes that one page may load.")] = 20_000_000
    max_memory_bytes: Annotated[
        int,
        between(1, MOST, "bytes"),
        meaning(
            "Memory that a browser may use, with all its processes. If a page needs more, it is kept as the server "
            "sent it."
        ),
    ] = 1_500_000_000
