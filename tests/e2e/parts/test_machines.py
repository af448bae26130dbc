"""That parts of one crawl on many machines find what any crawl finds, whichever of them dies or leaves."""

from pathlib import Path

from tests.e2e.crawling import COMPLETE, assert_told
from tests.e2e.parts.in_parts import assert_fetched_once, crossed
from tests.e2e.parts.on_machines import on_machines


def test_two_machines_crawl_together_and_end_together(tmp_path: Path) -> None:
    with on_machines(tmp_path, machines=2) as crawl:
        for machine in crawl.machines:
            machine.start()
        for machine in crawl.machines:
            assert_told(machine.wait(), COMPLETE)
        records = crawl.records()
        assert_fetched_once(records, crawl.web.pages)
        assert crossed(records) > 0
