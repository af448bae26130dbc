"""Compiles patterns of users with RE2, which searches in time proportional to the length of the text."""

from collections.abc import Callable
from typing import Any


def compile_pattern(pattern: str, problem: str, *, max_bytes: int) -> Any:
    """Compile a pattern that takes at most so much memory. Raises `ValueError`, with the problem and the reason."""
    import re2  # noqa: PLC0415 - few crawls have patterns, and it takes a megabyte

    options = re2.Options()
    options.log_errors = False
    options.max_mem = max_bytes
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ValueError(f"{problem} ({reason}); look-around and back-references are not available") from None


def pattern_parser() -> Callable[[str], bool]:
    """Returns a function that tells whether a text is a pattern. That takes much less time than compiling it."""
    import re2  # noqa: PLC0415 - few crawls have patterns, and it takes a megabyte

    options = re2.Options()
    options.log_errors = False
    parsed = re2.Set.SearchSet(options)

    def is_pattern(text: str) -> bool:
        try:
            parsed.Add(text)
        except re2.error:
            return False
        return True

    return is_pattern
