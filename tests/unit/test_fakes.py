"""That the fakes which others make behave with the versions pinned here."""

import aiohttp
import pytest
from aioresponses import aioresponses


async def test_aioresponses_answers_in_place_of_a_server() -> None:
    with aioresponses() as answers:
        answers.get("http://a.test/", status=404, body=b"gone", headers={"Server": "none"})
        answers.get("http://b.test/", exception=TimeoutError())
        async with aiohttp.ClientSession() as session:
            async with session.get("http://a.test/") as response:
                chunks = [chunk async for chunk in response.content.iter_chunked(3)]
            with pytest.raises(TimeoutError):
                await session.get("http://b.test/")

    assert (response.status, response.headers["Server"], chunks) == (404, "none", [b"gon", b"e"])
