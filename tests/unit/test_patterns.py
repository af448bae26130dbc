"""What regular expressions may not use, because not all Pythons agree on it."""

import re

from tests.conftest import REPOSITORY

POSSESSIVE_GROUP = re.compile(r'\)(?:[*+?]|\{[^"{}]*\})\+(?!=)')


def test_no_group_is_repeated_possessively() -> None:
    """Before Python 3.11.5, which Debian 12 does not have, such repeats match wrongly; atomic groups say the same."""
    for package in ("config", "crawler", "frontier", "visited"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            assert POSSESSIVE_GROUP.search(path.read_text(encoding="utf-8")) is None, path


def test_the_search_for_them_finds_them() -> None:
    assert all(POSSESSIVE_GROUP.search(pattern) for pattern in (r"(?:ab)*+", r"(?:ab)++", r"(?:a)?+", r"(?:a){0,9}+"))
