"""Makes what fetches pages: connections, routes, robots.txt and politeness."""

import logging
import resource
from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec
from yarl import URL

from config import Config, Fetch, Loaded, has_contact, owned_by_others
from crawler.fetch.connect.connections import ConnectionLimits, connections_for, requests_for
from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.lookup.dns import DnsResolver
from crawler.fetch.connect.names import SystemResolver
from crawler.fetch.connect.network import Network
from crawler.fetch.connect.routes import BadRoute, Routes
from crawler.fetch.connect.tls.contexts import tls_context
from crawler.fetch.cookies import Cookies
from crawler.fetch.descriptor import Descriptor, Parameters
from crawler.fetch.headers import default_headers, unrecorded_headers
from crawler.fetch.hsts import StrictTransport
from crawler.fetch.http import HttpFetcher
from crawler.fetch.request_limits import RequestLimits
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.fetch.robots.rules import product_token
from crawler.fetch.robots.status import RobotsLifetimes
from crawler.fetch.robots.tdm_file import TdmFiles
from crawler.fetch.signing.values import SignsRequests
from crawler.page import Fetched
from crawler.politeness.hours import Hours
from crawler.politeness.pace import Pace, parse_retry_after
from crawler.politeness.response_policy import ResponsePolicy
from crawler.preferences.signals import TDM_RESERVATION
from crawler.seams import Fetcher, Robots
from crawler.wiring.plugins.catalog import find
from crawler.wiring.plugins.guarded import GuardedFetcher
from crawler.wiring.plugins.kinds import FETCHER
from crawler.wiring.plugins.loading import load
from crawler.wiring.sites import Sites
from frontier import Notes

log = logging.getLogger(__name__)


def fetcher(
    loaded: Loaded,
    notes: Notes,
    *,
    limits: Callable[[str], RequestLimits],
    allows_port: Callable[[int], bool],
    queues_of: Callable[[str], int] | None = None,
    signing: Callable[[Callable[[URL], Awaitable[bool]]], SignsRequests | None] = lambda _: None,
    before_request: Callable[[], object] | None = None,
) -> HttpFetcher:
    """`queues_of` says how many queues the host of a URL has. `signing` makes what signs requests, if anything
    does, given what tells whether a URL's host is public."""
    fetch = loaded.config.fetch
    network = Network(
        limits=ConnectionLimits(
            count=connections_for(*requests_for(fetch.concurrency, fetch.spare)),
            memory_bytes=fetch.max_connection_bytes,
        ),
        per_host=max(there.config.politeness.per_host for there in [loaded, *Sites(loaded).alone()]),
        queues_of=queues_of,
        hosts=fetch.hosts,
        guard=Guard(allow_private=fetch.allow_private, networks=fetch.allow_networks),
        authorities=fetch.authorities,
        routes=routes(loaded),
        resolver=DnsResolver() if fetch.resolver == "dns" else SystemResolver(),
    )
    if before_request is not None:
        network.call_before_requests(before_request)
    return HttpFetcher(
        network,
        limits=limits,
        max_memory_bytes=fetch.max_memory_bytes,
        cookie_jar=Cookies(notes),
        hsts=StrictTransport(notes) if fetch.hsts else None,
        signing=signing(network.is_public),
        may_ask=_may_ask(fetch),
        allows_port=allows_port,
    )


def requests_at_once(fetch: Fetch) -> tuple[int, int]:
    """`fetch.concurrency` and `fetch.spare`, or as much of both as the process may open files for. There is a warning,
    unless only `fetch.spare` is less, by no more than half: so it is with 1,024 files, as most programs have."""
    concurrency, spare = requests_for(fetch.concurrency, fetch.spare)
    if concurrency < fetch.concurrency or 2 * spare < fetch.spare:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        log.warning(
            "this process may have %s open files (ulimit -n): it fetches %d URLs at once (fetch.concurrency), and up "
            "to %d more from slow servers (fetch.spare)",
            f"{files:,}",
            concurrency,
            spare,
        )
    return concurrency, spare


def check_authorities(loaded: Loaded) -> None:
    """Check that the certificates of authorities can be read. Raises `ConfigError`."""
    if authorities := loaded.config.fetch.authorities:
        with loaded.refusing("fetch.authorities"):
            tls_context(authorities=authorities)


def chosen_fetcher(loaded: Loaded, http: HttpFetcher, *, before_request: Callable[[], object] | None) -> Fetcher:
    """The configured fetcher: `http`, or a plug-in, which may use it. `before_request` is called before the plug-in is.
    Raises `ConfigError`."""
    fetch = loaded.config.fetch
    backend = find(FETCHER, fetch.backend)
    with loaded.refusing("fetch.backend"):
        found: Descriptor = load(backend)
        parameters = Parameters(http=http, user_agent=fetch.user_agent)
        made = found.make(parameters, msgspec.convert(fetch.options, found.options))
    return made if backend.is_ours else GuardedFetcher(made, backend.title, before_request)


def _may_ask(fetch: Fetch) -> Callable[[str], bool]:
    """Whether the crawl may ask a host. Without a contact in the User-Agent, it may ask only our own hosts.
    Seeds are checked before a crawl begins, but their links may lead to other people's hosts."""
    if has_contact(fetch.user_agent):
        return lambda _: True

    @lru_cache(maxsize=4096)
    def is_ours(host: str) -> bool:
        return owned_by_others([f"http://{host}/"], hosts=fetch.hosts) is None

    return is_ours


def request_limits(config: Config) -> RequestLimits:
    fetch = config.fetch
    more = {"Accept-Language": ", ".join(fetch.languages)} if fetch.languages else {}
    if config.identity.email is not None:
        more["From"] = config.identity.email
    return RequestLimits(
        headers=default_headers(fetch.user_agent, more | fetch.headers),
        unrecorded=unrecorded_headers(fetch.headers),
        timeout_s=fetch.timeout_s,
        connect_timeout_s=min(fetch.connect_timeout_s, fetch.timeout_s),
        head_timeout_s=fetch.head_timeout_s,
        min_window_bytes=fetch.min_window_bytes,
        window_s=fetch.window_s,
        max_body_bytes=fetch.max_body_bytes,
        max_sitemap_bytes=fetch.max_sitemap_bytes,
        cookies=fetch.cookies,
    )


def routes(loaded: Loaded) -> Routes:
    fetch = loaded.config.fetch
    try:
        return Routes(unverified=fetch.unverified, proxies=fetch.proxies, logins=fetch.logins)
    except BadRoute as error:
        raise loaded.refuse(f"fetch.{error.setting}", error.message) from None


def robots(
    config: Config,
    fetcher: Fetcher,
    notes: Notes,
    *,
    is_obeyed: Callable[[str], bool],
    archive: Callable[[Fetched, str], Awaitable[None]] | None = None,
) -> RobotsTxt:
    """`archive` gets all that is asked for, and why."""
    groups = {name.lower(): (purpose,) for name, purpose in config.crawl.purpose_names.items()}
    return RobotsTxt(
        fetcher,
        RobotsCache(notes, agent=product_token(config.fetch.user_agent), groups=groups),
        lifetimes=robots_lifetimes(config),
        read_retry_after=parse_retry_after,
        is_obeyed=is_obeyed,
        sitemap_paths=config.scope.sitemap_paths,
        archive=None if archive is None else lambda fetched: archive(fetched, "robots"),
    )


def with_tdm_files(
    config: Config,
    robots: Robots,
    fetcher: Fetcher,
    notes: Notes,
    *,
    archive: Callable[[Fetched, str], Awaitable[None]] | None,
) -> Robots:
    """`robots`, and what origins say in `tdmrep.json`, if they may refuse the purpose of the crawl there."""
    crawl = config.crawl
    if not crawl.respect_preferences or not {*crawl.purpose} & {*TDM_RESERVATION.refuses["1"]}:
        return robots
    return TdmFiles(
        robots,
        fetcher,
        notes,
        read_retry_after=parse_retry_after,
        archive=None if archive is None else lambda fetched: archive(fetched, "tdmrep"),
    )


def robots_lifetimes(config: Config) -> RobotsLifetimes:
    return RobotsLifetimes(
        retry_s=config.frontier.retry_delay_s,
        max_retry_s=config.frontier.retry_max_delay_s,
        max_retry_after_s=config.politeness.max_retry_after_s,
        min_delay_s=config.politeness.min_delay_s,
    )


def response_policy(loaded: Loaded) -> ResponsePolicy:
    """The politeness of a site. Raises `ConfigError` for invalid hours."""
    config = loaded.config
    politeness, frontier = config.politeness, config.frontier
    with loaded.refusing("politeness.hours"):
        hours = None if politeness.hours is None else Hours(politeness.hours)
    pace = Pace(
        min_delay_s=politeness.min_delay_s,
        max_delay_s=politeness.max_delay_s,
        delay_factor=politeness.delay_factor,
        max_crawl_delay_s=politeness.max_crawl_delay_s,
        retry_delay_s=frontier.retry_delay_s,
        retry_max_delay_s=frontier.retry_max_delay_s,
        max_retry_after_s=politeness.max_retry_after_s,
        max_bytes_per_s=politeness.max_bytes_per_s,
        per_host=politeness.per_host,
    )
    return ResponsePolicy(
        pace=pace,
        max_attempts=frontier.max_attempts,
        open_after=frontier.open_after,
        dead_after=frontier.dead_after,
        hours=hours,
    )
