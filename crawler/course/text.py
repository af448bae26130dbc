"""The course of a crawl for people."""

from collections.abc import Sequence
from typing import Final

from crawler.course.forms import CoursePoint, Remaining
from crawler.course.history import thin
from crawler.status import duration, number_of

_SHOWN: Final = 5


def left_text(remaining: Remaining) -> str:
    if not remaining.urls:
        return "nothing that is known" if remaining.why is None else f"nothing that is known, but {remaining.why}"
    left = number_of(remaining.urls, "URL")
    if remaining.seconds is None:
        return f"{left}; how long they take can't be told, because {remaining.why}" if remaining.why else left
    why = "" if remaining.host is None else f", because of the pace of {remaining.host}"
    return f"{left} · about {duration(remaining.seconds)}{why}, if no more are found"


def course_rows(course: Sequence[CoursePoint]) -> list[tuple[str, str]]:
    """A few points, evenly spread, the last one included. Points that look the same, as parts have, are shown once."""
    shown = thin([*{(each.at[:19], each.finished, each.discovered): each for each in course}.values()], _SHOWN)
    if len(shown) < 2:
        return []
    width = len(f"{shown[-1].finished:,}")
    texts = [f"{each.at[:19]}Z  {each.finished:>{width},} of {each.discovered:,} finished" for each in shown]
    return [("course" if not number else "", text) for number, text in enumerate(texts)]
