"""Every set of this process can be used without an event loop, and answers the same."""

import asyncio
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest

from visited import CannotForget
from visited.backends import BACKENDS, descriptor
from visited.descriptor import Parameters
from visited.digests.exact import ExactSet
from visited.filters.bloom import BloomSet
from visited.making import make_set
from visited.plain import PlainSet

URLS = [f"https://host{number % 7}.test/{number}" for number in range(2_000)]


@pytest.mark.parametrize("name", BACKENDS)
def test_each_set_answers_as_in_an_event_loop(name: str, tmp_path: Path) -> None:
    def made(place: str) -> PlainSet:
        parameters = Parameters(
            capacity=10_000,
            error_rate=1e-6,
            directory=tmp_path / place,
            site_of=lambda url: url.split("/")[2],
            domain_of=lambda host: host,
        )
        return PlainSet(make_set(descriptor(name), parameters, {}))

    seen = made("a")
    assert [seen.add(url) for url in (URLS[0], URLS[0])] == [True, False]
    assert sum(seen.add_many(URLS)) == len(seen) - 1 == seen.describe().count - 1
    assert all(seen.has_many(URLS))
    assert URLS[5] in seen
    assert "https://other.test/" not in seen
    file = BytesIO()
    seen.dump(file)
    seen.close()
    file.seek(0)
    again = made("a")
    again.load(file)
    assert not any(again.add_many(URLS))
    again.close()
    again.close()


def test_a_set_that_can_forget_does() -> None:
    seen = PlainSet(ExactSet())
    seen.add_many(URLS)
    assert seen.forget_many(URLS[:3]) == 3
    assert seen.add_many(URLS[:4]) == [True, True, True, False]
    with pytest.raises(CannotForget):
        PlainSet(BloomSet(capacity=100, error_rate=0.01)).forget_many(URLS)


def test_a_set_that_waits_needs_an_event_loop() -> None:
    class Waiting(ExactSet):
        async def add_many(self, urls: Sequence[str], /) -> list[bool]:
            await asyncio.sleep(0)
            return await super().add_many(urls)

    with pytest.raises(RuntimeError, match="it needs an event loop"):
        PlainSet(Waiting()).add_many(URLS)
