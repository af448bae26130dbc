"""That each behaviour has its outcome, and that it bounds what one fetch may cost."""

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from crawler.page import Fetched, Page, Redirect, Request
from tests.fetchers import http_fetcher
from tests.zoo.keeper import LIMITS, OUTCOMES, Zoo, open_zoo, outcome_of

SLOW = {name for name, outcome in OUTCOMES.items() if outcome.endswith(("timeout", "cut:time"))}
PATIENT = {"timeout_s": 200.0, "connect_timeout_s": 60.0, "head_timeout_s": 60.0, "window_s": 60.0}
"""For those that end by themselves, however slow this machine is."""
MAX_BODY_BYTES = 2_000_000


async def ask(zoo: Zoo, names: Collection[str], *, at_once: int, limits: dict[str, float]) -> dict[str, Fetched]:
    fetcher = http_fetcher(
        hosts=zoo.hosts,
        authorities=[zoo.authorities],
        max_body_bytes=MAX_BODY_BYTES,
        **limits,  # type: ignore[arg-type]
    )
    places = asyncio.Semaphore(at_once)

    async def one(name: str) -> Fetched:
        async with places:
            return await fetcher.fetch(Request(url=zoo.url(name)))

    try:
        return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))
    finally:
        await fetcher.aclose()


def test_there_are_enough_of_them() -> None:
    assert len(OUTCOMES) >= 60


@pytest.mark.parametrize("https", [False, pytest.param(True, marks=pytest.mark.long)], ids=["http", "https"])
async def test_every_behaviour_has_its_outcome(https: bool, tmp_path: Path) -> None:
    async with open_zoo(tmp_path, https=https) as zoo:
        answers = await ask(zoo, OUTCOMES.keys() - SLOW, at_once=4, limits=PATIENT)
        answers |= await ask(zoo, SLOW, at_once=100, limits=LIMITS)
    assert {name: outcome_of(answers[name]) for name in OUTCOMES} == OUTCOMES
    for name, answer in answers.items():
        if isinstance(answer, Page | Redirect):
            assert len(answer.body) <= MAX_BODY_BYTES, name
            assert len(answer.raw_body) <= max(MAX_BODY_BYTES, len(answer.body)), name
        else:
            assert getattr(answer, "message", "x").isprintable(), name


async def test_connections_that_end_or_break_have_the_same_outcome_over_tls(tmp_path: Path) -> None:
    """The long test above asks all of them so."""
    names = {name for name in OUTCOMES.keys() - SLOW if name.startswith(("close-", "length-", "chunk", "http-"))}
    async with open_zoo(tmp_path, https=True) as zoo:
        answers = await ask(zoo, names, at_once=4, limits=PATIENT)
    assert len(names) > 12
    assert {name: outcome_of(answers[name]) for name in names} == {name: OUTCOMES[name] for name in names}
