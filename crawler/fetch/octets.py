"""Escapes octets that are not UTF-8, as in URLs."""

from typing import Final

_ESCAPES: Final = {0xDC00 + octet: f"%{octet:02X}" for octet in range(128, 256)}
"""Python decodes such octets to these numbers."""


def escape_octets(text: str, /) -> str:
    r"""A text that was decoded with `surrogateescape`: `\udcff` becomes `%FF`."""
    # A function for each octet would take ten times as long, where nearly all are such.
    return text if text.isascii() else text.translate(_ESCAPES)
