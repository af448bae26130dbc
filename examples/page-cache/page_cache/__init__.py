"""A fetcher: keeps each page in a folder, and takes it from there in later crawls.

It is for those who try settings or an extractor again and again, and do not want to ask the servers each time.
"""

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from crawler import Fetched, Page
from crawler.fetch.descriptor import Descriptor, Parameters
from crawler.page import Request


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the fetcher."""

    folder: Annotated[str, Meta(description="Where the pages are kept.")]


class PageCache:
    """Keeps complete pages with status 200."""

    def __init__(self, parameters: Parameters, options: Options) -> None:
        self._http = parameters.http
        self._folder = Path(options.folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    async def fetch(self, request: Request, /) -> Fetched:
        file = self._folder / sha256(request.url.encode()).hexdigest()
        if file.exists():
            return msgspec.msgpack.decode(file.read_bytes(), type=Page)
        fetched = await self._http.fetch(request)
        if isinstance(fetched, Page) and fetched.status == 200 and fetched.truncated is None:
            new = file.with_suffix(".new")
            # The names of headers are of a subclass of str.
            new.write_bytes(msgspec.msgpack.encode(fetched, enc_hook=str))
            new.replace(file)
        return fetched

    async def aclose(self) -> None:
        """Nothing to close: the crawl closes `http`."""


DESCRIPTOR = Descriptor(name="page-cache", make=PageCache, options=Options)
