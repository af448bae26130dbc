from pathlib import Path

import pytest
from page_cache import DESCRIPTOR, Options

from crawler.fetch.descriptor import Parameters
from crawler.seams import Fetcher
from crawler.testing import FetcherContract


class TestPageCache(FetcherContract):
    @pytest.fixture(autouse=True)
    def _use_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return DESCRIPTOR.make(Parameters(http=http, user_agent="bot"), Options(folder=str(self.folder)))
