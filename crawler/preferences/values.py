"""Reads the values of signals."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

from crawler.page import Preference
from crawler.preferences.signals import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    IMAGES,
    PURPOSES,
    ROBOTS,
    SIGNALS,
    TDM_POLICY,
    TDM_RESERVATION,
    Refusals,
)

MAX_CHARACTERS: Final = 8192
"""A longer value is not read."""
MAX_KEPT_CHARACTERS: Final = 500
"""What records keep of a value."""
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_WHITE_SPACE: Final = " \t"


def read_value(signal: str, source: str, value: str, /) -> Preference:
    """What a value says. Never raises."""
    if len(value) <= MAX_KEPT_CHARACTERS:
        return _read_short(signal, source, value)
    return _read(signal, source, value)


def directives_of(words: Collection[str], source: str, /, *, is_image: bool) -> Preference | None:
    """What the directives of a robots <meta> or X-Robots-Tag say; None if none of them is about use. `is_image`: the
    response itself is an image."""
    known: Refusals = {**ROBOTS.refuses, **(IMAGES if is_image else dict.fromkeys(IMAGES, ()))}
    said = sorted(word for word in words if word in known)
    return Preference(ROBOTS.name, source, ", ".join(said), _refused(said, known)) if said else None


def in_order(purposes: Collection[str], /) -> tuple[str, ...]:
    """Purposes, each once, in the order in which users read them."""
    return tuple(each for each in PURPOSES if each in purposes) if purposes else ()


def _read(signal: str, source: str, value: str) -> Preference:
    said = [] if len(value) > MAX_CHARACTERS else list(_READERS[signal](value))
    kept = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value[:MAX_KEPT_CHARACTERS])
    return Preference(signal, source, kept, _refused(said, SIGNALS[signal].refuses))


_read_short = lru_cache(maxsize=4096)(_read)


def _refused(said: Collection[str], refusals: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return in_order({purpose for each in said for purpose in refusals.get(each, ())})


def _usages(value: str) -> Iterator[str]:
    """By draft-ietf-aipref-vocab, section 6.5: a Dictionary of RFC 9651, of whose members only tokens count."""
    # Few sites send one, and the import takes as long as a seventh of an empty Python.
    from http_sf import Token, parse  # noqa: PLC0415 - see above

    try:
        members = parse(value.encode("ascii"), tltype="dictionary")
    except ValueError:
        return
    if isinstance(members, dict):
        for label, member in members.items():
            item = member[0] if isinstance(member, tuple) else member
            if isinstance(item, Token):
                yield f"{label}={item}"


def _signals(value: str) -> Iterator[str]:
    for part in value.lower().split(","):
        label, _, setting = part.partition("=")
        yield f"{label.strip()}={setting.strip()}"


def _reservation(value: str) -> Iterator[str]:
    yield from (each.strip(_WHITE_SPACE) for each in value.split(","))


_READERS: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    CONTENT_USAGE.name: _usages,
    CONTENT_SIGNAL.name: _signals,
    TDM_RESERVATION.name: _reservation,
    TDM_POLICY.name: lambda _: iter(()),
}
