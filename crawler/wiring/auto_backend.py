"""Which visited set `visited.backend = "auto"` is: advised by the formulas, once for a crawl."""

import os

import msgspec

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.status import number_of, size
from visited.advice import Option, advise, options

EXACT_ON_DISK = "exact-leveldb"
_SHARE_OF_MACHINE = 0.25


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, and what was taken: as it is kept in the crawl's directory."""

    capacity: int
    error_rate: float
    asked_bytes: int | None
    """`visited.memory_bytes`."""
    given_bytes: int
    """What there was to choose for."""
    option: Option

    @property
    def words(self) -> str:
        """The choice, for a person."""
        option = self.option
        name = "exact with store = leveldb" if option.backend == EXACT_ON_DISK else option.backend
        disk = f" and {size(option.disk_bytes)} on disk" if option.disk_bytes else ""
        fits = option.memory_bytes <= self.given_bytes
        return (
            f"visited.backend is auto: {name}, which for {number_of(self.capacity, 'URL')} takes "
            f"{size(option.memory_bytes)}{disk}; {size(self.given_bytes)} are allowed"
            f"{'' if fits else '. Nothing fits in that, and this comes nearest'}"
        )


def decided(config: Config, directory: CrawlDirectory) -> tuple[Config, Choice | None]:
    """The configuration with a backend in place of `auto`, and how it was chosen; None where none was to be.

    The choice is kept beside the set, and holds as long as the same is asked: a resumed crawl does not change its set
    because it runs on another machine.
    """
    visited = config.visited
    if visited.backend != "auto":
        return config, None
    kept = directory.visited / "choice.json"
    choice = msgspec.json.decode(kept.read_bytes(), type=Choice) if kept.exists() else None
    asked = (visited.capacity, visited.error_rate, visited.memory_bytes)
    if choice is None or (choice.capacity, choice.error_rate, choice.asked_bytes) != asked:
        choice = _choice(config)
        if config.frontier.backend != "memory":
            kept.parent.mkdir(exist_ok=True)
            aside = kept.with_suffix(".new")
            aside.write_bytes(msgspec.json.encode(choice))
            aside.replace(kept)
    on_disk = choice.option.backend == EXACT_ON_DISK
    return (
        msgspec.structs.replace(
            config,
            visited=msgspec.structs.replace(
                visited,
                backend="exact" if on_disk else choice.option.backend,
                store="leveldb" if on_disk else "memory",
            ),
        ),
        choice,
    )


def best_option(count: int, error_rate: float, *, memory_bytes: int, on_disk: bool = True) -> Option | None:
    """The set that loses least in the memory; one on disk where none fits that is kept in memory, and None where there
    is to be none on disk, or no memory even for that."""
    try:
        return advise(count, memory_bytes=memory_bytes, error_rate=error_rate)
    except ValueError:
        [option] = (each for each in options(count, error_rate) if each.backend == EXACT_ON_DISK)
        return option if on_disk and option.memory_bytes <= memory_bytes else None


def _choice(config: Config) -> Choice:
    visited = config.visited
    given = visited.memory_bytes or machine_bytes()
    on_disk = config.frontier.backend != "memory"
    option = best_option(visited.capacity, visited.error_rate, memory_bytes=given, on_disk=on_disk)
    if option is None:
        # A crawl goes on all the same. On disk the memory is the same for any number of URLs; where there is to be
        # nothing on disk, what grows as it must begins small.
        nearest = EXACT_ON_DISK if on_disk else "dsbf"
        [option] = (each for each in options(visited.capacity, visited.error_rate) if each.backend == nearest)
    return Choice(
        capacity=visited.capacity,
        error_rate=visited.error_rate,
        asked_bytes=visited.memory_bytes,
        given_bytes=given,
        option=option,
    )


def machine_bytes() -> int:
    """What a visited set may take where nothing is said: a quarter of this machine's memory."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MACHINE)
