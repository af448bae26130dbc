"""Judges what a page repeats, and what follows. Asks the ledger about canonical URLs, and waits for nothing else."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Literal

import msgspec

from crawler.page import Extract, Repeat
from crawler.page.duplicates import CANONICAL, NEAR_DUPLICATE
from crawler.repeats.stored import StoredFingerprints
from crawler.url.urls import BadUrl, Target, domain_of
from frontier import CrawlUrl, LedgerEntry, UrlState

Effect = Literal["mark", "no-follow", "no-keep"]
"""What follows: a note in the record; its links are not followed, either; the archive does not get it, either."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration says of repeats."""

    near: Effect
    distance: int
    canonical: Effect
    across_domains: bool
    """Whether a page may name one on another registered domain."""


class RepeatJudge:
    """Judges pages by their texts and by the canonical URLs that they name."""

    def __init__(
        self,
        rules: Rules,
        *,
        fingerprints: StoredFingerprints | None,
        read_url: Callable[[str, str], Target | BadUrl],
        status_of: Callable[[str], Awaitable[LedgerEntry | None]],
    ) -> None:
        """Without `fingerprints` only canonical URLs count."""
        self._rules = rules
        self._fingerprints = fingerprints
        self._read_url = read_url
        self._status_of = status_of

    async def judge(self, extract: Extract, /, *, url: CrawlUrl) -> Repeat | None:
        target = self._canonical_of(extract, url)
        if target is not None and self._rules.canonical != "mark" and await self._has(target):
            return Repeat(refusal=CANONICAL, is_kept=self._rules.canonical != "no-keep")
        if self._fingerprints is None or extract.simhash is None:
            return None
        near = self._fingerprints.find(extract.simhash, self._rules.distance, url=url.url)
        if near is None:
            return None
        return Repeat(
            near_duplicate_of=near.url,
            near_distance=near.distance,
            refusal=None if self._rules.near == "mark" else NEAR_DUPLICATE,
            is_kept=self._rules.near != "no-keep",
            still_followed=None if target is None else target.canonical,
        )

    def _canonical_of(self, extract: Extract, url: CrawlUrl) -> Target | None:
        """The other URL that a page names as its canonical one, if it may."""
        if extract.canonical is None:
            return None
        target = self._read_url(extract.canonical, url.url)
        if isinstance(target, BadUrl) or target.canonical == url.canonical:
            return None
        if not self._rules.across_domains and domain_of(target.url) != domain_of(url.url):
            return None
        return target

    async def _has(self, target: Target) -> bool:
        """Whether the crawl has that page, and followed its links."""
        entry = await self._status_of(target.canonical)
        return (
            entry is not None
            and entry.state is UrlState.DONE
            and not entry.elsewhere
            and entry.reason is None
            and entry.status is not None
            and (entry.status < HTTPStatus.MULTIPLE_CHOICES or entry.status == HTTPStatus.NOT_MODIFIED)
        )
