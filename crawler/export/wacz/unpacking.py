"""Takes the WARC files out of WACZ files."""

import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from crawler.export.aside import Target, locked_folder
from crawler.export.writers import ExportRefused

SUFFIX: Final = ".wacz"
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


@contextmanager
def unpacked(places: Sequence[Path], beside: Target) -> Iterator[tuple[Path, ...]]:
    """Places with WARC files, with a temporary folder for each WACZ file, which takes as much space. Raises
    `ExportRefused` and `OSError`."""
    if not any(is_wacz(place) for place in places):
        yield tuple(places)
        return
    with _scratch(beside) as scratch:
        found = []
        for number, place in enumerate(places):
            found.append(_unpack(place, scratch / str(number)) if is_wacz(place) else place)
        yield tuple(found)


@contextmanager
def _scratch(beside: Target) -> Iterator[Path]:
    """An empty folder beside a path, or in it if that is a folder beside which we may write nothing. One that a process
    has left that was killed is deleted. For a stream, it is in the temporary directory."""
    if not isinstance(beside, Path):
        with TemporaryDirectory(prefix="onceover-") as made:
            yield Path(made)
        return
    name = f".{beside.name}.unpacked"
    is_alone = beside.is_mount() or (beside.is_dir() and not os.access(beside.parent, os.W_OK))
    scratch = beside / name if is_alone else beside.with_name(name)
    scratch.mkdir(parents=True, exist_ok=True)
    with locked_folder(scratch):
        for path in scratch.iterdir():
            shutil.rmtree(path)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch)


def is_wacz(place: Path) -> bool:
    return place.name.endswith(SUFFIX) and place.is_file()


def _unpack(wacz: Path, folder: Path) -> Path:
    folder.mkdir()
    try:
        with zipfile.ZipFile(wacz) as package:
            for entry in package.infolist():
                path = PurePosixPath(entry.filename)
                if path.parts[:-1] == ("archive",) and path.name.endswith(".warc.gz"):
                    with package.open(entry) as source, (folder / path.name).open("wb") as target:
                        shutil.copyfileobj(source, target)
    except _BROKEN as error:
        raise ExportRefused(f"{wacz} can't be read as a WACZ file: {error}") from error
    if not any(folder.iterdir()):
        raise ExportRefused(f"{wacz} has no WARC files to look into: expected archive/*.warc.gz in it")
    return folder
