"""What happens with pages that are almost the same as others."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """What happens with pages that repeat others."""

    near: Annotated[
        Literal["off", "mark"],
        Meta(
            description="What happens with a page whose text is almost that of an earlier page. mark: its record has "
            "the fingerprint of its text."
        ),
    ] = "off"
