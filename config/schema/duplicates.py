"""What happens with pages that repeat others."""

from typing import Annotated, Literal

import msgspec

from config.schema.kinds import between, meaning


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """What happens with pages that repeat others."""

    near: Annotated[
        Literal["off", "mark", "no-follow", "no-keep"],
        meaning(
            "What happens with a page whose text is almost that of an earlier page. mark: its record names that page. "
            "no-follow: its links are not followed, either. no-keep: it is not archived, either."
        ),
    ] = "off"
    near_distance: Annotated[
        int,
        between(0, 8, "bits"),
        meaning("In how many of 64 bits the fingerprints of two texts may differ, so that these are near duplicates."),
    ] = 3
    near_min_words: Annotated[
        int,
        between(1, 1_000_000, "words"),
        meaning("A page with fewer words is no near duplicate, and no page is one of it."),
    ] = 50
    canonical: Annotated[
        Literal["note", "no-follow", "no-keep"],
        meaning(
            "What happens with a page that names another URL as its canonical one, if the crawl has that page already. "
            "note: its record has that URL, which is a link like any other. no-follow: its links are not followed. "
            "no-keep: it is not archived, either."
        ),
    ] = "note"
    canonical_across_domains: Annotated[
        bool, meaning("Whether this also holds if that URL is on another registered domain.")
    ] = False
