"""Writes the indexes of all archives of a crawl as one."""

from itertools import filterfalse
from pathlib import Path

from crawler.export.archives import archives_of, nothing_to
from crawler.export.aside import ensure_writable, written_aside
from crawler.write.cdxj.lines import is_unchanged
from crawler.write.cdxj.merging import merged_index


def export_index(directory: Path, part: int | None, to: Path, *, overwrite: bool) -> int:
    """Returns the number of its lines, which are sorted. Visits at which the server said that nothing had changed are
    left out: a replay would show an empty page for them. Raises `ExportRefused`, `DirectoryRefused` and `OSError`."""
    ensure_writable(to, may_replace=overwrite)
    folders = dict.fromkeys(archive.path.parent for archive in archives_of(directory, part))
    if not folders:
        raise nothing_to("list", directory, part)
    to.parent.mkdir(parents=True, exist_ok=True)
    lines = 0
    with written_aside(to, may_replace=overwrite) as file:
        for line in filterfalse(is_unchanged, merged_index(*folders)):
            file.write(line + b"\n")
            lines += 1
    return lines
