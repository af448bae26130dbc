"""What a holder knows of its leases, and what it has to do. It takes the time as an argument."""

import msgspec


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The part may be opened. Its directory stores the epoch."""

    part: int
    epoch: int
    until: float


class Renewed(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is `Held` may go on for longer. Its process must learn that."""

    part: int
    until: float


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """The part was `Held`, and is not any more. Its process must be killed, which stores nothing of what is in
    flight."""

    part: int
    why: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A wanted part can't be had now. It is said again only when the reason changes."""

    part: int
    why: str


Change = Held | Renewed | Lost | Refused
"""What happens to a part that a machine wants or holds."""


class Claim(msgspec.Struct, kw_only=True):
    """A claim that was granted."""

    claim: str
    epoch: int
    lineage: int
    until: float
    """The end of the lease for its holder."""
    stands_at: float
    """From then on any earlier holder has ended by its own clock."""
    stands: bool = False
    """Whether the register has confirmed it, so that the part may be open."""


class Leases:
    """The claims of one holder, by part. Times are of a clock that is never set, in seconds."""

    def __init__(self, *, lease_s: float) -> None:
        self._lease_s = lease_s
        self._claims: dict[int, Claim] = {}

    @property
    def margin_s(self) -> float:
        """How much longer than a lease a claim waits: clocks of two machines may run so unequally."""
        return 0.1 * self._lease_s

    @property
    def claims(self) -> dict[int, str]:
        """The claims by which parts are held, by part."""
        return {part: claim.claim for part, claim in self._claims.items()}

    def find(self, part: int, claim: str) -> Claim | None:
        """The claim, if it is still the one for the part."""
        found = self._claims.get(part)
        return found if found is not None and found.claim == claim else None

    def __contains__(self, part: int) -> bool:
        return part in self._claims

    def until(self, part: int) -> float | None:
        """The end of a lease that stands. None for any other part."""
        claim = self._claims.get(part)
        return claim.until if claim is not None and claim.stands else None

    def grant(self, part: int, claim: str, *, epoch: int, lineage: int, sent_at: float, now: float) -> None:
        """The register has granted a claim that was sent at `sent_at`."""
        self._claims[part] = Claim(
            claim=claim,
            epoch=epoch,
            lineage=lineage,
            until=sent_at + self._lease_s,
            stands_at=now + self._lease_s + self.margin_s,
        )

    def renew(self, part: int, claim: str, *, sent_at: float) -> None:
        """The register has renewed a lease by a command that was sent at `sent_at`."""
        found = self.find(part, claim)
        if found is not None:
            found.until = max(found.until, sent_at + self._lease_s)

    def confirm(self, part: int, claim: str, *, sent_at: float) -> None:
        """The register lets a claim stand."""
        self.renew(part, claim, sent_at=sent_at)
        if (found := self.find(part, claim)) is not None:
            found.stands = True

    def drop(self, part: int) -> Claim | None:
        """Forget a lease. Returns what it was."""
        return self._claims.pop(part, None)

    def ripe(self, now: float) -> list[tuple[int, Claim]]:
        """The claims that have waited for long enough, and do not stand yet, each with its part."""
        return [(part, claim) for part, claim in self._claims.items() if not claim.stands and claim.stands_at <= now]

    def ended(self, now: float) -> list[int]:
        """The parts whose leases have ended by the clock of their holder."""
        return [part for part, claim in self._claims.items() if claim.until <= now]

    def next_event(self) -> float | None:
        """When a lease ends or a claim has waited for long enough, if nothing happens before."""
        times = [claim.until if claim.stands else min(claim.until, claim.stands_at) for claim in self._claims.values()]
        return min(times, default=None)
