"""Checks values against each other."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from ipaddress import ip_address, ip_network

from config.backends import Backends
from config.contact import has_contact, in_ascii, owned_by_others, split_address
from config.loading.seeds import Seed
from config.problems import Problem
from config.schema import Config
from config.settings import settings
from config.units import size_text

DEFAULT = "default"
"""The origin of a value that no source gives."""

_MAX_FILTER_BYTES = 2**37
_SET_BY_FETCHER = (
    *("host", "connection", "content-length", "transfer-encoding"),
    *("accept-encoding", "if-none-match", "if-modified-since"),
)
_OWN_HEADERS = {
    "user-agent": "set fetch.user_agent",
    "accept-language": "set fetch.languages",
    **dict.fromkeys(_SET_BY_FETCHER, "the fetcher sets it"),
}

Origins = Mapping[str, str]
Check = Callable[[Config, Origins, Backends], str | None]


def cross_check(
    config: Config, origins: Origins, backends: Backends, *, about: AbstractSet[str] | None = None
) -> Iterator[Problem]:
    """Problems between values that are each valid; with `about`, only problems that concern these keys. `origins` does
    not contain keys that are already refused."""
    for keys, check in _CHECKS:
        if about is not None and about.isdisjoint(keys):
            continue
        if all(key in origins for key in keys) and (message := check(config, origins, backends)):
            yield _problem(message, keys[0], origins)


def check_seeds(config: Config, *, seeds: Sequence[Seed], required: bool) -> Iterator[Problem]:
    """Whether there are seeds, if some are required."""
    if required and not seeds:
        files = " (there is none in " + ", ".join(config.crawl.seed_files) + ")" if config.crawl.seed_files else ""
        compared = "; a comparison needs none, and `onceover compare` checks it" if config.compare.work else ""
        yield Problem(f'no seeds{files}: write seeds = ["https://…/"] or seed_files = ["…"] under [crawl]{compared}')


def check_contact(
    config: Config, origins: Origins, *, seeds: Sequence[Seed], is_seed: Callable[[str], bool]
) -> Iterator[Problem]:
    """Whether the owners of the seeds can reach who crawls. If `is_seed` refuses any seed, whoever reads them says why,
    and what else is wrong with them."""
    problem = missing_contact(config, origins, (seed.url for seed in seeds if is_seed(seed.url)))
    if problem is not None and all(is_seed(seed.url) for seed in seeds):
        yield problem


def missing_contact(config: Config, origins: Origins, urls: Iterable[str]) -> Problem | None:
    """What to write into the configuration to crawl these URLs; None if people can reach who crawls, or need not."""
    agent = config.fetch.user_agent
    if "fetch.user_agent" not in origins or "fetch.hosts" not in origins or has_contact(agent):
        return None
    foreign = owned_by_others(urls, hosts=config.fetch.hosts)
    if foreign is None:
        return None
    return _problem(
        f"expected a URL or an e-mail address at which people can reach you, because {foreign} may belong to "
        f'others; found "{agent}"; add your own: "onceover/1.0 (+https://your.site/crawler)" or '
        '"onceover/1.0 (you@your.site)"',
        "fetch.user_agent",
        origins,
    )


def _problem(message: str, key: str, origins: Origins) -> Problem:
    where = origins[key]
    return Problem(message, where=None if where == DEFAULT else where, key=key)


def _in_order(lower: str, upper: str, *, may_be_default: bool = True) -> tuple[tuple[str, str], Check]:
    """One value must not be above another. With `may_be_default`, the default of the lower one is never refused, so
    that a user can lower the upper one alone. This applies to the value of the default, whatever its origin: crawl.toml
    contains every setting of a run, and must load again."""

    def check(config: Config, origins: Origins, _: Backends) -> str | None:
        least, most = settings()[lower].value_in(config), settings()[upper].value_in(config)
        if least <= most or (may_be_default and least == settings()[lower].default):
            return None
        return f"expected at most {upper}, which is {most:g} ({origins[upper]}), found {least:g}"

    return (lower, upper), check


def _filter_size(config: Config, origins: Origins, backends: Backends) -> str | None:
    visited = config.visited
    need = math.ceil(-visited.capacity * math.log(visited.error_rate) / math.log(2) ** 2 / 8)
    # The backend comes last: to find it imports it.
    if need <= _MAX_FILTER_BYTES or "capacity" not in backends.find("visited", visited.backend).needs:
        return None
    rate = f"{visited.error_rate:g} ({origins['visited.error_rate']})"
    return (
        f"{visited.capacity:_} URLs at error_rate {rate} need a filter of {need / 2**30:.0f} GiB, "
        f"and the largest possible has {_MAX_FILTER_BYTES // 2**30} GiB; lower the capacity or raise the error_rate"
    )


def _needs_disk(config: Config, _: Origins, backends: Backends) -> str | None:
    visited, frontier = config.visited, config.frontier
    if (
        backends.find("frontier", frontier.backend).is_persistent
        or "directory" not in backends.find("visited", visited.backend).needs
    ):
        return None
    return f"{visited.backend} keeps files, and frontier.backend = {frontier.backend} writes none"


def _names(key: str) -> tuple[tuple[str], Check]:
    """Names of hosts must have a form in ASCII: no URL has another one."""

    def check(config: Config, *_: object) -> str | None:
        for name in settings()[key].value_in(config):
            if not in_ascii(name):
                return (
                    f'expected the name of a host, as "www.example.org", found "{name}", which no URL can have (IDNA)'
                )
        return None

    return (key,), check


def _addresses(config: Config, *_: object) -> str | None:
    for name, text in config.fetch.hosts.items():
        address, port = split_address(text)
        try:
            ip_address(address)
        except ValueError:
            return f'expected an IP address for "{name}", with or without port, found "{text}"'
        if (port or text.endswith(f"{address}:")) and not _is_port(port):
            return f'expected a port from 1 to 65535 for "{name}", found "{text}"'
    return None


def _proxies(config: Config, *_: object) -> str | None:
    for name, text in config.fetch.proxies.items():
        place = text.partition("://")[2].rstrip("/")
        address, port = split_address(place)
        if place.startswith("[") and not _is_ipv6(address):
            return f'expected an IPv6 address in the brackets for "{name}", found "{text}"'
        if port and not _is_port(port):
            return f'expected a port from 1 to 65535 for "{name}", found "{text}"'
    return None


def _is_port(text: str) -> bool:
    return text.isdecimal() and 1 <= int(text) <= 65535


def _is_ipv6(text: str) -> bool:
    try:
        return ip_address(text).version == 6
    except ValueError:
        return False


def _networks(config: Config, *_: object) -> str | None:
    for text in config.fetch.allow_networks:
        try:
            ip_network(text)
        except ValueError as error:
            return f'expected a network, as "10.1.0.0/16", found "{text}" ({error})'
    return None


def _headers(config: Config, *_: object) -> str | None:
    for name in config.fetch.headers:
        if (reason := _OWN_HEADERS.get(name.lower())) is not None:
            return f"the header {name} can't be set here: {reason}"
    return None


def _needs_prefixes(config: Config, *_: object) -> str | None:
    if config.frontier.queue_by != "surt-prefix" or config.frontier.queue_prefixes:
        return None
    return 'surt-prefix needs frontier.queue_prefixes, as ["*.example.org", "https://example.net/docs/"]'


def _needs_no_prefixes(config: Config, *_: object) -> str | None:
    if config.frontier.queue_by == "surt-prefix" or not config.frontier.queue_prefixes:
        return None
    return f"expected none with frontier.queue_by = {config.frontier.queue_by}: they are for surt-prefix"


def _no_queues_of_addresses(config: Config, *_: object) -> str | None:
    if config.crawl.parts == 1 or config.frontier.queue_by != "ip":
        return None
    return (
        'expected 1 with frontier.queue_by = "ip": the address of a host is only known when it is asked, so it can\'t '
        'say which part the host belongs to. Use politeness.per_ip with queue_by = "host"'
    )


def _no_parallel_queues(config: Config, *_: object) -> str | None:
    if config.crawl.parts == 1 or not config.frontier.parallel_queues:
        return None
    return "expected 1 with frontier.parallel_queues: several parts would ask one site, each at its own pace"


def _frontier_has_parts(config: Config, _: Origins, backends: Backends) -> str | None:
    name = config.frontier.backend
    if config.crawl.parts == 1:
        return None
    backend = backends.find("frontier", name)
    if not backend.is_persistent:
        return f'expected 1 with frontier.backend = "{name}": a part that dies goes on from its disk, and this has none'
    return None if backend.can_be_part else f'expected 1 with frontier.backend = "{name}", which can\'t be divided'


def _min_free_bytes(config: Config, _: Origins, backends: Backends) -> str | None:
    found, needed = config.output.min_free_bytes, backends.find("frontier", config.frontier.backend).min_free_bytes
    if not 0 < found < needed:
        return None
    return (
        f'expected at least "{size_text(needed)}", which the frontier needs to recover from a full disk, or 0 '
        f'to wait only when the disk is full; found "{size_text(found)}"'
    )


def _archives_texts(config: Config, *_: object) -> str | None:
    if not config.output.warc_text or config.output.text:
        return None
    return "expected output.text = true beside it: the archive gets the text that the record has"


def _archives_screenshots(config: Config, *_: object) -> str | None:
    if not config.render.screenshot or config.output.warc or config.output.sinks:
        return None
    return "expected output.warc = true beside it: screenshots are in the archive alone"


_CHECKS: tuple[tuple[tuple[str, ...], Check], ...] = (
    _in_order("politeness.min_delay_s", "politeness.max_delay_s", may_be_default=False),
    _in_order("frontier.retry_delay_s", "frontier.retry_max_delay_s"),
    _in_order("fetch.connect_timeout_s", "fetch.timeout_s"),
    _in_order("render.wait_s", "render.timeout_s"),
    (("frontier.queue_by", "frontier.queue_prefixes"), _needs_prefixes),
    (("frontier.queue_prefixes", "frontier.queue_by"), _needs_no_prefixes),
    *map(_names, ("fetch.hosts", "fetch.unverified", "fetch.proxies", "fetch.logins", "identity.hosts")),
    (("fetch.hosts",), _addresses),
    (("fetch.proxies",), _proxies),
    (("fetch.allow_networks",), _networks),
    (("fetch.headers",), _headers),
    (("output.warc_text", "output.text"), _archives_texts),
    (("render.screenshot", "output.warc"), _archives_screenshots),
    (("crawl.parts", "frontier.queue_by"), _no_queues_of_addresses),
    (("crawl.parts", "frontier.parallel_queues"), _no_parallel_queues),
    (("visited.capacity", "visited.error_rate", "visited.backend"), _filter_size),
    (("visited.backend", "frontier.backend"), _needs_disk),
    (("crawl.parts", "frontier.backend"), _frontier_has_parts),
    (("output.min_free_bytes", "frontier.backend"), _min_free_bytes),
)
