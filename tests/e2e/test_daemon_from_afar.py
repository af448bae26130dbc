"""Commands control the crawls of a daemon at a URL, as they control those in a directory."""

from pathlib import Path

import msgspec
import pytest

from crawler.codes.exit_codes import FAILED, REFUSED, USAGE
from tests.e2e.crawling import COMPLETE, Ended, Web
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import Served, serving, write
from tests.e2e.test_daemon_operators import made
from tests.unit.serve.api.test_api_tls import Files


class Afar:
    """Commands with the URL of a daemon, and a token in the environment."""

    def __init__(self, served: Served, patch: pytest.MonkeyPatch, *, scheme: str = "http") -> None:
        self.url = (
            f"{scheme}://127.0.0.1:" + served.daemon.err.rpartition(f"{scheme}://127.0.0.1:")[2].partition("/")[0]
        )
        self._patch = patch

    def use(self, token: str) -> None:
        self._patch.setenv("ONCEOVER_TOKEN", token)

    def run(self, *arguments: str, given: bytes = b"") -> Ended:
        return command_here(*arguments, "--url", self.url, given=given)

    def told(self, *arguments: str) -> str:
        """What a command prints that ends well."""
        ended = self.run(*arguments)
        assert (ended.code, ended.err) == (COMPLETE, ""), ended
        return ended.out


def test_an_operator_controls_a_crawl_of_a_daemon_on_another_machine(
    tmp_path: Path, slow_web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, files = tmp_path / "home", Files(tmp_path)
    write(home, "a", slow_web, delay_s=30.0)
    files.write_authority(tmp_path / "authority.pem")
    host = f"h00000.{slow_web.params.domain}"
    with serving(home, "--listen", "127.0.0.1:0", "--allow-remote", "crawls.test", *files.options) as served:
        pid = served.wait_for_pid("a")
        afar = Afar(served, monkeypatch, scheme="https")
        afar.use(made(home, "reader", "--read-only"))
        unknown = afar.run("status", "a")
        assert (unknown.code, "has a certificate that does not hold" in unknown.err) == (FAILED, True), unknown

        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        assert "a " in afar.told("status")
        assert msgspec.json.decode(afar.told("status", "--json"))["crawls"][0]["name"] == "a"
        assert f"a runs in process {pid}" in afar.told("status", "a")
        assert host in afar.told("top", "a")
        assert msgspec.json.decode(afar.told("top", "a", "--json"))["hosts"]
        for change in (["pause", "a"], ["set", "a", "limits.pages=5"], ["reload", "a"]):
            forbidden = afar.run(*change)
            assert (forbidden.code, "answers 403" in forbidden.err) == (REFUSED, True), forbidden

        afar.use(made(home, "writer"))
        assert "a is paused: the site moves" in afar.told("pause", "a", "--reason", "the site moves")
        assert "is paused: the site moves" in afar.told("status", "a")
        again = afar.run("pause", "a")
        assert (again.code, "already paused" in again.err) == (REFUSED, True), again
        assert afar.told("resume", "a") == "a is no longer paused\n"
        new = f"http://{host}/brand-new"
        assert "added" in afar.told("add", "a", new, "--precedence", "0")
        waits = afar.run("forget", "a", new)
        assert (waits.code, "waits" in waits.err) == (FAILED, True), waits
        unknown = afar.run("forget", "a", "--host", "unknown.test")
        assert (unknown.code, unknown.err) == (COMPLETE, "the crawl has no URL of unknown.test\n")
        assert "queued again" in afar.told("recrawl", "a", "--host", host)
        assert f"{host} is retired" in afar.told("retire", "a", host)
        assert f"{host} is served" in afar.told("unretire", "a", host)
        assert "of 5 spent" in afar.told("budget", "a", host, "5")
        assert "is on the disk" in afar.told("checkpoint", "a")

        would = afar.told("set", "a", "politeness.max_delay_s=50", "--dry-run")
        assert would == "politeness.max_delay_s is 50.0; it was 30.0\nNothing was changed: this was --dry-run.\n"
        wish = afar.told("set", "a", "politeness.max_delay_s=50", "fetch.user_agent=us/2.0 (us@our.site)").splitlines()
        assert [line.partition(";")[0] for line in wish] == [
            "politeness.max_delay_s is 50.0",
            'fetch.user_agent is "us/2.0 (us@our.site)"',
            f"To start again: onceover stop a --url {afar.url}, then onceover start a --url {afar.url}",
        ]
        wrong = afar.run("set", "a", "politeness.max_delay=50")
        assert (wrong.code, "did you mean politeness.max_delay_s?" in wrong.err) == (USAGE, True), wrong
        assert "politeness.max_delay_s = 50.0" in (home / "a.toml").read_text()
        with (home / "a.toml").open("a") as file:
            file.write("limits.pages = 500\n")
        assert afar.told("reload", "a") == "limits.pages is 500; it was unset\n"
        assert msgspec.json.decode(afar.told("reload", "a", "--json"))["changes"] == []
        no_text = afar.run("set", "a", "crawl.name=\udcff")
        assert (no_text.code, "expected arguments in UTF-8" in no_text.err) == (USAGE, True), no_text

        now = afar.run("stop", "a", "--now")
        assert (now.code, "does not offer that" in now.err) == (USAGE, True), now
        stopped = afar.run("stop", "a")
        assert (stopped.code, stopped.err) == (COMPLETE, "Stopping when the URLs in flight are done.\n"), stopped
        go_on = f"onceover start a --url {afar.url}"
        assert stopped.out == f"a has stopped. To go on: {go_on}\n"
        assert served.pid("a") is None
        assert f"a does not run. To go on: {go_on}" in afar.told("status", "a")
        assert "a is " in afar.told("start", "a")
        assert served.wait_for_pid("a") != pid
        served.end()


def test_what_is_wrong_with_a_url_a_token_or_a_name_is_told(
    tmp_path: Path, slow_web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=30.0)
    monkeypatch.delenv("ONCEOVER_TOKEN", raising=False)
    with serving(home, "--listen", "127.0.0.1:0") as served:
        served.wait_for_pid("a")
        afar = Afar(served, monkeypatch)
        (tmp_path / "wrong").write_text("x" * 40)

        def refused(code: int, *arguments: str, given: bytes = b"") -> str:
            ended = afar.run(*arguments, given=given)
            assert (ended.code, ended.out) == (code, ""), ended
            return ended.err

        assert "--url needs a token of the daemon" in refused(USAGE, "status", "a")
        assert "answers 401" in refused(REFUSED, "status", "a", "--token-file", str(tmp_path / "wrong"))
        assert "there is no crawl 'b'" in refused(
            USAGE, "status", "b", "--token-file", "-", given=(home / "token").read_bytes()
        )
        assert "--part and --url can't be together" in refused(
            USAGE, "status", "a", "--part", "0", "--token-file", str(home / "token")
        )
        by_file = ["--token-file", str(home / "token")]
        told = afar.run("set", "a", "fetch.user_agent=us/2.0 (us@our.site)", *by_file)
        again = f"a --url {afar.url} --token-file {home}/token"
        assert told.out.endswith(f"To start again: onceover stop {again}, then onceover start {again}\n"), told
        afar.use((home / "token").read_text())
        for url, why in [
            ("http://crawls.example.org", "expected https://"),
            ("ftp://127.0.0.1", "expected the URL of a daemon"),
            ("https://me:secret@crawls.example.org", "expected the URL of a daemon"),
            ("http://127.0.0.1:99999", "expected the URL of a daemon"),
            ("http://127.0.0.1:9/caf\xe9", "expected the URL of a daemon"),
        ]:
            ended = command_here("status", "a", "--url", url)
            assert (ended.code, why in ended.err) == (USAGE, True), ended
        assert "expected --url of a daemon" in command_here("start", "a").err
        served.end()
    away = afar.run("status", "a")
    assert (away.code, "no daemon listens at" in away.err) == (FAILED, True), away
