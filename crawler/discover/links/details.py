"""Tells of each link of a page where it leads, its text, and why it was refused. Pure."""

from collections.abc import Sequence

from crawler.discover.links.filter import LinkFilter
from crawler.page import Link, LinkDetail
from crawler.protocols import Discovered
from crawler.steps import Steps
from crawler.url.urls import BadUrl, Target
from frontier import CrawlUrl, canonicals_of


def stays_on(page: CrawlUrl, target: Target, base_url: str) -> bool:
    """Whether a link to a mere fragment leads to the page itself. A <base> may say that it leads to another one."""
    return base_url == page.url or target.canonical == page.canonical


def link_details(
    links: Sequence[Link],
    base_url: str,
    found: Discovered,
    /,
    *,
    parent: CrawlUrl,
    link_filter: LinkFilter,
) -> Steps[list[LinkDetail]]:
    """The links of a page in document order: the first to each URL that was `found`, and as many others as a page may
    have links."""
    unwanted_reason, others_left = link_filter.unwanted_reason, link_filter.max_links
    followed = {*canonicals_of(found.urls), parent.canonical}
    first = followed - {parent.canonical}
    reasons = {url: str(reason) for url, reason in found.refusals}
    reason_of: dict[str, str] = {}
    """The reasons by canonical URL: `reasons` has only the first of several URLs with one canonical form."""
    details: list[LinkDetail] = []
    for step, judged in enumerate(link_filter.judge_each(links, base_url)):
        if step:
            yield
        for place, href, _, judgement in zip(*judged(), strict=True):
            link, target = links[place], judgement.target
            if isinstance(target, BadUrl) or (not href and stays_on(parent, target, base_url)):
                continue
            canonical = target.canonical
            refused: str | None = unwanted_reason(link) if unwanted_reason else None
            if refused is None and canonical not in followed:
                refused = reasons.get(target.url) or reason_of.get(canonical) or judgement.refusal or "refused"
                reason_of.setdefault(canonical, refused)
            if refused is None and canonical in first:
                first.remove(canonical)
            elif others_left:
                others_left -= 1
            else:
                continue
            details.append(
                LinkDetail(
                    url=target.url,
                    canonical=None if canonical == target.url else canonical,
                    kind=link.kind,
                    text=link.text or None,
                    rel=link.rel or None,
                    fragment=link.href.partition("#")[2] or None,
                    refused=None if refused is None else str(refused),
                )
            )
    return details
