"""The course of a crawl: discovered against finished over time, and how long the rest takes."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.course.forms import CoursePoint, Remaining
from crawler.course.history import MAX_POINTS, History, Point, thin, together
from crawler.course.remaining import NOT_RUNNING, LongestQueue, estimate, no_estimate, of_parts
from crawler.course.text import course_rows, left_text
from crawler.operate.course import read_history, write_history


@pytest.mark.parametrize(
    ("settled", "over_s", "size", "seconds", "host"),
    [(50, 100.0, 1, 200.0, None), (50, 100.0, 20, 200.0, None), (50, 100.0, 30, 300.0, "a.test")],
)
def test_what_takes_longest_decides_how_long_the_rest_takes(
    settled: int, over_s: float, size: int, seconds: float, host: str | None
) -> None:
    longest = LongestQueue("a.test", size, s_per_url=10.0)
    found = estimate(100, settled=settled, over_s=over_s, longest=longest)
    assert found == Remaining(urls=100, seconds=seconds, host=host)


def test_an_estimate_that_cannot_be_made_says_why() -> None:
    assert estimate(0, settled=0, over_s=0.0, longest=None) == Remaining(urls=0, seconds=0.0)
    just_begun = estimate(10, settled=3, over_s=0.1, longest=None)
    assert (just_begun.seconds, just_begun.why) == (None, "the run has just begun")
    stuck = estimate(10, settled=0, over_s=600.0, longest=None)
    assert (stuck.seconds, stuck.why) == (None, "no URL was settled in the last 10 min 0 s")
    assert no_estimate(0, NOT_RUNNING) == Remaining(urls=0, seconds=0.0)
    told = left_text(no_estimate(7, NOT_RUNNING))
    assert told == "7 URLs; how long they take can't be told, because no process fetches them"
    assert left_text(stuck).endswith("because no URL was settled in the last 10 min 0 s")


def test_the_last_part_decides_how_long_a_crawl_in_parts_takes() -> None:
    quick, slow = Remaining(urls=10, seconds=5.0), Remaining(urls=4, seconds=60.0, host="a.test")
    assert of_parts([quick, slow], silent=0) == Remaining(urls=14, seconds=60.0, host="a.test")
    idle, stopped = Remaining(urls=0, seconds=0.0), no_estimate(7, NOT_RUNNING)
    assert of_parts([idle, stopped, stopped], silent=0).why == NOT_RUNNING
    assert of_parts([quick, stopped], silent=0).why == f"of some parts: {NOT_RUNNING}"
    assert of_parts([quick], silent=1).why == "1 part can't tell"


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), max_size=200))
def test_a_history_is_in_order_and_has_the_first_and_the_last_moment_of_a_run(
    moments: list[tuple[float, bool]],
) -> None:
    history = History(points=[])
    for at, is_last in moments:
        history.add(Point(at, 1, 1), is_last=is_last)
        times = [point.at for point in history.points]
        assert times == sorted(set(times))
        assert times[-1] == at or (not is_last and times[-1] > at - history.step_s)


def test_a_history_is_bounded_however_long_a_crawl_runs() -> None:
    history = History(points=[])
    for second in range(100_000):
        history.add(Point(float(second), 2 * second, second))
    assert len(history.points) <= MAX_POINTS
    assert history.points[0].at == 0.0
    gaps = {after.at - before.at for before, after in zip(history.points, history.points[1:], strict=False)}
    assert gaps == {history.step_s}


def test_parts_are_added_up_at_each_moment() -> None:
    one, two = [Point(1.0, 10, 1), Point(3.0, 20, 5)], [Point(2.0, 4, 4)]
    assert together([one, two]) == [Point(1.0, 10, 1), Point(2.0, 14, 5), Point(3.0, 24, 9)]
    many = [[Point(float(n * 50 + part), n, n) for n in range(MAX_POINTS)] for part in range(50)]
    points = together(many)
    assert len(points) == MAX_POINTS
    assert (points[-1].finished, points[0].at) == (50 * (MAX_POINTS - 1), 0.0)


def test_a_history_outlasts_its_process_and_a_damaged_one_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "course.json"
    assert read_history(path).points == []
    history = History(points=[Point(1.0, 3, 2)])
    write_history(path, history)
    assert read_history(path) == history
    path.write_bytes(path.read_bytes()[:-3])
    assert read_history(path).points == []


def test_a_history_to_which_access_is_denied_counts_as_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "course.json"
    path.touch()
    with monkeypatch.context() as denied:
        denied.setattr(os, "stat", deny)
        denied.setattr(os, "open", deny)
        assert read_history(path) == History()
    path.unlink()
    os.mkfifo(path)
    assert read_history(path) == History()


def test_a_history_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "course.json"
    (tmp_path / "course.new").mkdir()
    write_history(path, History(points=[]))
    assert not path.exists()


def test_people_see_a_few_points_evenly_spread() -> None:
    course = [CoursePoint(at=f"2026-11-23T00:00:{n:02}.000Z", discovered=2 * n, finished=n) for n in range(41)]
    rows = course_rows(course)
    assert [text.split()[0][17:19] for _, text in rows] == ["00", "10", "20", "30", "40"]
    assert rows[-1] == ("", "2026-11-23T00:00:40Z  40 of 80 finished")
    assert course_rows(course[:1]) == []
    assert thin([1, 2, 3], 2) == [1, 3]


def test_moments_that_look_the_same_are_shown_once() -> None:
    told = [("2026-11-29T19:18:23.1Z", 1, 0), *((f"2026-11-29T19:18:25.{each}Z", 237, 21) for each in (1, 4, 7))]
    course = [CoursePoint(at=at, discovered=discovered, finished=finished) for at, discovered, finished in told]
    assert [text for _, text in course_rows(course)] == [
        "2026-11-29T19:18:23Z   0 of 1 finished",
        "2026-11-29T19:18:25Z  21 of 237 finished",
    ]
