"""A visited set in Redis, of any form."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final

from visited.batch import check_batch
from visited.protocol import Unavailable, Unsaved, VisitedStats
from visited.redis.form import GONE, Answer, Form, Place, answer_of
from visited.redis.joining import Joining
from visited.redis.notes import Notes
from visited.redis.server import Channel, Step
from visited.shared import Forgotten, Incomplete, Sharer, Unanswered, Unreachable
from visited.url_cache import UrlCache

_DELETE: Final = "return redis.call('DEL', KEYS[1])"
_USAGE: Final = """
local sum = 0
for _, key in ipairs(KEYS) do sum = sum + (redis.call('MEMORY', 'USAGE', key) or 0) end
return sum
"""
PIECE: Final = 512
"""URLs in one call of a script: half a millisecond to two, in which the server does nothing else."""
_MEASURE_AFTER: Final = 1.02
"""Growth after which a temporary set, which is to be measured, asks for its memory."""


class RedisSet:
    """A `SharedSet`. It closes the channel.

    Without `trust` it asks any memory: for callers that keep no ledger from which they could fill it."""

    def __init__(
        self,
        form: Form,
        channel: Channel,
        place: Place,
        *,
        recent: int = 0,
        notes: Notes | None = None,
        is_temporary: bool = False,
        is_shared: bool = False,
    ) -> None:
        """A temporary set is measured, and deleted when it is closed. Several crawls use a shared one, and `notes` are
        those of one of them. The last `recent` URLs are known here too."""
        self._joining = Joining(form, channel, place, notes=notes)
        self.enter, self.leave = self._joining.enter, self._joining.leave
        self._form = form
        self._channel = channel
        self._place = place
        self._is_temporary = is_temporary
        self._is_shared = is_shared
        self._recent = UrlCache(recent)
        self._hits = 0
        self._asked = 0
        self._trusted: str | None = None
        self._count = 0
        self._server_bytes = 0
        self._measured_at = 0
        """The count at which `_server_bytes` was measured."""

    # what shared sets promise

    def asks(self, urls: Sequence[str], /) -> list[str]:
        check_batch(urls)
        return self._recent.absent(dict.fromkeys(urls))

    async def connect(self) -> str:
        before = self._joining.memory
        memory = await self._joining.connect()
        if memory != before:
            self._count = self._joining.count
        return memory

    def trust(self, memory: str, /) -> None:
        self._trusted = memory

    async def fill(self, urls: Sequence[str], /) -> None:
        for piece in _pieces(list(dict.fromkeys(urls))):
            await self._run(self._form.fill, piece, is_checked=False)

    async def sharers(self, *, gone: Sequence[str] = ()) -> list[Sharer]:
        holders, missing = await self._joining.holders(frozenset(gone))
        return [
            Sharer(
                id=name,
                name=each.name,
                directory=each.directory,
                is_added=name not in missing and name not in holders.gone,
                is_gone=name in holders.gone,
            )
            for name, each in sorted(holders.known.items())
        ]

    async def register(self) -> None:
        await self.connect()
        if not await self._joining.is_there() or await self.connect() != self._trusted:
            raise Forgotten("its memory is not the one that was filled")
        with suppress(Incomplete):
            await self._joining.check_holders()

    async def delete(self) -> None:
        self._recent.clear()
        self._joining.lose()
        if self._is_shared:
            await self._joining.withdraw()
            return
        try:
            await self._channel.connect(also_full=True)  # whose memory gets free by this
            # First the head: whoever finds only a part of the keys must not take it for the set.
            await self._channel.run(Step(_DELETE, [self._place.head], []))
            await self._channel.delete(f"{self._place.tag}:")
        except (Unanswered, Unavailable, Unreachable) as error:
            by_hand = f"redis-cli --scan --pattern '{self._place.tag}:*' | xargs redis-cli UNLINK"
            raise Unreachable(f"{error}; to delete it later: {by_hand}") from error

    async def server_cpu_s(self) -> float:
        await self.connect()
        return await self._channel.cpu_s()

    # what every visited set promises

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        asked = self.asks(urls)
        verdicts: dict[str, bool] = {}
        for piece in _pieces(asked):
            answer = await self._ask_once(piece, is_first=not verdicts)
            verdicts.update(zip(piece, map(_YES.__eq__, answer.verdicts), strict=True))
            if self._is_temporary and answer.count > _MEASURE_AFTER * self._measured_at:
                await self._measure(piece, answer.count)
        self._hits += len(urls) - len(asked)
        self._asked += len(asked)
        self._recent.see(dict.fromkeys(self._recent.due(urls)), asked)
        # A URL that occurs twice in the batch is new at its first place.
        return [verdicts.pop(url, False) for url in urls]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        self._recent.drop(urls)
        forgotten = 0
        for piece in _pieces(list(dict.fromkeys(urls))):
            forgotten += (await self._run(self._form.forget, piece)).verdicts.count(_YES)
        return forgotten

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        known: list[bool] = []
        for piece in _pieces(urls):
            found = self._ask_alone(piece)
            known += [False] * len(piece) if found is None else map(_YES.__eq__, found)
        return known

    def _ask_alone(self, urls: Sequence[str]) -> bytes | None:
        """The verdicts of `has_many`; None if there is no set."""
        while self._joining.set_id:
            found: Any = self._channel.run_alone(self._form.ask(urls, self._joining.set_id))
            if found == GONE:
                return None
            if (answer := answer_of(found)) is not None:
                return answer.verdicts
            self._form.change(found)
        return None

    def describe(self) -> VisitedStats:
        accuracy = self._form.accuracy(self._count)
        return VisitedStats(
            backend=self._form.name,
            count=self._count,
            capacity=None,
            memory_bytes=self._recent.memory_bytes,
            server_bytes=self._server_bytes,
            fill=accuracy.fill,
            false_positive_rate=accuracy.rate,
            expected_lost=accuracy.lost,
            shared=self._place.tag if self._is_shared else None,
            details={
                **accuracy.details,
                "connected": int(self._channel.is_connected),
                "recent_urls": len(self._recent),
                "recent_hits": self._hits,
                "recent_misses": self._asked,
            },
        )

    def dump(self, _file: BinaryIO, /) -> None:
        raise Unsaved(f"{self._form.name} has no snapshots, because its server keeps the URLs")

    def load(self, _file: BinaryIO, /) -> None:
        raise Unsaved(f"{self._form.name} has no snapshots, because its server keeps the URLs")

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        try:
            if self._is_temporary and self._joining.memory is not None:
                await self._channel.delete(f"{self._place.tag}:")
            await self._joining.close()
        except (Forgotten, Unreachable, Unanswered):
            pass  # nobody else knows the name of a temporary set; and who is not said to have closed it is waited for
        finally:
            self._joining.lose()
            self._recent.clear()
            await self._channel.aclose()

    async def _measure(self, urls: Sequence[str], count: int) -> None:
        """Ask how much memory the server needs."""
        keys, times = self._form.sample(urls, count)
        self._server_bytes = int(times * await self._channel.run(Step(_USAGE, keys, [])))
        self._measured_at = count

    async def _ask_once(self, urls: Sequence[str], *, is_first: bool) -> Answer:
        try:
            return await self._run(self._form.add, urls)
        except (Unreachable, Forgotten) as error:
            if is_first:
                raise
            raise Unanswered(f"only a part of the batch was remembered: {error}") from error

    async def _run(
        self, make: Callable[[Sequence[str], str], Step], urls: Sequence[str], *, is_checked: bool = True
    ) -> Answer:
        """Run a form's script for URLs until all are decided, with the form's upkeep."""
        answer = await self._run_once(make, urls, is_checked=is_checked)
        verdicts = bytearray(answer.verdicts)
        while True:
            undecided = [place for place, verdict in enumerate(verdicts) if verdict == _UNDECIDED]
            try:
                await self._keep_up(answer)
                if not undecided:
                    return Answer(bytes(verdicts), answer.count)
                answer = await self._run_once(make, [urls[place] for place in undecided], is_checked=is_checked)
            except (Unreachable, Unanswered, Forgotten) as error:
                if not undecided:
                    return Answer(bytes(verdicts), answer.count)  # the next call does the upkeep
                raise Unanswered(f"only a part of the batch was remembered: {error}") from error
            for place, verdict in zip(undecided, answer.verdicts, strict=True):
                verdicts[place] = verdict

    async def _keep_up(self, answer: Answer) -> None:
        if not answer.told:
            return
        upkeep = self._form.upkeep(answer.told, self._joining.set_id)
        found: Any = None
        with suppress(StopIteration):
            while True:
                found = await self._channel.run(upkeep.send(found))

    async def _run_once(
        self, make: Callable[[Sequence[str], str], Step], urls: Sequence[str], *, is_checked: bool
    ) -> Answer:
        """Run a form's script for URLs, with the current layout, and if `is_checked`, in the trusted memory."""
        while True:
            memory = await self.connect()
            if is_checked and self._trusted is not None:
                if memory != self._trusted:
                    raise Forgotten("it has restarted or lost its data, or another server has taken its place")
                await self._joining.check_holders()
            try:
                found = await self._channel.run(make(urls, self._joining.set_id))
            except (Unreachable, Unanswered):
                if not self._channel.is_connected:
                    self._joining.lose()
                raise
            if found == GONE:
                if not await self._joining.is_there() and (self._trusted is not None or not is_checked):
                    raise Forgotten("its data was deleted")
                continue
            if (answer := answer_of(found)) is not None:
                self._count = answer.count
                return answer
            self._form.change(found)


_YES: Final = ord("1")
_UNDECIDED: Final = ord("2")


def _pieces(urls: Sequence[str]) -> list[Sequence[str]]:
    return [urls[start : start + PIECE] for start in range(0, len(urls), PIECE)]
