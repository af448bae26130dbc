"""What an operator does to a crawl while it runs, and that the same commands work when it does not."""

import getpass
import os
import signal
import socket
import stat
from pathlib import Path

import msgspec
import pytest

from crawler.control.process import is_stopped
from crawler.control.replies import QueueForm, WrittenFile
from crawler.operate.report.forms import Report
from crawler.status import number_of
from frontier import FrontierStats
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    LIMIT,
    REFUSED,
    SMALL,
    STOPPED,
    USAGE,
    Web,
    assert_sound,
    assert_told,
    fetched,
    onceover,
    setting,
    started,
)
from tests.e2e.operating import SLOW, Operated, command_here, operated

PACED = setting("politeness.min_delay_s=3")
"""Such a crawl is complete after 24 seconds and more, so it can be met on its way however busy the machine is."""
HURRIED = setting("politeness.min_delay_s=0")


def test_a_paused_crawl_asks_no_server_says_why_and_goes_on(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 3, "requests")
        paused = here.do("pause", "--reason", "it is night")
        assert_told(paused, COMPLETE)
        assert paused.out.startswith(f"{here.directory} is paused: it is night")
        here.wait_until_drained()
        taken = here.do("checkpoint", "--json").json()
        frontier = msgspec.convert(here.status()["frontier"], FrontierStats)
        assert taken["settled"] == frontier.done + frontier.failed + frontier.excluded > 0
        assert (taken["running"], taken["queued"]) == (True, frontier.pending + frontier.retrying)
        records, archive = msgspec.convert(taken["files"], list[WrittenFile])
        assert (Path(records.file).parent, Path(archive.file).parent) == (Path("records"), Path("warc"))
        for each in (records, archive):
            assert (here.directory / each.file).stat().st_size == each.bytes > 0
        assert f"with all output\n    {records.file}: " in here.do("checkpoint").out
        report = msgspec.convert(here.do("report", "--json").json(), Report)
        assert (report.running, report.source, report.summary.settled) == (True, "records", taken["settled"])
        assert report.summary.remaining.urls == taken["queued"]
        assert report.summary.pages > 0
        exported = here.do("export", "--format", "jsonl", "--to", str(tmp_path / "pages.jsonl"))
        assert exported.out == f"{number_of(taken['settled'], 'row')}: {tmp_path / 'pages.jsonl'}\n"
        asked = here.requests()
        again = here.do("pause")
        assert_told(again, USAGE, "is already paused: it is night; resume it first")
        status = here.status()
        assert (status["running"], status["paused"], status["pid"]) == (True, "it is night", here.crawl.pid)
        told = here.do("status").out
        assert "runs in process" in told
        assert "paused: it is night" in told
        # All rests are over, and still nobody is asked.
        here.crawl.wait_until(lambda: "rests" not in here.do("top").out, "end of the rests")
        assert "may be asked, but the crawl is paused: it is night" in here.do("top").out
        assert here.requests() == asked
        assert len(asked) < 40
        here.hurry()
        resumed = here.do("resume", "--json")
        assert resumed.json()["paused"] is None
        assert_told(here.do("resume"), USAGE, "is not paused; nothing was changed")
        assert_told(here.crawl.wait(), COMPLETE)
    assert fetched(here.directory) == dict.fromkeys(here.web.pages, 1)
    assert not (here.directory / "control").exists()


def test_a_pause_outlasts_the_process_and_the_commands_say_the_same_then(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.do("pause", "--reason", "it is night")
        stopped = here.do("stop")
        assert_told(stopped, COMPLETE)
        assert "has stopped. To go on: onceover crawl --dir " in stopped.out
        assert here.crawl.wait().code == STOPPED
        status = here.status()
        assert (status["running"], status["paused"], status["pid"]) == (False, "it is night", None)
        assert f"{here.directory} does not run, and all of it is on the disk: " in here.do("checkpoint").out
        assert "does not run, and is paused: it is night. To go on: onceover resume" in here.do("status").out
        refused = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
        assert_told(refused, REFUSED, "is paused: it is night. `onceover resume crawl` lets it continue")
        assert_told(here.do("resume"), COMPLETE)
        assert onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path).code == COMPLETE
    assert fetched(here.directory) == dict.fromkeys(here.web.pages, 1)


@pytest.mark.parametrize("now", [False, True])
def test_stop_ends_a_crawl_as_a_signal_does_and_waits_for_it(tmp_path: Path, now: bool) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 3, "requests")
        ended = here.do("stop", *(["--now"] if now else []), "--json")
        assert ended.json()["was_running"] is True
        # It waited: nobody uses the directory any more.
        assert_sound(here.directory)
        assert here.crawl.wait().code == STOPPED
        assert_told(here.do("stop"), COMPLETE)
        assert here.do("stop").out == f"{here.directory} does not run\n"
        assert onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path).code == COMPLETE
    pages = fetched(here.directory)
    assert pages.keys() == here.web.pages
    assert now or set(pages.values()) == {1}


def test_an_added_url_is_fetched_and_every_other_one_is_judged(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        seed, new = f"http://h00000.{SLOW.domain}/", f"http://h00000.{SLOW.domain}/no-page-links-here"
        outside = "http://outside.test/"
        listed = tmp_path / "more.txt"
        listed.write_text(f"# found elsewhere\n\n{new}\n{outside}\n")
        here.crawl.wait_until(lambda: "done" in here.look("url", seed).out, "first page")
        assert_told(here.do("pause"), COMPLETE)
        added = here.do("add", seed, "mailto:someone", "--from", str(listed), "--json", "--precedence", "0")
        assert added.code == FAILED
        judged = [msgspec.json.decode(line) for line in added.out.splitlines()]
        assert [each["outcome"] for each in judged] == ["known", "invalid", "added", "refused"]
        # These reasons are those of the API and of programs, too.
        assert judged[0]["reason"].endswith("; with force it is fetched again")
        assert judged[3]["reason"] == (
            "out-of-scope; with force it is added all the same; to follow its links, too, add it to crawl.seeds"
        )
        assert here.do("add", new, "--json").json()["outcome"] == "waits"
        forced = here.do("add", "--force", seed)
        assert_told(forced, COMPLETE)
        assert "(again: done, 200)" in forced.out
        here.hurry()
        assert_told(here.do("resume"), COMPLETE)
        assert_told(here.crawl.wait(), COMPLETE)
        assert here.do("add", new, "--json").json()["outcome"] == "known"
        paths = [request.target for request in here.requests() if request.host.startswith("h00000")]
    assert paths.count("/no-page-links-here") == 1
    assert paths.count("/") == 2
    entry = here.look("url", new, "--json").json()
    assert (entry["state"], entry["status"]) == ("done", 404)


def test_a_url_is_added_to_a_crawl_that_does_not_run(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    new = f"http://h00001.{SMALL.domain}/no-page-links-here"
    directory = str(tmp_path / "crawl")
    assert command_here("add", directory, new).out == f"    added  {new}\n"
    assert "1 queued" in command_here("status", directory).out
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert command_here("inspect", directory, "url", new, "--json").json()["status"] == 404
    assert_sound(tmp_path / "crawl")


def test_a_forgotten_url_is_new_again(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        seed = f"http://h00000.{SLOW.domain}/"
        here.crawl.wait_until(lambda: here.look("url", seed).out.count("done"), "first page")
        assert_told(here.do("pause"), COMPLETE)
        # A page that is in flight may have a link to it.
        here.wait_until_drained()
        assert here.do("forget", seed, "--json").json()["outcome"] == "forgotten"
        assert here.look("url", seed).code == FAILED
        assert here.do("forget", seed, "--json").json()["outcome"] == "unknown"
        assert here.do("add", seed, "--json").json()["outcome"] == "added"
        here.hurry()
        here.do("resume")
        assert_told(here.crawl.wait(), COMPLETE)
    assert_sound(here.directory)


def waiting(here: Operated, host: str) -> int:
    """How many URLs of a host wait."""
    queues = [msgspec.json.decode(line, type=QueueForm) for line in here.look("queues", "--json").out.splitlines()]
    return sum(queue.size for queue in queues if queue.host == host)


def test_hosts_are_retired_and_given_budgets_while_they_are_served(tmp_path: Path) -> None:
    host = f"h00001.{SLOW.domain}"
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: host in here.look("queues", "--json").out, host)
        retired = here.do("retire", host, "--json").json()
        assert (retired["host"], retired["retired"], retired["served"]) == (host, True, False)
        assert_told(here.do("retire", host), USAGE, "is retired by an operator; nothing was changed")
        assert_told(here.do("retire", "nowhere.test"), USAGE, "has no queue of nowhere.test")
        # One of its URLs may be in flight.
        here.crawl.wait_until(lambda: "is retired by the operator" in here.do("top", "--match", host).out, "its rest")
        assert "retired" in here.look("queues", "--retired").out
        other = f"h00002.{SLOW.domain}"
        # One that waits may be in flight, and is kept no more, when the budget changes.
        here.crawl.wait_until(lambda: waiting(here, other) > 2, f"URLs of {other}")
        spent = here.do("budget", other, "0")
        assert f"{other} is retired, because its budget is spent: " in spent.out
        assert_told(here.do("budget", other, "default"), COMPLETE)
        here.hurry()
        assert_told(here.crawl.wait(), COMPLETE)
        assert f"{host} is served" in here.do("unretire", host).out
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert fetched(here.directory) == dict.fromkeys(here.web.pages, 1)


def test_what_inspect_tells_of_a_running_crawl_it_tells_of_a_stopped_one(tmp_path: Path) -> None:
    seed = f"http://h00000.{SLOW.domain}/"

    def looks(here: Operated) -> list[str]:
        return [
            here.look("url", seed, "--json").out,
            here.look("queues", "--json", "--sort", "key").out,
            here.look("queues").out,
            here.look("refused", "--json").out,
            onceover("frontier", "export", here.directory, cwd=tmp_path).out,
        ]

    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 8, "requests")
        here.do("pause")
        here.wait_until_drained()
        while_running = looks(here)
        visited = here.look("visited", "--json").json()
        assert_told(here.look("fsck"), REFUSED, f"in use by process {here.crawl.pid}", "onceover stop")
        here.do("stop")
        here.crawl.wait()
    after = looks(here)
    # Link counts are in memory while a crawl runs, and the export reads what is stored.
    assert after[:4] == while_running[:4]
    assert len(after[4].splitlines()) == len(while_running[4].splitlines()) > 8
    stored = here.look("visited", "--json").json()
    assert (stored["backend"], stored["count"]) == (visited["backend"], visited["count"])


def test_top_tells_why_each_host_waits(tmp_path: Path) -> None:
    with operated(tmp_path, *setting("politeness.min_delay_s=20")) as here:
        here.crawl.wait_until(here.requests, "requests")
        here.crawl.wait_until(lambda: "snoozed" in here.do("top").out, "a rest")
        hosts = here.do("top", "--json").json()["hosts"]
        assert isinstance(hosts, list)
        assert (hosts[0]["host"], hosts[0]["state"]) == (f"h00000.{SLOW.domain}", "snoozed")
        assert hosts[0]["waits"] == "rests between requests"
        assert hosts[0]["wake_at"]
        here.do("stop", "--now")
        assert "the crawl does not run" in here.do("top").out


def test_the_socket_of_a_killed_crawl_disturbs_neither_commands_nor_the_next_run(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        here.crawl.wait_until(lambda: len(here.requests()) > 3, "requests")
        here.crawl.signal(signal.SIGKILL)
        here.crawl.process.wait()
        assert (here.directory / "control").is_socket()
        assert here.status()["running"] is False
        assert_sound(here.directory)
        with started("crawl", "--dir", "crawl", cwd=tmp_path) as again:
            resumed = Operated(tmp_path, here.web, tmp_path / "requests.jsonl", again)
            again.wait_until(lambda: "Resuming" in again.err, "resuming")
            again.wait_until(lambda: resumed.status()["running"], "a status")
            assert resumed.status()["pid"] == again.pid
            resumed.hurry()
            assert_told(again.wait(), COMPLETE)
    assert fetched(here.directory).keys() == here.web.pages


def test_clients_that_send_garbage_much_or_nothing_do_not_disturb_others(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        path = str(here.directory / "control")
        with (
            socket.socket(socket.AF_UNIX) as silent,
            socket.socket(socket.AF_UNIX) as loud,
            socket.socket(socket.AF_UNIX) as endless,
        ):
            for client in (silent, loud, endless):
                client.connect(path)
            loud.sendall(b"GET / HTTP/1.1\r\n\r\n\xff\xfe\x00\n" * 10)
            endless.settimeout(5)
            with pytest.raises(OSError, match=r"timed out|Broken pipe|reset"):
                endless.sendall(b"[" * 200_000_000)
            assert here.status()["running"] is True
            assert "expected a request as a line of JSON" in loud.recv(10_000).decode()
            here.hurry()
            assert_told(here.crawl.wait(), COMPLETE)
    assert fetched(here.directory) == dict.fromkeys(here.web.pages, 1)


def test_only_the_owner_may_control_a_crawl(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        control = here.directory / "control"
        assert stat.S_IMODE(control.lstat().st_mode) == 0o600
        control.chmod(0o666)
        assert_told(here.do("status"), REFUSED, "expected mode 600, found 666", "chmod 600")
        control.chmod(0o600)
        assert_told(here.do("status"), COMPLETE)


def test_a_crawl_of_another_user_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with operated(tmp_path, *PACED) as here:
        user = getpass.getuser()
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
        told = f"belongs to {user}: run the command as {user} or as root, as with sudo -u {user}"
        assert_told(here.do("status"), REFUSED, told)
        assert_told(here.do("pause"), REFUSED, told)
        here.crawl.signal(signal.SIGKILL)
        here.crawl.process.wait()
        # Its socket is still there, but nobody listens.
        assert here.status()["running"] is False


def test_a_stopped_process_is_told_as_such(tmp_path: Path) -> None:
    with operated(tmp_path, *PACED) as here:
        pid = here.crawl.pid
        here.crawl.signal(signal.SIGSTOP)
        try:
            here.crawl.wait_until(lambda: is_stopped(pid), "stop")
            silent = here.do("pause")
        finally:
            here.crawl.signal(signal.SIGCONT)
        assert_told(
            silent, FAILED, f"process {pid}, which runs the crawl, is stopped", f"kill -CONT {pid}", "try again"
        )
        # Nothing was sent, so nothing is carried out later.
        assert here.status()["paused"] is None


def test_a_crawl_that_can_have_no_socket_warns_and_runs(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    assert onceover("crawl", *options, "--max-pages", "5", cwd=tmp_path).code == LIMIT
    (tmp_path / "crawl" / "control").write_text("precious")
    ended = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
    assert_told(ended, COMPLETE, "can't reach it", "expected nothing, or the socket of an earlier run, found a file")
    assert (tmp_path / "crawl" / "control").read_text() == "precious"
    assert_told(onceover("status", "crawl", cwd=tmp_path), REFUSED, "found a file")


def test_a_directory_of_any_depth_can_be_controlled(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 60] * 3)
    deep.mkdir(parents=True)
    with operated(deep, *PACED) as here:
        assert here.status()["pid"] == here.crawl.pid
        here.do("stop")
        assert here.crawl.wait().code == STOPPED


def test_a_crawl_in_memory_answers_too(tmp_path: Path) -> None:
    seed = f"http://h00000.{SLOW.domain}/"
    with operated(tmp_path, *PACED, *setting('frontier.backend="memory"')) as here:
        here.crawl.wait_until(lambda: "done" in here.look("url", seed).out, "first page")
        assert here.do("pause", "--json").json()["paused"] == "by the operator"
        assert here.look("url", seed, "--json").json()["state"] == "done"
        assert "h0000" in here.look("queues").out
        assert "h0000" in here.do("top").out
        assert_told(here.do("checkpoint"), USAGE, "keeps its state in memory alone")
        here.hurry()
        here.do("resume")
        assert_told(here.crawl.wait(), COMPLETE)


def test_a_directory_without_a_crawl_is_told(tmp_path: Path) -> None:
    for command in (["status"], ["pause"], ["stop"], ["top"], ["add"], ["retire"]):
        more = {"add": ["http://a.test/"], "retire": ["a.test"]}.get(command[0], [])
        ended = command_here(*command, str(tmp_path / "nothing"), *more)
        assert_told(ended, REFUSED, "there is no crawl in ", "nothing")
    assert list(tmp_path.iterdir()) == []
