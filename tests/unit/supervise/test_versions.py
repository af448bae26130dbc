"""Which configuration each part of a machine works with, while that of the crawl changes."""

from crawler.supervise.cluster.parts_here import MISSED_S, Versions


def test_a_part_that_is_slow_to_take_over_a_configuration_keeps_its_process() -> None:
    versions = Versions()
    versions.begin(0, 1)
    versions.begin(1, 1)
    versions.hold(1, 0.0)
    versions.hold(2, 100.0)
    versions.adopt(0, 2)
    assert versions.missed(100.0 + MISSED_S / 2) == []
    versions.adopt(1, 2)
    assert versions.missed(100.0 + MISSED_S) == []


def test_a_part_that_has_missed_a_configuration_is_named_until_another_process_begins() -> None:
    versions = Versions()
    versions.begin(0, 1)
    versions.begin(1, 1)
    versions.hold(1, 0.0)
    assert versions.missed(1000.0) == []
    versions.hold(2, 1000.0)
    versions.adopt(0, 2)
    versions.hold(2, 1000.0 + MISSED_S)
    assert versions.missed(1000.0 + MISSED_S) == [1]
    versions.begin(1, 2)
    assert versions.missed(2000.0) == []


def test_a_part_that_has_no_process_here_has_missed_nothing() -> None:
    versions = Versions()
    versions.adopt(0, 1)
    versions.hold(2, 0.0)
    assert versions.missed(1000.0) == []
