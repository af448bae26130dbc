"""The process in which cases are run: `MODULE LIBRARY PLACE SEED FIRST CASES CORPORA`.

Before each case its number is written to the file PLACE, since a sanitizer ends the process without a word from Python.
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
REPEATED, REPEATS, MOST_LEFT_BYTES = 30, 15, 300
"""Cases that are run again and again, and what they may leave behind: less than one object each time."""
SPOILED = 3
"""How often each call is made wrong."""
STARVED, REFUSED = 5, 40
"""Cases in which memory runs out, and how many allocations of each call are refused, one at a time."""


class Target(Protocol):
    """A module of cases for one extension."""

    @staticmethod
    def compare(chance: Random, corpus: Corpus) -> None:
        """Hold a function against its reference. Raises AssertionError where they differ."""
        ...

    @staticmethod
    def calls(chance: Random, corpus: Corpus) -> list[Call]:
        """Right calls, whose arguments nothing else holds."""
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


def starve(target: Target, chance: Random, corpus: Corpus) -> None:
    """Refuse the first allocation of each call, then the second, and so on."""
    try:
        from _testcapi import remove_mem_hooks, set_nomemory  # type: ignore[import-not-found] # noqa: PLC0415
    except ImportError:
        return  # Debian's Python comes without
    for call in target.calls(chance, corpus):
        for refused in range(REFUSED):
            set_nomemory(refused, refused + 1)
            try:
                make(call)
            except MemoryError:
                continue
            finally:
                remove_mem_hooks()


def left_bytes(target: Target, seed: int, corpus: Corpus) -> int:
    """What the same cases, run again and again, leave behind."""
    allocated = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    allocated.restype = ctypes.c_size_t

    def repeat() -> int:
        for _ in range(REPEATS):
            for number in range(REPEATED):
                misuse(target, Random(f"{seed}:{number}"), corpus)
        gc.collect()
        return cast(int, allocated())

    return -repeat() + repeat()


def main() -> None:
    module, library, place = sys.argv[1:4]
    seed, first, cases = map(int, sys.argv[4:7])
    load(module, Path(library))
    folder, _, name = module.rpartition("._")
    corpus = corpus_of(REPOSITORY / folder.replace(".", "/"), Path(sys.argv[7]) if sys.argv[7] else None)
    target = cast(Target, importlib.import_module(f"tests.sanitizers.{name}"))
    with Path(place).open("w", encoding="ascii") as file:

        def note(case: str) -> None:
            file.seek(0)
            file.write(f"{case:<20}")
            file.flush()

        for number in range(first, first + cases):
            note(str(number))
            run_case(target, Random(f"{seed}:{number}"), corpus)
        for number in range(first, first + min(cases, STARVED)):
            note(f"{number}, starved")
            starve(target, Random(f"{seed}:{number}"), corpus)
        note("leaks")
        left = left_bytes(target, seed, corpus)
        assert left <= MOST_LEFT_BYTES, f"{left} bytes were left behind"


if __name__ == "__main__":
    main()
