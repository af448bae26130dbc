"""What sender, receiver and supervisor make of messages that come late, twice, or can't be meant."""

import msgspec
import pytest

from crawler.parts.ending import Answer, EndWatch, Gate, Report, Step
from crawler.parts.messages import Confirm, Hello, Parcels, ProtocolBroken, Welcome
from crawler.parts.receiver import Receiver
from crawler.parts.sender import Confirmed, Sender
from frontier import Place


def sender(*, trimmed: Place | None = None) -> Sender:
    return Sender(sender=0, receiver=1, incarnation=10, waiting=5, trimmed=trimmed, window=3)


def connected() -> Sender:
    own = sender()
    own.connect(Welcome(receiver=1, incarnation=20, position=0))
    return own


def confirm(committed: int, safe: int = 0, *, incarnation: int = 20, own: int = 10, generation: int = 0) -> Confirm:
    return Confirm(
        incarnation=incarnation, sender_incarnation=own, committed=committed, safe=safe, generation=generation
    )


def test_nothing_is_sent_before_the_welcome_and_no_more_than_the_window_after_it() -> None:
    own = sender()
    assert own.next_range() is None
    own.connect(Welcome(receiver=1, incarnation=20, position=1))
    assert own.next_range() == (2, 4)
    own.begin(2, [b"", b""])
    assert own.next_range() == (4, 4)
    own.begin(4, [b""])
    assert own.next_range() is None
    own.confirm(confirm(3))
    assert own.next_range() == (5, 5)
    with pytest.raises(ValueError, match="expected parcels 5 to 5"):
        own.begin(4, [b""])


def test_a_confirmation_that_was_meant_for_another_incarnation_changes_nothing() -> None:
    own = connected()
    own.begin(1, [b"", b""])
    assert own.confirm(confirm(2, 2, incarnation=19)) == Confirmed()
    assert own.confirm(confirm(2, 2, own=9)) == Confirmed()
    assert (own.committed, own.safe) == (0, 0)
    assert own.confirm(confirm(2, 1)) == Confirmed(trim_to=1)
    assert own.confirm(confirm(1, 0)) == Confirmed()  # overtaken by the other
    assert (own.committed, own.safe, own.trimmed) == (2, 1, Place(10, 1))


def test_a_sender_forgets_what_it_has_sent_once_for_each_generation() -> None:
    own = connected()
    assert own.confirm(confirm(0, generation=2)).forgets
    assert not own.confirm(confirm(0, generation=2)).forgets
    assert not own.confirm(confirm(0, generation=1)).forgets
    assert own.confirm(confirm(0, generation=3)).forgets


def test_what_another_part_can_not_have_meant_is_refused() -> None:
    own = connected()
    with pytest.raises(ProtocolBroken, match="confirms 6 parcels, 0 of them safe, of part 0, which has sent 5"):
        own.confirm(confirm(6))
    with pytest.raises(ProtocolBroken, match="confirms 1 parcels, 2 of them safe"):
        own.confirm(confirm(1, 2))
    with pytest.raises(ProtocolBroken, match="has admitted 6 parcels"):
        own.connect(Welcome(receiver=1, incarnation=20, position=6))
    with pytest.raises(ProtocolBroken, match="expected the welcome of part 1, found that of part 2"):
        own.connect(Welcome(receiver=2, incarnation=20, position=0))


@pytest.mark.parametrize(
    ("trimmed", "welcome", "is_gap"),
    [
        (None, Welcome(receiver=1, incarnation=20, position=0), False),
        (Place(9, 4), Welcome(receiver=1, incarnation=20, position=0, trimmed_position=4), False),
        (Place(9, 4), Welcome(receiver=1, incarnation=20, position=0, trimmed_position=3), True),
        (Place(10, 2), Welcome(receiver=1, incarnation=20, position=2), False),
        (Place(10, 2), Welcome(receiver=1, incarnation=20, position=1), True),
    ],
)
def test_a_receiver_that_lacks_what_was_deleted_is_told_of_the_gap(
    trimmed: Place | None, welcome: Welcome, is_gap: bool
) -> None:
    own = sender(trimmed=trimmed)
    skip = own.connect(welcome)
    assert (skip is not None) == is_gap
    assert (own.next_range() is None) == is_gap
    if skip is not None:
        assert skip.upto == trimmed


def test_a_gap_is_counted_once() -> None:
    own = Receiver(receiver=1, incarnation=20, positions={})
    skip = sender(trimmed=Place(9, 4)).connect(own.welcome(sender(trimmed=Place(9, 4)).hello()))
    assert skip is not None
    assert own.welcome_again(2) is None
    assert own.skip(0, skip) == Place(9, 4)
    own.commit(0, Place(9, 4))
    assert own.skip(0, skip) is None
    again = own.welcome_again(0)
    assert again is not None
    assert sender(trimmed=Place(9, 4)).connect(again) is None


def parcels(first: int, *names: bytes, incarnation: int = 10) -> Parcels:
    return Parcels(incarnation=incarnation, first=first, parcels=list(names))


def test_a_receiver_takes_only_what_follows_its_position() -> None:
    own = Receiver(receiver=1, incarnation=20, positions={(0, 9): 7, (0, 10): 3})
    assert own.take(0, parcels(4, b"d")) is None  # it has not said hello
    assert own.confirm(0) is None
    assert own.welcome(Hello(sender=0, receiver=1, incarnation=10)).position == 3
    assert own.take(0, parcels(2, b"b", b"c")) is None
    assert own.take(0, parcels(5, b"e")) is None
    told = own.confirm(0, after=parcels(5, b"e"))
    assert told is not None
    assert (told.committed, told.safe, told.again) == (3, 0, True)
    intake = own.take(0, parcels(3, b"c", b"d", b"e"))
    assert intake is not None
    assert (intake.parcels, intake.place) == ([b"d", b"e"], Place(10, 5))
    own.commit(0, intake.place)
    told = own.confirm(0, after=parcels(3, b"c", b"d", b"e"))
    assert told is not None
    assert (told.committed, told.again) == (5, False)


def test_a_receiver_does_not_listen_to_an_older_incarnation() -> None:
    own = Receiver(receiver=1, incarnation=20, positions={(0, 9): 7})
    own.welcome(Hello(sender=0, receiver=1, incarnation=10))
    assert own.take(0, parcels(8, b"late", incarnation=9)) is None


def test_only_what_was_stored_before_a_sync_began_is_safe_after_it() -> None:
    own = Receiver(receiver=1, incarnation=20, positions={})
    own.welcome(Hello(sender=0, receiver=1, incarnation=10))
    own.commit(0, Place(10, 2))
    synced = own.begin_sync()
    own.commit(0, Place(10, 3))
    own.end_sync(synced)
    told = own.confirm(0)
    assert told is not None
    assert (told.committed, told.safe) == (3, 2)


IDLE = Report(incarnation=1, transitions=5, is_idle=True, welcomed_by={1: 2}, unconfirmed={})
OTHER = Report(incarnation=2, transitions=5, is_idle=True, welcomed_by={0: 1}, unconfirmed={})


def take(watch: EndWatch, *reports: Report | None, closed: bool = False) -> Step:
    wave, step = watch.begin_wave(), Step.WAIT
    for part, report in enumerate(reports):
        assert step is Step.WAIT
        step = watch.take(wave, part, Answer(report=report, gate_is_closed=closed))
    return step


def test_the_end_takes_two_equal_waves_and_one_with_closed_gates() -> None:
    watch = EndWatch(2)
    assert take(watch, IDLE, OTHER) is Step.ASK_AGAIN
    assert take(watch, IDLE, OTHER) is Step.CLOSE_GATES
    assert take(watch, IDLE, OTHER, closed=True) is Step.END


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("change", [{"transitions": 6}, {"incarnation": 3}])
def test_a_change_between_two_waves_begins_again(change: dict[str, int], closed: bool) -> None:
    watch = EndWatch(2)
    changed = msgspec.structs.replace(OTHER, **change)
    own = msgspec.structs.replace(IDLE, welcomed_by={1: changed.incarnation})
    assert take(watch, IDLE, OTHER) is Step.ASK_AGAIN
    assert take(watch, own, changed, closed=closed) is Step.ASK_AGAIN
    assert take(watch, own, changed, closed=closed) is (Step.END if closed else Step.CLOSE_GATES)


@pytest.mark.parametrize(
    "other",
    [
        None,
        msgspec.structs.replace(OTHER, is_idle=False),
        msgspec.structs.replace(OTHER, unconfirmed={0: 7}),
        msgspec.structs.replace(OTHER, welcomed_by={}),
        msgspec.structs.replace(OTHER, welcomed_by={0: 99}),
    ],
    ids=["has no process", "works", "has links to send", "is not connected", "was heard by one that died"],
)
def test_a_part_that_may_bring_work_keeps_the_crawl_going(other: Report | None) -> None:
    watch = EndWatch(2)
    for _ in range(3):
        assert take(watch, IDLE, other, closed=True) is Step.ASK_LATER


def test_an_answer_to_an_earlier_wave_does_not_count() -> None:
    watch = EndWatch(2)
    earlier = watch.begin_wave()
    wave = watch.begin_wave()
    assert watch.take(earlier, 0, Answer(report=IDLE)) is Step.WAIT
    assert watch.take(wave, 1, Answer(report=OTHER)) is Step.WAIT
    assert watch.take(wave, 1, Answer(report=OTHER)) is Step.WAIT
    assert watch.take(wave, 0, Answer(report=IDLE)) is Step.ASK_AGAIN


def test_a_crawl_of_one_part_ends_too() -> None:
    watch, only = EndWatch(1), msgspec.structs.replace(IDLE, welcomed_by={})
    assert [take(watch, only, closed=True) for _ in range(2)] == [Step.ASK_AGAIN, Step.END]


def test_a_gate_that_is_closed_lets_nobody_in_and_those_inside_finish() -> None:
    gate = Gate()
    assert gate.enter()
    gate.close()
    assert not gate.enter()
    assert gate.adding == 1
    gate.leave()
    assert gate.adding == 0


def test_a_gate_stays_closed_after_the_end() -> None:
    gate = Gate()
    for act, is_closed in ((gate.close, True), (gate.open, False), (gate.end, True), (gate.open, True)):
        act()
        assert gate.is_closed == is_closed
    assert gate.has_ended
