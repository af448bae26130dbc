from tempfile import mkdtemp

from page_cache import DESCRIPTOR, Options

from crawler.fetch.descriptor import Parameters
from crawler.seams import Fetcher
from crawler.testing import FetcherContract


class TestPageCache(FetcherContract):
    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return DESCRIPTOR.make(Parameters(http=http, user_agent="bot"), Options(folder=mkdtemp()))
