"""Shares a limit of pages among the parts of a crawl, so that it is met exactly.

The supervisor's bank hands out allowances. A part fetches no more pages than it is allowed, so the limit holds while a
part can't be reached. What a part does not need can be called back.

The bank stores nothing. Each part stores what it is allowed, with the last instruction that it has obeyed; the pages
that it has settled are counted in the batch that settles them. So a new bank first hears all parts, then has all of
them obey it. Until then it hands out nothing.
"""

from collections.abc import Iterable, Mapping

import msgspec


class Order(msgspec.Struct, frozen=True, order=True, gc=False):
    """Orders the instructions for a part. An instruction that is not above the last one is not obeyed, so an old one
    that arrives late does no harm."""

    epoch: int = 0
    """One for each bank: above all epochs that any part has obeyed. With 0, the part is only asked to state what it
    has."""
    number: int = 0


class Instruction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    order: Order
    allowed: int | None = None
    """How many pages the part may have in all, from now on; None leaves that as it is."""


class Statement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of a part. It answers each instruction, and tells that a part wants more."""

    order: Order
    """The last instruction that it has obeyed."""
    allowed: int
    used: int
    """Pages that are settled, begun, or in the output already. Never more than `allowed`."""
    pages: int = 0
    """Of these, pages that are settled or in the output."""
    wants: bool = False
    """Whether it has URLs that it may not begin."""
    is_idle: bool = False
    """Whether it has no URL to fetch, so that it does not need what it is allowed."""


class Purse:
    """A part's side."""

    def __init__(self, *, order: Order, allowed: int, settled: int, owed: Iterable[int] = ()) -> None:
        """What the store has when the part is opened. `owed` are the numbers of pages that are in the output but not
        settled, as after a crash: they are part of the limit already, and are fetched again."""
        self.order = order
        self.allowed = allowed
        self.settled = settled
        self._was_refused = False
        self._owed = set(owed)
        self._begun: set[int] = set()
        self._permits = 0
        """Permits that are taken and not yet used for a page."""

    @property
    def used(self) -> int:
        return self.settled + len(self._owed) + len(self._begun) + self._permits

    @property
    def wants(self) -> bool:
        """Whether a permit was refused, and would be refused again."""
        return self._was_refused and self.used >= self.allowed

    def take_permit(self) -> bool:
        """Take the right to begin one URL, if there is one."""
        self._was_refused = self.used >= self.allowed
        self._permits += not self._was_refused
        return not self._was_refused

    def give_back_permit(self) -> None:
        self._permits -= 1

    def begin(self, number: int) -> None:
        """Use a permit for the page with this number. An owed page needs none, so the permit is free again."""
        self._permits -= 1
        if number not in self._owed:
            self._begun.add(number)

    def settle(self, number: int, *, is_page: bool) -> None:
        """The URL is settled, and if it `is_page`, the store has counted it."""
        self._begun.discard(number)
        self._owed.discard(number)
        self.settled += is_page

    def release(self, number: int) -> None:
        """The URL was begun, but is to be fetched later."""
        self._begun.discard(number)

    def obey(self, instruction: Instruction) -> bool:
        """Whether anything has changed. Then it has to be stored and synced before the part states it."""
        if instruction.order <= self.order:
            return False
        self.order = instruction.order
        if instruction.allowed is not None:
            self.allowed = max(instruction.allowed, self.used)
        return True

    def state(self, *, is_idle: bool) -> Statement:
        return Statement(
            order=self.order,
            allowed=self.allowed,
            used=self.used,
            pages=self.settled + len(self._owed),
            wants=self.wants,
            is_idle=is_idle,
        )


class _Account(msgspec.Struct):
    """What the bank knows of one part."""

    epoch: int = 0
    """The epoch that it has obeyed before this bank."""
    allowed: int = 0
    used: int = 0
    pages: int = 0
    wants: bool = False
    is_idle: bool = False
    has_adopted: bool = False
    """Whether the part obeys this bank."""
    pending: Instruction | None = None
    """An instruction that the part has not yet answered."""

    @property
    def max_allowed(self) -> int:
        """The most that the part may think it is allowed."""
        pending = None if self.pending is None else self.pending.allowed
        return self.allowed if pending is None else max(self.allowed, pending)


class Bank:
    """The supervisor's side. Messages may be lost, repeated or late: `instructions` may be sent again at any time."""

    def __init__(self, *, limit: int, parts: int) -> None:
        """`limit` is the number of pages in all parts together."""
        self._limit = limit
        self._epoch = 0
        self._number = 0
        self._accounts = [_Account(pending=Instruction(order=Order())) for _ in range(parts)]

    @property
    def pages(self) -> int:
        """Pages that are settled or in the output, by the last statements of the parts."""
        return sum(account.pages for account in self._accounts)

    @property
    def is_reached(self) -> bool:
        """Whether the crawl has as many pages as it may."""
        return self.pages >= self._limit and self._all_have_adopted

    def instructions(self) -> Mapping[int, Instruction]:
        """What the parts have not yet answered, by part."""
        return {part: each.pending for part, each in enumerate(self._accounts) if each.pending is not None}

    def hear(self, part: int, statement: Statement) -> None:
        """A part has stated what it has."""
        account = self._accounts[part]
        account.used, account.pages = statement.used, statement.pages
        account.wants, account.is_idle = statement.wants, statement.is_idle
        if not self._epoch:
            account.epoch, account.pending = statement.order.epoch, None
            if all(each.pending is None for each in self._accounts):
                self._begin_epoch()
        elif account.pending is not None and statement.order == account.pending.order:
            account.pending, account.has_adopted, account.allowed = None, True, statement.allowed
        if self._all_have_adopted:
            self._share()

    @property
    def _all_have_adopted(self) -> bool:
        return all(account.has_adopted for account in self._accounts)

    def _begin_epoch(self) -> None:
        """Let all parts obey this bank, and no longer an earlier one, whose instructions may still be on their way."""
        self._epoch = 1 + max(account.epoch for account in self._accounts)
        for account in self._accounts:
            account.pending = Instruction(order=Order(self._epoch, 0))

    def _share(self) -> None:
        """Give to parts that want more; if nothing is left, call back from a part that has some to spare."""
        wanting = [account for account in self._accounts if account.wants and account.pending is None]
        for account in wanting:
            left = self._limit - sum(each.max_allowed for each in self._accounts)
            if left <= 0:
                break
            self._instruct(account, account.allowed + max(1, left // (2 * len(self._accounts))))
        else:
            return
        if not any(self._is_called_back(account) for account in self._accounts):
            richest = max(self._accounts, key=_spare)
            if _spare(richest) > 0:
                self._instruct(richest, richest.allowed - _spare(richest))

    def _is_called_back(self, account: _Account) -> bool:
        pending = account.pending
        return pending is not None and pending.allowed is not None and pending.allowed < account.allowed

    def _instruct(self, account: _Account, allowed: int) -> None:
        self._number += 1
        account.pending = Instruction(order=Order(self._epoch, self._number), allowed=allowed)


def _spare(account: _Account) -> int:
    """What can be called back from a part. One that has URLs keeps at least one page, or two parts that want the last
    page could take it from each other for ever."""
    if account.pending is not None:
        return 0
    unused = account.allowed - account.used
    return unused if account.is_idle else unused // 2
