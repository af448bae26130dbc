"""Makes a crawl on many machines: its register, from which machines take everything else.

A new crawl needs no more. For one that is in parts on this machine, the register is written first, and says that every
part was made. No machine can run a part then, because none has its directory. Then each part gets a note of its claim,
and last the layout says that the crawl is on many machines: its parts run with leases only from then on. After a crash
before that, the crawl is on this machine, and the same call begins again.
"""

import secrets
from pathlib import Path
from typing import Any, Final

import msgspec

from config import Loaded, render_run, with_values
from crawler.cluster.machine import place_in_cluster
from crawler.cluster.notes import Note, write_note
from crawler.cluster.values import Cluster, Forgotten, Identity, Retirement
from crawler.codes.exit_codes import FAILED
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import ClusterPlace, Layout, part_at, read_division, read_layout, write_layout
from crawler.disk.lineages import read_lineages, renew
from crawler.operate.cluster.forms import ClusterMade
from crawler.operate.cluster.reaching import generation_at, place_of, register_at, server_of
from crawler.operate.refused import Refused
from crawler.operate.upkeep.places import lock_all_parts
from crawler.url.hosts import installed_suffixes
from crawler.wiring.crawl import check_configuration
from crawler.wiring.parts import number_of_parts, use_suffixes_of

_EPOCH: Final = 1
"""The epoch of parts that come from one machine."""


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
        configuration=render_run(_with_seeds(loaded).config),
        suffixes=installed_suffixes(),
    )
    async with server_of(loaded) as client:
        before = await generation_at(client, loaded)
        if before is not None:
            await _replace_crawl(register_at(client, loaded, before), loaded, fresh=fresh)
        register = register_at(client, loaded, identity.generation)
        await register.create(identity)
        await _check_ours(client, register, loaded, identity)
    return _made_of(identity, loaded)


def _made_of(identity: Identity, loaded: Loaded) -> ClusterMade:
    exchange = loaded.config.exchange
    return ClusterMade(
        crawl=identity.crawl,
        generation=identity.generation,
        parts=identity.parts,
        prefix=exchange.prefix,
        url=exchange.url,
        lease_s=identity.lease_s,
    )


async def _replace_crawl(register: Any, loaded: Loaded, *, fresh: bool) -> None:
    """Forget the crawl that uses the prefix."""
    if not fresh:
        raise _taken(loaded)
    if (holder := await register.remove()) is not None:
        raise Refused(f"the crawl that is to be replaced runs: {holder} holds a part of it. Stop it first", FAILED)


async def _check_ours(client: Any, register: Any, loaded: Loaded, identity: Identity) -> None:
    """Raise `Refused` if somebody else has begun to use the prefix at the same time."""
    if await generation_at(client, loaded) != identity.generation:
        await register.remove()
        raise _taken(loaded)


def _taken(loaded: Loaded) -> Refused:
    """Another crawl uses the prefix."""
    prefix = loaded.config.exchange.prefix
    return Refused(
        f"Redis at {loaded.config.exchange.url} has a crawl with the prefix {prefix!r} already: choose another by "
        "--set exchange.prefix=NAME, or replace it by --fresh. Its machines keep their directories",
        FAILED,
    )


def _with_seeds(loaded: Loaded) -> Loaded:
    """The configuration with all seeds in it: other machines do not have the files."""
    seeds = {"crawl.seeds": tuple(seed.url for seed in loaded.seeds), "crawl.seed_files": ()}
    return msgspec.structs.replace(loaded, config=with_values(loaded.config, seeds))


async def register_crawl(path: Path, loaded: Loaded, *, fresh: bool) -> ClusterMade:
    """Let many machines run the crawl in a directory, which has all its parts and does not run. `loaded` is its
    configuration, with the server. With `fresh`, another crawl that uses the prefix is forgotten, if nobody runs it.
    Raises `ConfigError`, `DirectoryRefused` and `Refused`."""
    layout = _check_layout(path)
    check_configuration(loaded)
    with lock_all_parts(path):
        use_suffixes_of(CrawlDirectory(path))
        if layout.cluster is None:
            # Each part may be lost, and adopted under another lineage.
            renew(path, parts=len(layout.parts), used_below=layout.next_lineage)
        identity = _identity(path, layout, loaded)
        async with server_of(loaded) as client:
            await _write_register(client, layout, loaded, identity, where=place_of(path), fresh=fresh)
            if layout.cluster is None:
                _mark(path, layout, loaded, identity)
    return _made_of(identity, loaded)


def _check_layout(path: Path) -> Layout:
    layout = read_layout(path)
    if part_at(path) is not None:
        raise Refused(f"{path} is one part of a crawl: name the directory of the whole crawl, which has it")
    if read_division(path) is not None:
        raise Refused(f"the crawl in {path} is being divided anew: finish that by `onceover parts`, then try again")
    if layout is None:
        raise Refused(
            f"expected a crawl in parts in {path}, with parts.json; divide it by `onceover parts {path} --into N` first"
        )
    return layout


def _identity(path: Path, layout: Layout, loaded: Loaded) -> Identity:
    retired, cluster = layout.retired_now, layout.cluster
    known = cluster.crawl if cluster is not None else retired.crawl if retired is not None else secrets.token_hex(8)
    replaces = cluster.replaces if cluster is not None else () if retired is None else retired.generations
    left = read_lineages(path)
    return Identity(
        crawl=known,
        generation=layout.generation,
        lineages=tuple(place.lineage for place in layout.parts),
        next_lineage=max(layout.next_lineage, left.first),
        lease_s=loaded.config.exchange.lease_s,
        configuration=render_run(_with_seeds(loaded).config),
        suffixes=CrawlDirectory(path).suffixes.read_bytes(),
        replaces=replaces,
        last_lineage=left.last_lineage,
        drawn=left.spans_drawn,
    )


async def _write_register(
    client: Any, layout: Layout, loaded: Loaded, identity: Identity, *, where: str, fresh: bool
) -> None:
    register = register_at(client, loaded, identity.generation)
    before = await generation_at(client, loaded)
    if layout.cluster is not None:
        if before != identity.generation:
            raise _is_registered(loaded, layout.cluster)
        return
    if before is not None and before != identity.generation:
        old = register_at(client, loaded, before)
        if before in identity.replaces:
            await _retire(old, Retirement(generation=identity.generation, where=where))
        else:
            await _replace_crawl(old, loaded, fresh=fresh)
    await _forget_attempt(register)
    await register.create(identity)
    await register.raise_to(identity, dict.fromkeys(range(identity.parts), _EPOCH))
    await _check_ours(client, register, loaded, identity)


async def _retire(old: Any, retirement: Retirement) -> None:
    """Before the division this was done, but Redis may have forgotten it."""
    try:
        cluster: Cluster = await old.read()
    except Forgotten:
        return
    if cluster.retired is None and (denied := await old.retire(retirement, ())) is not None:
        raise Refused(f"the crawl as it was before it was divided anew still runs: {denied.why}", FAILED)


async def _forget_attempt(register: Any) -> None:
    """Forget a register that this wrote before it was interrupted."""
    try:
        cluster: Cluster = await register.read()
    except Forgotten:
        return
    run = [part.number for part in cluster.parts if part.claimed > _EPOCH or part.lease is not None]
    if run or (await register.remove()) is not None:
        raise Refused(
            f"Redis has this crawl already, and machines have run it since: part {', '.join(map(str, run))}. This "
            "directory is an older copy. Gather the directories of its parts as they are now",
            FAILED,
        )


def _mark(path: Path, layout: Layout, loaded: Loaded, identity: Identity) -> None:
    """Let the parts run with leases only."""
    directory = CrawlDirectory(path)
    for part, place in enumerate(layout.directories(path)):
        note = Note(
            crawl=identity.crawl,
            generation=identity.generation,
            part=part,
            lineage=identity.lineages[part],
            epoch=_EPOCH,
        )
        write_note(CrawlDirectory(place), note)
    directory.write_configuration(identity.configuration)
    exchange = loaded.config.exchange
    cluster = place_in_cluster(identity, url=exchange.url, prefix=exchange.prefix)
    write_layout(
        path, msgspec.structs.replace(layout, cluster=cluster, retired=None, next_lineage=identity.next_lineage)
    )


def _is_registered(loaded: Loaded, cluster: ClusterPlace) -> DirectoryRefused:
    return DirectoryRefused(
        f"the crawl is on many machines already (at {cluster.url}, prefix {cluster.prefix!r}), and Redis at "
        f"{loaded.config.exchange.url} does not have it. Start `onceover crawl --cluster` on its machines: they write "
        "the register again"
    )
