"""What was deleted of the output of a crawl, because it was old or took too much space: `pruned.json` in the directory
that had it, and `pruned/`, which has the record numbers of each file. `pruned.json` also says when the archive began
anew, so that no old file is needed any more (`crawler.prune.cycles`), and since when there are records
(`crawler.prune.recorded`).

A file is listed before it is deleted. So whoever misses a page can tell that it was pruned, and a crash in between
leaves a file that the next pass deletes. After many more, it is only counted (`shorten`), so that the list stays short.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import read_layout, replaced_directories, whole_crawl
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from crawler.page.number_set import NumberSet

VERSION: Final = 1
Output = Literal["records", "warc"]
_NUMBERS: Final = ".numbers"
_MOST_LISTED: Final = 1000


class PrunedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was deleted, or is about to be."""

    name: Annotated[str, msgspec.Meta(pattern=rf"^(?:{'|'.join(get_args(Output))})/[^/]+$")]
    """From the directory on, such as `records/records-00000.jsonl`."""
    bytes: int
    records: int
    """Lines, or responses of an archive."""
    first: str | None
    """When the oldest page was fetched."""
    last: str | None
    digest: str
    """SHA-256 of the file, in hexadecimal digits."""
    reason: str
    pruned_at: str
    is_deleted: bool = False

    @property
    def output(self) -> str:
        return self.name.partition("/")[0]


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Files of an output that were deleted."""

    files: int = 0
    records: int = 0
    bytes: int = 0
    last: str | None = None
    """When the newest page was fetched."""

    def add(self, file: PrunedFile) -> "Counted":
        return Counted(
            files=self.files + 1,
            records=self.records + file.records,
            bytes=self.bytes + file.bytes,
            last=max(filter(None, (self.last, file.last)), default=None),
        )


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
    """That the archive began anew: nothing that was written since refers to what was before."""

    began: str
    first: int
    """The number of its first archive, or one between that and the archive before."""
    number: int = 0
    """No page before has this record number, or a higher one; 0 if the frontier gives no numbers. One that waited then
    has a lower one."""
    latest_at: float | None = None
    """No page before was fetched later, in seconds since 1970; None if that is not known."""

    def __post_init__(self) -> None:
        _check(self.began)


class Began(msgspec.Struct, frozen=True, kw_only=True):
    """That a run writes records, and one before it wrote none."""

    began: str
    number: int = 0
    latest_at: float | None = None
    """Both as in `Cycle`."""

    def __post_init__(self) -> None:
        _check(self.began)


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `pruned.json` says."""

    version: int = VERSION
    files: Sequence[PrunedFile] = ()
    """In the order in which they were listed."""
    before: Mapping[Output, Counted] = {}
    """What was listed before these, by its output."""
    cycles: Sequence[Cycle] = ()
    """The oldest first. Archives before the first one are not divided into cycles."""
    lacks_pages: bool = False
    """Whether a run since the last cycle began did not archive. The next one that does begins another cycle."""
    lacks_records: bool = False
    """Whether a run since `records` began wrote none. With the next one that does, they begin again."""
    records: Began | None = None
    """Since when each visit has a record; None if all have."""

    def __post_init__(self) -> None:
        _check(self.total("warc").last)  # that of records is only shown, and may be of a damaged one

    def total(self, output: Output) -> Counted:
        return _sum(self.files, self.before, output)


def read_pruned(directory: CrawlDirectory) -> Pruned:
    """What was pruned of the output in a directory. Raises `DirectoryRefused`."""
    try:
        found = msgspec.json.decode(read_file(directory.pruned), type=Pruned)
    except FileNotFoundError:
        return Pruned()
    except (OSError, *UNREADABLE) as error:
        raise DirectoryRefused(
            f"{directory.pruned} can't be read: {error}. It says which output was deleted on purpose: restore a copy "
            "of that file, or delete it together with pruned/, if you can do without that"
        ) from error
    if found.version != VERSION:
        raise DirectoryRefused(
            f"{directory.pruned} has version {found.version}, and this onceover reads version {VERSION}; use the "
            "version that wrote it"
        )
    return found


def lacked_before(part: Path, *, lacks: Callable[[Pruned], bool], began: Callable[[Pruned], bool]) -> bool:
    """Whether the crawl of a part `lacks` something from before it was divided as it is now, for which some part of a
    later division has not `began` anew. Raises `DirectoryRefused`."""
    whole = whole_crawl(part)
    layout = None if whole == part else read_layout(whole)
    divisions = () if layout is None else layout.earlier_divisions
    lacking = False
    for names in divisions:
        found = [read_pruned(CrawlDirectory(whole / name)) for name in names]
        lacking = any(lacks(each) or (lacking and not began(each)) for each in found)
    known = {whole / name for names in divisions for name in names}
    others = [CrawlDirectory(each) for each in replaced_directories(part) if each not in known]
    return lacking or any(lacks(read_pruned(each)) for each in others)


def why_list_is_lost(directory: CrawlDirectory) -> str | None:
    """What is wrong if `pruned.json` is missing although output was deleted, and what to do; None if that is in order.
    The numbers of a file that is still there prove nothing: a crash may have come before the first list."""
    if directory.pruned.exists():
        return None
    files = [*directory.records.glob("*"), *directory.warc.glob("*")]
    present = {_numbers_of(directory, str(path.relative_to(directory.path))) for path in files}
    if present.issuperset(directory.pruned_numbers.glob(f"*{_NUMBERS}")):
        return None
    return (
        f"it is missing, and {directory.pruned_numbers} has the record numbers of files that were deleted on purpose: "
        "restore a copy of it, or delete that folder, too. Until then, what was pruned counts as missing"
    )


def write_pruned(directory: CrawlDirectory, pruned: Pruned) -> None:
    """Replace what `pruned.json` says, in one step that survives a power failure. What a later onceover has noted there
    stays. Raises `OSError`."""
    said = {**msgspec.to_builtins(pruned), **_unknown(directory)}
    replace_file(directory.pruned, msgspec.json.format(msgspec.json.encode(said)) + b"\n")


def _unknown(directory: CrawlDirectory) -> dict[str, object]:
    """What `pruned.json` says beside what this onceover knows of. Raises `OSError`."""
    try:
        said = msgspec.json.decode(read_file(directory.pruned), type=dict[str, object])
    except (FileNotFoundError, *UNREADABLE):
        return {}
    return {name: value for name, value in said.items() if name not in Pruned.__struct_fields__}


def shorten(directory: CrawlDirectory) -> Pruned:
    """What was pruned. If many files are listed, the oldest half of them is only counted from now on, and its record
    numbers lie in one file. Raises `OSError` and `DirectoryRefused`."""
    pruned = read_pruned(directory)
    if len(pruned.files) <= _MOST_LISTED:
        return pruned
    oldest, left = pruned.files[: _MOST_LISTED // 2], pruned.files[_MOST_LISTED // 2 :]
    if not all(file.is_deleted for file in oldest):
        return pruned
    _delete_unlisted(directory, pruned)
    before = {output: _sum(oldest, pruned.before, output) for output in get_args(Output)}
    for output in before:
        numbers = _read_numbers(directory, output) if output in pruned.before else NumberSet()
        for file in oldest:
            if file.output == output:
                numbers.add_all(_read_numbers(directory, file.name))
        write_numbers(directory, output, numbers)
    found = msgspec.structs.replace(pruned, files=left, before=before)
    write_pruned(directory, found)
    return found


def _check(moment: str | None) -> None:
    """Raises `ValueError` if it is damaged, which a decoder turns into an error that says where."""
    if moment is not None:
        datetime.fromisoformat(moment)


def _sum(files: Iterable[PrunedFile], before: Mapping[Output, Counted], output: Output) -> Counted:
    found = before.get(output, Counted())
    for file in files:
        if file.output == output:
            found = found.add(file)
    return found


def _delete_unlisted(directory: CrawlDirectory, pruned: Pruned) -> None:
    """Delete the numbers of files that are not listed any more since the last time. They stayed until now, because
    a copy of the crawl may have been made meanwhile, with an older list."""
    names = (*get_args(Output), *(file.name for file in pruned.files))
    kept = {_numbers_of(directory, name) for name in names}
    for path in directory.pruned_numbers.glob(f"*{_NUMBERS}"):
        if path not in kept:
            path.unlink()


def write_numbers(directory: CrawlDirectory, name: str, numbers: NumberSet) -> None:
    """Note the record numbers of a file. Raises `OSError`."""
    path = _numbers_of(directory, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, numbers.dump())


class PrunedNumbers:
    """The numbers of pages whose records, or whose captures, were pruned from some directories. Raises
    `DirectoryRefused`."""

    def __init__(self, directories: Iterable[CrawlDirectory]) -> None:
        self._numbers: dict[str, NumberSet] = {"records": NumberSet(), "warc": NumberSet()}
        for directory in directories:
            pruned = read_pruned(directory)
            for output in pruned.before:
                self._numbers[output].add_all(_read_numbers(directory, output))
            for file in pruned.files:
                self._numbers[file.output].add_all(_read_numbers(directory, file.name))

    def has(self, output: Output, number: int) -> bool:
        return number in self._numbers[output]

    def of(self, output: Output) -> NumberSet:
        return self._numbers[output]

    @property
    def highest(self) -> int:
        return max(numbers.highest for numbers in self._numbers.values())


def _read_numbers(directory: CrawlDirectory, name: str) -> NumberSet:
    path = _numbers_of(directory, name)
    try:
        return NumberSet.load(read_file(path))
    except (OSError, ValueError) as error:
        raise DirectoryRefused(
            f"{path} can't be read: {error}. It says which pages were in {name}, which was deleted on purpose: restore "
            "a copy of that file, or delete pruned.json together with pruned/: then such pages count as missing"
        ) from error


def _numbers_of(directory: CrawlDirectory, name: str) -> Path:
    return directory.pruned_numbers / (name.replace("/", "-") + _NUMBERS)
