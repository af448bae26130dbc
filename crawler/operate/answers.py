"""Answers requests."""

from collections.abc import Awaitable
from typing import TypeVar, assert_never

import msgspec

from config import ConfigError, ServerAway
from crawler.codes.exit_codes import AWAY, FAILED, USAGE
from crawler.control import requests
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest
from crawler.operate.actions import changing, copying, hosts, queues, selecting, urls
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, adding
from frontier import StoreFailed

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


async def answer(crawl: OperatedCrawl, request: AnyRequest) -> msgspec.Struct | Refusal:
    """Carry out a request. It does not hold the event loop for long."""
    return await reply_or_refusal(_carry_out(crawl, request))


async def reply_or_refusal(reply: Awaitable[_Reply]) -> _Reply | Refusal:
    """The reply, or why there is none."""
    try:
        return await reply
    except Refused as error:
        return Refusal(str(error), error.exit_code)
    except ServerAway as error:
        return Refusal(str(error), AWAY)
    except ConfigError as error:
        return Refusal(str(error), USAGE)
    except StoreFailed as error:
        return Refusal(str(error), FAILED)


async def _carry_out(crawl: OperatedCrawl, request: AnyRequest) -> msgspec.Struct:
    match request:
        case requests.GetStatus():
            return crawl.status()
        case requests.Pause(reason=reason):
            return await changing.pause(crawl, reason)
        case requests.Resume():
            return await changing.resume(crawl)
        case requests.Stop(now=now):
            return crawl.stop(now=now)
        case requests.TakeCheckpoint():
            return await changing.take_checkpoint(crawl)
        case requests.Freeze():
            return await changing.freeze(crawl)
        case requests.HoldParcels(seconds=seconds):
            return await changing.hold_parcels(crawl, seconds)
        case requests.Add():
            with adding(crawl):
                return await urls.add(crawl, request)
        case requests.Forget(urls=texts):
            return await urls.forget(crawl, texts)
        case requests.ForgetSelected():
            return await selecting.forget_selected(crawl, request)
        case requests.Recrawl():
            with adding(crawl):
                return await selecting.recrawl(crawl, request)
        case requests.Retire(host=host):
            return await queues.retire(crawl, host)
        case requests.Unretire(host=host):
            return await queues.unretire(crawl, host)
        case requests.SetBudget(host=host, cost=cost):
            return await queues.set_budget(crawl, host, cost)
        case requests.Set() | requests.Reload():
            return await changing.reconfigure(crawl, request)
        case requests.InspectUrl(url=url):
            return await urls.look_up(crawl, url)
        case requests.InspectQueues():
            return await queues.list_queues(crawl, request)
        case requests.InspectNext(host=host, limit=limit):
            return await queues.list_next(crawl, host, limit)
        case requests.InspectVisited():
            return await crawl.visited()
        case requests.InspectRefused():
            return await hosts.list_refused(crawl, request)
        case requests.InspectRobots():
            return await hosts.list_robots(crawl, request)
        case requests.Top():
            return await hosts.list_hosts(crawl, request)
        case requests.Export():
            return await copying.export_piece(crawl, request)
        case requests.Import():
            with adding(crawl):
                return await copying.import_lines(crawl, request)
    assert_never(request)
