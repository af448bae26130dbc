"""Settings of crawls are changed through the API of their daemon: at once where that can be, and for later starts."""

import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.crawling import COMPLETE, Web
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import serving, write
from tests.e2e.test_daemon_api import Api, on_socket

AGENT = "us/2.0 (us@our.site)"


def change(api: Api, name: str, *settings: str, dry_run: bool = False, status: int = 200) -> Any:
    body = msgspec.json.encode({"settings": settings, "dry_run": dry_run})
    return api.do("POST", f"/crawls/{name}/configuration", body, status=status)


def holds(reply: Any) -> dict[str, str]:
    return {each["key"]: each["holds"] for each in reply["changes"]}


def shown(api: Api, name: str, key: str) -> Any:
    return next(each for each in api.do("GET", f"/crawls/{name}/configuration")["settings"] if each["key"] == key)


def test_settings_change_in_a_crawl_that_runs_and_last_when_it_starts_again(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    file = write(home, "a", slow_web, "# a remark", delay_s=30.0)
    written = file.read_text()
    with serving(home, "--restart-delay", "0.1") as served:
        api, recorded = on_socket(served), served.directory("a") / "crawl.toml"
        first = served.wait_for_pid("a")
        wanted = ("politeness.max_delay_s=600", f"fetch.user_agent={AGENT}", "daemon.max_open_files=900")
        kinds = {"politeness.max_delay_s": "now", "fetch.user_agent": "restart", "daemon.max_open_files": "now"}
        before = recorded.read_text()
        assert holds(change(api, "a", *wanted, dry_run=True)) == kinds
        assert (file.read_text(), recorded.read_text()) == (written, before)

        assert holds(change(api, "a", *wanted)) == kinds
        assert 'max_delay_s = "10 min"' in recorded.read_text()
        assert set(written.splitlines()) < set(file.read_text().splitlines())
        assert shown(api, "a", "fetch.user_agent")["value"] == f'"{AGENT}"'
        assert "a.toml:" in shown(api, "a", "politeness.max_delay_s")["origin"]
        assert change(api, "a", *wanted)["changes"] == []
        # What the crawl has now is told as long as it runs so.
        old_agent = shown(api, "a", "fetch.user_agent")["running"]
        assert old_agent is not None
        assert AGENT not in old_agent
        assert shown(api, "a", "politeness.max_delay_s")["running"] is None
        assert shown(api, "a", "daemon.max_open_files")["running"] is None
        status = command_here("status", str(served.directory("a")))
        assert f'next start  fetch.user_agent is "{AGENT}"; it was ' in status.out

        os.kill(first, signal.SIGKILL)
        served.wait(lambda: served.pid("a") not in (None, first), "second process")
        assert AGENT in recorded.read_text()
        assert 'max_delay_s = "10 min"' in recorded.read_text()
        assert "max_open_files = 900" in recorded.read_text()
        assert shown(api, "a", "fetch.user_agent")["running"] is None

        # What the crawl has already is still a change of the file.
        for key, value in (("politeness.max_delay_s", "500"), ("fetch.user_agent", "mine/1.0 (us@our.site)")):
            assert command_here("set", str(served.directory("a")), f"{key}={value}").code == COMPLETE
            assert holds(change(api, "a", f"{key}={value}", dry_run=True)) == {key: kinds[key]}
            assert holds(change(api, "a", f"{key}={value}")) == {key: kinds[key]}

        # What the crawl itself refuses is in no file.
        kept = file.read_text(), recorded.read_text()
        refused = change(api, "a", "limits.pages=5", "frontier.queue_by=domain", status=422)
        assert "frontier.queue_by: can't be changed in this crawl" in refused["detail"]
        unknown = change(api, "a", "limits.page=5", status=422)
        assert unknown["problems"] == ["limits.page: unknown key; did you mean limits.pages?"]
        outside = change(api, "a", "crawl.seed_files=/etc/hostname", status=422)
        assert "expected a path within" in outside["problems"][0]
        assert (file.read_text(), recorded.read_text()) == kept

        assert api.do("POST", "/crawls/a/stop", status=202)["state"] in ("ending", "stopped")
        served.wait(lambda: api.do("GET", "/crawls/a")["state"] == "stopped", "end of a")
        assert holds(change(api, "a", "politeness.min_delay_s=0", "politeness.max_delay_s=1")) == {
            "politeness.min_delay_s": "restart",
            "politeness.max_delay_s": "restart",
        }
        api.do("POST", "/crawls/a/start", status=202)
        served.wait_until_complete("a")
        served.end()


def test_a_crawl_reads_its_changed_file_again_and_one_that_has_not_begun_begins_with_it(
    tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    file = write(home, "a", slow_web, delay_s=30.0)
    later = write(home, "later", slow_web, 'daemon.schedule = "0 3 1 1 *"')
    with serving(home) as served:
        api = on_socket(served)
        served.wait_for_pid("a")
        file.write_text(file.read_text() + "limits.pages = 500\n")
        for dry_run in (True, False):
            reply = api.do("POST", "/crawls/a/reload", msgspec.json.encode({"dry_run": dry_run}))
            assert (holds(reply), reply["file"]) == ({"limits.pages": "now"}, str(file))
            assert shown(api, "a", "limits.pages")["value"] == ("unset" if dry_run else "500")
        file.write_text(file.read_text() + "limits.page = 500\n")
        assert "did you mean limits.pages" in api.do("POST", "/crawls/a/reload", status=422)["detail"]

        assert change(api, "later", "limits.pages=5")["changes"][0]["text"] == "limits.pages is 5; it was unset"
        assert "pages = 5\n" in later.read_text()
        assert shown(api, "later", "limits.pages")["value"] == "5"
        later.unlink()
        assert "found nothing" in change(api, "later", "limits.pages=6", status=409)["detail"]
        served.end()


def test_the_text_of_a_configuration_is_changed_as_a_whole_or_not_at_all(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    file = write(home, "a", slow_web, delay_s=30.0)
    with serving(home) as served:
        api, path = on_socket(served), "/crawls/a/configuration/text"
        served.wait_for_pid("a")
        before = api.do("GET", path)["text"]
        assert before == file.read_text()

        def send(text: str, *, status: int = 200) -> Any:
            body = {"text": text, "before": api.do("GET", path)["text"]}
            return api.do("POST", path, msgspec.json.encode(body), status=status)

        site = '[[site]]\nmatch = ["b.test"]\npoliteness.min_delay_s = 20\n'
        assert set(holds(send(f"{before}{site}"))) == {"site[1].match", "site[1].politeness.min_delay_s"}
        assert "[[site]]" in (served.directory("a") / "crawl.toml").read_text()
        assert shown(api, "a", "site[1].match")["running"] is None
        wrong = send(f"{before}limits.pages = 0\n", status=422)
        assert f"a.toml:{before.count(chr(10)) + 1}: limits.pages" in wrong["problems"][0]
        # What only the crawl can judge.
        refused = send(f'{before}urls.rules = ["drop-fragment"]\n', status=422)
        assert "urls.rules: can't be changed in this crawl" in refused["detail"]
        assert file.read_text() == f"{before}{site}"
        lost = msgspec.json.encode({"text": before, "before": before})
        assert "changed by somebody else" in api.do("POST", path, lost, status=409)["detail"]

        # A configuration that can't be used is mended.
        file.write_text("[crawl\n")
        api.do("POST", "/reload")
        assert send(before)["running"]
        assert api.do("GET", "/crawls/a")["lines"] == []
        served.end()
