"""Folders and files stay small: a folder that grows needs rooms, and a file that grows holds two ideas."""

from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ["config", "crawler", "frontier", "visited"]
MAX_FILES = 15
MAX_LINES = 300


def modules(package: str) -> list[Path]:
    found = sorted((REPOSITORY / package).rglob("*.py"))
    assert found, f"{package} has no Python files"
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_has_more_files_than_a_reader_can_survey(package: str) -> None:
    files = Counter(path.parent.relative_to(REPOSITORY) for path in modules(package) if path.stem != "__init__")
    full = [f"{folder} ({number})" for folder, number in files.items() if number > MAX_FILES]
    assert not full, f"more than {MAX_FILES} Python files beside __init__.py; give what belongs together a room: {full}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_longer_than_a_reader_can_keep_in_mind(package: str) -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules(package)}
    long = [f"{path.relative_to(REPOSITORY)} ({number})" for path, number in lines.items() if number > MAX_LINES]
    assert not long, f"more than {MAX_LINES} lines; divide what holds two ideas: {long}"
