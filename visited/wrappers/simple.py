"""Makes a visited set of a filter that takes one URL at a time, as most libraries have it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, Protocol, runtime_checkable

from visited.batch import check_batch
from visited.protocol import SnapshotRefused, VisitedStats, WrongValue
from visited.snapshot import Value, read_snapshot, write_snapshot

_PLAIN: Final = frozenset({bool})


@runtime_checkable
class SimpleFilter(Protocol):
    """Remembers URLs, and may take a new URL for a known one. It never takes a known one for new."""

    def add(self, url: str, /) -> bool:
        """Whether the URL is new; it is remembered then."""
        ...

    def has(self, url: str, /) -> bool:
        """Whether the URL is known."""
        ...

    def discard(self, url: str, /) -> bool:
        """Forget the URL. Returns whether it was known. Raises `CannotForget` if the filter can't do that."""
        ...

    def rate(self) -> float:
        """Probability that it now takes a new URL for a known one."""
        ...

    def memory_bytes(self) -> int: ...

    def dump(self) -> bytes:
        """All that it remembers."""
        ...

    def load(self, data: bytes, /) -> None:
        """Replace what it remembers by what `dump` of a filter with equal parameters returned."""
        ...


class SimpleSet:
    """Counts URLs, estimates losses by the rate, and writes snapshots that are checked. Raises `WrongValue` for what no
    filter may return."""

    is_prompt: Final = True

    def __init__(
        self,
        backend: str,
        make: Callable[[], SimpleFilter],
        *,
        parameters: Mapping[str, Value],
        capacity: int | None = None,
    ) -> None:
        """`make` makes an empty filter. A snapshot with other `parameters` is refused. `capacity` is the number of URLs
        for which the filter is sized, if it can't grow."""
        self._backend = backend
        self._make = make
        self._parameters = parameters
        self._capacity = capacity
        self._clear()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        before = self._filter.rate()
        answers = _truths([self._filter.add(url) for url in urls], "add")
        new = sum(answers)
        rate = (before + self._filter.rate()) / 2
        self._count += new
        # Of n URLs that were new, n·rate were lost, and n·(1 - rate) were called new.
        self._lost += new * rate / max(1e-9, 1 - rate)
        return answers

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        return [self._filter.has(url) for url in urls]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        forgotten = sum(_truths([self._filter.discard(url) for url in urls], "discard"))
        self._count -= forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=self._backend,
            count=self._count,
            capacity=self._capacity,
            memory_bytes=self._filter.memory_bytes(),
            false_positive_rate=self._filter.rate(),
            expected_lost=self._lost,
            lost_sigma=self._lost**0.5,
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {"count": self._count, "lost": self._lost}
        dumped: Any = self._filter.dump()
        try:
            parts = [memoryview(dumped)]
        except TypeError:
            raise WrongValue(f"expected bytes from dump of the filter, found {type(dumped).__name__}") from None
        write_snapshot(file, backend=self._backend, parameters=self._parameters, state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._clear()
        snapshot = read_snapshot(file, backend=self._backend, parameters=self._parameters)
        count, lost = snapshot.integer("count"), snapshot.number("lost")
        if len(snapshot.parts) != 1:
            raise SnapshotRefused(f"expected a snapshot with one part, found {len(snapshot.parts)}")
        try:
            self._filter.load(bytes(snapshot.parts[0]))
        except ValueError as error:
            self._clear()
            raise SnapshotRefused(str(error)) from error
        self._count, self._lost = count, lost

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _clear(self) -> None:
        made: Any = self._make()
        if not isinstance(made, SimpleFilter):
            methods = [name for name in vars(SimpleFilter) if not name.startswith("_")]
            raise TypeError(f"expected a filter with {', '.join(methods)}, found {type(made).__name__}")
        self._filter: SimpleFilter = made
        self._count = 0
        self._lost = 0.0


def _truths(answers: list[Any], method: str) -> list[bool]:
    if set(map(type, answers)) <= _PLAIN:
        return answers
    for answer in answers:
        if answer not in (True, False):
            raise WrongValue(f"expected True or False from {method} of the filter, found {type(answer).__name__}")
    return answers
