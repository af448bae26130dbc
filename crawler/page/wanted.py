"""The headers of a response that somebody wants.

Names come in any case, and half a dozen readers look for theirs in each response. `_wanted`, compiled C, compares the
names without a lower-case copy of each, in a tenth of the time of Python.
"""

from collections.abc import Sequence
from typing import Final

try:
    from crawler.page import _wanted as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 1  # False if it was compiled from older code

MOST_WANTED: Final = 16
"""Names that can be looked for at once."""

Header = tuple[bytes, bytes]
"""Its name and its value, as received."""


def wanted_in_python(headers: Sequence[Header], names: tuple[bytes, ...], /) -> list[Header]:
    """The headers that have one of these names, which are in lower case and at most `MOST_WANTED`, in any case: their
    names in lower case, and their values, in order."""
    return [(lower, value) for name, value in headers if (lower := name.lower()) in names]


wanted_headers = compiled.wanted_headers if IS_COMPILED else wanted_in_python  # type: ignore[possibly-undefined]
