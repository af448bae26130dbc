"""The values of a crawl: what it asks of the web, what it gets, what it reads there, and what it records.

    links       a link, and the kinds of links
    responses   a request, and all that may come back: a page, a redirect, a 304 or a failure; how a page was rendered
    failures    the kinds of failures
    extract     what an extractor reads from a page, and what is read of it on request, such as its text
    preference  what a site says about the use of a page
    verdict     what robots.txt says of a URL
    connections connections to servers, as counts
    anchors     to which links with a fragment lead, as records have them
    record      a page record, one line of `records/*.jsonl`, and whether it counts as a page
    moments     moments as records and archives write them
    wanted      the headers of a response that somebody wants, in C (`_wanted`) if it is compiled
    digests     SHA-1 digests of bodies, and hashes of texts as keys
    number_set  a set of record numbers, with one bit for each
    duplicates  what a page repeats, and what follows; which bodies were met lately, and at which URL first

All values but the last two are frozen. Every room may import them, from here.
"""

from crawler.page.connections import ConnectionCounts
from crawler.page.digests import body_digest, body_sha1, digest_text
from crawler.page.duplicates import REPEAT_REASONS, Repeat
from crawler.page.extract import READ_IN_PART, Content, Extract, Wanted
from crawler.page.failures import HOST_FAILURES, REFUSALS, ROBOTS_FAILURES, TRANSIENT_FAILURES, FailureKind
from crawler.page.links import CHANGE_FREQUENCIES, EMBEDDED, EXTERNAL, SEED, SITEMAP, Link, LinkDetail, LinkKind
from crawler.page.moments import rfc3339
from crawler.page.preference import NO_USAGE, Preference, Usage
from crawler.page.record import PageRecord, Settled, counts_as_page
from crawler.page.responses import (
    MULTIPLE_CHOICES,
    REDIRECTS,
    TOO_MANY_REQUESTS,
    WITH_DOCUMENT,
    Answer,
    Failure,
    Fetched,
    LoadAnswer,
    NotModified,
    Page,
    Redirect,
    Rendering,
    Request,
    Response,
    Screenshot,
    WithBody,
)
from crawler.page.verdict import Verdict
from crawler.page.wanted import wanted_headers

__all__ = [
    "CHANGE_FREQUENCIES",
    "EMBEDDED",
    "EXTERNAL",
    "HOST_FAILURES",
    "MULTIPLE_CHOICES",
    "NO_USAGE",
    "READ_IN_PART",
    "REDIRECTS",
    "REFUSALS",
    "REPEAT_REASONS",
    "ROBOTS_FAILURES",
    "SEED",
    "SITEMAP",
    "TOO_MANY_REQUESTS",
    "TRANSIENT_FAILURES",
    "WITH_DOCUMENT",
    "Answer",
    "ConnectionCounts",
    "Content",
    "Extract",
    "Failure",
    "FailureKind",
    "Fetched",
    "Link",
    "LinkDetail",
    "LinkKind",
    "LoadAnswer",
    "NotModified",
    "Page",
    "PageRecord",
    "Preference",
    "Redirect",
    "Rendering",
    "Repeat",
    "Request",
    "Response",
    "Screenshot",
    "Settled",
    "Usage",
    "Verdict",
    "Wanted",
    "WithBody",
    "body_digest",
    "body_sha1",
    "counts_as_page",
    "digest_text",
    "rfc3339",
    "wanted_headers",
]
