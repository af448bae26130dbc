"""Parses TOML. The parser of the standard library takes minutes for a key with tens of thousands of parts."""

import re
from typing import Any, Final

MAX_PARTS: Final = 20
"""The longest key that is read. Keys of settings have five parts at most."""
_PART = r"""(?:[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]++|\\.)*)"|'[^'\n]*+')"""
_TOKENS: Final = re.compile(
    # Texts of several lines, comments, keys or what looks like them, and texts that do not end.
    rf'''"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?:"{{3,5}}|\Z)|\'\'\'(?>(?:[^']++|'(?!''))*)(?:'{{3,5}}|\Z)|\#[^\n]*+'''
    rf"""|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_PARTS}}})|{_PART}|"[^\n]*+|'[^\n]*+""",
    re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """Raises `ValueError` if it is not valid, and `RecursionError` if it is nested too deeply."""
    import tomllib  # noqa: PLC0415 - not all crawls have a file

    for token in _TOKENS.finditer(text):
        if token["key"]:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            message = f"expected a key of at most {MAX_PARTS} parts, found more"
            raise ValueError(f"{message} (at line {line}, column {column})")
    return tomllib.loads(text)
