"""Real URLs, where the corpora lie beside the repository."""

import gzip
from functools import cache
from pathlib import Path

import pytest

LISTS = Path(__file__).resolve().parents[4] / "shared" / "corpora" / "url-lists"


@cache
def real_urls() -> list[str]:
    """Distinct URLs of the lists; skips the test where there are none."""
    if not LISTS.is_dir():
        pytest.skip(f"the URL lists are not there: {LISTS}")
    lines: dict[str, None] = {}
    for path in sorted(LISTS.glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            lines.update(dict.fromkeys(line.strip() for line in file))
    return list(lines)
