"""That parts of one crawl on many machines find what any crawl finds, whichever of them dies or leaves."""

from pathlib import Path
from typing import Final

import pytest

from tests.e2e.crawling import COMPLETE, assert_sound, assert_told
from tests.e2e.parts.in_parts import UNHURRIED, assert_fetched_once, crossed
from tests.e2e.parts.on_machines import on_machines
from tests.e2e.test_politeness import gaps_s

DELAY_S: Final = 2.0
"""That of `UNHURRIED`."""


def test_two_machines_crawl_together_and_end_together(tmp_path: Path) -> None:
    with on_machines(tmp_path, machines=2) as crawl:
        for machine in crawl.machines:
            machine.start()
        for machine in crawl.machines:
            assert_told(machine.wait(), COMPLETE)
        records = crawl.records()
        assert_fetched_once(records, crawl.web.pages)
        assert crossed(records) > 0


@pytest.mark.long
def test_the_one_that_decides_and_another_one_may_die_in_the_middle(tmp_path: Path) -> None:
    """Four machines; the one that decides is killed, and another one is killed and started again."""
    with on_machines(tmp_path, *UNHURRIED, machines=4) as crawl:
        for machine in crawl.machines:
            machine.start()
        crawl.wait_until_all_crawl()
        first = crawl.wait_for_coordinator()
        first.kill()
        second = crawl.wait_for_coordinator()
        assert second is not first
        first.start()
        other = next(machine for machine in crawl.machines if machine not in (first, second))
        other.kill()
        other.start()
        for machine in crawl.machines:
            assert_told(machine.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert min(gaps_s(crawl.requests())) >= DELAY_S
        for machine in crawl.machines:
            for part in machine.parts():
                assert_sound(machine.directory / f"part-{part}")
