"""What the robots.txt of hosts said when they were asked last."""

import asyncio
import time

import msgspec

from crawler.control.replies import RobotsForm, RobotsList
from crawler.control.requests import InspectRobots
from crawler.fetch.robots.cache import noted_statuses
from crawler.fetch.robots.robots_txt import LONG_CHARACTERS
from crawler.fetch.robots.rules import RobotsRules, product_token
from crawler.fetch.robots.status import RobotsStatus, judge_host
from crawler.operate.actions.forms import moment
from crawler.operate.actions.slices import in_slices
from crawler.operate.target import OperatedCrawl


async def list_robots(crawl: OperatedCrawl, request: InspectRobots) -> RobotsList:
    """Hosts whose robots.txt is not known are left out."""
    agent = product_token(crawl.loaded.config.fetch.user_agent)
    found: list[RobotsForm] = []
    async for host in in_slices(request.hosts):
        statuses = noted_statuses(crawl.state.notes, host)
        # An origin without a server, such as https of a host that speaks http alone, says nothing of the others.
        served = [each for each in statuses if not each.no_connection] or statuses
        if served:
            found.append(newest_robots(host, [await _read(status, agent) for status in served]))
    return RobotsList(hosts=found)


async def _read(status: RobotsStatus, agent: str) -> RobotsForm:
    rules: RobotsRules | None = None
    if status.text is not None and len(status.text) > LONG_CHARACTERS:
        rules = await asyncio.to_thread(RobotsRules, status.text, agent=agent)
    elif status.text is not None:
        rules = RobotsRules(status.text, agent=agent)
    return RobotsForm(
        host="",
        robots=judge_host(status, rules, time.time()),
        asked_at=moment(status.asked_at),
        crawl_delay_s=None if rules is None else rules.crawl_delay_s,
        message=status.message,
    )


def newest_robots(host: str, found: list[RobotsForm]) -> RobotsForm:
    """The robots.txt that was asked last, of several of one host, with the longest delay of all."""
    last = max(found, key=lambda each: each.asked_at or "")  # moments in this form sort as text
    delay_s = max((each.crawl_delay_s for each in found if each.crawl_delay_s is not None), default=None)
    return msgspec.structs.replace(last, host=host, crawl_delay_s=delay_s)
