"""A canonical rule: drops the parameters of these names from the query."""

from typing import Annotated

import msgspec
from msgspec import Meta

from crawler.url.components import Rule, UrlComponents
from crawler.url.descriptor import Descriptor


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the rule."""

    names: Annotated[tuple[str, ...], Meta(description="Names of the parameters that do not change the page.")] = (
        "print",
        "lang",
    )


def _make(options: Options) -> Rule:
    names = frozenset(options.names)

    def drop(url: UrlComponents) -> UrlComponents:
        if not url.query:
            return url
        kept = [each for each in url.query.split("&") if each.partition("=")[0] not in names]
        return msgspec.structs.replace(url, query="&".join(kept) or None)

    return drop


DESCRIPTOR = Descriptor(name="drop-parameters", make=_make, options=Options, keeps_domain=True)
