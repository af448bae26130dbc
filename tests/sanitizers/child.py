"""The process that runs cases. Arguments: MODULE LIBRARY REFUSING PLACE SEED FIRST CASES CORPORA.

It writes the number of each case to the file PLACE before it runs it, since a sanitizer ends the process at once.
"""

import ctypes
import gc
import importlib
import importlib.util
import sys
from pathlib import Path
from random import Random
from typing import Protocol, cast

from tests.sanitizers.calls import Call, make, spoil
from tests.sanitizers.corpus import Corpus, corpus_of

REPOSITORY = Path(__file__).parents[2]
REFUSING = "tests.sanitizers._refusing"
REPEATED, REPEATS, MOST_LEFT_BYTES = 30, 15, 300
"""How many cases at most are repeated to look for leaks, how often, and the bytes that they may leave behind. One small
object per repetition is more."""
SPOILED = 3
"""How many wrong calls are made from each correct one."""
CASES_WITHOUT_MEMORY, REFUSALS = 5, 40
"""In how many cases memory runs out, and how many allocations of each call are refused, one at a time."""
CASES_WITH_GARBAGE, THRESHOLDS = 10, (1, 2, 3, 5, 8, 13, 21, 34)
"""In how many cases garbage is collected during a call, and after how many allocations."""


class Target(Protocol):
    """A module of cases for one extension."""

    @staticmethod
    def compare(chance: Random, corpus: Corpus) -> None:
        """Compare a function with its reference. Raises AssertionError if they differ."""
        ...

    @staticmethod
    def calls(chance: Random, corpus: Corpus) -> list[Call]:
        """Make correct calls, with new arguments each time."""
        ...


def load(module: str, library: Path) -> None:
    """Load the library in place of the installed extension, before anything imports that."""
    assert module not in sys.modules
    spec = importlib.util.spec_from_file_location(module, library)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[module])


def run_case(target: Target, chance: Random, corpus: Corpus) -> None:
    target.compare(chance, corpus)
    misuse(target, chance, corpus)


def misuse(target: Target, chance: Random, corpus: Corpus) -> None:
    for call in target.calls(chance, corpus):
        make(call)
        for _ in range(SPOILED):
            make(spoil(chance, call))


def run_out_of_memory(target: Target, chance: Random, corpus: Corpus) -> None:
    """Refuse the first allocation of each call, then the second, and so on."""
    refuse, grant = sys.modules[REFUSING].refuse, sys.modules[REFUSING].grant
    for call in target.calls(chance, corpus):
        for refused in range(REFUSALS):
            refuse(refused)
            try:
                make(call)
            except MemoryError:
                continue
            finally:
                grant()


class Garbage:
    """Makes calls when it is collected, as any other code may that the collector runs."""

    def __init__(self, calls: list[Call]) -> None:
        self._itself, self._calls = self, calls

    def __del__(self) -> None:
        gc.disable()
        for call in self._calls:
            make(call)


def collect_garbage(target: Target, chance: Random, corpus: Corpus) -> None:
    """Have garbage collected in the middle of each call that makes all calls of the case."""
    usual = gc.get_threshold()
    gc.freeze()
    for threshold in THRESHOLDS:
        for place in range(len(target.calls(chance, corpus))):
            calls = target.calls(chance, corpus)
            gc.collect()
            gc.disable()
            Garbage(calls)
            gc.set_threshold(threshold)
            gc.enable()
            make(calls[place])
            gc.set_threshold(*usual)
    gc.enable()
    gc.unfreeze()


def measure_leak(target: Target, seed: int, corpus: Corpus, *, cases: int) -> int:
    """The bytes that so many cases leave behind when they are repeated."""
    allocated = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    allocated.restype = ctypes.c_size_t

    def repeat() -> int:
        for _ in range(REPEATS):
            for number in range(cases):
                misuse(target, Random(f"{seed}:{number}"), corpus)
        gc.collect()
        return cast(int, allocated())

    return -repeat() + repeat()


def main() -> None:
    module, library, refusing, place = sys.argv[1:5]
    seed, first, cases = map(int, sys.argv[5:8])
    load(module, Path(library))
    load(REFUSING, Path(refusing))
    folder, _, name = module.rpartition("._")
    corpus = corpus_of(REPOSITORY / folder.replace(".", "/"), Path(sys.argv[8]) if sys.argv[8] else None)
    target = cast(Target, importlib.import_module(f"tests.sanitizers.{name}"))
    with Path(place).open("w", encoding="ascii") as file:

        def note(case: str) -> None:
            file.seek(0)
            file.write(f"{case:<20}")
            file.flush()

        for number in range(first, first + cases):
            note(str(number))
            run_case(target, Random(f"{seed}:{number}"), corpus)
        for number in range(first, first + min(cases, CASES_WITHOUT_MEMORY)):
            note(f"{number}, without memory")
            run_out_of_memory(target, Random(f"{seed}:{number}"), corpus)
        for number in range(first, first + min(cases, CASES_WITH_GARBAGE)):
            note(f"{number}, with garbage")
            collect_garbage(target, Random(f"{seed}:{number}"), corpus)
        note("leaks")
        left = measure_leak(target, seed, corpus, cases=min(REPEATED, 1 + cases // 10))
        assert left <= MOST_LEFT_BYTES, f"{left} bytes were left behind"


if __name__ == "__main__":
    main()
