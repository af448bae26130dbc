"""What a crawl has noted of those who share a set with it: in a folder, which the others may write to as well.

The folder has a file for each crawl and one for each that is gone. Several processes can write to it at once: files
come, and only the crawl itself replaces its own, when it is opened again. Before a crawl asks a set, it puts its own
file into the folders of all whom it knows, if they are on this machine, whether they run or not; and into a folder
where all crawls meet, if there is one. So those that are stopped know it too when the server has lost all names.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from visited.redis.holders import Holder, Holders, decode_holder, encode_holder
from visited.shared import Crawl

_ME: Final = "me"
_KNOWN: Final = ".crawl"
_GONE: Final = ".gone"


class Notes:
    """The notes of a crawl about one set."""

    def __init__(self, folder: Path, crawl: Crawl, *, meeting: Path | None) -> None:
        """`meeting` is the folder where crawls meet that share this set."""
        self._folder = folder
        self._crawl = crawl
        self._meeting = meeting
        self._opened: tuple[str, int] | None = None
        """The id with which it was opened, and how often."""

    @property
    def directory(self) -> str:
        """That of the crawl."""
        return str(self._crawl.directory)

    @property
    def has_begun(self) -> bool:
        """Whether the crawl may have asked the set."""
        return (self._folder / _ME).exists()

    def own_id(self) -> str:
        """The same until `renew`. Raises `OSError`."""
        try:
            return read_name(self._folder / _ME)
        except FileNotFoundError:
            return self.renew()

    def renew(self) -> str:
        """Draw another id. Raises `OSError`."""
        new = secrets.token_hex(8)
        write_file(self._folder / _ME, new.encode())
        return new

    def open(self) -> str:
        """Note that the crawl is about to ask. Returns its id. Raises `OSError`."""
        me = self.own_id()
        if self._opened is None or self._opened[0] != me:
            earlier = _read(self._folder).known.get(me)
            self._opened = me, 1 if earlier is None else earlier.opened + 1
            _put_own(self._folder, me, self.own(""))
        return me

    def own(self, memory: str, *, is_closed: bool = False) -> Holder:
        """This crawl, whose ledger is in a memory."""
        where, host = self._crawl.directory, self._crawl.host
        return Holder(
            name=f"the crawl in {where} on {host}",
            directory=str(where),
            notes=str(self._folder),
            memory=memory,
            opened=0 if self._opened is None else self._opened[1],
            is_closed=is_closed,
        )

    def read(self) -> Holders:
        """All that are noted. Raises `OSError`."""
        found = _read(self._folder)
        return found if self._meeting is None else found.unite(_read(self._meeting))

    def note(self, holders: Holders) -> None:
        """Note whoever is not noted yet, and tell all that this crawl is one of them. Raises `OSError` if this crawl's
        own notes can't be written."""
        _put(self._folder, holders)
        me, mine = self.own_id(), self.own("")
        for name, each in holders.known.items():
            folder = Path(each.notes)
            with suppress(OSError):  # it is on another machine, or another user's
                if name != me and each.notes and read_name(folder / _ME) == name:
                    _put_own(folder, me, mine)
        if self._meeting is not None:
            with suppress(OSError):
                _put_own(self._meeting, me, mine)
                _put(self._meeting, Holders(gone=holders.gone))


def read_name(file: Path) -> str:
    """A name that a crawl has drawn. Raises `OSError`."""
    try:
        return file.read_text(encoding="ascii").strip()
    except UnicodeDecodeError as error:
        raise OSError(
            f"{file} is damaged: expected a name for the server of the visited set, found {error.object[:32]!r}. "
            "Delete the file; then the crawl draws another name, and adds its URLs again"
        ) from error


def _read(folder: Path) -> Holders:
    known = {}
    for file in folder.glob(f"*{_KNOWN}"):
        known[file.stem] = decode_holder(file.read_bytes())
    return Holders(known=known, gone=frozenset(file.stem for file in folder.glob(f"*{_GONE}")))


def _put(folder: Path, holders: Holders) -> None:
    for name, each in holders.known.items():
        if not (file := folder / f"{name}{_KNOWN}").exists():
            write_file(file, encode_holder(each), replaces=False)
    for name in holders.gone:
        if not (file := folder / f"{name}{_GONE}").exists():
            write_file(file, b"", replaces=False)


def _put_own(folder: Path, name: str, holder: Holder) -> None:
    file = folder / f"{name}{_KNOWN}"
    if not file.exists() or decode_holder(file.read_bytes()).opened < holder.opened:
        write_file(file, encode_holder(holder))


def write_file(file: Path, content: bytes, *, replaces: bool = True) -> None:
    """After a power failure the file is whole, or as it was before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        with new.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        if replaces:
            new.replace(file)
        else:
            with suppress(FileExistsError):
                file.hardlink_to(new)
    finally:
        new.unlink(missing_ok=True)
    place = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(place)
    finally:
        os.close(place)
