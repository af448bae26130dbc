"""The ledgers of all parts of a crawl, read as one."""

from collections.abc import Iterator, Sequence
from heapq import merge

from frontier import Damaged, KnownUrl, LedgerReads, NumberReads


class JoinedLedgers:
    """The `LedgerReads` of several states. A URL is in one of them."""

    def __init__(self, ledgers: Sequence[LedgerReads]) -> None:
        self._ledgers = ledgers

    @property
    def numbers_given(self) -> int:
        return sum(ledger.numbers_given for ledger in self._ledgers)

    def was_forgotten(self, number: int, /) -> bool:
        return any(isinstance(ledger, NumberReads) and ledger.was_forgotten(number) for ledger in self._ledgers)

    def known(self, canonical: str, /) -> KnownUrl | None:
        return next((known for ledger in self._ledgers if (known := ledger.known(canonical)) is not None), None)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        return merge(*(ledger.all_known(after) for ledger in self._ledgers), key=_canonical)


def _canonical(known: KnownUrl | Damaged) -> str:
    return "" if isinstance(known, Damaged) else known.entry.canonical
