"""set, reload: the settings of a crawl in parts, which its parts get when they start."""

import shlex

from crawler.control.replies import Reconfigured
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.operate.actions.settings import change_settings
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.settings.changing import StoredSettings
from crawler.operate.target import Refused


async def reconfigure(crawl: CrawlInParts, request: Set | Reload) -> Reconfigured:
    """Parts only work together if they were started with one configuration. So it changes while none of them runs."""
    if crawl.parts.is_running:
        where = shlex.quote(str(crawl.directory))
        raise Refused(
            f"the settings of {crawl.directory}, which runs in parts, change when it starts: `onceover stop {where}`, "
            f"the same command again, then `onceover crawl --dir {where}`"
        )
    directory = CrawlDirectory(crawl.directory)
    return await change_settings(StoredSettings(crawl.loaded, directory), directory, request, is_running=False)
