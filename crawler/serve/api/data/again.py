"""Has a crawl fetch URLs again, or forget them."""

from aiohttp import web

from crawler.control.replies import Judged
from crawler.control.requests import Forget, ForgetSelected, Recrawl
from crawler.control.selections import Selected
from crawler.serve.api.actions import Actions, audit, body_of
from crawler.serve.api.data.forms import ForgetBody, RecrawlBody, UrlsBody
from crawler.serve.life import changes
from crawler.status import number_of


async def forget(actions: Actions, request: web.Request) -> Judged:
    body = await body_of(request, UrlsBody)
    keeper = actions.keeper(request)
    judged = await actions.ask_crawl(keeper, Forget(urls=body.urls), Judged)
    forgotten = sum(each.outcome == "forgotten" for each in judged.urls)
    audit(request, f"{keeper.name}: forgot {forgotten} of {number_of(len(body.urls), 'URL')}")
    return judged


async def forget_selected(actions: Actions, request: web.Request) -> Selected:
    body = await body_of(request, ForgetBody)
    keeper = actions.keeper(request)
    done = await actions.ask_crawl(keeper, ForgetSelected(which=body.which, after=body.after), Selected)
    audit(request, f"{keeper.name}: forgot {done.taken} of {done.looked_at} URLs")
    return done


async def recrawl(actions: Actions, request: web.Request) -> Selected:
    body = await body_of(request, RecrawlBody)
    keeper = actions.keeper(request)
    done = await actions.ask_crawl(keeper, Recrawl(which=body.which, after=body.after, whole=body.whole), Selected)
    audit(request, f"{keeper.name}: queued {done.taken} of {done.looked_at} URLs again")
    # A complete crawl starts when it has something to fetch.
    keeper.change(changes.touched)
    return done
