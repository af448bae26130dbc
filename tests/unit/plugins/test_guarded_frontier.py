"""What a frontier of others returns wrongly while the crawl runs is named, with the plug-in."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.guarded_frontier import guarded_frontier
from crawler.wiring.plugins.kinds import FRONTIER
from crawler.wiring.plugins.loading import NamedBackend
from frontier import CrawlUrl, ForwardingFrontier, Frontier, Lease, Outcome, UrlState
from frontier.backends import BACKENDS
from frontier.descriptor import Parameters
from frontier.states.memory import DESCRIPTOR
from frontier.terms import Terms
from visited.digests.exact import ExactSet

THEIRS = NamedBackend(kind=FRONTIER, name="odd", place="odd:make", package=None)
OURS = NamedBackend(kind=FRONTIER, name="memory", place=BACKENDS["memory"], package=None, is_ours=True)
URL = CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="a.test")


class Odd(ForwardingFrontier):
    """Passes each answer of one of its methods through a function."""

    def __init__(self, frontier: Frontier, method: str, change: Callable[[Any], Any]) -> None:
        super().__init__(frontier)
        self._method, self._change = method, change

    async def add(self, *urls: Any, **how: Any) -> Any:
        return self._changed("add", await super().add(*urls, **how))

    async def __anext__(self) -> Lease:
        lease: Lease = self._changed("__anext__", await super().__anext__())
        return lease

    def begin_fetch(self, lease: Lease, /, **how: Any) -> Any:
        return self._changed("begin_fetch", super().begin_fetch(lease, **how))

    async def status_of(self, canonical: str, /) -> Any:
        return self._changed("status_of", await super().status_of(canonical))

    def describe(self) -> Any:
        return self._changed("describe", super().describe())

    def _changed(self, method: str, answer: Any) -> Any:
        return self._change(answer) if method == self._method else answer


async def crawl(frontier: Frontier) -> list[object]:
    """Everything that a crawl asks of a frontier, for one URL."""
    answers: list[object] = [await frontier.add([URL])]
    async for lease in frontier:
        answers.append(frontier.begin_fetch(lease, address=None))
        await frontier.done(lease, cooldown_s=0.0, outcome=Outcome(state=UrlState.DONE, asked=True))
    answers += [(await frontier.status_of(URL.canonical)) is not None, await frontier.status_of("http://b.test/")]
    return [*answers, frontier.describe().settled]


async def opened() -> Frontier:
    state = DESCRIPTOR.make(Parameters(terms=Terms(identity={}, may_begin=True)), DESCRIPTOR.options())
    return await state.open_frontier(ExactSet())


async def test_right_answers_are_passed_on() -> None:
    frontier = guarded_frontier(await opened(), THEIRS)
    assert await crawl(frontier) == [1, True, True, None, 1]
    await frontier.aclose()


@pytest.mark.parametrize(
    ("method", "change", "why"),
    [
        ("add", lambda _: None, "expected int from add, found NoneType"),
        ("__anext__", lambda _: None, "expected Lease from __anext__, found NoneType"),
        (
            "__anext__",
            lambda lease: msgspec.structs.replace(lease, url=lease.url.url),
            "expected CrawlUrl as url of a Lease, found str",
        ),
        ("begin_fetch", lambda _: None, "expected bool from begin_fetch, found NoneType"),
        ("status_of", lambda _: "done", "expected LedgerEntry from status_of, found str"),
        ("describe", lambda _: {}, "expected FrontierStats from describe, found dict"),
    ],
)
async def test_a_wrong_answer_is_named(method: str, change: Callable[[Any], Any], why: str) -> None:
    frontier = guarded_frontier(Odd(await opened(), method, change), THEIRS)
    with pytest.raises(PluginFailed) as failed:
        await crawl(frontier)
    assert str(failed.value) == f'the frontier "odd" failed: {why}'
    await frontier.aclose()


async def test_ours_are_not_guarded() -> None:
    frontier = await opened()
    assert guarded_frontier(frontier, OURS) is frontier
    await frontier.aclose()
