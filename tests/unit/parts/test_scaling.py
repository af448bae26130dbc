"""The simulation of many parts keeps what must hold whatever the constants are."""

import msgspec
import numpy as np
import pytest

from crawler.parts.exchange.sending import GATHER_S, MAX_GATHER_S, gather_s
from tests.bench.scaling import FOREIGN_LINKS, Constants, Simulated, simulate, site_shares

FREE = Constants(crossing_us=0, message_us=0)
FOREIGN = float(np.trapezoid(FOREIGN_LINKS, dx=0.1))


def simulated(parts: int, constants: Constants) -> Simulated:
    return simulate(parts, constants, steps=8, sites=2_000)


def test_parts_that_pay_nothing_for_links_are_as_quick_as_alone() -> None:
    found = simulated(8, FREE)
    assert found.pages_per_s == pytest.approx(8 * 1e6 / FREE.page_us)
    assert found.efficiency == pytest.approx(1)
    assert found.slowest == pytest.approx(1)


def test_links_to_other_sites_cross_as_often_as_these_belong_to_others() -> None:
    for parts in (4, 16):
        assert simulated(parts, FREE).crossing == pytest.approx(FOREIGN * (1 - 1 / parts), rel=0.15)


def test_what_links_cost_makes_parts_slower_and_a_popular_site_its_part_most() -> None:
    cheap, dear = (simulated(16, Constants(crossing_us=us)) for us in (1, 40))
    assert dear.pages_per_s < cheap.pages_per_s
    assert dear.slowest < cheap.slowest < 1


def test_redis_needs_more_for_more_parts_and_for_dearer_messages() -> None:
    few, many = (simulated(parts, Constants()) for parts in (4, 32))
    assert many.redis_commands_per_s > few.redis_commands_per_s
    dear = simulated(4, msgspec.structs.replace(Constants(), redis_message_us=100))
    assert dear.redis_cores > few.redis_cores


def test_every_site_belongs_to_one_part() -> None:
    shares = site_shares(5, sites=500)
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1)


def test_one_part_has_nothing_to_simulate() -> None:
    with pytest.raises(ValueError, match="expected 2 or more"):
        simulate(1, Constants())


def test_links_gather_for_longer_in_a_crawl_of_many_parts() -> None:
    assert [gather_s(parts) for parts in (2, 8)] == [GATHER_S, GATHER_S]
    assert gather_s(64) == pytest.approx(8 * GATHER_S)
    assert gather_s(1024) == MAX_GATHER_S
