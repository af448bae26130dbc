"""Chooses the visited set for `visited.backend = "auto"`: by the formulas, once for a crawl."""

import os

import msgspec

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.status import number_of, size
from crawler.wiring.backends import frontier_backend
from visited.advice import Option, advise, options

EXACT_ON_DISK = "exact-leveldb"
_SHARE_OF_MACHINE = 0.25


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The request and the choice, as they are stored in the crawl's directory."""

    capacity: int
    error_rate: float
    asked_bytes: int | None
    """`visited.memory_bytes`."""
    given_bytes: int
    """The memory that was available."""
    option: Option

    @property
    def text(self) -> str:
        """The choice, for people."""
        option = self.option
        name = "exact with store = leveldb" if option.backend == EXACT_ON_DISK else option.backend
        disk = f" and {size(option.disk_bytes)} on disk" if option.disk_bytes else ""
        fits = option.memory_bytes <= self.given_bytes
        return (
            f"visited.backend = auto chooses {name}, which for {number_of(self.capacity, 'URL')} takes "
            f"{size(option.memory_bytes)}{disk}; {size(self.given_bytes)} of memory may be used"
            f"{'' if fits else '. No set fits in that; this one needs the least'}"
        )


def choose_backend(config: Config, directory: CrawlDirectory) -> tuple[Config, Choice | None]:
    """The configuration with a backend instead of `auto`, and the choice; None if the configuration names a backend.

    The choice is stored beside the set and holds until the request changes. So a crawl keeps its set when it is resumed
    on another machine.
    """
    visited = config.visited
    if visited.backend != "auto":
        return config, None
    file = directory.visited / "choice.json"
    choice = msgspec.json.decode(file.read_bytes(), type=Choice) if file.exists() else None
    asked = (visited.capacity, visited.error_rate, visited.memory_bytes)
    if choice is None or (choice.capacity, choice.error_rate, choice.asked_bytes) != asked:
        choice = _choice(config)
        if frontier_backend(config).is_persistent:
            file.parent.mkdir(exist_ok=True)
            new = file.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(choice))
            new.replace(file)
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
    """The set that loses least in this memory. If no set in memory fits, it is the one on disk; None if that must not
    be used, or does not fit either."""
    try:
        return advise(count, memory_bytes=memory_bytes, error_rate=error_rate)
    except ValueError:
        [option] = (each for each in options(count, error_rate) if each.backend == EXACT_ON_DISK)
        return option if on_disk and option.memory_bytes <= memory_bytes else None


def _choice(config: Config) -> Choice:
    visited = config.visited
    given = visited.memory_bytes or machine_bytes()
    on_disk = frontier_backend(config).is_persistent
    option = best_option(visited.capacity, visited.error_rate, memory_bytes=given, on_disk=on_disk)
    if option is None:
        # The crawl runs all the same. A set on disk takes the same memory for any number of URLs. Without a disk, take
        # the set that starts small and grows.
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
    """The memory that a visited set may take by default: a quarter of what this machine has."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MACHINE)
