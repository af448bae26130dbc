"""Reads the status of a crawl on many machines."""

import asyncio
import tomllib
from typing import Any

import msgspec

from config import Loaded, ServerAway, ServerUnusable
from crawler.cluster.values import Cluster, PartState
from crawler.operate.cluster.advice import advice_of
from crawler.operate.cluster.forms import ClusterStatus, Machine, PartOnMachine, State
from crawler.operate.cluster.reaching import reached
from crawler.parts.exchange.redis_connection import keys_of
from crawler.status import duration
from crawler.wiring.components.exchanging import checked_redis


async def read_status(loaded: Loaded) -> ClusterStatus:
    """The crawl that `[exchange]` names. Raises `ConfigError` and `Refused`."""
    async with reached(loaded, also_full=True) as (client, register):
        cluster: Cluster = await register.read()
        prefix = f"{loaded.config.exchange.prefix}:{cluster.identity.generation}"
        under_way = await _under_way(client, prefix, cluster.identity.parts)
        trouble = await _trouble(loaded)
    exchange, identity = loaded.config.exchange, cluster.identity
    status = ClusterStatus(
        url=exchange.url,
        prefix=exchange.prefix,
        crawl=identity.crawl,
        generation=identity.generation,
        name=_name(identity.configuration),
        lease_s=identity.lease_s,
        configuration_version=identity.configuration_version,
        is_whole=cluster.is_whole,
        is_first_server=cluster.is_first_server,
        coordinator=None if cluster.coordinator is None else cluster.coordinator.holder,
        retired_in=None if cluster.retired is None else cluster.retired.where,
        server_trouble=trouble,
        last_ending=_last_ending(cluster),
        parts=[_part(cluster, part, under_way[part.number]) for part in cluster.parts],
        machines=[
            Machine(
                holder=holder,
                host=agent.host,
                pid=agent.pid,
                directory=agent.directory,
                silent_s=max(0.0, cluster.now - agent.told_at),
                parts=sorted(agent.parts),
            )
            for holder, agent in sorted(cluster.agents.items())
        ],
    )
    return msgspec.structs.replace(status, advice=advice_of(status))


async def _trouble(loaded: Loaded) -> str | None:
    """Why a server that answers takes no writes now."""
    try:
        async with checked_redis(loaded):
            return None
    except ServerAway as error:
        return error.problems[0].message
    except ServerUnusable:
        return None  # who looks may lack permissions that machines have


async def _under_way(client: Any, prefix: str, parts: int) -> list[int]:
    return list(await asyncio.gather(*(client.xlen(keys_of(prefix, part)[1]) for part in range(parts))))


def _last_ending(cluster: Cluster) -> str | None:
    if (ending := cluster.ending) is None:
        return None
    # Machines that leave in order take back what they have said. One that died before has not heard of the ending.
    has_run_since = any(agent.ending in (None, ending.mark) for agent in cluster.agents.values())
    is_held = cluster.coordinator is not None or any(part.lease is not None for part in cluster.parts)
    return None if has_run_since or is_held else ending.ending


def _part(cluster: Cluster, part: PartState, under_way: int) -> PartOnMachine:
    lease, number = part.lease, part.number
    return PartOnMachine(
        part=number,
        state=_state(part),
        epoch=part.opened,
        lineage=part.lineage,
        holder=None if lease is None else lease.holder,
        left_s=None if lease is None else lease.left_s,
        last_holder=part.last_holder,
        says=what_is_said(cluster, part) or None,
        under_way=under_way,
    )


def what_is_said(cluster: Cluster, part: PartState) -> str:
    """How a part is, by the machine that runs it, or by all that have a directory of it. What was said before the last
    lease may no longer be so."""
    said: dict[str, str] = {}
    for holder, agent in sorted(cluster.agents.items()):
        if part.number in agent.parts:
            ago_s = cluster.now - agent.told_at
            when = f", as said {duration(ago_s)} ago" if ago_s > cluster.identity.lease_s else ""
            said[holder] = f"{agent.parts[part.number]}{when}"
    return "; ".join(said.values()) if part.lease is None or part.lease.holder not in said else said[part.lease.holder]


def _state(part: PartState) -> State:
    if part.lease is not None:
        return "held" if part.lease.stands else "opening"
    if part.may_be_made:
        return "to be made"
    return "free" if part.opened else "unmade"


def _name(configuration: str) -> str:
    name = tomllib.loads(configuration).get("crawl", {}).get("name")
    return name if isinstance(name, str) else "crawl"
