"""Deletes old runs of a schedule, where the configuration says how many to keep."""

import logging
import re
import time
from pathlib import Path

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.serve.life.settling import stamp
from crawler.wiring.opening.starting_over import delete_for_good

log = logging.getLogger(__name__)

_STAMP = re.compile(r"\d{8}T\d{6}Z")


def delete_old_runs(
    base: Path, pace: Path, *, keep: int, last: Path | None = None, now: float | None = None
) -> list[Path]:
    """Delete all but the last runs, of which `last` is the last one, with what they have on servers. A run that is in
    use stays, and so do files that are no crawl's. The runs kept the pace of hosts by the file `pace`."""
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
            _delete(path, pace)
        except (DirectoryRefused, OSError) as error:
            log.warning("an old run can't be deleted: %s", error)
        else:
            deleted.append(path)
    return deleted


def _delete(path: Path, pace: Path) -> None:
    if path.is_symlink():
        return
    with CrawlDirectory(path) as run:
        delete_for_good(run, pace=pace)
