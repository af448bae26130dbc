"""What happens with pages that repeat others."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """What happens with pages that repeat others."""

    near: Annotated[
        Literal["off", "mark", "no-follow", "no-keep"],
        Meta(
            description="What happens with a page whose text is almost that of an earlier page. mark: its record names "
            "that page. no-follow: its links are not followed, either. no-keep: it is not archived, either."
        ),
    ] = "off"
    near_distance: Annotated[
        int,
        Meta(
            ge=0,
            le=8,
            description="In how many of 64 bits the fingerprints of two texts may differ, so that these are near "
            "duplicates.",
            extra={"unit": "bits"},
        ),
    ] = 3
    near_min_words: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="A page with fewer words is no near duplicate, and no page is one of it.",
            extra={"unit": "words"},
        ),
    ] = 50
    canonical: Annotated[
        Literal["note", "no-follow", "no-keep"],
        Meta(
            description="What happens with a page that names another URL as its canonical one, if the crawl has that "
            "page already. note: its record has that URL, which is a link like any other. no-follow: its links are not "
            "followed. no-keep: it is not archived, either."
        ),
    ] = "note"
    canonical_across_domains: Annotated[
        bool, Meta(description="Whether this also holds if that URL is on another registered domain.")
    ] = False
