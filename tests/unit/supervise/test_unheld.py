"""When the machine that decides takes a part for one without a process."""

from crawler.supervise.cluster.deciding import Unheld


def test_a_part_has_no_process_once_its_last_lease_has_ended_by_the_clock_of_its_holder_too() -> None:
    """Redis may have ended the lease early: its clock was set forward."""
    unheld = Unheld(lease_s=30.0)
    assert unheld.see([1, 2], 100.0) == []
    assert unheld.see([1, 2], 132.9) == []
    assert unheld.see([1, 2], 133.1) == [1, 2]
    assert unheld.see([2], 134.0) == [2]
    assert unheld.see([1, 2], 135.0) == [2]  # somebody has held part 1 meanwhile
    assert unheld.see([1], 168.1) == [1]
