"""What a crawl answers itself: each request is one to the crawl."""

from http import HTTPStatus

import msgspec
from aiohttp import web

from crawler.control.replies import Changed, Checkpoint, CrawlStatus, HostList, Judged, QueueList, RefusedList
from crawler.control.requests import (
    Add,
    Forget,
    ForgetSelected,
    GetStatus,
    HostPlace,
    InspectQueues,
    InspectRefused,
    InspectVisited,
    Recrawl,
    Retire,
    SetBudget,
    TakeCheckpoint,
    Top,
    Unretire,
)
from crawler.control.selections import Selected
from crawler.serve.api.actions import Actions, audit
from crawler.serve.api.data.forms import (
    BudgetBody,
    ForgetBody,
    HostQuery,
    PartQuery,
    QueueQuery,
    RecrawlBody,
    RefusedQuery,
    SeedsBody,
    UrlsBody,
)
from crawler.serve.api.problems import Refused
from crawler.serve.life import changes
from crawler.status import number_of
from visited import VisitedStats


async def show_status(actions: Actions, request: web.Request, query: PartQuery) -> CrawlStatus:
    """How far the crawl is, and why it waits."""
    return await actions.ask_crawl(actions.keeper(request), GetStatus(), part=query.part)


async def show_visited(actions: Actions, request: web.Request, query: PartQuery) -> VisitedStats:
    """What the visited set costs, how full it is, and how many pages it has probably lost."""
    return await actions.ask_crawl(actions.keeper(request), InspectVisited(), part=query.part)


async def list_hosts(actions: Actions, request: web.Request, query: HostQuery) -> HostList:
    """Its hosts, and why each waits: those in process first, then by the time at which they are next."""
    try:
        after = None if query.after is None else msgspec.json.decode(query.after, type=HostPlace)
    except (msgspec.DecodeError, UnicodeError) as error:
        detail = f"expected the place `after` of an earlier reply, as JSON, found {query.after!r}"
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail) from error
    wanted = Top(match=query.match, state=query.state, after=after, limit=query.limit)
    return await actions.ask_crawl(actions.keeper(request), wanted)


async def list_queues(actions: Actions, request: web.Request, query: QueueQuery) -> QueueList:
    """The queues that have URLs, in an order of choice."""
    wanted = InspectQueues(
        sort=query.sort,
        match=query.match,
        retired=query.retired,
        after=None if query.after_rank is None else (query.after_rank, query.after_key),
        limit=query.limit,
    )
    return await actions.ask_crawl(actions.keeper(request), wanted)


async def list_refused(actions: Actions, request: web.Request, query: RefusedQuery) -> RefusedList:
    """What traps and quotas have refused, by rule and host, with examples."""
    wanted = InspectRefused(match=query.match, limit=query.limit)
    return await actions.ask_crawl(actions.keeper(request), wanted)


async def add_seeds(actions: Actions, request: web.Request, body: SeedsBody) -> Judged:
    """Add URLs, like seeds, and tell what became of each."""
    keeper = actions.keeper(request)
    wanted = Add(urls=body.urls, precedence=body.precedence, force=body.force)
    judged = await actions.ask_crawl(keeper, wanted)
    added = sum(each.outcome == "added" for each in judged.urls)
    audit(request, f"{keeper.name}: added {added} of {number_of(len(body.urls), 'URL')}")
    # A complete crawl starts when it has something to fetch.
    keeper.change(changes.touched)
    return judged


async def forget(actions: Actions, request: web.Request, body: UrlsBody) -> Judged:
    """Forget settled URLs, so that they are new again, and tell what became of each."""
    keeper = actions.keeper(request)
    judged = await actions.ask_crawl(keeper, Forget(urls=body.urls))
    forgotten = sum(each.outcome == "forgotten" for each in judged.urls)
    audit(request, f"{keeper.name}: forgot {forgotten} of {number_of(len(body.urls), 'URL')}")
    return judged


async def forget_selected(actions: Actions, request: web.Request, body: ForgetBody) -> Selected:
    """Forget settled URLs of a host or with a pattern, a piece at a time, and tell where the next begins."""
    keeper = actions.keeper(request)
    done = await actions.ask_crawl(keeper, ForgetSelected(which=body.which, after=body.after))
    audit(request, f"{keeper.name}: forgot {done.taken:,} of {number_of(done.looked_at, 'URL')}")
    return done


async def recrawl(actions: Actions, request: web.Request, body: RecrawlBody) -> Selected:
    """Fetch settled URLs again, a piece of them at a time, and tell where the next piece begins."""
    keeper = actions.keeper(request)
    done = await actions.ask_crawl(keeper, Recrawl(which=body.which, after=body.after, whole=body.whole))
    audit(request, f"{keeper.name}: queued {done.taken:,} of {number_of(done.looked_at, 'URL')} again")
    # A complete crawl starts when it has something to fetch.
    keeper.change(changes.touched)
    return done


async def take_checkpoint(actions: Actions, request: web.Request) -> Checkpoint:
    """Bring what the crawl has done onto the disk, its output included, so that it survives a power failure."""
    keeper = actions.keeper(request)
    taken = await actions.ask_crawl(keeper, TakeCheckpoint(), refused_as=HTTPStatus.CONFLICT)
    audit(request, f"{keeper.name}: brought {taken.settled:,} settled URLs onto the disk")
    return taken


async def retire_host(actions: Actions, request: web.Request) -> Changed:
    """Fetch nothing more from a host; its URLs are kept."""
    return await _change_host(actions, request, Retire(host=request.match_info["host"]), "retired")


async def unretire_host(actions: Actions, request: web.Request) -> Changed:
    """Fetch again from a host that was retired."""
    return await _change_host(actions, request, Unretire(host=request.match_info["host"]), "serves again")


async def set_budget(actions: Actions, request: web.Request, body: BudgetBody) -> Changed:
    """Limit what a host may spend in all."""
    budget = "the general budget" if body.cost is None else f"a budget of {body.cost:,}"
    wanted = SetBudget(host=request.match_info["host"], cost=body.cost)
    return await _change_host(actions, request, wanted, f"gave {budget} to")


async def _change_host(
    actions: Actions, request: web.Request, wanted: Retire | Unretire | SetBudget, done: str
) -> Changed:
    keeper = actions.keeper(request)
    changed = await actions.ask_crawl(keeper, wanted, refused_as=HTTPStatus.CONFLICT)
    audit(request, f"{keeper.name}: {done} {wanted.host}")
    keeper.change(changes.touched)
    return changed
