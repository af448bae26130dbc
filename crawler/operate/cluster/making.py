"""Makes a crawl on many machines: its register, from which machines take everything else."""

import secrets
from typing import Any

import msgspec

from config import Loaded, render_run, with_values
from crawler.cluster.values import Identity
from crawler.codes.exit_codes import FAILED
from crawler.operate.cluster.forms import ClusterMade
from crawler.operate.cluster.reaching import generation_at, register_at, server_of
from crawler.operate.refused import Refused
from crawler.url.hosts import installed_suffixes
from crawler.wiring.crawl import check_configuration
from crawler.wiring.parts import number_of_parts


async def make_cluster(loaded: Loaded, *, fresh: bool) -> ClusterMade:
    """Make the crawl of a configuration, whose `[exchange]` names the server. With `fresh`, another that uses the
    prefix is forgotten, if nobody runs it; its directories stay. Raises `ConfigError` and `Refused`."""
    check_configuration(loaded)
    exchange, parts = loaded.config.exchange, number_of_parts(loaded.config)
    identity = Identity(
        crawl=secrets.token_hex(8),
        generation=secrets.token_hex(8),
        lineages=tuple(range(1, parts + 1)),
        next_lineage=parts + 1,
        lease_s=exchange.lease_s,
        configuration=render_run(with_seeds(loaded).config),
        suffixes=installed_suffixes(),
    )
    async with server_of(loaded) as client:
        before = await generation_at(client, loaded)
        if before is not None:
            await replace_crawl(register_at(client, loaded, before), loaded, fresh=fresh)
        register = register_at(client, loaded, identity.generation)
        await register.create(identity)
        if await generation_at(client, loaded) != identity.generation:
            await register.remove()
            raise taken(loaded)
    return made_of(identity, loaded)


def made_of(identity: Identity, loaded: Loaded) -> ClusterMade:
    exchange = loaded.config.exchange
    return ClusterMade(
        crawl=identity.crawl,
        generation=identity.generation,
        parts=identity.parts,
        prefix=exchange.prefix,
        url=exchange.url,
        lease_s=identity.lease_s,
    )


async def replace_crawl(register: Any, loaded: Loaded, *, fresh: bool) -> None:
    """Forget the crawl that uses the prefix."""
    if not fresh:
        raise taken(loaded)
    if (holder := await register.remove()) is not None:
        raise Refused(f"the crawl that is to be replaced runs: {holder} holds a part of it. Stop it first", FAILED)


def taken(loaded: Loaded) -> Refused:
    """Another crawl uses the prefix."""
    prefix = loaded.config.exchange.prefix
    return Refused(
        f"Redis at {loaded.config.exchange.url} has a crawl with the prefix {prefix!r} already: choose another by "
        "--set exchange.prefix=NAME, or replace it by --fresh. Its machines keep their directories",
        FAILED,
    )


def with_seeds(loaded: Loaded) -> Loaded:
    """The configuration with all seeds in it: other machines do not have the files."""
    seeds = {"crawl.seeds": tuple(seed.url for seed in loaded.seeds), "crawl.seed_files": ()}
    return msgspec.structs.replace(loaded, config=with_values(loaded.config, seeds))
