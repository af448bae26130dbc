"""The configuration of a crawl is replaced in a real register, whatever becomes of the answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from crawler.cluster.register import Register
from crawler.operate.refused import Refused
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.supervise.cluster.settings import StoredConfiguration
from crawler.testing.loops import in_event_loop
from tests.redis_server import running_redis
from tests.unit.cluster.homes import IDENTITY


class Losing(Register):
    """Loses answers, after Redis has done what it was asked."""

    loses = False

    async def replace_configuration(self, configuration: str, version: int, *, over: int | None = None) -> bool:
        answer = await super().replace_configuration(configuration, version, over=over)
        if self.loses:
            raise TimeoutError
        return answer


@asynccontextmanager
async def opened() -> AsyncIterator[Losing]:
    with running_redis() as server:
        async with connected(Server(url=server.url)) as client:
            register = Losing(client, prefix="test", generation=IDENTITY.generation)
            assert await register.create(IDENTITY)
            yield register


async def held(register: Register) -> tuple[str, int]:
    identity = (await register.read()).identity
    return identity.configuration, identity.configuration_version


@in_event_loop
async def test_a_change_whose_answer_was_lost_gives_way_to_the_next() -> None:
    async with opened() as register:
        first = IDENTITY.configuration_version
        stored = StoredConfiguration(register, first)
        register.loses = True
        with pytest.raises(Refused, match="it is not known whether Redis has stored"):
            await stored.replace("a = 1")
        register.loses = False
        assert await held(register) == ("a = 1", first + 1)
        await stored.replace("a = 2")
        assert await held(register) == ("a = 2", first + 2)
        assert stored.version == first + 2


@in_event_loop
async def test_a_change_whose_answer_was_lost_does_not_replace_that_of_another_machine_later() -> None:
    async with opened() as register:
        first = IDENTITY.configuration_version
        stored = StoredConfiguration(register, first)
        register.loses = True
        with pytest.raises(Refused, match="it is not known whether Redis has stored"):
            await stored.replace("a = 1")
        register.loses = False
        await StoredConfiguration(register, first + 1).replace("a = 1\nb = 1")
        with pytest.raises(Refused, match=r"stop it .*so that another decides"):
            await stored.replace("a = 2")
        assert await held(register) == ("a = 1\nb = 1", first + 2)


@in_event_loop
async def test_the_change_of_another_machine_that_decides_by_now_stands() -> None:
    async with opened() as register:
        first = IDENTITY.configuration_version
        stored = StoredConfiguration(register, first)
        await StoredConfiguration(register, first).replace("a = 1")
        with pytest.raises(Refused, match=r"stop it .*so that another decides"):
            await stored.replace("a = 2")
        assert await held(register) == ("a = 1", first + 1)
