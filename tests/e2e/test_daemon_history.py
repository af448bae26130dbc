"""What the daemon keeps and tells of a crawl in two parts, over a kill of the daemon."""

import signal
from pathlib import Path
from typing import Any

from crawler.disk.layout import part_directories
from crawler.page import LinkKind
from crawler.write.records import read_records
from tests.e2e.crawling import started
from tests.e2e.parts.in_parts import WORLD
from tests.e2e.test_daemon import Served, serving, write
from tests.e2e.test_daemon_api import Api, on_socket
