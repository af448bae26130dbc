"""Facts about a page or exchange: whether it has records, their size, and what its metadata record says. Pure."""

from crawler.page import REFUSALS, Failure, Fetched, Link, LinkKind, NotModified, Page, PageRecord, Redirect, WithBody
from crawler.write.warc_members import Field

FAILURE = "failure"
"""The field of a metadata record that says why there is no usable response."""
OUTLINK = "outlink"
"""The field for each link that only a browser found: URL, `L` or `E` (what the page needs to be shown), kind, and rel.
The form is that of Heritrix."""
NOT_FOLLOWED = "notFollowed"
"""The field that says why none of the links of a page was followed."""
NO_SCREENSHOT = "screenshotFailed"
"""The field for each screenshot that was wanted and is missing: its kind, and why."""


def was_asked(fetched: Fetched) -> bool:
    """Whether a request was sent, or would have been if there were a server."""
    match fetched:
        case Page() | NotModified():
            return True
        case Redirect():
            return fetched.asked
        case Failure():
            return fetched.kind not in REFUSALS


def size_of(fetched: Fetched | None) -> int:
    """About how many bytes its records take before they are compressed."""
    if isinstance(fetched, Page):
        return max(len(fetched.raw_body), len(fetched.body)) + sum([len(each.image) for each in fetched.screenshots])
    if isinstance(fetched, Redirect):
        return max(len(fetched.raw_body), len(fetched.body))
    return size_of(fetched.response) if isinstance(fetched, Failure) else 0


def received_bytes(fetched: Fetched) -> int:
    """Of the body, as it was sent."""
    answer = fetched.response if isinstance(fetched, Failure) else fetched
    return len(answer.raw_body) if isinstance(answer, WithBody) else 0


def facts_of_page(fetched: Fetched, record: PageRecord) -> list[Field]:
    facts: list[Field] = [
        ("recordNumber", record.number),
        ("via", record.via or None),
        ("kind", record.kind),
        ("depth", record.depth),
        *facts_of_fetch(fetched),
        ("rendering", record.rendering or None),
        (NOT_FOLLOWED, record.not_followed),
        ("charsetForLinkExtraction", record.charset or None),
        ("attempts", record.attempts if record.attempts > 1 else None),
    ]
    if record.preferences:
        facts += [("preference", f"{each.signal} ({each.source}): {each.value}") for each in record.preferences]
    if record.refused_for:
        facts.append(("refusedFor", " ".join(record.refused_for)))
    if isinstance(fetched, Page):
        if fetched.links:
            facts += [(OUTLINK, _outlink(link)) for link in fetched.links]
        if fetched.screenshots:
            facts += [(NO_SCREENSHOT, f"{each.kind}: {each.failure}") for each in fetched.screenshots if each.failure]
    return facts


def _outlink(link: Link) -> str:
    hop = "E" if link.kind in (LinkKind.EMBED, LinkKind.FRAME) else "L"
    return f"{link.href} {hop} {link.kind} {link.rel}".rstrip()


def facts_of_fetch(fetched: Fetched) -> list[Field]:
    facts: list[Field] = [("fetchTimeMs", round(fetched.duration_s * 1000))]
    if isinstance(fetched, Failure):
        facts += (FAILURE, fetched.kind), ("message", fetched.message)
    return facts
