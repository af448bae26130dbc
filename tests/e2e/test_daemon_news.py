"""The daemon tells a program of the operator what becomes of its crawls."""

import os
import signal
from pathlib import Path

import msgspec

from crawler.serve.life.news import News
from tests.e2e.crawling import USAGE, Web, assert_told, onceover
from tests.e2e.test_daemon import SLOWLY_S, Served, serving, write


def script(folder: Path, text: str) -> Path:
    path = folder / "tell"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def told(home: Path, name: str) -> list[News]:
    """What the program was told of a crawl, as far as it has written it."""
    path = home / "told"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [news for news in (msgspec.json.decode(line, type=News) for line in lines) if news.crawl == name]


def wait_for(served: Served, name: str, *states: str) -> list[News]:
    served.wait(lambda: [news.state for news in told(served.home, name)] == list(states), f"{states} of {name}")
    return told(served.home, name)


def test_a_program_is_told_of_each_state_once(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    (home / "bad.toml").write_text("[crawl]\nseeds = 5\n")
    options = ("--restart-delay", "0", "--notify", str(script(tmp_path, "cat >> told").relative_to(tmp_path)))
    with serving(home, *options) as served:
        [bad] = wait_for(served, "bad", "broken")
        assert "bad.toml:2: crawl.seeds: expected a list of texts" in bad.lines[0]
        first = served.wait_for_pid("a")
        os.kill(first, signal.SIGKILL)
        served.wait(lambda: served.pid("a") not in (None, first), "second process")
        served.hurry("a")
        _, crashed, running, complete = wait_for(served, "a", "running", "crashed", "running", "complete")
        assert (crashed.exit_code, crashed.old_state) == (-9, "running")
        assert crashed.reason == "killed by signal 9; the system may have run out of memory"
        assert (complete.exit_code, complete.directory) == (0, running.directory)
        served.end()
    with serving(home, *options) as served:
        served.wait(lambda: "a: complete: nothing is left to fetch" in served.daemon.err, "list")
        (home / "a.toml").unlink()
        served.daemon.signal(signal.SIGHUP)
        wait_for(served, "a", "running", "crashed", "running", "complete", "removed")
        served.end()
        assert len(told(home, "bad")) == 1


def test_an_event_is_told_again_if_the_daemon_is_killed_meanwhile(tmp_path: Path, web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", web)
    # Processes that outlast a test would be a fault.
    text = f"cat >> told; while grep -q complete told && [ ! -e go ] && [ -e '{home}' ]; do sleep 0.1; done"
    options = ("--notify", str(script(tmp_path, text)))
    with serving(home, *options) as served:
        wait_for(served, "a", "running", "complete")
        served.daemon.signal(signal.SIGKILL)
        served.daemon.process.wait()
    (home / "go").touch()
    with serving(home, *options) as served:
        again = wait_for(served, "a", "running", "complete", "complete")[-1]
        assert again.old_state == "running"
        served.end()
    with serving(home, *options) as served:
        served.wait(lambda: "a: complete: nothing is left to fetch" in served.daemon.err, "list")
        served.end()
    assert len(told(home, "a")) == 3


def test_a_program_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    for name, said in (("missing", "does not exist"), ("text", "is not executable")):
        assert_told(onceover("daemon", tmp_path, "--notify", tmp_path / name, cwd=tmp_path), USAGE, said)
