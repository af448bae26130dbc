"""What becomes of the requests of a page when its time is over."""

import asyncio

import pytest

from crawler.render.interceptor import Interceptor
from crawler.render.limits import Limits
from crawler.render.loads import Loaded, SubRequest


class Refusals:
    """A browser that notes which requests are refused."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def post(self, method: str, params: dict[str, str], *, session: str | None) -> None:
        assert method == "Fetch.failRequest"
        self.refused.append(params["requestId"])


class Hanging:
    """Servers that never answer."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)

    def passes(self, request: SubRequest) -> bool:
        return True

    async def load(self, request: SubRequest) -> Loaded:
        self.asked.release()
        await asyncio.Event().wait()
        raise AssertionError


def sub_request(host: str) -> SubRequest:
    return SubRequest(id=host, session=None, url=f"http://{host}/", method="GET", kind="data", headers={})


@pytest.mark.parametrize(("host", "counts"), [("own.test", True), ("other.test", False)])
async def test_a_response_that_is_not_waited_for_counts_as_work_of_the_host_of_the_page(
    host: str, counts: bool
) -> None:
    browser, loads = Refusals(), Hanging()
    changes: list[None] = []
    interceptor = Interceptor(
        browser,  # type: ignore[arg-type]
        loads,  # type: ignore[arg-type]
        Limits(),
        host="own.test",
        on_change=lambda: changes.append(None),
        on_flood=lambda: None,
    )
    async with asyncio.TaskGroup() as group:
        interceptor.respond(sub_request(host), task_group=group)
        await loads.asked.acquire()
        await asyncio.sleep(0.01)
        interceptor.respond(sub_request("begins.test"), task_group=group)
        interceptor.stop()
        interceptor.respond(sub_request("late.test"), task_group=group)
    assert browser.refused == [host, "begins.test", "late.test"]
    assert not interceptor.tasks
    assert changes
    assert (interceptor.busy_s >= 0.01) == counts
