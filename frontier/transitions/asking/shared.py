"""Asks a visited set on a server, and notices between questions that it has forgotten URLs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeVar

from frontier.snapshots.restoring import fill
from frontier.store import Store
from frontier.transitions.commit import Commit
from frontier.values import CrawlUrl, StoreFailed, StoreFull
from visited import Forgotten, SharedSet, Unanswered, Unavailable, Unreachable, VisitedSet

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_FIRST_WAIT_S = 0.1
_LAST_WAIT_S = 5.0
_LEFT_TO_NEXT_QUESTION: Final = (Forgotten, StoreFull, Unanswered, Unavailable, Unreachable)
"""Errors that `tend` ignores: the next question meets them too, and waits for the server or ends the crawl."""
_FORGOTTEN: Final = "the server of the visited set may have forgotten URLs: %s; it is told them again"


class SharedAsking:
    """Asks a set on a server."""

    is_prompt = False

    def __init__(self, store: Store, visited: SharedSet, commit: Commit) -> None:
        self._store = store
        self._visited = visited
        self._commit = commit
        self._is_certain = True
        """Whether nothing was remembered whose answer was lost."""
        self._given_up: str | None = None
        """Why a crawl that is stopped asks nothing more: the server did not answer."""

    def recalls(self, canonicals: Sequence[str], /) -> bool:
        """Such a set has a cache of its own, which `ask` uses."""
        return False

    async def ask(self, batch: Sequence[CrawlUrl], canonicals: Sequence[str], /) -> Sequence[bool]:
        self._commit.check()
        asked = set(self._visited.asks(canonicals))
        if not asked:
            return await self._commit.ask_visited(partial(self._visited.add_many, canonicals))
        self._check()
        claimed = {url.canonical: url for url in reversed(batch) if url.canonical in asked}
        await self._commit.run(partial(self._store.claims.put, list(claimed.values())), is_required=True)
        # A claim that is lost with the machine's memory would be no claim.
        await self._commit.sync()
        try:
            found = await self._ask(canonicals)
        except StoreFull as given_up:
            if self._is_certain:
                with suppress(StoreFull):
                    self._store.claims.clear()
            else:
                self._commit.fail(given_up)  # the next change would clear the claims, or replace them
            raise
        return await self._judge(canonicals, claimed if found is None else dict.fromkeys(found))

    async def enter(self, canonicals: Sequence[str], /) -> Sequence[bool]:
        self._check()
        await self._ask(canonicals)
        return await self._judge(canonicals, dict.fromkeys(canonicals))

    async def claimed(self) -> list[CrawlUrl]:
        claimed = self._store.claims.urls()
        canonicals = [url.canonical for url in claimed]
        await self._wait(partial(self._visited.fill, canonicals), repeats=True)
        known = self._store.reads.knows_many(canonicals)
        return [url for url, is_known in zip(claimed, known, strict=True) if not is_known]

    async def forget(self, canonicals: Sequence[str], /) -> None:
        self._check()
        with self._commit.fail_on_error, self._failing_with_server():
            # To forget twice does no harm.
            await self._wait(partial(self._visited.forget_many, canonicals), repeats=True)

    def _check(self) -> None:
        self._commit.check()
        if self._given_up is not None:
            raise StoreFull(self._given_up)

    async def _ask(self, canonicals: Sequence[str]) -> list[str] | None:
        """The URLs that the server calls new; None if nobody knows. It has remembered all of them then."""
        self._is_certain = True
        with self._commit.fail_on_error, self._failing_with_server():
            try:
                verdicts = await self._wait(partial(self._visited.add_many, canonicals))
            except Unanswered as error:
                self._is_certain = False
                if self._commit.stopped:
                    raise StoreFull(f"the visited set can't be asked: {error}") from error
                log.warning("%s; what was asked is fetched here, unless it is known here", error)
                await self._wait(partial(self._visited.add_many, canonicals), repeats=True)
                return None
        return [url for url, is_new in zip(canonicals, verdicts, strict=True) if is_new]

    async def _judge(self, canonicals: Sequence[str], candidates: Mapping[str, object]) -> Sequence[bool]:
        """Which of the URLs are new: the candidates that the ledger lacks, each once. The ledger has what the server
        has forgotten, or was never told because it was away."""
        with self._commit.fail_on_error:
            names = [*candidates]
            known = self._store.reads.knows_many(names)
            new = {name for name, is_known in zip(names, known, strict=True) if not is_known}
            if not new and self._store.claims.is_open:
                await self._commit.run(self._store.claims.clear, is_required=True)
        verdicts = []
        for canonical in canonicals:
            verdicts.append(canonical in new)
            new.discard(canonical)
        return verdicts

    async def _wait(self, ask: Callable[[], Awaitable[_Result]], *, repeats: bool = False) -> _Result:
        """The answer, as soon as the server gives one. Raises `Unanswered` unless the call `repeats` what is lost, and
        `StoreFull` if the crawl is stopped meanwhile."""
        wait_s = _FIRST_WAIT_S
        with self._commit.waiting_for_visited() as wait:
            while True:
                try:
                    return await ask()
                except Forgotten as error:
                    log.warning(_FORGOTTEN, error)
                    await self._fill_again(wait)
                    continue
                except Unreachable as error:
                    reason = str(error)
                except Unanswered as error:
                    if not repeats:
                        raise
                    reason = str(error)
                await wait(f"the visited set can't be asked: {reason}", wait_s)
                wait_s = min(2 * wait_s, _LAST_WAIT_S)

    async def _fill_again(self, wait: Callable[[str, float], Awaitable[None]]) -> None:
        """Tell the server all that the ledger has, before it is asked again; and what was asked and is fetched
        here, because nobody knows the answer."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                await fill(self._store, self._visited)
                if not self._is_certain:
                    await self._visited.fill([url.canonical for url in self._store.claims.urls()])
            except (Forgotten, Unanswered, Unreachable) as error:
                await wait(f"the visited set can't be asked: {error}", wait_s)
                wait_s = min(2 * wait_s, _LAST_WAIT_S)
            else:
                return

    @contextmanager
    def _failing_with_server(self) -> Iterator[None]:
        """A server that will never do what is asked ends the crawl. The claims stay, so the next start admits them."""
        try:
            yield
        except StoreFull as given_up:
            self._given_up = str(given_up)
            raise
        except Unavailable as error:
            raise StoreFailed(
                f"the visited set can't be used any more: {error}; mend its server or choose another set, and start "
                "the crawl again: nothing is lost"
            ) from error


async def tend(store: Store, visited: VisitedSet, commit: Commit, lock: asyncio.Lock) -> None:
    """See `frontier.Tended.tend`. A crawl that is paused, or whose hosts rest, may ask nothing for days, and others
    wait for it. `lock` is that of admission, so that nothing is asked meanwhile."""
    if not isinstance(visited, SharedSet):
        return
    async with lock:
        if commit.stopped or commit.closed:
            return
        with suppress(StoreFailed), commit.fail_on_error, suppress(*_LEFT_TO_NEXT_QUESTION):
            try:
                await visited.register()
            except Forgotten as error:
                log.warning(_FORGOTTEN, error)
                await fill(store, visited)
                await visited.fill([url.canonical for url in store.claims.urls()])
                await visited.register()
