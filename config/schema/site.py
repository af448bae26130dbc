"""Settings that a block for some sites may override."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from config.schema.kinds import Place, meaning


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for a part of the web. If several blocks match a URL, the most specific one counts: a directory before a
    host, a host before a domain, a subdomain before its domain. Of equally specific blocks, the last one counts."""

    match: Annotated[tuple[Place, ...], meaning("Places where this block applies, written like scope.places.")]
    overrides: Annotated[dict[str, Any], Meta(extra={"overrides": True})] = {}
    """Checked values by key, such as `politeness.min_delay_s`."""
