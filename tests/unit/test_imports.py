"""Importing a package must not load what its parts stand on: import-linter sees the arrows, this the effect."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TECHNOLOGIES = {
    "aiohttp",
    "bs4",
    "lxml",
    "mmh3",
    "numpy",
    "plyvel",
    "protego",
    "pytest",
    "redis",
    "rich",
    "selectolax",
    "turbohtml",
    "uvloop",
}


def loaded_by_importing(module: str, directory: Path) -> set[str]:
    """Top-level modules that a fresh interpreter holds after importing one."""
    command = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", command], cwd=directory, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["visited", "frontier", "config", "crawler", "crawler.page", "crawler.engine"])
def test_importing_what_the_engine_knows_loads_no_technology(module: str, repository: Path) -> None:
    assert loaded_by_importing(module, repository) & TECHNOLOGIES == set()


@pytest.mark.parametrize(
    ("module", "ours"),
    [
        ("visited", {"visited"}),
        ("config", {"config", "frontier", "visited"}),
        ("frontier", {"frontier"}),
        ("crawler.page", {"crawler"}),
    ],
)
def test_importing_a_package_loads_no_package_above_it(module: str, ours: set[str], repository: Path) -> None:
    assert loaded_by_importing(module, repository) & {"config", "crawler", "frontier", "visited"} == ours


def test_the_concrete_frontier_is_what_loads_leveldb(repository: Path) -> None:
    assert "plyvel" in loaded_by_importing("frontier.leveldb.store", repository)


def test_the_contract_suites_name_the_extra_that_they_need(repository: Path) -> None:
    command = "import sys; sys.modules['pytest'] = None; import crawler.testing"
    ended = subprocess.run([sys.executable, "-c", command], cwd=repository, check=False, capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: crawler.testing needs pytest and hypothesis: pip install 'onceover-crawler[testing]'"
    )


def test_the_command_starts_no_threads_that_multiply_matrices(repository: Path) -> None:
    script = """
import os, sys, onceover_crawler
sys.argv[1:] = ["--version"]
try:
    onceover_crawler.main()
except SystemExit:
    import numpy
    assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=repository, env=environment)
