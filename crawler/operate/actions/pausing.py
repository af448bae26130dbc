"""pause, resume"""

from crawler.control.replies import PauseState
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, pausing


async def pause(crawl: OperatedCrawl, reason: str) -> PauseState:
    controls = pausing(crawl)
    if controls.paused is not None:
        raise Refused(f"{crawl.directory.path} is already paused: {controls.paused}; resume it first")
    await controls.pause(reason)
    return _state(crawl, reason)


async def resume(crawl: OperatedCrawl) -> PauseState:
    controls = pausing(crawl)
    if controls.paused is None:
        raise Refused(f"{crawl.directory.path} is not paused; nothing was changed")
    await controls.resume()
    return _state(crawl, None)


def _state(crawl: OperatedCrawl, paused: str | None) -> PauseState:
    status = crawl.status()
    return PauseState(paused=paused, running=status.running, in_flight=len(crawl.in_flight))
