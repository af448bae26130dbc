"""Which request does what."""

from http import HTTPStatus
from typing import Final

from crawler.control.replies import Changed, Checkpoint, CrawlStatus, HostList, Judged, QueueList, RefusedList
from crawler.serve.api.data import asking, reading
from crawler.serve.api.data.forms import (
    BudgetBody,
    HostQuery,
    LogQuery,
    LogTail,
    PageList,
    PagesQuery,
    PartQuery,
    QueueQuery,
    RefusedQuery,
    SeedsBody,
    Settings,
    UrlQuery,
    UrlStory,
)
from crawler.serve.api.route import BODY, CONFLICT, NAMED, Route
from visited import VisitedStats

_ASKS: Final = (*CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.GATEWAY_TIMEOUT)
"""A crawl that is asked may not have begun, or not answer."""
_READS: Final = (*CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
_CHANGES: Final = (*_ASKS, *BODY)

DATA_ROUTES: Final = (
    Route(
        method="GET",
        path=f"{NAMED}/status",
        name="showStatus",
        meaning="How far the crawl is, and why it waits",
        action=asking.show_status,
        reply=CrawlStatus,
        query=PartQuery,
        refusals=_ASKS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/hosts",
        name="listHosts",
        meaning="Its hosts, and why each waits: those in process first, then by the time at which they are next",
        action=asking.list_hosts,
        reply=HostList,
        query=HostQuery,
        refusals=_ASKS,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/hosts/{{host}}/retire",
        name="retireHost",
        meaning="Fetch nothing more from a host; its URLs are kept",
        action=asking.retire,
        reply=Changed,
        refusals=_ASKS,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/hosts/{{host}}/unretire",
        name="unretireHost",
        meaning="Fetch again from a host that was retired",
        action=asking.unretire,
        reply=Changed,
        refusals=_ASKS,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/hosts/{{host}}/budget",
        name="setBudget",
        meaning="Limit what a host may spend in all",
        action=asking.set_budget,
        reply=Changed,
        body=BudgetBody,
        refusals=_CHANGES,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/queues",
        name="listQueues",
        meaning="The queues that have URLs, in an order of choice",
        action=asking.list_queues,
        reply=QueueList,
        query=QueueQuery,
        refusals=_ASKS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/visited",
        name="showVisited",
        meaning="What the visited set costs, how full it is, and how many pages it has probably lost",
        action=asking.show_visited,
        reply=VisitedStats,
        query=PartQuery,
        refusals=_ASKS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/refused",
        name="listRefused",
        meaning="What traps and quotas have refused, by rule and host, with examples",
        action=asking.list_refused,
        reply=RefusedList,
        query=RefusedQuery,
        refusals=_ASKS,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/seeds",
        name="addSeeds",
        meaning="Add URLs, like seeds, and tell what became of each",
        action=asking.add_seeds,
        reply=Judged,
        body=SeedsBody,
        refusals=_CHANGES,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/checkpoint",
        name="takeCheckpoint",
        meaning="Bring what the crawl has done onto the disk, its output included, so that it survives a power failure",
        action=asking.take_checkpoint,
        reply=Checkpoint,
        refusals=(*CONFLICT, HTTPStatus.GATEWAY_TIMEOUT),
    ),
    Route(
        method="GET",
        path=f"{NAMED}/url",
        name="showUrl",
        meaning="What the crawl knows about a URL, with the record of its page",
        action=reading.show_url,
        reply=UrlStory,
        query=UrlQuery,
        refusals=_ASKS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/pages",
        name="listPages",
        meaning="The last pages, the newest first; or the last failures",
        action=reading.list_pages,
        reply=PageList,
        query=PagesQuery,
        refusals=_READS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/log",
        name="showLog",
        meaning="The last lines of its log",
        action=reading.show_log,
        reply=LogTail,
        query=LogQuery,
        refusals=_READS,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/configuration",
        name="showConfiguration",
        meaning="Its settings, and where each value comes from",
        action=reading.show_configuration,
        reply=Settings,
        refusals=CONFLICT,
    ),
)
