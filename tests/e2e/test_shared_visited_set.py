"""Crawls whose visited set lies in a real Redis."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import pytest
import redis

from crawler.codes.exit_codes import AWAY, COMPLETE, LIMIT, STOPPED, USAGE
from crawler.disk.directory import CrawlDirectory
from crawler.serve.old_runs import delete_run
from crawler.simweb.log import read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.crawling import (
    ONCEOVER,
    SMALL,
    TIMEOUT_S,
    Web,
    assert_sound,
    assert_told,
    environment,
    fetched,
    onceover,
    setting,
)
from tests.redis_server import RedisServer, running_redis
from visited.redis.making import own_keys


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


FORMS: list[dict[str, object]] = [{}, {"backend": "redis-dsbf", "leaf_bits": 8192}]
"""The exact set, and leaves so small that they split often."""


DELAY_S = 0.05


def settings(server: RedisServer, *, backend: str = "redis-exact", **options: object) -> list[str]:
    values = {"url": server.url, **options}
    shown = ", ".join(f"{name}={value if isinstance(value, int) else repr(value)}" for name, value in values.items())
    return setting(
        f"visited.backend={backend}", "visited.error_rate=1e-9", "visited.capacity=1000", f"visited.options={{{shown}}}"
    )


def test_a_crawl_that_is_stopped_and_resumed_is_complete_with_a_set_of_its_own(
    tmp_path: Path, web: Web, server: RedisServer
) -> None:
    options = [*web.options, "--dir", "crawl", *settings(server)]
    assert onceover("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    assert_sound(tmp_path / "crawl")
    server.kill()
    refused = onceover("crawl", *options, "--dir", "another", cwd=tmp_path)
    assert_told(refused, AWAY, "visited.backend: Redis at unix:", "be reached", "start it")
    assert interrupted(options, tmp_path) == STOPPED
    with (tmp_path / "stderr").open("wb") as err:
        waiting = subprocess.Popen([ONCEOVER, "crawl", *options], cwd=tmp_path, env=environment(), stderr=err)
    try:
        wait_until(lambda: "it waits for the server" in (tmp_path / "stderr").read_text())
        server.start("--appendonly", "yes")
        assert waiting.wait(TIMEOUT_S) == COMPLETE
    finally:
        waiting.kill()
        waiting.wait()
    assert "Resuming: " in (tmp_path / "stderr").read_text()
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_a_crawl_that_is_resumed_while_the_memory_of_its_server_is_full_waits_and_a_new_one_is_refused(
    tmp_path: Path, web: Web, server: RedisServer
) -> None:
    options = [*web.options, "--dir", "crawl", *settings(server)]
    assert onceover("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory", 1)
        refused = onceover("crawl", *options, "--dir", "another", cwd=tmp_path)
        assert_told(refused, AWAY, "visited.backend: Redis at unix:", "to be free")
        forgotten = onceover("forget", "crawl", *web.pages, cwd=tmp_path)
        assert_told(forgotten, AWAY, "visited.backend: Redis at unix:", "to be free")
        with (tmp_path / "stderr").open("wb") as err:
            waiting = subprocess.Popen([ONCEOVER, "crawl", *options], cwd=tmp_path, env=environment(), stderr=err)
        try:
            wait_until(lambda: "it waits for the server" in (tmp_path / "stderr").read_text())
            client.config_set("maxmemory", 0)
            assert waiting.wait(TIMEOUT_S) == COMPLETE
        finally:
            waiting.kill()
            waiting.wait()
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_an_old_run_of_a_schedule_is_deleted_with_its_set(tmp_path: Path, web: Web, server: RedisServer) -> None:
    runs = [tmp_path / "runs" / f"2026112{day}T030000Z" for day in range(2)]
    with redis.Redis.from_url(server.url) as client:
        for path in runs:
            options = [*web.options, *settings(server), "--dir", str(path), "--max-pages", "3"]
            assert onceover("crawl", *options, cwd=tmp_path).code == LIMIT
            assert_sound(path)
        first, last = (sets_of(client, path) for path in runs)
        assert first
        assert last
        client.config_set("maxmemory", 1)  # as by the sets of old runs
        assert delete_run(runs[0], tmp_path / "pace") is None
        assert set(client.keys("*:visited:*")) == last


def test_an_old_run_of_which_a_part_runs_keeps_its_sets(tmp_path: Path, web: Web, server: RedisServer) -> None:
    runs = [tmp_path / "runs" / f"2026112{day}T030000Z" for day in range(2)]
    options = [*web.options, *settings(server), "--dir", str(runs[0]), *setting("crawl.parts=2")]
    assert onceover("crawl", *options, "--max-pages", "3", cwd=tmp_path).code == LIMIT
    runs[1].mkdir()
    with redis.Redis.from_url(server.url) as client:
        before = set(client.keys("*:visited:*"))
        assert before
        with CrawlDirectory(runs[0] / "part-1"):
            assert "part-1" in str(delete_run(runs[0], tmp_path / "pace"))
        assert set(client.keys("*:visited:*")) == before
        assert delete_run(runs[0], tmp_path / "pace") is None
        assert not client.keys("*:visited:*")


def sets_of(client: redis.Redis, directory: Path) -> set[bytes | str]:
    """The keys of the set of a crawl."""
    patterns = own_keys(CrawlDirectory(directory).visited, besides=None)
    return {key for pattern in patterns for key in client.keys(pattern)}


def interrupted(options: list[str], folder: Path) -> int:
    """The exit code of a crawl that is ended while it waits for its server."""
    err = folder / "stderr-interrupted"
    with err.open("wb") as file:
        waiting = subprocess.Popen([ONCEOVER, "crawl", *options], cwd=folder, env=environment(), stderr=file)
    try:
        wait_until(lambda: "Ctrl-C ends it" in err.read_text())
        waiting.send_signal(signal.SIGINT)
        return waiting.wait(TIMEOUT_S)
    finally:
        waiting.kill()
        waiting.wait()


@pytest.mark.long
def test_each_part_has_a_set_of_its_own_and_begins_another_when_the_crawl_begins_anew(
    tmp_path: Path, web: Web, server: RedisServer
) -> None:
    options = [*web.options, "--dir", "crawl", *settings(server), *setting("crawl.parts=2")]
    with redis.Redis.from_url(server.url) as client:
        first = onceover("crawl", *options, cwd=tmp_path)
        assert first.code == COMPLETE
        assert "all seeds are known" not in first.err  # one part has no seeds
        sets = set(client.keys("*:set"))
        assert len(sets) == 2
        assert onceover("crawl", *options, "--fresh", cwd=tmp_path).code == COMPLETE
        parts = [each.parent for each in (tmp_path / "crawl").glob("part-*/records")]
        assert sum(map(fetched, parts), Counter()) == dict.fromkeys(web.pages, 1)
        tags = {each.rpartition(b":")[0] for each in client.keys("*:visited:*")}
        assert len(tags) == 2
        assert not tags & {each.rpartition(b":")[0] for each in sets}


@pytest.mark.long
def test_what_can_not_be_is_refused_with_what_to_do(tmp_path: Path, web: Web, server: RedisServer) -> None:
    memory = onceover("crawl", *web.options, *settings(server), *setting("frontier.backend=memory"), cwd=tmp_path)
    assert_told(memory, USAGE, "memory can't keep what it asks a server, as redis-exact needs")
    listed = onceover(
        "crawl", *web.options, *settings(server), *setting('visited.white_list=["http://a/"]'), cwd=tmp_path
    )
    assert_told(listed, USAGE, "visited.white_list: expected none")
    secret = setting("visited.backend=redis-exact", "visited.options.url=redis://me:secret@127.0.0.1:1/0")
    assert_told(onceover("crawl", *web.options, *secret, cwd=tmp_path), USAGE, "expected a URL without a password")
    lacking = settings(server, password_env="ONCEOVER_NO_SUCH_VARIABLE")
    assert_told(
        onceover("crawl", *web.options, *lacking, cwd=tmp_path), USAGE, "no variable 'ONCEOVER_NO_SUCH_VARIABLE'"
    )


class Crawls:
    """Four crawls of one web, each with a host of its own to begin with, and with one visited set."""

    def __init__(
        self,
        folder: Path,
        port: int,
        params: WorldParams,
        server: RedisServer,
        *options: str,
        form: dict[str, object] | None = None,
    ) -> None:
        self.folder = folder
        self._options: list[str] = [
            *Web(port, params).options[2:],
            *settings(server, share="four", **(form or {})),  # type: ignore[arg-type]
            *setting(*options),
        ]
        self._domain = params.domain
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._refilled: set[int] = set()

    def directory(self, number: int) -> Path:
        return self.folder / f"crawl-{number}"

    def start(self, number: int, *options: str, **env: str) -> None:
        seed = f"http://h0000{number}.{self._domain}/"
        with (self.folder / f"stderr-{number}").open("ab") as err:
            self._processes[number] = subprocess.Popen(
                [ONCEOVER, "crawl", "--dir", self.directory(number), "--seed", seed, *self._options, *options],
                cwd=self.folder,
                env=environment(**{"ONCEOVER_PACE": str(self.folder / "pace"), **env}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
            )

    def kill(self, number: int) -> None:
        self._processes[number].kill()
        self._processes[number].wait()

    def ended(self, number: int) -> int:
        """The exit code of one."""
        return self._processes[number].wait(TIMEOUT_S)

    def wait(self) -> None:
        for number, process in self._processes.items():
            assert process.wait(TIMEOUT_S) == COMPLETE, (self.folder / f"stderr-{number}").read_text()

    def refill_ended(self) -> None:
        """Add the URLs of crawls that ended again, as an operator does for whom the others wait: a crawl that ended
        when the server died could not say so. One that starts while the server is away is refused, and starts again."""
        for number, process in list(self._processes.items()):
            if process.poll() == AWAY:
                self.start(number)
        for number, process in self._processes.items():
            if process.poll() is not None and number not in self._refilled:
                assert onceover("sharing", str(self.directory(number)), "--refill", cwd=self.folder).code == COMPLETE
                self._refilled.add(number)

    def restart(self, server: RedisServer) -> None:
        server.kill()
        server.start("--appendonly", "yes")
        self._refilled.clear()

    def has_ended(self) -> bool:
        return all(process.poll() is not None for process in self._processes.values())

    def stop(self) -> None:
        for number in self._processes:
            self.kill(number)

    def fetched(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for number in self._processes:
            if (self.directory(number) / "records").exists():
                found += fetched(self.directory(number))
        return found


@pytest.mark.long
def test_crawls_that_share_a_set_fetch_each_page_once_and_keep_the_pace_of_hosts_together(
    tmp_path: Path, server: RedisServer
) -> None:
    log = tmp_path / "requests.jsonl"
    params = msgspec.structs.replace(SMALL, robots_rules=0.0)
    with running(params, log_path=log) as port:
        crawls = Crawls(tmp_path, port, params, server, f"politeness.min_delay_s={DELAY_S}")
        try:
            for number in range(4):
                crawls.start(number)
            crawls.wait()
        finally:
            crawls.stop()
        assert crawls.fetched() == dict.fromkeys(Web(port, params).pages, 1)
        for number in range(4):
            assert_sound(crawls.directory(number))
    at_s: dict[str, list[float]] = {}
    for request in read_json_lines(log):
        at_s.setdefault(request.host, []).append(request.at_s)
    assert len(at_s) == 5
    assert min(after - before for each in at_s.values() for before, after in pairwise(sorted(each))) >= DELAY_S


@pytest.mark.long
def test_a_crawl_that_keeps_another_pace_may_not_share_the_set(tmp_path: Path, server: RedisServer) -> None:
    with running(SMALL) as port:
        crawls = Crawls(tmp_path, port, SMALL, server, "politeness.min_delay_s=30")
        try:
            crawls.start(0)
            client = redis.Redis.from_url(server.url, decode_responses=True)
            wait_until(lambda: client.hlen("{onceover:visited:four}:members") == 1)
            options = [*Web(port, SMALL).options, *settings(server, share="four"), "--dir", "alone"]
            refused = onceover("crawl", *options, cwd=tmp_path)
            assert_told(refused, USAGE, "the crawl in", "crawl-0", "could ask a host at once", "redis-cli HDEL")
            crawls.kill(0)
            again = onceover("crawl", *options, "--max-pages", "1", cwd=tmp_path)
            assert_told(again, USAGE, "If that crawl is gone for good")  # it may come again
            [member] = client.hkeys("{onceover:visited:four}:members")
            assert str(member) in again.err
            client.hdel("{onceover:visited:four}:members", member)
            # The first crawl would fetch the seed.
            assert_told(onceover("crawl", *options, cwd=tmp_path), COMPLETE, "all seeds are known to the visited set")
            assert client.hlen("{onceover:visited:four}:members") == 0
            client.close()
        finally:
            crawls.stop()


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_killed_crawls_and_a_restarted_server_lose_nothing(
    tmp_path: Path, server: RedisServer, form: dict[str, object]
) -> None:
    storm(tmp_path, server, SMALL, form, kills=2)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(10))
def test_a_storm_of_killed_crawls_and_a_restarted_server_loses_nothing(
    tmp_path: Path, server: RedisServer, form: dict[str, object], seed: int
) -> None:
    params = msgspec.structs.replace(SMALL, seed=seed, hosts=12, pages_per_host=30)
    storm(tmp_path, server, params, form, kills=30)


def storm(folder: Path, server: RedisServer, params: WorldParams, form: dict[str, object], *, kills: int) -> None:
    """Each page is fetched, and by more than one crawl only what was asked when a crawl or the server was killed."""
    dice = Random(params.seed)
    params = msgspec.structs.replace(params, slow=0.9, duplicates=0.0, delay_s=0.05, robots_rules=0.0)
    with running(params) as port:
        pages = Web(port, params).pages
        crawls = Crawls(folder, port, params, server, form=form)
        try:
            for number in range(4):
                crawls.start(number)
            # A new crawl is refused while the server is away.
            wait_until(lambda: all((crawls.directory(number) / "records").exists() for number in range(4)))
            for kill in range(kills):
                victim = dice.randrange(5)
                before = sum(crawls.fetched().values())

                def goes_on(wanted: int = min(before + 2, len(pages) - 1)) -> bool:
                    crawls.refill_ended()
                    return sum(crawls.fetched().values()) > wanted

                wait_until(goes_on)
                if victim == 4 or kill == 0:
                    crawls.restart(server)
                else:
                    crawls.kill(victim)
                    crawls.start(victim)

            def ended() -> bool:
                crawls.refill_ended()
                return crawls.has_ended()

            wait_until(ended)
            crawls.wait()
        finally:
            crawls.stop()
        found = crawls.fetched()
        assert set(found) == pages
        # The links of one page are asked together.
        assert sum(found.values()) - len(found) <= kills * params.links_per_page
        for number in range(4):
            assert_sound(crawls.directory(number))


def wait_until(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
