"""How pages that need scripts are rendered."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, END, MOST, SECONDS, Text

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
        Meta(
            ge=1,
            le=100,
            description="Pages rendered at once. Each has its own browser, which takes about 300 MB.",
            extra={"unit": "pages"},
        ),
    ] = 2
    wait: Annotated[
        RenderWait,
        Meta(
            description="When a page is complete: when it has loaded (load), or when it has then loaded nothing "
            "more for idle_s (idle)."
        ),
    ] = "idle"
    idle_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="With wait idle: how long a page must load nothing.", extra=SECONDS),
    ] = 0.5
    wait_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=DAY_S,
            description="Longest wait until a page is complete. Then its document is read as it is.",
            extra=SECONDS,
        ),
    ] = 10.0
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=DAY_S,
            description="Longest duration of a rendering. After that the page is kept as the server sent it.",
            extra=SECONDS,
        ),
    ] = 20.0
    scroll: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Screens that a page is scrolled down at most, so that it loads more.",
            extra={"unit": "screens"},
        ),
    ] = 0
    click: Annotated[
        tuple[Text, ...],
        Meta(
            description="CSS selectors of buttons that load more. They are clicked as long as there is one; links, and "
            "buttons that send forms, are not."
        ),
    ] = ()
    max_clicks: Annotated[int, Meta(ge=0, le=10_000, description="Clicks on one page.", extra={"unit": "clicks"})] = 20
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
        int, Meta(ge=0, le=1_000_000, description="Requests that one page may make.", extra={"unit": "requests"})
    ] = 200
    max_bytes: Annotated[int, Meta(ge=0, le=MOST, description="Bytes that one page may load.", extra=BYTES)] = (
        20_000_000
    )
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="Memory that a browser may use, with all its processes. If a page needs more, it is "
            "kept as the server sent it.",
            extra=BYTES,
        ),
    ] = 1_500_000_000
