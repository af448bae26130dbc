"""docs/architecture.md shows what a page costs as `tests.bench.budget` measures it: the same steps and cases."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tests.bench.budget import CASES, REST, STEPS, WHOLE, step_of, table

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "architecture.md"


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def shown() -> list[list[str]]:
    _, heading, section = PAGE.read_text(encoding="utf-8").partition("\n## What a page costs\n")
    assert heading
    return rows(section.partition("\n## ")[0])


def test_the_table_has_the_steps_and_cases_of_the_benchmark() -> None:
    made = rows(table({case: dict.fromkeys((*STEPS, REST, WHOLE), 0.0) for case in CASES}))
    assert [row[0] for row in shown()] == [row[0] for row in made]
    assert shown()[0] == made[0]


def test_the_steps_add_up_to_the_page() -> None:
    columns = list(zip(*[map(int, row[1:]) for row in shown()[2:]], strict=True))
    assert len(columns) == len(CASES)
    for *steps, whole in columns:
        assert abs(sum(steps) - whole) <= len(steps)  # each is rounded


def test_each_step_has_files() -> None:
    for beginnings in STEPS.values():
        assert all((REPOSITORY / beginning).exists() for beginning in beginnings)


def test_a_sample_belongs_to_the_innermost_step_of_its_stack() -> None:
    def frame_in(file: str, call: str, names: dict[str, Any]) -> FrameType:
        exec(compile(f"def run(): return {call}", str(REPOSITORY / file), "exec"), names)
        found = names["run"]
        assert callable(found)
        frame = found()
        assert isinstance(frame, FrameType)
        return frame

    inner = frame_in("crawler/record/inner.py", "current()", {"current": lambda: sys._getframe(1)})
    assert step_of(inner) == "record"
    outer = {"current": lambda: frame_in("elsewhere/library.py", "now()", {"now": lambda: sys._getframe(1)})}
    assert step_of(frame_in("crawler/fetch/outer.py", "current()", outer)) == "fetch"
    assert step_of(sys._getframe()) == REST
