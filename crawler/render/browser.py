"""Starts and ends one headless Chromium with all its processes."""

import asyncio
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from crawler.render import launch
from crawler.render.devtools import BrowserGone, Devtools

START_S: Final = 60.0
"""How long a browser may take to start on a busy machine."""
_END_S = 10.0
_KEPT_BYTES = 4096
_SHOWN_CHARACTERS = 500
_PAGE_BYTES = resource.getpagesize()
_LOG_PREFIX = re.compile(r"^\[[^\]]*\]\s*")

_FEATURES_OFF = (
    "DialMediaRouteProvider",  # looks for devices in the local network
    "HttpsUpgrades",  # would show a page of http: as one of https:, with other links
    "IsolateOrigins",  # one page needs no isolation, and each process costs memory
    "MediaRouter",
    "OptimizationHints",
    "SpareRendererForSitePerProcess",  # costs memory
    "Translate",
    "WebUIOmniboxAimPopup",  # parts of a window that nobody sees
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
    "site-per-process",
)

_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    # no network: see the package's docstring
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=socks5://nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # none of the browser's own services
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    # a machine without a screen, and a container with little of /dev/shm
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--mute-audio",
    "--disable-site-isolation-trials",
    # a page in the background must not be slowed
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)


class BrowserRefused(OSError):
    """There is no browser, or it does not start. The message says why, and what to do."""


def find_browser(program: str) -> str:
    """The path of the browser. Raises `BrowserRefused` if there is none."""
    found = shutil.which(program)
    if found is None:
        raise BrowserRefused(
            f"there is no browser {program!r} to render pages with; on Debian: apt-get install chromium, elsewhere set "
            "render.browser to the path of a Chromium"
        )
    return found


def has_sandbox() -> bool:
    """Whether Chromium can use its sandbox: as root it does not start with it."""
    return os.geteuid() != 0


class Browser:
    """A running browser with a profile of its own."""

    def __init__(self, process: "_Process", devtools: Devtools, profile: Path) -> None:
        self.devtools = devtools
        self.pages = 0
        """How many pages it has shown."""
        self._process = process
        self._profile = profile

    @classmethod
    async def start(cls, program: str, profile: Path, *, user_agent: str) -> "Browser":
        """Start a browser with an empty profile at an absolute path. Raises `BrowserRefused` with its last output."""
        await asyncio.to_thread(_make_empty, profile)
        flags = [*_FLAGS, f"--user-data-dir={profile}", f"--user-agent={user_agent}"]
        if not has_sandbox():
            flags.append("--no-sandbox")
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                _, process = await asyncio.get_running_loop().subprocess_exec(
                    _Process,
                    *(sys.executable, "-I", "-S", launch.__file__),
                    *(str(os.getpid()), str(theirs.fileno()), program, *flags),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the crawl
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=profile,
                    env=_environment(profile),
                )
            except BaseException:
                ours.close()
                raise
        browser = cls(process, await Devtools.over(ours), profile)
        try:
            async with asyncio.timeout(START_S):
                await browser.devtools.ask("Browser.getVersion")
        except (BrowserGone, TimeoutError) as error:
            await browser.end()
            raise BrowserRefused(f"the browser {program} does not start; it said: {process.last_words()}") from error
        except BaseException:
            await browser.end()
            raise
        return browser

    def memory_bytes(self) -> int:
        """The private memory of all its processes."""
        return 0 if self._process.pid is None else sum(map(_private_bytes, _family(self._process.pid)))

    async def end(self) -> None:
        """Kill all its processes, wait until they are gone, and remove the profile. Ending twice is harmless."""
        self.devtools.give_up("it was ended")
        await self._process.kill()
        await asyncio.to_thread(shutil.rmtree, self._profile, ignore_errors=True)


class _Process(asyncio.SubprocessProtocol):
    """A browser's process and its children."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._said = b""
        self._ended = asyncio.Event()

    def last_words(self) -> str:
        lines = (_LOG_PREFIX.sub("", line) for line in self._said.decode("utf-8", "replace").splitlines())
        words = "; ".join(line for line in lines if line)
        return "".join(char for char in words if char.isprintable())[-_SHOWN_CHARACTERS:] or "nothing"

    async def kill(self) -> None:
        if self.pid is not None and not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        # A process that has left the group, and holds stderr open, must not delay the crawl.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._ended.wait()
        if self._transport is not None:
            self._transport.close()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._said = (self._said + data)[-_KEPT_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        # The process has ended and was waited for, and so have all others with its stderr.
        self._ended.set()


def _family(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may end between being listed and being read.
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text(encoding="ascii").split():
                    yield from _family(int(child))


def _private_bytes(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def _make_empty(profile: Path) -> None:
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir(parents=True, mode=0o700)


def _environment(profile: Path) -> dict[str, str]:
    """An environment without the user's secrets and directories."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(profile),
        # Its working directory, which is the profile: it aborts if the path of its socket exceeds 107 bytes.
        "TMPDIR": "/proc/self/cwd",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
    }
