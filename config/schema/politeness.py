"""How gently hosts are treated."""

from typing import Annotated

import msgspec

from config.schema.kinds import DAY_S, MOST, PER_SITE, Text, between, meaning


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How gently the crawl treats servers. After each fetch a host rests for delay_factor times the duration of the
    fetch."""

    robots: Annotated[bool, meaning("Obey robots.txt."), PER_SITE] = True
    min_delay_s: Annotated[float, between(0, DAY_S, "seconds"), meaning("Shortest rest of a host."), PER_SITE] = 1.0
    max_delay_s: Annotated[
        float,
        between(0, DAY_S, "seconds"),
        meaning("Longest rest of a host that works, unless it asks for a longer one."),
        PER_SITE,
    ] = 30.0
    delay_factor: Annotated[
        float,
        between(0, 1000, "seconds per second"),
        meaning("Rest of a host for each second that the fetch took."),
        PER_SITE,
    ] = 2.0
    per_host: Annotated[int, between(1, 1000, "fetches"), meaning("Fetches at once from one queue."), PER_SITE] = 1
    per_ip: Annotated[
        Annotated[int, between(1, 1000, "fetches")] | None,
        meaning(
            "Fetches at once from one IP address, for all of its hosts together. Unset means no limit, or 1 if "
            "ip_delay_s is set."
        ),
    ] = None
    ip_delay_s: Annotated[
        float, between(0, DAY_S, "seconds"), meaning("Rest of an IP address after a fetch from any of its hosts.")
    ] = 0.0
    per_domain: Annotated[
        Annotated[int, between(1, 1000, "fetches")] | None,
        meaning(
            "Fetches at once from one registered domain, for all of its hosts together. Unset means no limit, or 1 if "
            "domain_delay_s is set."
        ),
    ] = None
    domain_delay_s: Annotated[
        float, between(0, DAY_S, "seconds"), meaning("Rest of a registered domain after a fetch from any of its hosts.")
    ] = 0.0
    max_bytes_per_s: Annotated[
        Annotated[int, between(1, MOST, "bytes")] | None,
        meaning("Average bandwidth that the crawl takes from one host. After a large body, the host rests longer."),
        PER_SITE,
    ] = None
    hours: Annotated[
        Text | None,
        meaning(
            'Hours at which hosts may be asked: "22:00-06:00 Europe/Vienna", for example, or "Mon-Fri 19:00-07:00; '
            'Sat,Sun 00:00-24:00". Without a time zone they are in UTC. Unset means always.'
        ),
        PER_SITE,
    ] = None
    max_crawl_delay_s: Annotated[
        float,
        between(0, DAY_S, "seconds"),
        meaning("Upper limit for Crawl-delay in robots.txt. A longer one counts as this."),
        PER_SITE,
    ] = 300.0
    max_retry_after_s: Annotated[
        float,
        between(0, 30 * DAY_S, "seconds"),
        meaning("Upper limit for Retry-After. A longer one counts as this."),
        PER_SITE,
    ] = 3600.0
