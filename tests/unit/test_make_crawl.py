"""That `make crawl` calls only failures an error."""

import shutil
import subprocess
from pathlib import Path

import pytest

from crawler.codes.exit_codes import COMPLETE, FAILED, LIMIT, REFUSED, STOPPED, USAGE

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.mark.parametrize("seeds", ["", "SEEDS=https://example.org/"])
@pytest.mark.parametrize(
    ("code", "is_error"),
    [(COMPLETE, False), (LIMIT, False), (STOPPED, False), (FAILED, True), (USAGE, True), (REFUSED, True)],
)
def test_a_crawl_that_was_stopped_in_order_is_no_error(tmp_path: Path, code: int, is_error: bool, seeds: str) -> None:
    program = tmp_path / "bin" / "onceover"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    ready = tmp_path / "ready-to-run"  # as it is: nothing is installed
    command = ["make", "crawl", f"VENV={tmp_path}", f"--old-file={ready}", *seeds.split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ("Error" in ended.stderr, ended.returncode != 0) == (is_error, is_error), ended
