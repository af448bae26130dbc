"""How long the command takes to start, beside an empty Python.

Processor time of whole processes, children of this one: an empty Python, `onceover --version`, and a crawl of one page
of the simulated web, with the default outputs, a Bloom visited set and the archive. They alternate, and medians are
compared. Each has run once before it is measured, and may write its bytecode then, as pip does for users: compiling all
sources takes several times as long as the rest. An editable installation makes the empty Python twice as slow, so
figures from a checkout look better than those of users.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path

import msgspec

import crawler.cli.crawl
from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.report import emit, options, spread, tell

MEANINGS = {
    "version_times_python": "times an empty Python: `onceover --version` (goal: 4)",
    "one_page_times_python": "times an empty Python: a crawl of one page (goal: 10)",
    "python_ms": "an empty Python",
    "imports_times_python": "times an empty Python: only importing what that crawl imports first",
    "libraries_times_python": "times an empty Python: only importing aiohttp, click and msgspec",
}

_LIKE_COMMANDS = "import gc; gc.disable()"
"""As commands do until they have imported what they need; then they call `gc.freeze()`."""


def main() -> None:
    asked = options(__doc__ or "")
    rounds = 5 if asked.quick else 21
    with tempfile.TemporaryDirectory() as name, running(bench_params(1)) as port:
        commands = {
            "python": ("-c", "pass"),
            "version": ("-m", "onceover_crawler", "--version"),
            "one_page": ("-m", "onceover_crawler", "crawl", "--fresh", *_crawl(port, Path(name))),
            "imports": ("-c", f"{_LIKE_COMMANDS}; from crawler.cli import Commands; Commands()['crawl']; gc.freeze()"),
            "libraries": ("-c", f"{_LIKE_COMMANDS}; import aiohttp, click, msgspec; gc.freeze()"),
        }
        for command in commands.values():
            cpu_s([sys.executable, *command])
        if not _has_bytecode():
            tell("the bytecode could not be written: the figures include compiling sources")
        samples: dict[str, list[float]] = {each: [] for each in commands}
        for _ in range(rounds):
            for each, command in commands.items():
                samples[each].append(cpu_s([sys.executable, *command]))
    for each, taken in samples.items():
        tell(f"{each}: {spread([1000 * one for one in taken])} ms")
    medians = {each: statistics.median(taken) for each, taken in samples.items()}
    empty_s = medians.pop("python")
    figures = {f"{each}_times_python": taken / empty_s for each, taken in medians.items()}
    emit(
        figures | {"python_ms": 1000 * empty_s},
        asked=asked,
        packages=("onceover-crawler", "aiohttp"),
        meanings=MEANINGS,
    )


def cpu_s(command: Sequence[str]) -> float:
    """The processor time of a process and of those that it has waited for."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise RuntimeError(f"{command} ended with exit code {process.returncode}: {said.decode()}")
    return usage.ru_utime + usage.ru_stime


def _has_bytecode() -> bool:
    """Whether a start finds the bytecode of what it imports."""
    return Path(cache_from_source(crawler.cli.crawl.__file__)).exists()


def _crawl(port: int, directory: Path) -> Sequence[str]:
    settings = {
        "crawl.directory": str(directory / "crawl"),
        "crawl.seeds": ["http://h00000.sim.test/"],
        "fetch.hosts": {"*.sim.test": f"127.0.0.1:{port}"},
        "visited.backend": "bloom",
        "output.warc": True,
        "politeness.min_delay_s": 0.0,
        "scope.max_depth": 0,
    }
    written = directory / "crawl.toml"
    tables: dict[str, list[str]] = {}
    for key, value in settings.items():
        table, _, name = key.partition(".")
        tables.setdefault(table, []).append(f"{name} = {_toml(value)}")
    written.write_text("\n".join(f"[{table}]\n" + "\n".join(lines) for table, lines in tables.items()))
    return [str(written)]


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{name}" = {_toml(each)}' for name, each in value.items()) + " }"
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    main()
