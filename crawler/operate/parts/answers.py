"""Answers requests to a crawl in parts."""

from typing import assert_never

import msgspec

from crawler.control.replies import Refusal
from crawler.control.requests import (
    Add,
    AnyRequest,
    Export,
    Forget,
    ForgetSelected,
    Freeze,
    GetStatus,
    HoldParcels,
    Import,
    InspectNext,
    InspectQueues,
    InspectRefused,
    InspectRobots,
    InspectUrl,
    InspectVisited,
    Pause,
    Recrawl,
    Reload,
    Resume,
    Retire,
    Set,
    SetBudget,
    Stop,
    TakeCheckpoint,
    Top,
    Unretire,
)
from crawler.operate.parts import adding, changing, freezing, hosts, inspecting, selecting
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.refused import Refused


async def answer_by_parts(crawl: CrawlInParts, request: AnyRequest) -> msgspec.Struct | Refusal:
    """Ask the parts that a request concerns, and make one reply of theirs."""
    try:
        return await _carry_out(crawl, request)
    except Refused as error:
        return Refusal(str(error), error.exit_code)


async def _carry_out(crawl: CrawlInParts, request: AnyRequest) -> msgspec.Struct:
    match request:
        case GetStatus():
            return await inspecting.sum_up(crawl)
        case Pause():
            return await changing.pause(crawl, request)
        case Resume():
            return await changing.resume(crawl)
        case Stop():
            return await changing.stop(crawl, request)
        case TakeCheckpoint():
            return await changing.take_checkpoint(crawl)
        case Freeze():
            return await freezing.freeze(crawl)
        case HoldParcels():
            return await freezing.hold_parcels(crawl, request)
        case Add() | Forget():
            return await adding.judge(crawl, request)
        case ForgetSelected() | Recrawl():
            return await selecting.work_on_next(crawl, request)
        case Import():
            return await adding.import_lines(crawl, request)
        case Retire() | Unretire() | SetBudget():
            return await hosts.change_host(crawl, request)
        case Set() | Reload():
            return await changing.reconfigure(crawl, request)
        case InspectUrl():
            return await inspecting.look_up(crawl, request)
        case InspectQueues():
            return await inspecting.list_queues(crawl, request)
        case InspectNext():
            return await inspecting.list_next(crawl, request)
        case InspectVisited():
            return await inspecting.sum_visited_sets(crawl)
        case InspectRefused():
            return await inspecting.list_refused(crawl, request)
        case InspectRobots():
            return await inspecting.list_robots(crawl, request)
        case Top():
            return await inspecting.list_hosts(crawl, request)
        case Export():
            return await inspecting.export_piece(crawl, request)
    assert_never(request)
