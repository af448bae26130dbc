"""Claims, renews and gives up the leases of a machine."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from crawler.cluster.boottime import boottime
from crawler.cluster.leases import Change, Claim, Held, Leases, Lost, Refused, Renewed
from crawler.cluster.register import Register
from crawler.cluster.values import COORDINATOR, Cluster, Denied, Forgotten, Identity, RegisterDamaged, Wanted
from crawler.disk.directory import DirectoryRefused
from crawler.redis.client import FAILURES, reason_of

log = logging.getLogger(__name__)

_RENEWALS: Final = 4
"""How often a lease is renewed in its time."""


class Home(Protocol):
    """What a machine has of the crawl."""

    def identity(self) -> Identity:
        """The crawl, as the directory of this machine stores it."""

    def epochs(self) -> Mapping[int, int]:
        """The stored epochs of all directories of parts that are here, and were opened."""

    def learn(self, cluster: Cluster) -> Mapping[int, int]:
        """Store what other machines have changed. Returns the epochs of the parts that this machine could run from its
        directories. Raises `OSError`; then what was stored before holds."""

    def store(self, part: int, *, epoch: int, lineage: int) -> None:
        """Store the epoch in the directory of a part, synced; make the directory if there is none. Called in a thread.
        Raises `OSError` or `DirectoryRefused`."""


Choose = Callable[[Cluster, Mapping[int, int]], Iterable[Wanted]]
"""Which parts a machine would run, among them those that it runs, given those that it has directories for and their
epochs. What is not chosen and held is kept; `LeaseKeeper.release` gives it up."""


class LeaseKeeper:
    """Keeps the leases of one machine. `run` works until it is cancelled; `next_change` says what has changed."""

    def __init__(
        self,
        register: Register,
        home: Home,
        holder: str,
        *,
        choose: Choose,
        lease_s: float,
    ) -> None:
        """`holder` names this process for people, and differs from that of any other. `lease_s` is that of the
        register: all machines must agree on it."""
        self._register = register
        self._home = home
        self._choose = choose
        self.holder = f"{holder}:{secrets.token_hex(4)}"
        self._lease_s = lease_s
        self._leases = Leases(lease_s=lease_s)
        self._changes: asyncio.Queue[Change] = asyncio.Queue()
        self._refused: dict[int, str] = {}
        self._wake = asyncio.Event()
        self._troubles: dict[str, str] = {}  # why Redis can't be used, for what it was asked
        self._damage = ""
        self._unstored = False
        """Whether what others have changed can't be stored here."""

    async def next_change(self) -> Change:
        return await self._changes.get()

    def until(self, part: int) -> float:
        """When the lease of a part ends, by the clock; minus infinity if it is not held."""
        until = self._leases.until(part)
        return float("-inf") if until is None else until

    def claim_of(self, part: int) -> str | None:
        """The claim by which a part is held; None if it is not."""
        return self._leases.claims.get(part) if self._leases.until(part) is not None else None

    def look_again(self) -> None:
        """What the machine wants has changed."""
        self._wake.set()

    async def release(self, part: int) -> None:
        """Give up a part whose process has ended, so that another machine may have it at once."""
        claim = self._leases.drop(part)
        if claim is not None:
            await self._register.release(part, claim=claim.claim)

    async def aclose(self) -> None:
        """Give up everything. All processes have ended, and `run` has too."""
        for part in list(self._leases.claims):
            await self.release(part)
        await self._register.say_goodbye(self.holder)

    async def run(self) -> None:
        """Keep the leases until cancelled."""
        async with asyncio.TaskGroup() as group:
            # A directory that is stored for long must not keep leases from being renewed.
            group.create_task(self._keep_renewing())
            group.create_task(self._keep_claiming())

    async def _keep_renewing(self) -> None:
        while True:
            await self._try("renewed", self._renew)
            await asyncio.sleep(self._pause_s())

    async def _keep_claiming(self) -> None:
        while True:
            self._wake.clear()
            await self._try("claimed", self._work)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s()):
                    await self._wake.wait()

    async def _try(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        self._let_end()
        try:
            await work()
            if self._troubles.pop(what, None) is not None and not self._troubles:
                log.info("leases can be renewed and claimed again")
        except FAILURES as error:
            reason = reason_of(error, self._lease_s / 2)
            if not self._troubles:
                log.warning("leases can't be %s, because Redis can't be used: %s", what, reason)
            self._troubles[what] = reason
            await self._register.reconnect()
        except RegisterDamaged as error:
            if self._damage != str(error):
                log.warning("leases are kept, and no others claimed, until this is mended: %s", error)
            self._damage = str(error)

    def _pause_s(self) -> float:
        """Until the next turn: often enough to renew, and in time for what happens to a lease."""
        pause_s = self._lease_s / _RENEWALS
        if (event := self._leases.next_event()) is not None:
            pause_s = min(pause_s, max(self._lease_s / 100, event - boottime()))
        return pause_s

    def _let_end(self) -> None:
        trouble = next(iter(self._troubles.values()), None)
        why = "this process was stopped" if trouble is None else f"Redis can't be used: {trouble}"
        for part in self._leases.ended(boottime()):
            self._lose(part, f"it could not be renewed in time ({why})")

    async def _work(self) -> None:
        """Let claims stand that have waited, and make others."""
        await self._let_stand()
        async with asyncio.timeout(self._lease_s / 2):
            try:
                cluster = await self._register.read()
                await self._tell_stored(cluster)
                await self._claim(cluster)
            except Forgotten:
                await self._write_again()

    async def _renew(self) -> None:
        claims = self._leases.claims
        sent_at = boottime()
        async with asyncio.timeout(self._lease_s / 2):
            answers = await self._register.renew(claims, lease_s=self._lease_s)
        for (part, claim), holds in zip(claims.items(), answers, strict=True):
            if self._leases.find(part, claim) is None:
                continue
            if not holds:
                self._lose(part, "Redis has lost it, or has given it to another")
                continue
            self._leases.renew(part, claim, sent_at=sent_at)
            if (until := self._leases.until(part)) is not None:
                self._changes.put_nowait(Renewed(part=part, until=until))
        self._let_end()

    async def _let_stand(self) -> None:
        for part, ripe in self._leases.ripe(boottime()):
            claim = ripe.claim
            # It may have been lost while the one before was confirmed.
            if self._leases.find(part, claim) is None:
                continue
            if part != COORDINATOR and not await self._store(part, ripe):
                continue
            sent_at = boottime()
            async with asyncio.timeout(self._lease_s / 2):
                stands = await self._register.confirm(part, claim=claim, epoch=ripe.epoch, lease_s=self._lease_s)
            if not stands:
                self._lose(part, "Redis has lost it, or has given it to another")
                continue
            self._leases.confirm(part, claim, sent_at=sent_at)
            if (until := self._leases.until(part)) is not None and until > boottime():
                self._refused.pop(part, None)
                self._changes.put_nowait(Held(part=part, epoch=ripe.epoch, until=until))

    async def _store(self, part: int, claim: Claim) -> bool:
        """Returns whether the directory of the part is ready."""
        try:
            await asyncio.to_thread(self._home.store, part, epoch=claim.epoch, lineage=claim.lineage)
        except (OSError, DirectoryRefused) as error:
            await self.release(part)
            self._refuse(part, str(error))
            return False
        return True

    async def _tell_stored(self, cluster: Cluster) -> None:
        """After a flush or an older copy, the register knows less than the directories."""
        identity, epochs, known = self._home.identity(), self._home.epochs(), cluster.identity
        if (
            any(epoch > cluster.parts[part].opened for part, epoch in epochs.items())
            or identity.configuration_version > known.configuration_version
            or identity.next_lineage > known.next_lineage
            or any(ours > theirs for ours, theirs in zip(identity.lineages, known.lineages, strict=True))
        ):
            await self._register.raise_to(identity, epochs)

    async def _write_again(self) -> None:
        log.warning("Redis has forgotten the crawl, as after a flush; this machine writes its register again")
        identity = self._home.identity()
        await self._register.create(identity, is_new=False)
        try:
            await self._register.raise_to(identity, self._home.epochs())
        except Forgotten:
            for part in self._home.epochs():
                self._refuse(part, "another crawl uses the prefix of keys, or a later generation of this one")
            return
        self._wake.set()

    async def _claim(self, cluster: Cluster) -> None:
        for wanted in self._choose(*self._learned(cluster)):
            part = wanted.part
            if part in self._leases:
                continue
            claim = secrets.token_hex(8)
            sent_at = boottime()
            answer = await self._register.claim(
                part,
                holder=self.holder,
                claim=claim,
                stored=wanted.stored,
                makes=wanted.makes,
                lease_s=self._lease_s,
            )
            if isinstance(answer, Denied):
                is_own = answer.holder == self.holder
                self._refuse(
                    part, "its lease that was lost here lasts a little longer in Redis" if is_own else answer.why
                )
            else:
                self._leases.grant(
                    part, claim, epoch=answer.epoch, lineage=answer.lineage, sent_at=sent_at, now=boottime()
                )

    def _learned(self, cluster: Cluster) -> tuple[Cluster, Mapping[int, int]]:
        """What is stored here of the register now, and the epochs of the directories. A full disk keeps the machine
        from taking over what others have changed, and from nothing else: it still hears when the run ends."""
        try:
            here = self._home.learn(cluster)
        except OSError as error:
            if not self._unstored:
                log.warning("changes of the crawl, as of its settings, wait until they can be stored here: %s", error)
            self._unstored = True
            return msgspec.structs.replace(cluster, identity=self._home.identity()), self._home.epochs()
        self._unstored = False
        return cluster, here

    def _refuse(self, part: int, why: str) -> None:
        if self._refused.get(part) != why:
            self._refused[part] = why
            self._changes.put_nowait(Refused(part=part, why=why))

    def _lose(self, part: int, why: str) -> None:
        claim = self._leases.drop(part)
        if claim is not None and claim.stands:
            self._changes.put_nowait(Lost(part=part, why=why))
