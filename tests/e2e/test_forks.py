"""Commands as forks, for the tests themselves."""

import subprocess
import sys
from pathlib import Path

from crawler.testing.timeouts import MAX_WAIT_S

INTERRUPTED = """
import os, signal
from crawler.simweb.process import running
from tests.e2e.crawling import SMALL, environment
from tests.e2e.forks import forking

with forking(environment()):
    try:
        with running(SMALL):
            os.killpg(0, signal.SIGINT)
    except KeyboardInterrupt:
        print("nothing is left")
"""


def test_ctrl_c_ends_the_tests_and_leaves_no_process_behind(repository: Path) -> None:
    """A terminal sends it to all of their group. What they have started is ended by them, in order."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=repository,
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=MAX_WAIT_S,
    )
    assert (ended.returncode, ended.stdout) == (0, "nothing is left\n"), ended.stderr
