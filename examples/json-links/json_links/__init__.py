"""An extractor: follows links in JSON documents, and reads everything else as onceover does."""

import json
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from crawler import Extract, Link, LinkKind, Page
from crawler.read.descriptor import Descriptor, Parameters


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the extractor."""

    fields: Annotated[
        tuple[str, ...], Meta(description="Fields whose texts are links, also relative ones. Empty means none.")
    ] = ("url", "href")


class JsonLinks:
    """Texts that begin with http:// or https://, and those of the fields, are links."""

    def __init__(self, parameters: Parameters, options: Options) -> None:
        self._default = parameters.make_default()
        self._fields = frozenset(options.fields)

    def extract(self, page: Page, /) -> Extract:
        extract = self._default.extract(page)
        if not extract.content_type.endswith("json"):
            return extract
        try:
            links = [Link(url, LinkKind.LINK) for url in self._urls(json.loads(page.body))]
        except (ValueError, RecursionError) as error:
            return msgspec.structs.replace(extract, error=f"not JSON: {error}")
        return msgspec.structs.replace(extract, links=[*extract.links, *links])

    def _urls(self, document: object) -> Iterator[str]:
        waiting: list[tuple[str, object]] = [("", document)]
        while waiting:
            field, value = waiting.pop()
            if isinstance(value, dict):
                waiting += reversed(value.items())
            elif isinstance(value, list):
                waiting += ((field, item) for item in reversed(value))
            elif isinstance(value, str) and (field in self._fields or value.startswith(("http://", "https://"))):
                yield value.strip()


DESCRIPTOR = Descriptor(name="json-links", make=JsonLinks, options=Options)
