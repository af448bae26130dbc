"""The promises of every reader of robots.txt, kept by ours."""

from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.politeness.pace import parse_retry_after
from crawler.seams import Robots
from crawler.testing import RobotsContract
from crawler.testing.fetch.robots import Origin
from frontier.memory.notes import MemoryNotes


class TestRobotsTxt(RobotsContract):
    def make_robots(self, origin: Origin) -> Robots:
        return RobotsTxt(origin, RobotsCache(MemoryNotes(), agent="onceover"), read_retry_after=parse_retry_after)
