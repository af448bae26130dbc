"""How pages that scripts make are rendered."""

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


class Render(msgspec.Struct, frozen=True, kw_only=True):
    """Pages that scripts make: shown to a headless Chromium, and read as they are then. Without patterns, none is."""

    patterns: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); HTML pages in whose URL one of them is found are rendered."),
    ] = ()
    browser: Annotated[Text, Meta(description="Command or path of the browser; Debian's package is chromium.")] = (
        "chromium"
    )
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="Pages rendered at once, each in a browser of its own of some 300 MB.",
            extra={"unit": "pages"},
        ),
    ] = 2
    wait: Annotated[
        RenderWait,
        Meta(description="When a page is done: once loaded, or once it has also loaded nothing for idle_s."),
    ] = "idle"
    idle_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="With wait idle: how long a page must load nothing.", extra=SECONDS),
    ] = 0.5
    wait_s: Annotated[
        float,
        Meta(ge=0.001, le=DAY_S, description="Longest wait for that; the page is then taken as it is.", extra=SECONDS),
    ] = 10.0
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=DAY_S,
            description="Longest duration of a rendering; a page that is not done then is kept as it was received.",
            extra=SECONDS,
        ),
    ] = 20.0
    block: Annotated[tuple[RenderBlock, ...], Meta(description="What pages don't load.")] = ("image", "media", "font")
    block_urls: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); a URL in which one of them is found is not loaded by pages."),
    ] = ()
    robots: Annotated[bool, Meta(description="Obey robots.txt, where the crawl does, also for what pages load.")] = True
    max_requests: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Requests that a page may make.", extra={"unit": "requests"})
    ] = 200
    max_bytes: Annotated[int, Meta(ge=0, le=MOST, description="Bytes that a page may load.", extra=BYTES)] = 20_000_000
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="Memory of a browser with all its processes; a page that takes more is kept as it was "
            "received.",
            extra=BYTES,
        ),
    ] = 1_500_000_000
