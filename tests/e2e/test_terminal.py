"""What a crawl does whose terminal, or whoever reads what it says, is gone."""

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from crawler.cli.operate.top import screen
from crawler.control.replies import CrawlStatus, HostForm, HostList
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.records import record_files
from tests.e2e.crawling import COMPLETE, ONCEOVER, Web, environment, fetched, setting
from tests.e2e.operating import operated
from tests.unit.operate.stored_crawls import make
from tests.unit.serve.samples import FRONTIER

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


def in_latin_1(directory: Path, *arguments: str) -> bytes:
    """What a command prints where stdout is not in UTF-8, as in a locale of ISO 8859-1."""
    environ = {**environment(), "PYTHONIOENCODING": "latin-1"}
    ended = subprocess.run(
        [ONCEOVER, *arguments], cwd=directory, env=environ, capture_output=True, check=False, timeout=MAX_WAIT_S
    )
    assert ended.returncode == COMPLETE, ended
    return ended.stdout


def test_characters_that_a_terminal_lacks_are_escaped_and_csv_has_them_in_utf_8(tmp_path: Path) -> None:
    (tmp_path / "é—.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n', encoding="utf-8")
    assert in_latin_1(tmp_path, "config", "check", "é—.toml").startswith(b"\xe9\\u2014.toml is valid")
    make(tmp_path / "crawl")
    (records,) = record_files(tmp_path / "crawl" / "records")
    found = {"url": "http://a.test/x", "state": "done", "status": 404, "kind": "link", "via": "http://a.test/"}
    with records.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps({'number': 99, 'depth': 1, 'anchor': 'é—', **found})}\n")
    assert "é—".encode() in in_latin_1(tmp_path, "report", "crawl", "dead-links", "--csv")


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_top_goes_on_until_ctrl_c_or_the_end_of_the_crawl(tmp_path: Path, *, is_interrupted: bool) -> None:
    with operated(tmp_path, *setting("politeness.min_delay_s=20")) as here:
        here.crawl.wait_until(here.requests, "requests")
        ours, its = pty.openpty()
        top = [str(ONCEOVER), "top", "crawl", "--interval", "0.1"]
        with subprocess.Popen(top, cwd=tmp_path, env=environment(), stdin=its, stdout=its, stderr=its) as process:
            os.close(its)
            shown = b""
            while b"h00000" not in shown:
                shown += os.read(ours, 1 << 16)
            if is_interrupted:
                process.send_signal(signal.SIGINT)
            else:
                here.do("stop", "--now")
            with suppress(OSError):  # whoever reads a terminal that is closed gets an error
                while read := os.read(ours, 1 << 16):
                    shown += read
            os.close(ours)
            assert process.wait(MAX_WAIT_S) == COMPLETE
        assert b"onceover:" not in shown
        assert (b"The crawl has ended" in shown) is not is_interrupted


def test_a_long_name_of_a_host_leaves_room_for_the_other_columns_of_top() -> None:
    host = HostForm(
        host="a-long-name." * 8,
        key="",
        state="in-process",
        size=1234,
        spent=56,
        leased=1,
        wake_at=None,
        waits="waits " * 20,
    )
    console = Console(width=80)
    with console.capture() as printed:
        status = CrawlStatus(directory="crawl", running=False, pid=None, paused=None, frontier=FRONTIER, run=None)
        console.print(screen(status, HostList(hosts=[host], left=0), Path("crawl")))
    line = printed.get().splitlines()[-1]
    assert line.split()[1:4] == ["in-process", "1,234", "56"]
    assert line.startswith("a-long-name.")
    assert len(line) <= 80
