"""On what terms a stored state may be opened."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from frontier.parts.protocol import Part
from frontier.values import StoreRefused


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a state must be like, and who opens it."""

    identity: Mapping[str, str]
    """The settings that stored URLs depend on, such as the canonicalization, by name."""
    may_begin: bool = True
    """Whether an empty state is the beginning of a crawl. If not, something has destroyed it."""
    to_rename: bool = False
    """Open it with another identity too, to rename its URLs."""
    to_repair: bool = False
    """Open it although it is damaged."""
    to_regroup: bool = False
    """Open it although it is only being filled from other stores."""
    part: Part | None = None
    """Which part of a crawl it belongs to; None for a crawl that is not in parts."""
    lineage: int = 0
    """That of the numbers which it gives, if it begins now and belongs to no part."""


def check_part(place: Path, stored: Part | None, part: Part | None) -> None:
    """Raise `StoreRefused` if the state in `place` belongs to another part than `part`."""
    if stored == part:
        return
    if stored is None:
        raise StoreRefused(
            f"{place} belongs to a crawl that is not in parts, and is opened as {part}; give the crawl as many parts "
            "as it has, or another directory"
        )
    if part is not None and (stored.number, stored.parts) == (part.number, part.parts):
        raise StoreRefused(
            f"{place} belongs to lineage {stored.lineage} of part {part.number}, which has lineage {part.lineage} now, "
            f"as after `onceover cluster adopt`. Move {place.parent} away: it can't be opened any more, and its output "
            "stays readable"
        )
    raise StoreRefused(
        f"{place} belongs to {stored}, and is opened as {part or 'a crawl that is not in parts'}; give the crawl as "
        "many parts as it has, or another directory"
    )


def check_identity(place: Path, stored: Mapping[str, str], terms: Terms) -> None:
    """Raise `StoreRefused` if the state in `place` began with other settings than `terms` name."""
    for name, value in terms.identity.items():
        if stored.get(name) != value:
            raise StoreRefused(
                f"{place} was crawled with {name} = {stored.get(name)!r}; the configuration, or this version of "
                f"onceover, now says {value!r}. URLs would be mistaken for others. Restore the setting, rename all "
                "URLs with --rebuild, or start over with --fresh"
            )
