"""Sizes and durations as people write them."""

import re
from decimal import Decimal

_DECIMAL = {"EB": 10**18, "PB": 10**15, "TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
_BINARY = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
_SIZES = _DECIMAL | _BINARY
_BYTES = {"": 1, "b": 1} | {unit.lower(): size for unit, size in _SIZES.items()}
_SECONDS: dict[str, Decimal | int] = {"ms": Decimal("0.001"), "s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Without a unit, a number is one of seconds."""
_TIMES = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_QUANTITY = re.compile(r"\s*([0-9]{1,30}(?:_[0-9]{1,3}){0,9}(?:\.[0-9]{1,30})?)\s*([A-Za-z]*)\s*")


def parse_size(text: str) -> int:
    """Bytes of a size such as "10 GB" (decimal), "512 KiB" (binary) or "1.5 MB". Raises `ValueError`.

    The case of letters does not matter. The result must be a whole number.
    """
    number, unit = _quantity(text)
    if unit not in _BYTES:
        raise ValueError(f"no unit of size: {unit!r}")
    size = number * _BYTES[unit]
    if size != int(size):
        raise ValueError(f"not a whole number of bytes: {text!r}")
    return int(size)


def parse_duration(text: str) -> float:
    """Seconds of a duration such as "500 ms", "5 s", "10 min", "1.5 h", "2 d" or "1 w". Raises `ValueError`."""
    number, unit = _quantity(text)
    if unit and unit not in _SECONDS:
        raise ValueError(f"no unit of time: {unit!r}")
    return float(number * _SECONDS[unit or "s"])


def _quantity(text: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a number with a unit: {text!r}")
    return Decimal(match[1].replace("_", "")), match[2].lower()


def size_text(size_bytes: int) -> str:
    """The shortest text with a unit for exactly this many bytes; the bare number if there is none."""
    for unit, factor in _SIZES.items():
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor} {unit}"
    return str(size_bytes)


def duration_text(duration_s: float) -> str:
    """A text with a unit for exactly this duration: in whole days, hours or minutes, or else in seconds."""
    for unit, factor in _TIMES:
        if duration_s and duration_s % factor == 0:
            return f"{duration_s / factor:.0f} {unit}"
    return f"{duration_s!r} s"
