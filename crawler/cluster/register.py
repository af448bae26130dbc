"""The register of a crawl on many machines, in Redis.

All keys of a crawl have one hash tag, so that a cluster of Redis has them on one node, and scripts may use them
together:

    {PREFIX:GENERATION:cluster}:register     a hash. Numbers of parts stand behind a colon
        crawl, parts, next_lineage, lease_s, configuration_version, configuration_digest
        server                the run id of the server in which it was created; empty when machines wrote it again
        lineage:K, opened:K, claimed:K
        make:K                present if an operator permits to make part K again
        last:K                who has opened it last
        replaces              earlier generations of the crawl, separated by commas
        last_lineage, drawn   the first if the crawl may not use all in order; the second as JSON
        retired               present if the crawl is being divided anew, or was: a `Retirement` as JSON
    {PREFIX:GENERATION:cluster}:large        a hash: configuration, suffixes
    {PREFIX:GENERATION:cluster}:lease:K      a hash that expires; K is -1 for the coordinator
    {PREFIX:GENERATION:cluster}:agents       a hash: by holder, an `Agent` as JSON
    {PREFIX:crawl}                           the generation of the crawl that uses the prefix

Whatever is decided is decided in one hash, so that a flush can't leave half of it. A renewal changes the expiry only,
which is permitted when the memory is full.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from redis.exceptions import ResponseError

from crawler.cluster import scripts
from crawler.cluster.asking import only
from crawler.cluster.decoding import (
    Fields,
    agents_of,
    answer_of_claim,
    cluster_of,
    flat_of,
    holder_of,
    identity_of,
    lease_of,
    pairs_of,
    text_of,
    why_denied,
    why_old,
)
from crawler.cluster.values import (
    COORDINATOR,
    Adopted,
    Agent,
    Cluster,
    Denied,
    EndingMark,
    Forgotten,
    Granted,
    Identity,
    Retirement,
)
from crawler.disk.lineages import LAST_IN_ORDER
from crawler.redis.client import TIMEOUT_S, leave_idle

_AGENT_S: Final = 24 * 3600.0
"""How long an agent that has not said goodbye is listed."""
_VERSION: Final = (b"configuration_version", b"configuration_digest")
"""The number alone does not tell a configuration from one that a failover has lost."""


async def find_generation(client: Any, prefix: str) -> str | None:
    """The generation of the crawl that uses a prefix; None if there is none. Raises `RegisterDamaged`."""
    key = _name_of_crawl(prefix)
    async with only(client, "string", [key]):
        found = await client.get(key)
    return None if found is None else text_of(key, found)


def _name_of_crawl(prefix: str) -> str:
    return f"{{{prefix}:crawl}}"


class Register:
    """The register of one crawl. Whatever it does raises `redis.exceptions.RedisError`, OSError or TimeoutError if the
    server does not do it."""

    def __init__(self, client: Any, *, prefix: str, generation: str) -> None:
        self._client = client
        self._prefix = prefix
        self._generation = generation
        place = f"{{{prefix}:{generation}:cluster}}"
        self._register, self._large, self._agents = (f"{place}:{name}" for name in ("register", "large", "agents"))
        self._lease = f"{place}:lease:"
        self._known: tuple[tuple[bytes | None, ...], Mapping[bytes, bytes]] = (), {}
        """What is large, and the version of the configuration that it has."""

    async def create(self, identity: Identity, *, is_new: bool = True) -> bool:
        """Write the register, unless there is one. Returns whether it was written.

        It `is_new` for a crawl that is made now. Otherwise a machine writes what Redis has forgotten; nobody can know
        then which parts were made. It is not written if another crawl uses the prefix meanwhile, or a later generation.
        """
        fields: dict[str, object] = {
            "crawl": identity.crawl,
            "parts": identity.parts,
            **{f"lineage:{part}": lineage for part, lineage in enumerate(identity.lineages)},
            "next_lineage": identity.next_lineage,
            "lease_s": identity.lease_s,
            "configuration_version": identity.configuration_version,
            "replaces": ",".join(identity.replaces),
            **({} if identity.last_lineage is None else {"last_lineage": identity.last_lineage}),
            "drawn": msgspec.json.encode(identity.drawn),
        }
        if not is_new and not await self._take_prefix(identity):
            return False
        large = (identity.configuration, identity.suffixes)
        written = await self._eval(scripts.CREATE, [self._register, self._large], *large, int(is_new), *flat_of(fields))
        if is_new:
            await self._take_prefix(identity)
        return bool(written)

    async def _take_prefix(self, identity: Identity) -> bool:
        """Returns whether this generation uses the prefix now, and no other crawl does."""
        await self.keep_name()
        for before in identity.replaces:
            # After a flush, a machine with an old directory may have written its register again.
            await self._succeed(before)
        return await find_generation(self._client, self._prefix) == self._generation

    async def keep_name(self) -> None:
        """Let the crawl be found by its prefix, if Redis has forgotten that. On a cluster of Redis, another node may
        have its name than has the rest."""
        async with asyncio.timeout(TIMEOUT_S):
            await self._client.set(_name_of_crawl(self._prefix), self._generation, nx=True)

    async def raise_to(self, identity: Identity, epochs: Mapping[int, int]) -> None:
        """Let the register know at least what directories have stored. Raises `Forgotten` and `RegisterDamaged`."""
        least = {f"{name}:{part}": epoch for part, epoch in epochs.items() for name in ("opened", "claimed")}
        least |= {f"lineage:{part}": lineage for part, lineage in enumerate(identity.lineages)}
        least["next_lineage"] = identity.next_lineage
        try:
            is_known = await self._eval(scripts.RAISE, [self._register], *flat_of(least))
        except ResponseError:
            _ = await self.read()  # says what is damaged, if it is that
            raise
        if not is_known:
            raise Forgotten
        await self.replace_configuration(identity.configuration, identity.configuration_version)

    async def replace_configuration(self, configuration: str, version: int, *, over: int | None = None) -> bool:
        """Let a configuration hold, unless the register has a later one than `over`; by default, than the one before
        `version`. Returns whether it does."""
        rest = (version, configuration, version - 1 if over is None else over)
        return bool(await self._eval(scripts.CONFIGURE, [self._register, self._large], *rest))

    async def read(self) -> Cluster:
        """All of it. Raises `Forgotten` and `RegisterDamaged`."""
        parts, version = await self._read_size()
        large = await self._read_large(version)
        keys = [self._register, self._agents, *map(self._lease_of, range(COORDINATOR, parts))]
        async with only(self._client, "hash", keys):
            run_id, (s, us), flat, agents, leases = await self._eval(scripts.READ, keys)
        pairs = dict(pairs_of(flat))
        if not pairs:
            raise Forgotten
        if tuple(map(pairs.get, _VERSION)) != version:
            return await self.read()  # `large` belongs to another version
        fields = Fields(pairs, self._register)
        return cluster_of(
            identity_of(self._generation, fields, large),
            fields,
            {int(number): lease_of(self._lease_of(number), values) for number, values in leases},
            agents_of(agents),
            run_id=run_id.decode(),
            now=int(s) + int(us) / 1e6,
        )

    async def _read_size(self) -> tuple[int, tuple[bytes | None, ...]]:
        """The number of parts, and the version of the configuration. Raises `Forgotten` and `RegisterDamaged`."""
        async with only(self._client, "hash", [self._register]):
            parts, *version = await self._client.hmget(self._register, b"parts", *_VERSION)
            if parts is None and not await self._client.exists(self._register):
                raise Forgotten
        return Fields({} if parts is None else {b"parts": parts}, self._register).parts(), tuple(version)

    async def _read_large(self, version: tuple[bytes | None, ...]) -> Fields:
        if self._known[0] != version or not self._known[1]:
            async with only(self._client, "hash", [self._large, self._register]):
                self._known = version, await self._client.hgetall(self._large)
                if not self._known[1] and not await self._client.exists(self._register):
                    raise Forgotten
        return Fields(self._known[1], self._large, self._register)

    async def claim(
        self, part: int, *, holder: str, claim: str, stored: int, makes: bool, lease_s: float
    ) -> Granted | Denied:
        """Ask for the lease of a part. Raises `Forgotten`."""
        ms = int(lease_s * 1000)
        answer = await self._eval(scripts.CLAIM, self._keys(part), part, holder, claim, stored, int(makes), ms)
        return answer_of_claim(answer, stored=stored)

    async def confirm(self, part: int, *, claim: str, epoch: int, lease_s: float) -> bool:
        """The claim has waited, and its directory stores the epoch: let it stand. Returns whether it still holds the
        lease."""
        return bool(await self._eval(scripts.CONFIRM, self._keys(part), part, claim, epoch, int(lease_s * 1000)))

    async def renew(self, claims: Mapping[int, str], *, lease_s: float) -> Sequence[bool]:
        """Renew the leases of parts by their claims. Returns which of them hold their lease."""
        if not claims:
            return ()
        keys = [self._lease_of(part) for part in claims]
        return [bool(each) for each in await self._eval(scripts.RENEW, keys, int(lease_s * 1000), *claims.values())]

    async def release(self, part: int, *, claim: str) -> None:
        """Give up a lease. Its part is closed."""
        await self._eval(scripts.RELEASE, [self._lease_of(part)], claim)

    async def end(self, ending: EndingMark, *, claim: str | None = None) -> bool:
        """Let all machines end their run. With `claim`, only while this claim holds the coordinator's lease. Returns
        whether it was written."""
        return bool(await self._eval(scripts.END, self._keys(COORDINATOR), msgspec.json.encode(ending), claim or ""))

    async def adopt(self, part: int, *, is_made: bool) -> Adopted | Denied:
        """Let a part that nobody holds have a new lineage. It is made anew, or `is_made`: the caller has a directory
        for it, and stores lineage and epoch there. Raises `Forgotten`."""
        match await self._eval(scripts.ADOPT, self._keys(part), part, int(is_made), LAST_IN_ORDER):
            case [b"adopted", epoch, lineage]:
                return Adopted(part=part, epoch=epoch, lineage=lineage)
            case [b"held", by]:
                return Denied(why=f"{holder_of(by)} holds it: a part that somebody runs is not lost")
            case [b"used up"]:
                return Denied(why="the lineages of the crawl are used up")
        raise Forgotten

    async def remove(self) -> str | None:
        """Delete the register of a crawl that nobody runs, and let the prefix be used by another. Returns who runs it,
        if somebody does."""
        register, *leases = await self._all_keys()
        by: bytes = await self._eval(scripts.REMOVE, [register, self._large, self._agents, *leases])
        if by:
            return holder_of(by)
        await self._eval(scripts.FREE, [_name_of_crawl(self._prefix)], self._generation)
        return None

    async def retire(self, retirement: Retirement, epochs: Sequence[int]) -> Denied | None:
        """Let nobody run this generation any more, because another takes its place. Denied while somebody holds
        a lease, or if the directory of a part, whose epoch is in `epochs`, is not the newest. Raises `Forgotten`."""
        rest = (retirement.generation, msgspec.json.encode(retirement), *epochs)
        match await self._eval(scripts.RETIRE, await self._all_keys(), *rest):
            case [b"done"]:
                return None
            case [b"retired", by]:
                return Denied(why=why_denied(by))
            case [b"held", by]:
                return Denied(why=f"{holder_of(by)} runs it, or has until a moment ago: stop the crawl on all machines")
            case [b"old", part, opened, stored]:
                return Denied(why=why_old(part, opened, int(stored)))
        raise Forgotten

    async def revive(self, generation: str) -> None:
        """Let this generation be run again: that one does not take its place."""
        await self._eval(scripts.REVIVE, [self._register], generation)

    async def _succeed(self, before: str) -> None:
        """Let this generation use the prefix instead of the one `before`, which nobody may run any more."""
        old = Register(self._client, prefix=self._prefix, generation=before)
        retirement = Retirement(generation=self._generation, where="other directories")
        await old._eval(scripts.DEPOSE, await old._all_keys(), msgspec.json.encode(retirement))
        await self._eval(scripts.SUCCEED, [_name_of_crawl(self._prefix)], before, self._generation)

    async def _all_keys(self) -> list[str]:
        """The register and all leases."""
        async with asyncio.timeout(TIMEOUT_S):
            found = await self._client.hget(self._register, "parts")
        parts = 0 if found is None else Fields({b"parts": found}, self._register).parts()
        return [self._register, *(self._lease_of(part) for part in range(COORDINATOR, parts))]

    async def tell(self, holder: str, agent: Agent) -> None:
        """Say how a machine is, for people."""
        await self._eval(scripts.TELL, [self._agents, self._register], holder, msgspec.json.encode(agent), _AGENT_S)

    async def say_goodbye(self, holder: str) -> None:
        """A machine leaves."""
        async with asyncio.timeout(TIMEOUT_S):
            await self._client.hdel(self._agents, holder)

    async def reconnect(self) -> None:
        """The server has not done what it was told. Another one may have taken its place."""
        await leave_idle(self._client)

    def _lease_of(self, part: int) -> str:
        return f"{self._lease}{part}"

    def _keys(self, part: int) -> list[str]:
        return [self._register, self._lease_of(part)]

    async def _eval(self, script: str, keys: Sequence[str], *rest: object) -> Any:
        async with asyncio.timeout(TIMEOUT_S):
            return await self._client.eval(script, len(keys), *keys, *rest)
