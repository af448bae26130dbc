"""Runs one trial of a comparison in its own process: `python -m crawler.wiring.comparing.worker`.

It reads the trial from stdin, as one line of JSON. To stdout it writes lines of JSON: the progress, and finally the
outcome. The process ends when its stdin ends, so that it does not outlive its parent.
"""

import asyncio
import logging
import os
import sys
import tempfile
from contextlib import redirect_stdout, suppress
from errno import ENOMEM
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.compare.measure.checking import check, check_bytes
from crawler.compare.measure.process import end_with_parent, limit_memory
from crawler.compare.measure.timing import measure_time
from crawler.compare.measure.trial import Competitor, Failed, Outcome, ReportProgress, Trial
from crawler.status import size
from crawler.url.urls import domain_of, host_of
from crawler.wiring.comparing.ending import interrupts_s
from crawler.wiring.components.visited_servers import connect_redis
from crawler.wiring.plugins.blame import blaming
from crawler.wiring.plugins.catalog import descriptor, find
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.kinds import VISITED
from visited import Forgotten, Full, LocalSet, SharedSet, Unanswered, Unavailable, Unreachable
from visited.descriptor import Parameters
from visited.digests.exact import ExactSet
from visited.full_disk import message_of
from visited.making import make_set as make_described

_REPORT_STEP = 0.02


def make_set(competitor: Competitor, distinct: int, directory: Path) -> LocalSet:
    """The visited set of a competitor, for a work with `distinct` URLs; a `competitor.Maker`."""
    described = descriptor(VISITED, competitor.backend)
    parameters = Parameters(
        capacity=distinct,
        error_rate=competitor.error_rate,
        # A set on a server that has no directory is deleted when it is closed.
        directory=None if "server" in described.needs else directory,
        site_of=host_of,
        domain_of=domain_of,
        connect=connect_redis,
    )
    return make_described(described, parameters, competitor.all_options)


async def _measure(trial: Trial, scratch: Path, report: ReportProgress) -> Outcome:
    made: list[SharedSet] = []

    def make(competitor: Competitor, distinct: int, directory: Path) -> LocalSet:
        visited = make_set(competitor, distinct, directory)
        if isinstance(visited, SharedSet):
            made.append(visited)
        return visited

    try:
        if trial.kind == "check":
            return await check(trial, make, scratch, report, exact=ExactSet)
        return await measure_time(trial, make, scratch, report)
    except BaseException:
        # A trial that ends closes its sets, which deletes them.
        for visited in made:
            with suppress(Unanswered, Unavailable, Unreachable):
                await visited.delete()
            await visited.aclose()
        raise


def _outcome(trial: Trial, report: ReportProgress) -> Outcome:
    allowed = trial.effort.memory_bytes
    try:
        plugin = find(VISITED, trial.competitor.backend)
        # What a set on a server takes is not here.
        if allowed is not None and "server" not in descriptor(VISITED, trial.competitor.backend).needs:
            limit_memory(check_bytes(trial, allowed) if trial.kind == "check" else allowed)
        plugins = [] if plugin.is_ours else [plugin]
        with tempfile.TemporaryDirectory(prefix="onceover-compare-") as scratch, blaming(plugins):
            return asyncio.run(_measure(trial, Path(scratch), report))
    except MemoryError:
        return _without_memory(allowed)
    except (Full, OSError, PluginFailed, Unavailable, ValueError) as error:
        text = message_of(error)
        return _without_memory(allowed) if os.strerror(ENOMEM) in text else Failed(reason=text)
    except (Forgotten, Unanswered, Unreachable) as error:
        return Failed(
            reason=f"expected a server of {trial.competitor.backend} that answers, found none: {error}. Then compare "
            "again; options.url of a [[compare.set]] names another server"
        )


def _without_memory(allowed: int | None) -> Failed:
    return Failed(reason=f"out of memory{'' if allowed is None else f'; {size(allowed)} were allowed'}")


class _ProgressWriter:
    """Writes the progress, in steps that are large enough."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._written = 0.0

    def __call__(self, share: float) -> None:
        if share >= self._written + _REPORT_STEP:
            self._written = share
            _write(self._out, {"done": round(share, 3)})


def _write(out: BinaryIO, message: object) -> None:
    out.write(msgspec.json.encode(message) + b"\n")
    out.flush()


def main() -> None:
    trial = msgspec.json.decode(sys.stdin.buffer.readline(), type=Trial)
    end_with_parent(interrupts_s(trial))
    # Filters log a warning when they exceed their capacity, which the report shows anyway.
    logging.getLogger("visited").addHandler(logging.NullHandler())
    out = sys.stdout.buffer
    with redirect_stdout(sys.stderr):  # a plug-in may print without ending its line
        outcome = _outcome(trial, _ProgressWriter(out))
    _write(out, {"outcome": outcome})


if __name__ == "__main__":
    main()
