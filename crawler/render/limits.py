"""Limits for rendering one page."""

from typing import Literal

import msgspec

Wait = Literal["load", "idle"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one page. `timeout_s` applies to the whole visit, `wait_s` to its loading."""

    wait: Wait = "idle"
    """When a page is done: once it is loaded, or once it has also loaded nothing more for `idle_s`."""
    idle_s: float = 0.5
    wait_s: float = 10.0
    scroll: int = 0
    """Screens to scroll down at most."""
    click: tuple[str, ...] = ()
    """CSS selectors of buttons to click."""
    max_clicks: int = 20
    screenshots: tuple[str, ...] = ()
    """Their kinds, see `screenshots`."""
    timeout_s: float = 20.0
    max_requests: int = 200
    max_bytes: int = 20_000_000
    """The bodies of all its requests, without the page itself."""
    max_memory_bytes: int = 1_500_000_000
    """The browser with all its processes."""
    max_document_bytes: int = 20_000_000
