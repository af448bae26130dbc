"""How gently hosts are treated."""

from typing import Annotated

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, MOST, SECONDS, Text


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How gently the crawl treats servers. After each fetch a host rests for delay_factor times the duration of the
    fetch."""

    robots: Annotated[bool, Meta(description="Obey robots.txt.")] = True
    min_delay_s: Annotated[float, Meta(ge=0, le=DAY_S, description="Shortest rest of a host.", extra=SECONDS)] = 1.0
    max_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Longest rest of a host that works, unless it asks for a longer one.",
            extra=SECONDS,
        ),
    ] = 30.0
    delay_factor: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description="Rest of a host for each second that the fetch took.",
            extra={"unit": "seconds per second"},
        ),
    ] = 2.0
    per_host: Annotated[
        int, Meta(ge=1, le=1000, description="Fetches at once from one queue.", extra={"unit": "fetches"})
    ] = 1
    per_ip: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one IP address, for all of its hosts together. Unset means no "
            "limit, or 1 if ip_delay_s is set."
        ),
    ] = None
    ip_delay_s: Annotated[
        float,
        Meta(ge=0, le=DAY_S, description="Rest of an IP address after a fetch from any of its hosts.", extra=SECONDS),
    ] = 0.0
    per_domain: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one registered domain, for all of its hosts together. Unset means "
            "no limit, or 1 if domain_delay_s is set."
        ),
    ] = None
    domain_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Rest of a registered domain after a fetch from any of its hosts.",
            extra=SECONDS,
        ),
    ] = 0.0
    max_bytes_per_s: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra=BYTES)] | None,
        Meta(
            description="Average bandwidth that the crawl takes from one host. After a large body, the host "
            "rests longer."
        ),
    ] = None
    hours: Annotated[
        Text | None,
        Meta(
            description='Hours at which hosts may be asked: "22:00-06:00 Europe/Vienna", for example, or '
            '"Mon-Fri 19:00-07:00; Sat,Sun 00:00-24:00". Without a time zone they are in UTC. Unset '
            "means always."
        ),
    ] = None
    max_crawl_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Upper limit for Crawl-delay in robots.txt. A longer one counts as this.",
            extra=SECONDS,
        ),
    ] = 300.0
    max_retry_after_s: Annotated[
        float,
        Meta(
            ge=0, le=30 * DAY_S, description="Upper limit for Retry-After. A longer one counts as this.", extra=SECONDS
        ),
    ] = 3600.0
