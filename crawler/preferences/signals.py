"""The signals by which sites say what their pages may be used for, and what each value refuses."""

from collections.abc import Mapping
from typing import Final

import msgspec

SEARCH: Final = "search"
ARCHIVE: Final = "archive"
TEXT_MINING: Final = "text-mining"
AI_USE: Final = "ai-use"
TRAIN_AI: Final = "train-ai"
PURPOSES: Final = (SEARCH, ARCHIVE, TEXT_MINING, AI_USE, TRAIN_AI)
"""What a crawl may be for: a search index; an archive; the analysis of texts and data; input of generative models, as
for answers; training of generative models."""

Refusals = Mapping[str, tuple[str, ...]]


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """A language in which sites speak."""

    name: str
    document: str
    """What defines it, with its version."""
    refuses: Refusals
    """By value: the purposes for which it refuses a page."""


CONTENT_USAGE: Final = Signal(
    name="content-usage",
    document="draft-ietf-aipref-attach-05 (2026-08-19) and draft-ietf-aipref-vocab-08 (2026-09-14)",
    refuses={"train-ai=n": (TRAIN_AI,), "ai-use=n": (AI_USE,), "search=n": (SEARCH,)},
)
CONTENT_SIGNAL: Final = Signal(
    name="content-signal",
    document="draft-romm-aipref-contentsignals-00 (2025-10-01); `use` as of 2026-07-01",
    refuses={
        "ai-train=no": (TRAIN_AI,),
        "ai-input=no": (AI_USE,),
        "search=no": (SEARCH,),
        # Nothing may be stored or reused. `use=reference` allows an index with excerpts, and refuses no purpose.
        "use=immediate": (SEARCH, ARCHIVE, TEXT_MINING, TRAIN_AI),
    },
)
ROBOTS: Final = Signal(
    name="robots",
    document="X-Robots-Tag and <meta name=robots>; noai and noimageai as DeviantArt defined them in 2022",
    refuses={"noai": (AI_USE, TRAIN_AI), "noindex": (SEARCH,), "noarchive": (ARCHIVE,)},
)
IMAGES: Final[Refusals] = {"noimageai": (AI_USE, TRAIN_AI)}
"""Directives of `ROBOTS` about images alone: the response itself, or those on the page."""
EMBEDS: Final[Refusals] = {**IMAGES, "noai": (AI_USE, TRAIN_AI)}
"""Directives of `ROBOTS` that also hold for what a page embeds."""
ROBOTS_GROUP: Final = Signal(
    name="robots-group",
    document="RFC 9309, groups of names that stand for a purpose instead of a crawler",
    refuses={"google-extended": (TRAIN_AI,), "applebot-extended": (TRAIN_AI,)},
)
"""By name. A crawl may have a table of its own."""
TDM_RESERVATION: Final = Signal(
    name="tdm-reservation",
    document="TDM Reservation Protocol, final report of the W3C community group of 2024-05-10",
    refuses={"1": (TEXT_MINING, AI_USE, TRAIN_AI)},
)
TDM_POLICY: Final = Signal(name="tdm-policy", document=TDM_RESERVATION.document, refuses={})
"""Where a licence can be had. Kept, and not fetched."""

SIGNALS: Final = {
    each.name: each for each in (CONTENT_USAGE, CONTENT_SIGNAL, ROBOTS, ROBOTS_GROUP, TDM_RESERVATION, TDM_POLICY)
}
