"""Chooses the visited set for `visited.backend = "auto"`, once for a crawl, by the formulas. Warns of a set that is too
small for the configured number of URLs."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from config import Config, ConfigError, Loaded, Problem, settings_of, with_values
from crawler.disk.directory import CrawlDirectory
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from crawler.status import number_of, size
from crawler.wiring.backends import frontier_backend
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import VISITED
from visited.advice import Option, options
from visited.backends import descriptors
from visited.descriptor import Cost, Descriptor
from visited.making import cost_of_set

EXACT_ON_DISK = "exact-leveldb"
log = logging.getLogger(__name__)

_SHARE_OF_MACHINE = 0.25


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The request and the choice, as they are stored in the crawl's directory."""

    capacity: int
    error_rate: float
    asked_bytes: int | None
    """`visited.memory_bytes`."""
    candidates: tuple[str, ...] | None = None
    """`visited.candidates`."""
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
    choice = _stored_choice(file)
    asked = (visited.capacity, visited.error_rate, visited.memory_bytes, visited.candidates)
    if choice is None or (choice.capacity, choice.error_rate, choice.asked_bytes, choice.candidates) != asked:
        choice = _choice(config)
        if frontier_backend(config).is_persistent:
            file.parent.mkdir(exist_ok=True)
            replace_file(file, msgspec.json.encode(choice))
    backend, store = choice.option.backend, "memory"
    if backend == EXACT_ON_DISK:
        backend, store = "exact", "leveldb"
    return with_values(config, {"visited.backend": backend, "visited.store": store}), choice


def _stored_choice(file: Path) -> Choice | None:
    try:
        return msgspec.json.decode(read_file(file), type=Choice)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        log.warning("%s can't be read, so the visited set is chosen again: %s", file, error)
        return None


def candidates(config: Config) -> list[Descriptor]:
    """The sets from which `auto` chooses, the best first. Raises `ConfigError` if it can't choose one of them."""
    names = config.visited.candidates
    if names is None:
        return advised_sets()
    try:
        if not names:
            raise ValueError("expected at least one, found none")
        return [candidate(name) for name in names]
    except ValueError as error:
        raise ConfigError([Problem(str(error), key="visited.candidates")]) from error


def candidate(name: str) -> Descriptor:
    """The visited set of that name, if it can be chosen by its formulas. Raises ValueError if it can't."""
    found: Descriptor = descriptor(VISITED, name)
    if found.cost is None:
        raise ValueError(f"{name} can't be chosen by formulas, because it has none for its cost")
    required = [setting.name for setting in settings_of(found.options, "visited.options") if setting.required]
    if required:
        raise ValueError(f"{name} can't be chosen by formulas, because it needs its options {', '.join(required)}")
    return found


def advised_sets() -> list[Descriptor]:
    """The sets of ours from which advice chooses, the best first."""
    return [each for each in descriptors() if each.is_advised]


def best_option(
    count: int, error_rate: float, *, memory_bytes: int, on_disk: bool = True, among: Sequence[Descriptor]
) -> Option | None:
    """The first set that fits; None if none does. A set that needs a directory is only chosen if no other fits, and if
    `on_disk` allows it."""
    usable = options(count, error_rate, among=_usable(among, on_disk=on_disk))
    return next((each for each in usable if fits(each, count, error_rate, memory_bytes=memory_bytes)), None)


def fits(option: Option, count: int, error_rate: float, *, memory_bytes: int) -> bool:
    """Whether a set fits in this memory, and loses no larger share of the URLs than this. A set of a fixed size may
    lose more."""
    return option.memory_bytes <= memory_bytes and option.expected_lost <= error_rate * count


def _usable(among: Sequence[Descriptor], *, on_disk: bool) -> list[Descriptor]:
    """Those that need no directory, then, if `on_disk` allows it, those that need one."""
    usable = (each for each in among if on_disk or "directory" not in each.needs)
    return sorted(usable, key=lambda each: "directory" in each.needs)


def _choice(config: Config) -> Choice:
    visited = config.visited
    given = visited.memory_bytes or default_memory_bytes()
    on_disk = frontier_backend(config).is_persistent
    among = candidates(config)
    option = best_option(visited.capacity, visited.error_rate, memory_bytes=given, on_disk=on_disk, among=among)
    if option is None:
        option = _nearest(config, among, on_disk=on_disk)
    return Choice(
        capacity=visited.capacity,
        error_rate=visited.error_rate,
        asked_bytes=visited.memory_bytes,
        candidates=visited.candidates,
        given_bytes=given,
        option=option,
    )


def _nearest(config: Config, among: Sequence[Descriptor], *, on_disk: bool) -> Option:
    """The set to take if none fits, because the crawl runs all the same."""
    visited = config.visited
    usable = options(visited.capacity, visited.error_rate, among=_usable(among, on_disk=on_disk))
    if not usable:
        raise ConfigError(
            [Problem("all of them keep files, and frontier.backend = memory writes none", key="visited.candidates")]
        )
    if visited.candidates is None:
        # A set on disk takes the same memory for any number of URLs. Without a disk, take the set that starts small and
        # grows.
        return next(each for each in usable if each.backend == (EXACT_ON_DISK if on_disk else "dsbf"))
    return min(usable, key=lambda each: each.memory_bytes)


def default_memory_bytes() -> int:
    """The memory that a visited set may take if nobody says how much: a quarter of what this machine has."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MACHINE)


_TOLERANCE = 1.1
"""The formulas round the number of hash functions, so a filter of the right size may err a little more often."""


def filter_warnings(loaded: Loaded) -> Iterator[Problem]:
    """A warning if the options give a filter a size at which its rate would exceed `visited.error_rate`."""
    visited = loaded.config.visited
    if visited.backend == "auto":
        return
    cost = cost_of_set(descriptor(VISITED, visited.backend), visited.capacity, visited.error_rate, visited.options)
    bloom = cost_of_set(descriptor(VISITED, "bloom"), visited.capacity, visited.error_rate, {})
    assert bloom is not None
    # The formulas round bits, too: for a few URLs, a filter of the right size may err much more often.
    right = max(visited.error_rate, bloom.false_positive_rate)
    if cost is None or cost.false_positive_rate <= right * _TOLERANCE:
        return
    first = next((f"visited.options.{name}" for name in visited.options), "visited.capacity")
    yield loaded.problem(first, _message(loaded, cost, bloom))


def _message(loaded: Loaded, cost: Cost, bloom: Cost) -> str:
    visited = loaded.config.visited
    rescue = (
        "visited.verify rescues these, which takes time"
        if visited.verify
        else "their pages are lost, because visited.verify is false"
    )
    return (
        f"{visited.backend} with {round(cost.memory_bytes * 8):,} bits is too small for {visited.capacity:,} URLs: its "
        f"false-positive rate will reach {cost.false_positive_rate:.3g}, not {visited.error_rate:g}, and it will take "
        f"about {cost.expected_lost:,.0f} new URLs for known ones; {rescue}. A Bloom filter for this capacity and rate "
        f"has {round(bloom.memory_bytes * 8):,} bits ({size(bloom.memory_bytes)})"
    )
