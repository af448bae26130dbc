"""What the parts of a crawl share, as a user sees it: a limit of pages that is met exactly, and addresses whose pace all
parts keep together."""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec

from crawler.disk.layout import record_directories
from crawler.simweb.log import read_log
from crawler.simweb.process import running
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, LIMIT, SMALL, Ended, Web, onceover, setting, started
from tests.e2e.operating import command_here

PARTS = 3
WORLD = msgspec.structs.replace(SMALL, hosts=12, domain="test", duplicates=0.0, not_found=0.0, robots_rules=0.0)
"""Each of its hosts is a registered domain, and all are at one address."""


def pages(directory: Path) -> set[int]:
    """The numbers of all pages in the output."""
    return {
        record.number
        for record in read_records(*record_directories(directory), last_only=True)
        if record.state == "done" and record.status == 200
    }
