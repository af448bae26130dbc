"""Shares a limit of pages among the parts of a crawl, so that it is met exactly.

The supervisor's bank hands out allowances. A part fetches no more pages than it is allowed, so the limit holds while a
part can't be reached. What a part does not need can be called back.

The limit is one of a run, and a run has one bank. The bank stores nothing. Each part stores what it is allowed, with
the last instruction that it has obeyed; the pages that it has settled are counted in the batch that settles them. So a
new bank first hears all parts, then has all of them obey it: each gives back what an earlier run has left it. Until
then the bank hands out nothing. A part that has just been opened begins no page before it has heard the bank.
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
    """How many pages the part may have in all, from now on; None leaves that as it is. A part that has more keeps
    those."""
    total: int = 0
    """How many pages all parts may have together, for checks of what they have stored; 0 if that is not known yet."""


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

    def __init__(self, *, order: Order, allowed: int, settled: int) -> None:
        """What the store has when the part is opened."""
        self.order = order
        self.allowed = allowed
        self.settled = settled
        self.is_open = False
        """Whether the bank of this run has been heard since the part was opened."""
        self.total = 0
        self._was_refused = False
        self._owed: set[int] = set()
        self._begun: set[int] = set()

    def owe(self, numbers: Iterable[int]) -> None:
        """The pages with these numbers are in the output but not settled, as after a crash: they are part of the limit
        already, and are fetched again."""
        self._owed.update(numbers)

    @property
    def used(self) -> int:
        return self.settled + len(self._owed) + len(self._begun)

    @property
    def pages(self) -> int:
        """Pages that are settled or in the output."""
        return self.settled + len(self._owed)

    @property
    def wants(self) -> bool:
        """Whether a URL was refused, and would be refused again."""
        return self._was_refused and self.used >= self.allowed

    def begin(self, number: int) -> bool:
        """Begin the URL with this number, if that is allowed. An owed page needs no allowance."""
        if self.is_open and number in self._owed:
            return True
        self._was_refused = not self.is_open or self.used >= self.allowed
        if not self._was_refused:
            self._begun.add(number)
        return not self._was_refused

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
        order = instruction.order
        if order.epoch and order.epoch >= self.order.epoch:
            self.is_open = True
        if order <= self.order:
            return False
        self.order, self.total = order, instruction.total
        if instruction.allowed is not None:
            self.allowed = max(instruction.allowed, self.used)
        return True

    def state(self, *, is_idle: bool) -> Statement:
        return Statement(
            order=self.order,
            allowed=self.allowed,
            used=self.used,
            pages=self.pages,
            wants=self.wants and not is_idle,
            is_idle=is_idle,
        )


class _Account(msgspec.Struct):
    """What the bank knows of one part."""

    said: Statement = Statement(order=Order(), allowed=0, used=0)
    """Its last statement."""
    allowed: int = 0
    """What it has obeyed of this bank; 0 before."""
    has_adopted: bool = False
    """Whether the part obeys this bank."""
    is_lost: bool = False
    """Whether it can't be reached. It keeps what it is allowed."""
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
        """`limit` is the number of pages of this run in all parts together."""
        self._limit = limit
        self._epoch = 0
        self._number = 0
        self.total: int | None = None
        """How many pages all parts may have together, those of earlier runs included; None until that is known."""
        self.before: int | None = None
        """Pages of earlier runs; None until that is known."""
        self._ends_at = 0
        """With so many pages in all the limit is reached."""
        self._accounts = [_Account(pending=Instruction(order=Order())) for _ in range(parts)]

    @property
    def pages(self) -> int:
        """Pages that are settled or in the output, of all runs, by the last statements of the parts."""
        return sum(account.said.pages for account in self._accounts)

    @property
    def is_reached(self) -> bool:
        """Whether the run has as many pages as it may."""
        return self.total is not None and self.pages >= self._ends_at

    def go_on(self, before: int) -> None:
        """An earlier bank of this run has counted the pages of the runs before it."""
        if self.before is None:
            self.before, self._ends_at = before, before + self._limit

    def set_limit(self, limit: int) -> None:
        """Let another limit hold, counted from the beginning of the run. Pages that are begun are finished, so a limit
        that they exceed is exceeded."""
        self._limit = limit
        if self.before is None:
            return
        self._ends_at = self.before + limit
        if self.total is None:
            return  # the parts are giving back what they had not begun
        if self._ends_at >= self.total:
            self.total = self._ends_at
            self._share(self.total)
            return
        # What the parts are allowed may be too much by now. Each gives back what it has not begun.
        self.total = None
        self._number += 1
        for account in self._accounts:
            account.has_adopted = False
            account.pending = Instruction(order=Order(self._epoch, self._number), allowed=0)

    def instructions(self) -> Mapping[int, Instruction]:
        """What the parts have not yet answered, by part."""
        return {part: each.pending for part, each in enumerate(self._accounts) if each.pending is not None}

    def greeting(self, part: int) -> Instruction:
        """What to tell a part that has connected."""
        self._accounts[part].is_lost = False
        return self._accounts[part].pending or Instruction(order=Order(self._epoch, 0))

    def lose(self, part: int) -> None:
        """A part can't be reached until it connects again."""
        self._accounts[part].is_lost = True
        if self.total is not None:
            self._share(self.total)

    def hear(self, part: int, statement: Statement) -> None:
        """A part has stated what it has."""
        account = self._accounts[part]
        account.said = statement
        if not self._epoch:
            account.pending = None
            if all(each.pending is None for each in self._accounts):
                self._begin_epoch()
        elif account.pending is not None and statement.order == account.pending.order:
            account.pending, account.has_adopted, account.allowed = None, True, statement.allowed
        if self.total is None and all(account.has_adopted for account in self._accounts):
            self._count_total()
        if self.total is not None:
            self._share(self.total)

    def _begin_epoch(self) -> None:
        """Let all parts obey this bank, and no longer an earlier one, whose instructions may still be on their way."""
        self._epoch = 1 + max(account.said.order.epoch for account in self._accounts)
        for account in self._accounts:
            account.pending = Instruction(order=Order(self._epoch, 0), allowed=0)

    def _count_total(self) -> None:
        """All parts have given back what they had not begun, of an earlier run or an earlier limit."""
        kept = sum(account.allowed for account in self._accounts)
        if self.before is None:
            self.before = self.pages
            self._ends_at = max(self.before + self._limit, kept)
        self.total = max(self.before + self._limit, kept)

    def _share(self, total: int) -> None:
        """Give to parts that want more; if nothing is left, call back from a part that has some to spare."""
        wanting = [account for account in self._accounts if account.said.wants and account.pending is None]
        for account in wanting:
            left = total - sum(each.max_allowed for each in self._accounts)
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
        is_less = pending is not None and pending.allowed is not None and pending.allowed < account.allowed
        return is_less and not account.is_lost

    def _instruct(self, account: _Account, allowed: int) -> None:
        self._number += 1
        order = Order(self._epoch, self._number)
        account.pending = Instruction(order=order, allowed=allowed, total=self.total or 0)


def _spare(account: _Account) -> int:
    """What can be called back from a part. One that has URLs keeps at least one page, or two parts that want the last
    page could take it from each other for ever."""
    if account.pending is not None or account.is_lost:
        return 0
    unused = account.allowed - account.said.used
    return unused if account.said.is_idle else unused // 2
