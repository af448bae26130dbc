"""Deletes a crawl."""

import errno
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from crawler.disk.directory import COPYING, LINEAGES, CrawlDirectory
from crawler.disk.layout import Layout, read_division, read_layout
from crawler.files.folders import delete_folders


def check_parts(directory: CrawlDirectory) -> None:
    """Check that nobody runs a part of the crawl in a locked directory. Raises `DirectoryInUse`."""
    for read in (read_division, read_layout):
        if (layout := read(directory.path)) is not None:
            with _locked_parts(directory, layout):
                pass


def clear_crawl(directory: CrawlDirectory) -> None:
    """Delete state and output of the crawl in a locked directory, those of its parts included, and nothing else. Its
    settings stay until those of the next crawl are written, because that may be killed or refused before.

    Raises `DirectoryInUse`, before anything is deleted, if a process still runs a part.
    """
    for read, path in ((read_division, directory.division), (read_layout, directory.parts)):
        if (layout := read(directory.path)) is not None:
            _clear_parts(directory, layout, path)
    directory.suffixes.unlink(missing_ok=True)
    _clear(directory)


def delete_crawl(directory: CrawlDirectory) -> None:
    """Delete the crawl in a locked directory, and the directory, unless it has files of others. Raises `DirectoryInUse`
    as `clear_crawl` does."""
    clear_crawl(directory)
    _delete_rest(directory)


def delete_leftovers_of_state(directory: CrawlDirectory) -> None:
    """Delete, in a locked directory, what processes have left that died while they deleted or rebuilt the state. A
    folder that was a link to another disk is one again."""
    for folder, aside in _places_of_state(directory):
        delete_folders((aside,))
        if aside.is_symlink():
            aside.unlink() if folder.exists() else aside.rename(folder)


def _places_of_state(directory: CrawlDirectory) -> tuple[tuple[Path, Path], ...]:
    """Frontier and visited set, and where they are while they are deleted. A frontier that lacks some files would look
    damaged."""
    aside = directory.rebuilding()
    return (directory.frontier, aside.frontier), (directory.visited, aside.visited)


@contextmanager
def _locked_parts(directory: CrawlDirectory, layout: Layout) -> Iterator[list[CrawlDirectory]]:
    names = [*(place.directory for place in layout.parts), *(name for name in layout.earlier if name != ".")]
    with ExitStack() as stack:
        paths = [path for path in (directory.path / name for name in names) if path.exists()]
        yield [stack.enter_context(CrawlDirectory(path)) for path in paths]


def _clear_parts(directory: CrawlDirectory, layout: Layout, path: Path) -> None:
    """Delete the parts, and the layout in `path`."""
    with _locked_parts(directory, layout) as parts:
        for part in parts:
            _clear(part)
        # Not later: of a part whose directory is missing, nobody knows whether its disk is.
        path.unlink()
        for part in parts:
            _delete_rest(part)


def _clear(directory: CrawlDirectory) -> None:
    """The state goes first: so no crawl is resumed whose output is gone."""
    path = directory.path
    name = directory.frontier.name
    delete_leftovers_of_state(directory)
    # The frontier goes last: it makes a visited set anew.
    for folder, aside in reversed(_places_of_state(directory)):
        if folder.exists():
            _move_aside(folder, aside)
    delete_leftovers_of_state(directory)
    copies = [*path.glob(f"{name}.before-*"), path / f"{name}.repairing"]
    delete_folders((*copies, *directory.output, path / COPYING))
    noted = (directory.recrawls, directory.added, directory.imported)
    databases = (file for file in directory.made_anew if not file.is_dir())  # that would be somebody else's
    for file in (*databases, *noted, directory.pruned, directory.claim, path / LINEAGES):
        file.unlink(missing_ok=True)
    if directory.configuration.exists():
        directory.configuration.replace(directory.earlier_settings)


def _move_aside(folder: Path, aside: Path) -> None:
    """Move a folder, or delete it if it can't be moved: a container can't rename the folders of its image."""
    try:
        folder.rename(aside)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        delete_folders((folder,))


def _delete_rest(directory: CrawlDirectory) -> None:
    """Delete what is left of a crawl that was cleared: a process that was killed may have left its socket."""
    sockets = filter(Path.is_socket, list(directory.path.iterdir()))
    for file in (directory.earlier_settings, directory.start, *sockets, directory.lock):
        file.unlink(missing_ok=True)
    with suppress(OSError):
        directory.path.rmdir()  # unless somebody has put files there
