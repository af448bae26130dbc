"""Finds out when a crawl in parts is complete.

A part never ends itself, because a link to it may be on its way. The supervisor asks all parts in waves: each wave
begins when all answers to the last have come. If all parts are idle, no link is on its way, and two waves in a row
bring the same reports, then nothing has happened between these waves, and nothing can happen any more but by an
operator. So the supervisor closes the gates, through which operators add URLs, and asks once more. If that wave brings
the same, too, the crawl is complete.
"""

from collections.abc import Mapping
from enum import Enum, auto

import msgspec


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a part says about itself. Two equal reports mean that the part has changed nothing in between."""

    incarnation: int
    transitions: int
    """The number of changes that its store has seen."""
    is_idle: bool
    """Whether nothing is pending, leased, retrying or resting, nothing holds the part, nobody is adding URLs, and all
    counts of links that it has not sent are in its outbox."""
    welcomed_by: Mapping[int, int]
    """By receiver: its incarnation, if it has welcomed this part's incarnation."""
    unconfirmed: Mapping[int, int]
    """By receiver: the last parcel in the outbox, if there is any."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a part in a wave. A part without a process answers with no report."""

    report: Report | None
    gate_is_closed: bool = False


class Step(Enum):
    """What the supervisor does next."""

    WAIT = auto()
    """Wait for the other answers of this wave."""
    ASK_LATER = auto()
    """Begin the next wave when some part may have become idle. All gates are to be open."""
    ASK_AGAIN = auto()
    """Begin the next wave at once. All gates are to be open."""
    CLOSE_GATES = auto()
    """Close all gates, then begin the next wave."""
    END = auto()
    """The crawl is complete."""


class EndWatch:
    """The supervisor's side."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._wave = 0
        self._answers: dict[int, Answer] = {}
        self._before: dict[int, Report] | None = None
        """The reports of the last wave, if the crawl may have been complete by them."""

    def begin_wave(self) -> int:
        """The number of a new wave, to send with the question."""
        self._wave += 1
        self._answers.clear()
        return self._wave

    def take(self, wave: int, part: int, answer: Answer) -> Step:
        """A part has answered. An answer to an earlier wave changes nothing."""
        if wave != self._wave or part in self._answers:
            return Step.WAIT
        self._answers[part] = answer
        if len(self._answers) < self._parts:
            return Step.WAIT
        reports = {number: each.report for number, each in self._answers.items() if each.report is not None}
        if len(reports) < self._parts or not _may_be_complete(reports):
            self._before = None
            return Step.ASK_LATER
        if reports != self._before:
            self._before = reports
            return Step.ASK_AGAIN
        return Step.END if all(each.gate_is_closed for each in self._answers.values()) else Step.CLOSE_GATES


def _may_be_complete(reports: Mapping[int, Report]) -> bool:
    """Whether all parts are idle, and no link is on its way.

    A part may have lost what it had confirmed, if it has been restarted since. So a confirmation counts only if it was
    given by the incarnation that reports."""
    for part, report in reports.items():
        others = {other: each.incarnation for other, each in reports.items() if other != part}
        if not report.is_idle or report.unconfirmed or report.welcomed_by != others:
            return False
    return True


class Gate:
    """A part's side: whether operators may add URLs. While one is adding, the part is not idle."""

    def __init__(self) -> None:
        self.is_closed = False
        self.has_ended = False
        self.adding = 0
        """Operators who are adding URLs now."""

    def enter(self) -> bool:
        """An operator wants to add URLs. If that is allowed, `leave` has to follow."""
        self.adding += not self.is_closed
        return not self.is_closed

    def leave(self) -> None:
        self.adding -= 1

    def close(self) -> None:
        self.is_closed = True

    def open(self) -> None:
        """Let operators add again. A crawl that has ended stays so."""
        self.is_closed = self.has_ended

    def end(self) -> None:
        self.is_closed = self.has_ended = True
