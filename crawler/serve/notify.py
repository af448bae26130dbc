"""Tells systemd how the daemon is, by the protocol of sd_notify(3): a datagram of lines to $NOTIFY_SOCKET."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class Supervisor:
    """Whoever has started the daemon and wants to hear of it; it may be nobody."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.watchdog_s = _watchdog_s(environ)
        """How long it waits for a sign of life; None if it does not."""

    def tell(self, *lines: str) -> None:
        """Send lines such as READY=1. Nobody is there to be told if it fails."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
            sending.connect(address)
            sending.send("\n".join(lines).encode())

    def reloading(self) -> None:
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    interval = environ.get("WATCHDOG_USEC", "")
    return int(interval) / 1e6 if interval.isdigit() and int(interval) else None
