"""Answers requests to a crawl in parts."""

from typing import assert_never

import msgspec

from crawler.codes.exit_codes import REFUSED
from crawler.control import requests
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest
from crawler.operate.answers import reply_or_refusal
from crawler.operate.parts import adding, changing, inspecting
from crawler.operate.parts.crawl import CrawlInParts


async def answer_by_parts(crawl: CrawlInParts, request: AnyRequest) -> msgspec.Struct | Refusal:
    """Ask the parts that a request concerns, and make one reply of theirs."""
    if not crawl.parts.numbers and not isinstance(request, requests.Stop):
        return Refusal(f"{crawl.directory} has no part of the crawl: other machines may have them", REFUSED)
    return await reply_or_refusal(_carry_out(crawl, request))


async def _carry_out(crawl: CrawlInParts, request: AnyRequest) -> msgspec.Struct:
    match request:
        case requests.GetStatus():
            return await inspecting.sum_up(crawl)
        case requests.Pause():
            return await changing.pause(crawl, request)
        case requests.Resume():
            return await changing.resume(crawl)
        case requests.Stop():
            return await changing.stop(crawl, request)
        case requests.TakeCheckpoint():
            return await changing.take_checkpoint(crawl)
        case requests.Freeze():
            return await changing.freeze(crawl)
        case requests.HoldParcels():
            return await changing.hold_parcels(crawl, request)
        case requests.Add() | requests.Forget():
            return await adding.judge(crawl, request)
        case requests.ForgetSelected() | requests.Recrawl():
            return await adding.work_on_next(crawl, request)
        case requests.Import():
            return await adding.import_lines(crawl, request)
        case requests.Retire() | requests.Unretire() | requests.SetBudget():
            return await changing.change_host(crawl, request)
        case requests.Set() | requests.Reload():
            return await changing.reconfigure(crawl, request)
        case requests.InspectUrl():
            return await inspecting.look_up(crawl, request)
        case requests.InspectQueues():
            return await inspecting.list_queues(crawl, request)
        case requests.InspectNext():
            return await inspecting.list_next(crawl, request)
        case requests.InspectVisited():
            return await inspecting.sum_visited_sets(crawl)
        case requests.InspectRefused():
            return await inspecting.list_refused(crawl, request)
        case requests.InspectRobots():
            return await inspecting.list_robots(crawl, request)
        case requests.Top():
            return await inspecting.list_hosts(crawl, request)
        case requests.Export():
            return await inspecting.export_piece(crawl, request)
    assert_never(request)
