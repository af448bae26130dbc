"""Loads aiodns for the first name that is looked up, not at the start.

To load it takes almost as long as an empty Python. A crawl of addresses, through proxies, or of hosts whose addresses
are configured never needs it, nor does any other command.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_NAME: Final = "aiodns"


class _LateAiodns(ModuleType):
    """Stands for the module until something of it is used."""

    class DNSResolver:
        """Makes that of aiodns. aiohttp asks at once whether it has this method."""

        getaddrinfo = None

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return import_module(_NAME).DNSResolver(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_NAME), name)


@contextmanager
def importing_late() -> Iterator[None]:
    """What is imported in this block loads aiodns when it is used. aiohttp imports it for a resolver that a plug-in may
    use, and we never do."""
    if _NAME in sys.modules:
        yield
        return
    sys.modules[_NAME] = _LateAiodns(_NAME)
    try:
        yield
    finally:
        del sys.modules[_NAME]
