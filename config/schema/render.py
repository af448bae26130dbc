"""How pages that need scripts are rendered."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import DAY_S, END, MOST, Text, between

RenderWait = Literal["load", "idle"]
RenderBlock = Annotated[
    str,
    Meta(
        pattern=rf"^(image|media|font|stylesheet|script|data|frame){END}",
        extra={"form": "image, media, font, stylesheet, script, data (what scripts ask for) or frame"},
    ),
]

RenderScreenshot = Annotated[
    str,
    Meta(
        pattern=rf"^(view|fullPage|thumbnail){END}",
        extra={"form": "view (what the window shows), fullPage or thumbnail"},
    ),
]


class Render(msgspec.Struct, frozen=True, kw_only=True):
    """Rendering of pages that need scripts. A headless Chromium loads the page, and its document is read instead of the
    response. Without patterns, no page is rendered."""

    patterns: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2). An HTML page is rendered if one of them is found in its URL."),
    ] = ()
    browser: Annotated[Text, Meta(description="Command or path of the browser. On Debian the package is chromium.")] = (
        "chromium"
    )
    concurrency: Annotated[
        int,
        between(1, 100, "pages"),
        Meta(description="Pages rendered at once. Each has its own browser, which takes about 300 MB."),
    ] = 2
    wait: Annotated[
        RenderWait,
        Meta(
            description="When a page is complete: when it has loaded (load), or when it has then loaded nothing "
            "more for idle_s (idle)."
        ),
    ] = "idle"
    idle_s: Annotated[
        float, between(0, 3600, "seconds"), Meta(description="With wait idle: how long a page must load nothing.")
    ] = 0.5
    wait_s: Annotated[
        float,
        between(0.001, DAY_S, "seconds"),
        Meta(description="Longest wait until a page is complete. Then its document is read as it is."),
    ] = 10.0
    timeout_s: Annotated[
        float,
        between(0.001, DAY_S, "seconds"),
        Meta(description="Longest duration of a rendering. After that the page is kept as the server sent it."),
    ] = 20.0
    scroll: Annotated[
        int,
        between(0, 100_000, "screens"),
        Meta(description="Screens that a page is scrolled down at most, so that it loads more."),
    ] = 0
    click: Annotated[
        tuple[Text, ...],
        Meta(
            description="CSS selectors of buttons that load more. They are clicked as long as there is one; links, and "
            "buttons that send forms, are not."
        ),
    ] = ()
    max_clicks: Annotated[int, between(0, 10_000, "clicks"), Meta(description="Clicks on one page.")] = 20
    block: Annotated[tuple[RenderBlock, ...], Meta(description="What pages may not load.")] = ("image", "media", "font")
    block_urls: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2). A page may not load a URL if one of them is found in it."),
    ] = ()
    archive: Annotated[
        bool, Meta(description="Archive what pages load, so that they can be replayed from the archive.")
    ] = True
    screenshot: Annotated[
        tuple[RenderScreenshot, ...],
        Meta(description="Screenshots of each page for the archive. Images are in them only if block lets them load."),
    ] = ()
    robots: Annotated[bool, Meta(description="Obey robots.txt also for what pages load, if the crawl obeys it.")] = True
    max_requests: Annotated[
        int, between(0, 1_000_000, "requests"), Meta(description="Requests that one page may make.")
    ] = 200
    max_bytes: Annotated[int, between(0, MOST, "bytes"), Meta(description="Bytes that one page may load.")] = 20_000_000
    max_memory_bytes: Annotated[
        int,
        between(1, MOST, "bytes"),
        Meta(
            description="Memory that a browser may use, with all its processes. If a page needs more, it is kept as "
            "the server sent it."
        ),
    ] = 1_500_000_000
