"""A file system without locks is not taken for one on which another process works."""

import errno
import fcntl
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from crawler.compare.measure.folder import Folder as CompareFolder
from crawler.compare.measure.folder import FolderRefused
from crawler.copies.content import Folder
from crawler.copies.folder import CopyRefused, frozen_folder
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.export.aside import locked_folder, written_aside
from crawler.export.writers import ExportRefused
from crawler.operate.opening import _check_unused
from crawler.serve.records import Home, HomeInUse

Locking = Callable[[Path], AbstractContextManager[object]]
OF_CRAWLS: list[Locking] = [CrawlDirectory, lambda path: _check_unused(CrawlDirectory(path))]
OF_COPIES: list[Locking] = [
    lambda path: frozen_folder(CrawlDirectory(path)),
    lambda path: Folder(path).locked(to_write=True),
]
OF_EXPORTS: list[Locking] = [locked_folder, lambda path: written_aside(path / "pages.csv")]


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP], ids=errno.errorcode.get)
@pytest.mark.parametrize(
    ("locking", "refusal"),
    [
        *((each, DirectoryRefused) for each in OF_CRAWLS),
        *((each, CopyRefused) for each in OF_COPIES),
        *((each, ExportRefused) for each in OF_EXPORTS),
        (CompareFolder, FolderRefused),
        (Home, HomeInUse),
    ],
    ids=[
        "a crawl",
        "a crawl that is read",
        "what is frozen",
        "a copy",
        "a folder of exports",
        "an export",
        "a comparison",
        "a daemon",
    ],
)
def test_what_can_not_be_locked_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locking: Locking, refusal: type[Exception], error: int
) -> None:
    (tmp_path / "lock").touch()

    def flock(_file: object, _how: int) -> None:
        raise OSError(error, "no such locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(refusal, match=r"can't be locked: no such locks\..* file system") as refused, locking(tmp_path):
        raise AssertionError
    assert not isinstance(refused.value, DirectoryInUse)
