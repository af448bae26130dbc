"""Why a link is not followed."""

from enum import StrEnum


class LinkRefusal(StrEnum):
    """The reasons beside those of `urls.BadUrl`, `scope.Refusal` and `traps.Trap`. Users read these words in
    records."""

    TOO_MANY_LINKS = "too-many-links"
    NOFOLLOW = "nofollow"
    UNWANTED_KIND = "unwanted-kind"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    REDIRECT_LOOP = "redirect-loop"
    NESTED_SITEMAP = "nested-sitemap"
    IRRELEVANT = "irrelevant"
    """its weight by the guide words is too low"""
