"""Errors that a person can do something about: what to say, and the exit code."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from config import ConfigError, ServerAway
from crawler.cli.run.current_directory import deleted_directory
from crawler.cluster.values import RegisterDamaged
from crawler.codes.exit_codes import AWAY, FAILED, REFUSED, USAGE
from crawler.codes.full_disk import DISK_FULL
from crawler.codes.ports import CannotListen
from crawler.compare.measure.folder import FolderRefused
from crawler.control.address import SocketRefused
from crawler.control.client import NoAnswer
from crawler.copies.folder import CopyRefused
from crawler.disk.directory import DirectoryRefused
from crawler.disk.free_space import DISK_IS_FULL
from crawler.disk.permissions import found_instead, instead_of_denied, why_missing
from crawler.export.writers import ExportRefused
from crawler.fetch.connect.aiohttp_contract import ClientRefused
from crawler.operate.refused import Refused
from crawler.parts.exchange.sending import PartsDisagree
from crawler.search.index import IndexRefused
from crawler.serve.api.gate.tokens import TokenRefused
from crawler.supervise.keeping import PartFailed
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.loading import PluginRefused
from crawler.wiring.recovery.facts import NoRoom
from crawler.write.descriptor import OutputDamaged
from frontier import StoreFailed, StoreRefused
from visited import DiskFull, KernelRefused

_EXIT_CODES: Final[Sequence[tuple[tuple[type[BaseException], ...], int]]] = (
    ((ServerAway,), AWAY),
    ((ClientRefused, ConfigError, KernelRefused, PluginRefused), USAGE),
    ((NoAnswer, NoRoom, PluginFailed, RegisterDamaged), FAILED),
    ((CopyRefused, DirectoryRefused, ExportRefused, FolderRefused, IndexRefused), REFUSED),
    ((CannotListen, PartsDisagree, SocketRefused, StoreRefused, TokenRefused), REFUSED),
)
"""For errors whose message says all. The first that fits counts."""
_BROKEN = (DiskFull, OutputDamaged, StoreFailed, OSError, MemoryError)


class KnownError(msgspec.Struct, frozen=True):
    message: str
    exit_code: int
    may_lack_output: bool = False
    """Whether stdout may be what can't be written."""


def known_error(error: BaseException) -> KnownError | None:
    """What to tell about an error; None for one that nobody expects."""
    for kinds, exit_code in _EXIT_CODES:
        if isinstance(error, kinds):
            return KnownError(str(error), exit_code)
    match error:
        case Refused() | PartFailed():
            return KnownError(str(error), error.exit_code)
        case DiskFull() | OutputDamaged() | StoreFailed() | OSError() | MemoryError():
            return KnownError(error_text(error), FAILED, may_lack_output=True)
        case UnicodeEncodeError() if "\udc80" <= error.object[error.start] <= "\udcff":
            # So Python reads the bytes of names that are no text.
            found = f"expected names of files in UTF-8, found {error.object!a}; rename it, or move it away"
            return KnownError(found, REFUSED)
        case BaseExceptionGroup():
            return _known_group(error)
    return None


def _known_group(group: BaseExceptionGroup[BaseException]) -> KnownError | None:
    disagree, others = group.split(PartsDisagree)
    if disagree is not None and others is None:
        return KnownError(error_text(disagree), REFUSED)
    known, unknown = group.split(_BROKEN)
    if known is None or unknown is not None:
        return None
    return KnownError(error_text(known), FAILED, may_lack_output=True)


def error_text(error: BaseException) -> str:
    """What failed and what to do, for people."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error)
    if isinstance(error, FileNotFoundError) and error.filename is None and (deleted := deleted_directory()):
        return deleted
    if isinstance(error, MemoryError):
        return "there is not enough memory; what was written is kept. Run the same command again with more memory"
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror + (f": {error.filename}" if error.filename else "")
        place = error.filename2 or error.filename
        if isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError) and isinstance(place, str):
            is_there = isinstance(error, FileExistsError) and Path(place).is_dir()
            is_folder = isinstance(error, IsADirectoryError)
            text = text if is_there else found_instead(Path(place), is_folder=is_folder)
        if isinstance(error, FileNotFoundError) and isinstance(place, str):
            text = why_missing(Path(place)) or text
        if error.errno == errno.EIO:
            text += "; the log of the kernel says which disk failed, and what was saved is kept"
        if error.errno == errno.EROFS:
            text += "; mount its file system for writing, too, then run the same command again; what was saved is kept"
        if error.filename and error.errno in (errno.EMFILE, errno.ENFILE):
            limit = "`ulimit -n`" if error.errno == errno.EMFILE else "`sysctl fs.file-max`, for all processes"
            text += f"; raise the limit of open files ({limit}), then run the same command again"
        if isinstance(error, PermissionError) and isinstance(error.filename, str):
            text += instead_of_denied(Path(error.filename))
    if any(os.strerror(number) in text for number in DISK_FULL):
        return f"{DISK_IS_FULL}: free some space, then run the same command again; what was saved is kept. ({text})"
    return text
