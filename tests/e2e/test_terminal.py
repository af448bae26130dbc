"""What a crawl does whose terminal, or whoever reads what it says, is gone."""

import subprocess
import sys
from pathlib import Path

from tests.e2e.crawling import COMPLETE, ONCEOVER, Web, environment, fetched
from tests.timeouts import MAX_WAIT_S

FAILING = """
import sys
from crawler.cli import main
from crawler.cli.run.diagnostics import Lines

async def show_progress(*_, **__):
    raise ZeroDivisionError("no rate")

Lines.show_progress = show_progress
main()
"""


def test_a_crawl_outlives_the_display_of_its_progress(tmp_path: Path, web: Web) -> None:
    crawl = [sys.executable, "-c", FAILING, "crawl", *web.options, "--dir", "crawl"]
    ended = subprocess.run(crawl, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=MAX_WAIT_S)
    assert ended.returncode == COMPLETE, ended
    assert ended.stdout.startswith("The crawl is complete.")
    assert "Traceback" not in ended.stderr
    assert "ZeroDivisionError: no rate" in (tmp_path / "crawl" / "logs" / "crawl.log").read_text()
    assert set(fetched(tmp_path / "crawl")) == web.pages


def test_a_crawl_ends_as_it_would_when_nobody_reads_what_it_says(tmp_path: Path, web: Web) -> None:
    process = subprocess.Popen(
        [ONCEOVER, "crawl", *web.options, "--dir", "crawl", "--set", "progress.interval_s=0.1"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    assert process.wait(MAX_WAIT_S) == COMPLETE
    assert set(fetched(tmp_path / "crawl")) == web.pages


def test_a_crawl_needs_neither_stdin_nor_stdout_nor_stderr(tmp_path: Path, web: Web) -> None:
    crawl = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", str(ONCEOVER), "crawl", *web.options, "--dir", "crawl"]
    assert (
        subprocess.run(crawl, cwd=tmp_path, env=environment(), check=False, timeout=MAX_WAIT_S).returncode == COMPLETE
    )
    assert set(fetched(tmp_path / "crawl")) == web.pages
