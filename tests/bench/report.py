"""How a benchmark is called, and how it tells its figures: `python -m tests.bench.NAME [--quick] [--json]`.

With `--json`, stdout carries one object and nothing else:
{"machine": {...}, "versions": {...}, "seed": n, "figures": {name: number}}. Progress goes to stderr.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec


class Options(msgspec.Struct, frozen=True):
    """What every benchmark can be asked."""

    quick: bool
    as_json: bool
    seed: int
    also: frozenset[str] = frozenset()
    """The names of what else was asked for."""


def options(description: str, *, more: Mapping[str, str] | None = None) -> Options:
    """Parse the command line. `more` has the names of other work that may be asked for, and what each means."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller work, fewer rounds")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object on stdout, nothing else")
    parser.add_argument("--seed", type=int, default=1, help="of whatever is drawn at random")
    for name, meaning in (more or {}).items():
        parser.add_argument(f"--{name}", action="append_const", const=name, dest="also", default=[], help=meaning)
    parser.set_defaults(also=[])
    found = parser.parse_args()
    return Options(quick=found.quick, as_json=found.as_json, seed=found.seed, also=frozenset(found.also))


def tell(text: str) -> None:
    """A line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def emit(
    figures: Mapping[str, float],
    *,
    asked: Options,
    packages: Iterable[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> None:
    """Print the figures: as JSON, or as lines with their meanings. `packages` are those whose versions matter."""
    versions = {"python": platform.python_version(), **{name: _version(name) for name in packages}}
    if asked.as_json:
        machine = {"cpu": _cpu(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}
        rounded = {name: round(value, 4) for name, value in figures.items()}
        sys.stdout.write(
            json.dumps({"machine": machine, "versions": versions, "seed": asked.seed, "figures": rounded}) + "\n"
        )
        return
    sys.stdout.write(f"{_cpu()}, {len(os.sched_getaffinity(0))} cores; {versions}\n")
    for name, value in figures.items():
        meaning = (meanings or {}).get(name, "")
        sys.stdout.write(f"{name:>32} {value:>16,.3f}  {meaning}\n")


def spread(samples: Sequence[float], *, digits: int = 1) -> str:
    """Median, and how far the samples lie apart."""
    median, least, most = (f"{each:,.{digits}f}" for each in (statistics.median(samples), min(samples), max(samples)))
    return f"{median} ({least} to {most})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
