"""The table of fingerprints is no larger than it need be."""

from visited.baselines.fingerprints import FingerprintSet


def urls(start: int, end: int) -> list[str]:
    return [f"http://a.test/{number}" for number in range(start, end)]


async def test_known_urls_do_not_make_the_table_grow() -> None:
    visited = FingerprintSet()
    await visited.add_many(urls(0, 500))
    assert visited.describe().details["slots"] == 1024
    assert not any(await visited.add_many(urls(0, 500)))
    assert (await visited.add_many(urls(490, 512))).count(True) == 12
    assert visited.describe().details["slots"] == 1024
    assert all(await visited.add_many(urls(512, 513)))
    assert visited.describe().details["slots"] == 2048
    assert visited.has_many(urls(0, 514)) == [True] * 513 + [False]
