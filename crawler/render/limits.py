"""What one page may do and take."""

from typing import Literal

import msgspec

Wait = Literal["load", "idle"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one page. `timeout_s` is for all of it, `wait_s` of that for its loading."""

    wait: Wait = "idle"
    """When it is done: once it is loaded, or once it has also loaded nothing for `idle_s`."""
    idle_s: float = 0.5
    wait_s: float = 10.0
    timeout_s: float = 20.0
    max_requests: int = 200
    max_bytes: int = 20_000_000
    """All that it loads, the page itself not counted."""
    max_memory_bytes: int = 1_500_000_000
    """Of the browser, with all its processes."""
    max_document_bytes: int = 20_000_000
