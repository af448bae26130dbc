"""checkpoint"""

import time

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Checkpoint, WrittenFile
from crawler.disk.syncing import SyncFailed
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl
from crawler.page import rfc3339


async def take_checkpoint(crawl: OperatedCrawl) -> Checkpoint:
    """What is settled when this begins is on the disk when it ends, with its output."""
    status, at = crawl.status(), time.time()
    files = crawl.files.newest_files()
    try:
        await crawl.make_safe()
    except SyncFailed as error:
        raise Refused(str(error), FAILED) from error
    frontier = status.frontier
    return Checkpoint(
        running=status.running,
        at=rfc3339(at),
        settled=frontier.settled,
        queued=frontier.queued,
        files=[WrittenFile(file=file, bytes=size) for file, size in files.items()],
    )
