"""How the frontier serves its queues."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from config import Config, with_overrides
from crawler.discover.sites import Blocks, BySite
from crawler.shared_pace.frontier import GroupsOf, PaceGroup
from crawler.url.hosts import domain_of_site, name_of_site, split_port
from crawler.url.urls import QueueBy, UrlReader, site_of
from frontier import Foreseeing
from frontier.queues.grouping import Grouping, GroupLimit, group_of_host
from frontier.queues.settings import QueueSettings
from frontier.values import Budgets

_SOON_S: Final = 2.0
"""How far `upcoming_hosts` looks ahead."""
_FORESEEN: Final = 256
"""How many queues it names at most."""


def queue_settings(config: Config) -> QueueSettings:
    frontier, sites = config.frontier, _sites(config)

    def per_host(queue_key: str) -> int:
        return sites.of_queue(queue_key).politeness.per_host

    return QueueSettings(
        per_queue=config.politeness.per_host,
        per_queue_of=per_host if config.site else None,
        budgets=Budgets(
            session=frontier.session_budget,
            total=frontier.total_budget,
            total_of=(lambda key: sites.of_queue(key).frontier.total_budget) if config.site else None,
            error_penalty=frontier.error_penalty,
        ),
        by_best_url=frontier.queue_order == "best-url",
        precedence_floor=256 if frontier.precedence_floor is None else frontier.precedence_floor,
        grouping=replace(grouping(config), per_host=per_host),
    )


def pace_groups(config: Config, latest: Callable[[], Config]) -> GroupsOf:
    """The groups of hosts whose pace crawls keep together: each host, the hosts that share a queue, and the groups that
    have limits. The delay of a host may change while the crawl runs, so the `latest` configuration says it; the
    frontier is made with the rest."""
    sites, shared, host_of = _sites(config), grouping(config), _hosts(config)
    has_shared_queues = config.frontier.queue_by in ("domain", "surt-prefix")
    delays = config, sites

    def delay_s(queue_key: str) -> float:
        nonlocal delays
        now = latest()
        if now is not delays[0]:
            delays = now, _sites(now)
        return delays[1].of_queue(queue_key).politeness.min_delay_s

    def of_host(queue_key: str, url: str) -> list[PaceGroup]:
        host = host_of(queue_key)
        site, mark, number = host.partition("#")
        name = name_of_site(site)
        of_queue = PaceGroup(
            name=group_of_host(host),
            whole_host=group_of_host(name) if mark else None,
            at_once=sites.of_queue(queue_key).politeness.per_host,
            delay_s=delay_s(queue_key),
            shares_cooldown=True,
        )
        own = name_of_site(site_of(url)) if has_shared_queues else name
        if own == name:
            return [of_queue]
        whole_host = group_of_host(own) if mark else None
        return [replace(of_queue, name=group_of_host(f"{own}{mark}{number}"), whole_host=whole_host), of_queue]

    def of_limit(name: str) -> PaceGroup:
        limit = shared.limit_of(name)
        return PaceGroup(
            name=name, at_once=limit.at_once or 1, delay_s=limit.rest_s, shares_cooldown=limit.shares_cooldown
        )

    return lambda key, url, address: [*of_host(key, url), *map(of_limit, shared.groups_of(key, address))]


def _sites(config: Config) -> BySite[Config]:
    blocks = Blocks([site.match for site in config.site])
    return BySite(blocks, lambda chosen: with_overrides(config, [config.site[number] for number in chosen]))


def grouping(config: Config) -> Grouping:
    """The groups of hosts that share a pace."""
    politeness = config.politeness
    limits = {
        "ip": _limit(politeness.per_ip, politeness.ip_delay_s),
        "domain": _limit(politeness.per_domain, politeness.domain_delay_s),
    }
    if config.frontier.queue_by == "ip":
        at_once = min(politeness.per_host, politeness.per_ip or politeness.per_host)
        limits["ip"] = GroupLimit(at_once=at_once, rest_s=politeness.ip_delay_s, shares_cooldown=True)
    return Grouping(
        limits={kind: limit for kind, limit in limits.items() if limit is not None},
        groups_of_key=_domain,
        host_of_key=_hosts(config),
    )


def _limit(at_once: int | None, rest_s: float) -> GroupLimit | None:
    if at_once is None and not rest_s:
        return None
    return GroupLimit(at_once=at_once or 1, rest_s=rest_s)


def _domain(queue_key: str) -> tuple[str, ...]:
    return (f"domain {split_port(domain_of_site(queue_key.partition('#')[0]))[0]}",)


def queue_by(config: Config) -> QueueBy:
    """How queues are named. With `queue_by = "ip"` they are named by host too, because its address is only known when
    it is asked, and may change."""
    return "domain" if config.frontier.queue_by == "domain" else "host"


def parallel_queues(config: Config, urls: UrlReader) -> dict[str, int]:
    """How many queues a host has, by the key that it would have with one; for hosts with several. Raises
    `ValueError` for what is no host."""
    pairs = (each.rpartition(":") for each in config.frontier.parallel_queues)
    return {urls.seed(f"http://{host}/", called="site").queue_key: int(count) for host, _, count in pairs}


def _hosts(config: Config) -> Callable[[str], str]:
    """Gives the host whose pace a queue shares. Queues of ports and directories share the pace of their host. Each of
    the parallel queues of a host, which have numbers, counts as a host with a pace of its own. If there were more in an
    earlier run, or a single one without a number, those share the pace of the ones that there are now."""
    parallel = parallel_queues(config, UrlReader(queue_by=queue_by(config)))

    def host(queue_key: str) -> str:
        if ":" not in queue_key and "#" not in queue_key and queue_key not in parallel:
            return queue_key
        site, mark, suffix = queue_key.partition("#")
        number = suffix if mark else "0"
        count = parallel.get(site, 1)
        return f"{site}#{int(number) % count}" if number.isdecimal() and count > 1 else name_of_site(site)

    return host


def upcoming_hosts(frontier: Foreseeing) -> Iterator[str]:
    """The names of hosts that are asked soon, by the keys of their queues. Not for queues of whole domains, whose hosts
    have other names."""
    for key in frontier.upcoming(within_s=_SOON_S, limit=_FORESEEN):
        host = split_port(key.partition("#")[0])[0]
        if not host.startswith("[") and not host[-1:].isdigit():
            yield ".".join(reversed(host.split(",")))
