"""Takes screenshots of a page whose document has been taken."""

import binascii
from asyncio import timeout_at
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from crawler.page import Screenshot
from crawler.render.devtools import BrowserGone, CommandRefused, Params

_WIDTH: Final = 1920
_HEIGHT: Final = 1080
MAX_PIXELS: Final = 20_000_000
"""Of a whole page: 10,416 pixels high. Its JPEG stays below 14 MB even if it is noise, so its message is never too
long."""
WINDOW: Final[tuple[tuple[str, Params], ...]] = (
    (
        "Emulation.setDeviceMetricsOverride",
        {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False},
    ),
)
"""The window of a page of which there will be screenshots: that of Browsertrix."""
TO_TOP: Final = '() => scrollTo({ top: 0, left: 0, behavior: "instant" })'
# Browsertrix compares views, and reads PNG alone. A whole page of photographs would be too large as PNG, and WebP takes
# three times as long as JPEG.
_PNG: Final[Params] = {"format": "png"}
_JPEG: Final[Params] = {"format": "jpeg", "quality": 80}
_THUMBNAIL: Final[Params] = {"x": 0, "y": 0, "width": _WIDTH, "height": _HEIGHT, "scale": 1 / 3}


async def take_screenshots(
    kinds: Sequence[str],
    ask: Callable[..., Awaitable[Params]],
    scroll_to_top: Callable[[], Awaitable[object]],
    *,
    max_bytes: int,
    until: float | None,
) -> tuple[Screenshot, ...]:
    """One of each kind; instead of one that fails, why. `ask` sends a command to the page, `max_bytes` limits an image,
    `until` is a time of the event loop."""
    taken = []
    for kind in kinds:
        media_type = "image/png" if kind == "view" else "image/jpeg"
        image, failure = b"", None
        try:
            async with timeout_at(until):
                await scroll_to_top()
                image = binascii.a2b_base64((await ask("Page.captureScreenshot", **await _options(kind, ask)))["data"])
            if len(image) > max_bytes:
                image, failure = b"", f"it has more than {max_bytes} bytes"
        except TimeoutError:
            failure = "the time of the page was over"
        except (BrowserGone, CommandRefused) as error:
            failure = str(error)
        taken.append(Screenshot(kind=kind, media_type=media_type, image=image, failure=failure))
    return tuple(taken)


async def _options(kind: str, ask: Callable[..., Awaitable[Params]]) -> Params:
    if kind == "view":
        return _PNG
    if kind == "thumbnail":
        return {**_JPEG, "clip": _THUMBNAIL}
    content: dict[str, Any] = (await ask("Page.getLayoutMetrics"))["cssContentSize"]
    height = max(1, min(content["height"], MAX_PIXELS // _WIDTH))
    clip = {"x": 0, "y": 0, "width": _WIDTH, "height": height, "scale": 1}
    return {**_JPEG, "captureBeyondViewport": True, "clip": clip}
