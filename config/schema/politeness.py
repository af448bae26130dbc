"""How hosts are treated."""

from typing import Annotated

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, MOST, SECONDS, Text


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How servers are spared. After a fetch its host rests for delay_factor times as long as the fetch took."""

    robots: Annotated[bool, Meta(description="Obey robots.txt.")] = True
    min_delay_s: Annotated[float, Meta(ge=0, le=DAY_S, description="Shortest rest of a host.", extra=SECONDS)] = 1.0
    max_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Longest rest of a host that answers well and asks for no more.",
            extra=SECONDS,
        ),
    ] = 30.0
    delay_factor: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description="Rest of a host for each second that a fetch took.",
            extra={"unit": "seconds per second"},
        ),
    ] = 2.0
    per_host: Annotated[
        int, Meta(ge=1, le=1000, description="Fetches at once from one queue.", extra={"unit": "fetches"})
    ] = 1
    per_ip: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one IP address, whatever hosts lie there; unset means no limit, or 1 "
            "with ip_delay_s."
        ),
    ] = None
    ip_delay_s: Annotated[
        float,
        Meta(ge=0, le=DAY_S, description="Rest of an IP address after a fetch from any host there.", extra=SECONDS),
    ] = 0.0
    per_domain: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one registered domain, whatever hosts it has; unset means no limit, or 1 "
            "with domain_delay_s."
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
        Meta(description="Bytes that a host sends each second, in the long run: it rests longer after large bodies."),
    ] = None
    hours: Annotated[
        Text | None,
        Meta(
            description='When hosts may be asked, as "22:00-06:00 Europe/Vienna" or "Mon-Fri 19:00-07:00; Sat,Sun '
            '00:00-24:00"; without a time zone, UTC. Unset means always.'
        ),
    ] = None
    max_crawl_delay_s: Annotated[
        float, Meta(ge=0, le=DAY_S, description="Crawl-delay of robots.txt is obeyed up to this.", extra=SECONDS)
    ] = 300.0
    max_retry_after_s: Annotated[
        float, Meta(ge=0, le=30 * DAY_S, description="Retry-After of a server is obeyed up to this.", extra=SECONDS)
    ] = 3600.0
