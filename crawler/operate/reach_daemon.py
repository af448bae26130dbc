"""Asks a crawl of a daemon as `reach` asks one in a directory, through the API of the daemon. For commands, which
block."""

import time
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec.structs import asdict

from crawler.control import requests
from crawler.control.daemon_client import DaemonClient
from crawler.control.replies import PauseState, Stopping
from crawler.control.requests import Request, reply_type
from crawler.operate.refused import Refused, check_request, reply_or_raise

_LOOK_AGAIN_S: Final = 0.5
_NOT_OFFERED: Final = "a daemon does not offer that at its URL: run the command on its machine, for the directory"

_POSTED: Final[dict[type, str]] = {
    requests.Add: "seeds",
    requests.Forget: "forget",
    requests.ForgetSelected: "forget-selected",
    requests.Recrawl: "recrawl",
    requests.Set: "configuration",
    requests.Reload: "reload",
}
"""Where requests are posted whose fields are the body."""

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


def daemon_at(url: str, token: str) -> DaemonClient:
    """Raises `Refused` for a URL that no daemon has."""
    try:
        return DaemonClient.at_url(url, token=token)
    except ValueError as error:
        raise Refused(str(error)) from error


class _Shown(msgspec.Struct):
    """What is read of a daemon's reply about a crawl."""

    state: str
    reason: str | None
    pid: int | None


class DaemonCrawl:
    def __init__(self, client: DaemonClient, name: str) -> None:
        self._client = client
        self._path = ("crawls", name)

    @property
    def is_running(self) -> bool:
        return self._answer(_Shown, "GET").pid is not None

    def ask(self, request: Request[_Reply]) -> _Reply:
        """Raises `Refused`, also for what the API does not offer, and `NoAnswer`."""
        check_request(request)
        expected = reply_type(request)
        if isinstance(request, requests.Pause | requests.Resume | requests.Stop):
            return msgspec.convert(self._tell(request), expected, from_attributes=True)
        return self._carry_out(request, expected)

    def start(self) -> str:
        """Let it run: one that was stopped or is held, or that waits for its schedule. Returns its state from then on,
        in words."""
        shown = self._answer(_Shown, "POST", "start")
        return shown.state if shown.reason is None else f"{shown.state}: {shown.reason}"

    def wait_for_end(self) -> None:
        while self.is_running:
            time.sleep(_LOOK_AGAIN_S)

    def _tell(self, request: requests.Pause | requests.Resume | requests.Stop) -> PauseState | Stopping:
        """What the API answers with the crawl as it is then."""
        match request:
            case requests.Pause():
                self._answer(_Shown, "POST", "pause", body=asdict(request))
            case requests.Resume():
                self._answer(_Shown, "POST", "resume")
            case requests.Stop(now=True):
                raise Refused(_NOT_OFFERED)
            case requests.Stop():
                was_running = self.is_running
                self._answer(_Shown, "POST", "stop")
                return Stopping(was_running=was_running)
        status = self.ask(requests.GetStatus())
        return PauseState(paused=status.paused, running=status.running)

    def _carry_out(self, request: Request[_Reply], expected: type[_Reply]) -> _Reply:
        match request:
            case requests.GetStatus():
                return self._answer(expected, "GET", "status")
            case requests.Top():
                return self._answer(expected, "GET", "hosts", query={"match": request.match, "limit": request.limit})
            case requests.Retire():
                return self._answer(expected, "POST", "hosts", request.host, "retire")
            case requests.Unretire():
                return self._answer(expected, "POST", "hosts", request.host, "unretire")
            case requests.SetBudget():
                return self._answer(expected, "POST", "hosts", request.host, "budget", body={"cost": request.cost})
            case requests.TakeCheckpoint():
                return self._answer(expected, "POST", "checkpoint")
        if (path := _POSTED.get(type(request))) is None:
            raise Refused(_NOT_OFFERED)
        return self._answer(expected, "POST", path, body=asdict(request))

    def _answer(
        self,
        expected: type[_Reply],
        method: str,
        *path: str,
        query: Mapping[str, object] | None = None,
        body: object = None,
    ) -> _Reply:
        return reply_or_raise(self._client.ask(expected, method, *self._path, *path, query=query, body=body))
