"""Shares the limit of pages of a run among the parts that are connected."""

from collections.abc import Callable

from crawler.parts.allowances import Bank, Instruction, Order, Statement
from crawler.parts.line.services import Send
from crawler.parts.sharing.page_allowance import NAME


class PageBank:
    """The supervisor's side of a limit of pages."""

    name = NAME
    messages = Statement

    def __init__(
        self,
        *,
        limit: int,
        parts: int,
        on_reached: Callable[[], None],
        on_begun: Callable[[], object] = lambda: None,
    ) -> None:
        """Calls `on_reached` once the run has as many pages as it may, and `on_begun` before it hands out any, when it
        knows the pages of earlier runs."""
        self._bank = Bank(limit=limit, parts=parts)
        self._on_reached = on_reached
        self._on_begun = on_begun
        self._has_begun = False
        self._has_told = False
        self._sends: dict[int, Send] = {}
        self._sent: dict[int, Order] = {}
        """The last instruction that was sent over the connection of a part."""

    @property
    def pages_before(self) -> int | None:
        """Pages of earlier runs; None until that is known."""
        return self._bank.before

    def go_on(self, before: int) -> None:
        """The run has begun already, after so many pages of earlier runs. Another bank has shared its pages so far."""
        self._bank.go_on(before)

    def set_limit(self, limit: int) -> None:
        """Another limit holds from now on, counted from the beginning of the run."""
        self._bank.set_limit(limit)
        self._act()

    def connect(self, part: int, send: Send, /) -> None:
        self._sends[part] = send
        self._tell(part, self._bank.greeting(part))

    def lose(self, part: int, /) -> None:
        self.disconnect(part)

    def disconnect(self, part: int, /) -> None:
        """The part keeps what it is allowed."""
        if self._sends.pop(part, None) is not None:
            self._bank.lose(part)
            self._instruct()

    def receive(self, part: int, message: Statement, /) -> None:
        self._bank.hear(part, message)
        self._act()

    def _act(self) -> None:
        if not self._has_begun and self._bank.before is not None:
            self._has_begun = True
            self._on_begun()
        self._instruct()
        if self._bank.is_reached and not self._has_told:
            self._has_told = True
            self._on_reached()

    def _instruct(self) -> None:
        for part, instruction in self._bank.instructions().items():
            if part in self._sends and instruction.order != self._sent.get(part):
                self._tell(part, instruction)

    def _tell(self, part: int, instruction: Instruction) -> None:
        self._sent[part] = instruction.order
        self._sends[part](instruction)
