"""Deletes a crawl."""

from contextlib import ExitStack, suppress
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, read_division, read_layout


def clear_crawl(directory: CrawlDirectory) -> None:
    """Delete state and output of the crawl in a locked directory, those of its parts included, and nothing else.

    Raises `DirectoryInUse`, before anything is deleted, if a process still runs a part.
    """
    for read, path in ((read_division, directory.division), (read_layout, directory.parts)):
        if (layout := read(directory.path)) is not None:
            _clear_parts(directory, layout)
            path.unlink()
    directory.suffixes.unlink(missing_ok=True)
    directory.clear()


def _clear_parts(directory: CrawlDirectory, layout: Layout) -> None:
    names = [*(place.directory for place in layout.parts), *(name for name in layout.earlier if name != ".")]
    with ExitStack() as stack:
        paths = [path for path in (directory.path / name for name in names) if path.exists()]
        for part in [stack.enter_context(CrawlDirectory(path)) for path in paths]:
            part.clear()
            for socket in filter(Path.is_socket, list(part.path.iterdir())):
                socket.unlink()  # a process that was killed has left it
            part.lock.unlink()
            with suppress(OSError):
                part.path.rmdir()  # unless somebody has put files there
