"""What name servers said: a bounded cache, which keeps answers for longer than they are fresh. Pure."""

from collections.abc import Sequence

import msgspec

from crawler.page.duplicates import forget_oldest

MAX_ADDRESSES = 16
"""The most addresses of a name that are kept, so that nobody fills the memory with a name that has thousands."""


class NameCacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many names are cached, and how long their answers."""

    ttl_s: float = 300.0
    """How long an answer without a TTL is fresh. The TTL of others is limited to `min_ttl_s` and `max_ttl_s`."""
    min_ttl_s: float = 30.0
    max_ttl_s: float = 3600.0
    negative_ttl_s: float = 30.0
    """Of failures. RFC 8767 calls the same time the failure recheck timer: so long, a stale answer is used without
    asking again."""
    stale_s: float = 86_400.0
    """How long after its time to live an answer is used if the name servers fail: RFC 8767, section 5, between one and
    three days."""
    stale_after_s: float = 1.8
    """How long we wait for a fresh answer before a stale one is used: the client response timer of RFC 8767."""
    failing_after_s: float = 0.05
    """The same once that has happened, until a question is answered: otherwise each host would wait for name servers
    that are gone."""
    max_names: int = 100_000
    """About 300 bytes each."""


class Answer(msgspec.Struct):
    """What is known of a name."""

    fresh_until: float
    """By the clock of the cache."""
    stale_until: float
    addresses: str
    """Best first, as the name server sent them, with spaces in between: one object instead of many."""
    error: OSError | None = None
    """Why there are none."""


class Answers:
    """The answers by name, at most `max_names`; those used least recently are forgotten first."""

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, name: str, /) -> Answer | None:
        """What is known, fresh or stale."""
        answer = self._answers.pop(name, None)
        if answer is not None:
            self._answers[name] = answer  # the last one now
        return answer

    def put(self, name: str, answer: Answer, /, *, max_names: int) -> None:
        self._answers.pop(name, None)
        if len(self._answers) >= max_names:
            forget_oldest(self._answers)
        self._answers[name] = answer


def make_answer(addresses: Sequence[str], *, ttl_s: float | None, now: float, limits: NameCacheLimits) -> Answer:
    """The answer of a name server that knows the name."""
    life_s = limits.ttl_s if ttl_s is None else min(max(ttl_s, limits.min_ttl_s), limits.max_ttl_s)
    return Answer(now + life_s, now + life_s + limits.stale_s, " ".join(addresses[:MAX_ADDRESSES]))


def answer_after_failure(
    error: OSError, before: Answer | None, *, is_final: bool, now: float, limits: NameCacheLimits
) -> Answer:
    """What is known after a failure. A name server that says that there is no such name `is_final`; if it does not
    answer, or can't, the addresses of `before` are used for some time longer."""
    until = now + limits.negative_ttl_s
    if not is_final and before is not None and before.addresses and before.stale_until > now:
        return Answer(min(until, before.stale_until), before.stale_until, before.addresses)
    return Answer(until, until, "", error)
