"""What the metadata record of a page or exchange says, in lines. Pure."""

from crawler.page import Failure, Fetched, Link, LinkKind, Page, PageRecord

FAILURE = "failure"
"""The field of a metadata record that says why there is no usable response."""
OUTLINK = "outlink"
"""The field for each link that only a browser found: URL, `L` or `E` (what the page needs to be shown), kind, and rel.
The form is that of Heritrix."""
NO_SCREENSHOT = "screenshotFailed"
"""The field for each screenshot that was wanted and is missing: its kind, and why."""


def facts_of_page(fetched: Fetched, record: PageRecord) -> list[str]:
    facts = [f"recordNumber: {record.number}"]
    if record.via:
        facts.append(f"via: {record.via}")
    facts += f"kind: {record.kind}", f"depth: {record.depth}"
    facts += facts_of_fetch(fetched)
    if record.rendering:
        facts.append(f"rendering: {record.rendering}")
    if record.charset:
        facts.append(f"charsetForLinkExtraction: {record.charset}")
    if record.attempts > 1:
        facts.append(f"attempts: {record.attempts}")
    for each in record.preferences or ():
        facts.append(f"preference: {each.signal} ({each.source}): {each.value}")
    if record.refused_for:
        facts.append(f"refusedFor: {' '.join(record.refused_for)}")
    if isinstance(fetched, Page):
        for link in fetched.links:
            facts.append(f"{OUTLINK}: {_outlink(link)}")
        for shot in fetched.screenshots:
            if shot.failure:
                facts.append(f"{NO_SCREENSHOT}: {shot.kind}: {shot.failure}")
    return facts


def _outlink(link: Link) -> str:
    hop = "E" if link.kind in (LinkKind.EMBED, LinkKind.FRAME) else "L"
    return f"{link.href} {hop} {link.kind} {link.rel}".rstrip()


def facts_of_fetch(fetched: Fetched) -> list[str]:
    facts = [f"fetchTimeMs: {round(fetched.duration_s * 1000)}"]
    if isinstance(fetched, Failure):
        facts += f"{FAILURE}: {fetched.kind}", f"message: {fetched.message}"
    return facts
