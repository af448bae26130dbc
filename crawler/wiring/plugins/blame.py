"""Names the package of a plug-in that fails while the crawl runs."""

import asyncio
import logging
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import FrameSummary
from types import TracebackType

from config import Config, named_backends
from crawler.codes.full_disk import DISK_FULL
from crawler.wiring.plugins.catalog import find
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.guarded import is_cancelled
from crawler.wiring.plugins.kinds import KINDS
from crawler.wiring.plugins.loading import NamedBackend, in_one_line
from frontier import StoreFailed

log = logging.getLogger(__name__)

_OURS = frozenset({"config", "crawler", "frontier", "visited"})


def plugins_of(config: Config) -> list[NamedBackend]:
    found = []
    for kind, name in named_backends(config):
        try:
            backend = find(KINDS[kind], name)
        except KeyError:
            continue  # not the name of a backend, such as auto
        if not backend.is_ours and _top(backend.place) not in _OURS:
            found.append(backend)
    return found


@contextmanager
def blaming(plugins: Sequence[NamedBackend]) -> Iterator[None]:
    """A context in which an error that one of the plug-ins has raised becomes a `PluginFailed`.

    The last code that ran, of ours and theirs, has raised it: libraries that this code called are not to blame. A full
    disk is not the fault of a plug-in. A `SystemExit` becomes one, too, because its code would pass for how the crawl
    has ended; a `KeyboardInterrupt`, unless somebody may have pressed Ctrl-C while the plug-in ran; and a
    `CancelledError`, unless somebody has cancelled this task.
    """
    try:
        yield
    except (Exception, BaseExceptionGroup, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            raise
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        for leaf in _leaves(error):
            if isinstance(leaf, PluginFailed):
                log.info("%s", leaf, exc_info=error)
                raise PluginFailed(str(leaf)) from error
            blamed = None if _is_disk_full(leaf) else _blamed(plugins, leaf.__traceback__)
            if blamed is not None:
                plugin, frame = blamed
                log.info("%s failed", plugin.title, exc_info=error)
                place = f"{Path(frame.filename).name}, line {frame.lineno}"
                raise PluginFailed(
                    f"{plugin.title} failed: {in_one_line(_first(leaf))} ({place}); what was saved is kept"
                ) from error
        raise


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
        yield error  # a plug-in may have raised the group itself, of errors that only libraries know
        return
    yield error
    cause = error.__cause__
    # Who asks the frontier after it has failed may be heard before who was there when it failed. A StopIteration leaves
    # a coroutine as a RuntimeError, whose traceback lacks the coroutine.
    if (cause is not None and isinstance(error, StoreFailed)) or isinstance(cause, StopIteration):
        yield from _leaves(cause)


def _first(error: BaseException) -> BaseException:
    """The first error of a group, which says more than the group."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _is_disk_full(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_disk_full, error.exceptions))
    return isinstance(error, OSError) and error.errno in DISK_FULL


def _blamed(plugins: Sequence[NamedBackend], trace: TracebackType | None) -> tuple[NamedBackend, FrameSummary] | None:
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(trace)]
    for module, frame in zip(reversed(modules), reversed(traceback.extract_tb(trace)), strict=True):
        top = _top(module)
        for plugin in plugins:
            if _top(plugin.place) == top:
                return plugin, frame
        if top in _OURS:
            return None
    return None


def _top(place: str) -> str:
    """The package at the top of a module or a place."""
    return place.partition(":")[0].partition(".")[0]
