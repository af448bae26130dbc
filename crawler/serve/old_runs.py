"""Deletes old runs of a schedule, where the configuration says how many to keep."""

import logging
import re
import time
from pathlib import Path

from crawler.disk.clearing import delete_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.serve.life.settling import stamp

log = logging.getLogger(__name__)

_STAMP = re.compile(r"\d{8}T\d{6}Z")


def delete_old_runs(base: Path, *, keep: int, last: Path | None = None, now: float | None = None) -> list[Path]:
    """Delete all but the last runs, of which `last` is the last one. A run that is in use stays, and so do files that
    are no crawl's."""
    present = stamp(time.time() if now is None else now)
    try:
        runs = [path for path in base.iterdir() if _STAMP.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []
    # Runs that seem to lie in the future began before the clock was set back.
    runs.sort(key=lambda path: (path == last, path.name <= present, path.name))
    deleted = []
    for path in runs[:-keep]:
        try:
            _delete(path)
        except (DirectoryRefused, OSError) as error:
            log.warning("an old run can't be deleted: %s", error)
        else:
            deleted.append(path)
    return deleted


def _delete(path: Path) -> None:
    if path.is_symlink():
        return
    with CrawlDirectory(path) as run:
        delete_crawl(run)
