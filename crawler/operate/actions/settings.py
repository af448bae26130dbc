"""set, reload"""

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Reconfigured
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_at
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import CrawlSettings, Read, reader_of_settings, reader_of_start
from crawler.operate.target import OperatedCrawl


async def reconfigure(crawl: OperatedCrawl, request: Set | Reload) -> Reconfigured:
    path = crawl.directory.path
    if part_at(path) is not None:
        raise Refused(f"{path} is one part of the crawl in {path.parent}, whose settings all parts share: name that")
    return await change_settings(crawl.settings, crawl.directory, request, is_running=crawl.status().running)


async def change_settings(
    settings: CrawlSettings, directory: CrawlDirectory, request: Set | Reload, *, is_running: bool
) -> Reconfigured:
    """Change all that a request asks for, or nothing. Raises `Refused` and `ConfigError`."""
    read, file = _reader(settings, directory, request)
    async with settings.turn:
        prepared = await settings.prepare(read)
        new_seeds = 0
        if not request.dry_run:
            try:
                new_seeds = await settings.commit(prepared)
            except OSError as error:
                message = f"nothing was changed: {directory.configuration} can't be written: {error.strerror or error}"
                raise Refused(message, FAILED) from error
    return Reconfigured(
        running=is_running, dry_run=request.dry_run, file=file, changes=prepared.plan.changes, new_seeds=new_seeds
    )


def _reader(settings: CrawlSettings, directory: CrawlDirectory, request: Set | Reload) -> tuple[Read, str | None]:
    """What reads the new configuration, and the file that is read again."""
    if isinstance(request, Set):
        return reader_of_settings(directory, request.settings), None
    if settings.start is None or settings.start.is_demo:
        raise Refused(
            f"{directory.path} was started by `onceover demo` or a program, which gave its settings: there is no "
            f"configuration to read again. `onceover set {directory.path} KEY=VALUE` changes them"
        )
    return reader_of_start(directory, settings.start), str(settings.start.file(directory))
