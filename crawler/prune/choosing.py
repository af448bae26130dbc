"""Which files are too old, or too much. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from crawler.prune.finished import OutputFile
from crawler.status import size

_DAY_S: Final = 86_400
_HOUR_S: Final = 3600
_UNITS: Final = ((_DAY_S, "day"), (_HOUR_S, "hour"), (60, "minute"))


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """How much output to keep."""

    seconds: float | None = None
    """A file whose last page is older goes."""
    bytes: int | None = None
    """If all files together are larger, the oldest go."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


def too_old(files: Sequence[OutputFile], keep: Keep, *, now: float) -> dict[OutputFile, str]:
    """The finished files that are too old, each with the reason."""
    if keep.seconds is None:
        return {}
    reason = f"older than {_duration(keep.seconds)}"
    return {file: reason for file in files if file.is_finished and file.written_at < now - keep.seconds}


def too_much(files: Sequence[OutputFile], keep: Keep, gone: Sequence[OutputFile]) -> Iterator[tuple[OutputFile, str]]:
    """The finished files but for those that are `gone`, each with the reason: the oldest first, as they are deleted
    until the rest is small enough."""
    if keep.bytes is None:
        return
    reason = f"beyond {size(keep.bytes)}"
    left = set(files) - set(gone)
    for file in sorted(left, key=lambda each: (each.written_at, each.name)):
        if file.is_finished:
            yield file, reason


def _duration(seconds: float) -> str:
    unit, name = next((each for each in _UNITS if seconds >= each[0]), (1, "second"))
    count = f"{seconds / unit:.4g}"
    return f"{count} {name}" if count == "1" else f"{count} {name}s"
