"""What can happen to the parts of a crawl, to a server of Redis between them, and to the way there."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Final

import redis

from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.parts.in_parts import send
from tests.redis_server import RedisServer
from tests.tcp_proxy import Proxy

FAULTS: Final = ("kill", "flush", "older", "hold", "pause", "full", "cut", "half", "deaf", "late")
"""Of Redis, and of the way there."""
PART_FAULTS: Final = ("kill part", "stop part")


class Storm:
    """Events in the life of a crawl whose parts reach `server` over proxies."""

    def __init__(
        self,
        pids: Callable[[], list[int]],
        server: RedisServer,
        proxies: Sequence[Proxy],
        random: Random,
        *,
        longest_s: float = 0.5,
    ) -> None:
        """`pids` are those of the parts that run. Each event strikes one proxy, and lasts for `longest_s` at most."""
        self._pids = pids
        self._server = server
        self._proxies = proxies
        self._proxy = proxies[0]
        self._random = random
        self._longest_s = longest_s
        self._copy = server.folder / "older.rdb"

    def strike(self, event: str) -> None:
        """Let it happen, and be over."""
        self._proxy = self._random.choice(self._proxies)
        happens: dict[str, Callable[[], None]] = {
            "kill": self._kill,
            "flush": lambda: self._ask("FLUSHALL"),
            "older": self._restore_older,
            "hold": lambda: self._for_a_moment(self._server.hold, self._server.go_on),
            "pause": lambda: self._ask("CLIENT", "PAUSE", self._random.randrange(50, int(2000 * self._longest_s))),
            "full": lambda: self._for_a_moment(lambda: self._limit(1), lambda: self._limit(0)),
            "cut": lambda: self._for_a_moment(self._proxy.cut, self._proxy.heal),
            "half": self._proxy.end_half,
            "deaf": lambda: self._for_a_moment(self._proxy.deafen, self._end_deafness),
            "late": lambda: self._for_a_moment(self._proxy.hold, self._proxy.heal),
            "kill part": self._kill_part,
            "stop part": self._stop_part,
        }
        happens[event]()

    def _for_a_moment(self, begin: Callable[[], object], end: Callable[[], object]) -> None:
        begin()
        try:
            time.sleep(self._random.uniform(0.05, self._longest_s))
        finally:
            end()

    def _kill(self) -> None:
        self._for_a_moment(self._server.kill, self._server.start)

    def keep_copy(self) -> None:
        """Of what Redis holds, to be restored later."""
        self._ask("SAVE")
        shutil.copy(self._server.folder / "dump.rdb", self._copy)

    def _restore_older(self) -> None:
        """What Redis holds becomes what it held when this, or `keep_copy`, was called last."""
        dump = self._server.folder / "dump.rdb"
        self._ask("SAVE")
        newer = self._server.folder / "newer.rdb"
        shutil.copy(dump, newer)
        self._server.kill()
        if self._copy.exists():
            shutil.copy(self._copy, dump)
        newer.replace(self._copy)
        self._server.start()

    def _limit(self, max_bytes: int) -> None:
        self._ask("CONFIG", "SET", "maxmemory", max_bytes)

    def _end_deafness(self) -> None:
        """Answers that came too late never come."""
        self._proxy.cut_once()
        self._proxy.heal()

    def _signal_part(self, number: int) -> int | None:
        pids = self._pids()
        if not pids:
            return None
        pid = self._random.choice(pids)
        send(pid, number)
        return pid

    def _kill_part(self) -> None:
        self._signal_part(signal.SIGKILL)

    def _stop_part(self) -> None:
        pid = self._signal_part(signal.SIGSTOP)
        time.sleep(self._random.uniform(0.05, 2 * self._longest_s))
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _ask(self, *command: str | int) -> None:
        # An earlier pause may hold the answer up.
        with redis.Redis.from_url(self._server.url, socket_timeout=MAX_WAIT_S) as client:
            client.execute_command(*command)
