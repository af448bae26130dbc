"""What the directory of a part says about its last claim: when it was opened, and as which part of which crawl.

It is written before the part is opened. So a directory that was opened can't be taken for an older copy of it.
"""

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.files.content import read_file
from crawler.files.replacing import replace_file


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """The last claim of a directory."""

    crawl: str
    generation: str
    part: int
    lineage: int
    epoch: int


def read_note(directory: CrawlDirectory) -> Note | None:
    """None if the directory was never claimed. Raises `DirectoryRefused` if the note can't be read."""
    try:
        return msgspec.json.decode(read_file(directory.claim), type=Note)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, *UNREADABLE) as error:
        raise DirectoryRefused(
            f"{directory.claim} can't be read: {error}. It says when the part was last opened: restore a copy of it, "
            "or let `onceover cluster adopt` take the directory"
        ) from error


def write_note(directory: CrawlDirectory, note: Note) -> None:
    """Replace the note. When this returns, it is on the disk. Raises `OSError`."""
    replace_file(directory.claim, msgspec.json.encode(note) + b"\n")
