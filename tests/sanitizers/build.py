"""Compile an extension with sanitizers, and run cases of its target in a process of their own."""

import argparse
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from unittest import mock

import setuptools  # type: ignore[import-untyped]

REPOSITORY = Path(__file__).parents[2]
FLAGS = (
    "-shared -fPIC -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    " -Wall -Wextra -Werror"
).split()
REFUSING = setuptools.Extension("tests.sanitizers._refusing", ["tests/sanitizers/_refusing.c"])
"""Refuses memory to the extensions."""
OPTIONS = {
    # Python frees little when it exits, so the child looks for leaks itself.
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1:quarantine_size_mb=64",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # Python's own allocator hides where an object ends.
    "PYTHONMALLOC": "malloc",
    "PYTHONHASHSEED": "0",
}


def what_is_missing() -> str | None:
    """Something that the sanitizers need and this machine lacks."""
    if shutil.which("gcc") is None:
        return "gcc"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python.h"
    return None if _library("libasan.so") is not None else "libasan, which comes with gcc"


def extensions() -> dict[str, setuptools.Extension]:
    """The extensions of setup.py and the faulty one, by the last part of their names without its underscore."""
    with mock.patch.object(setuptools, "setup") as setup:
        runpy.run_path(str(REPOSITORY / "setup.py"))
    faulty = setuptools.Extension("tests.sanitizers._faulty", ["tests/sanitizers/_faulty.c"])
    return {each.name.rpartition("._")[2]: each for each in (*setup.call_args.kwargs["ext_modules"], faulty)}


def build(extension: setuptools.Extension, directory: Path) -> Path:
    """Compile the shared library into the directory. Warnings are errors."""
    library = directory / f"{extension.name}.so"
    macros = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in extension.define_macros]
    include = f"-I{sysconfig.get_path('include')}"
    command = ["gcc", *FLAGS, *macros, include, *map(str, extension.sources), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    return library


def run(
    name: str, *, cases: int, seed: int = 1, first: int = 0, corpora: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Build the extension and run cases of its target in a child process. The last line of `stderr` tells where it
    ended."""
    with tempfile.TemporaryDirectory() as directory:
        extension, place = extensions()[name], Path(directory, "case")
        library = build(extension, Path(directory))
        refusing = build(REFUSING, Path(directory))
        arguments = (extension.name, library, refusing, place, seed, first, cases, corpora or "")
        done = subprocess.run(
            [*_prefix_for_fixed_addresses(), sys.executable, "-m", "tests.sanitizers.child", *map(str, arguments)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=REPOSITORY,
            env=_environment() | environment,
        )
        done.stderr += (
            f"\nthe last case of {name}, seed {seed}, was {place.read_text() if place.exists() else 'none'}\n"
        )
        return done


def _environment() -> dict[str, str]:
    # The child would inherit the measurement of coverage, which takes most of the time.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    # Loaded later, the C++ library could throw no exceptions under the sanitizer.
    libraries = [_library("libasan.so"), _library("libstdc++.so.6")]
    return kept | OPTIONS | {"LD_PRELOAD": " ".join(str(each) for each in libraries if each is not None)}


def _prefix_for_fixed_addresses() -> list[str]:
    """If addresses have many random bits, older sanitizers find no place for their own memory."""
    prefix = ["setarch", "-R"]
    usable = shutil.which("setarch") and subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if usable and usable.returncode == 0 else []


def _library(name: str) -> Path | None:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip())
    return path if path.is_absolute() else None


def main() -> None:
    parser = argparse.ArgumentParser(description="Run cases of a target under the sanitizers.")
    parser.add_argument("name", choices=sorted(extensions()))
    for option, default in (("--seed", 1), ("--first", 0), ("--cases", 1000)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--corpora", type=Path)
    chosen = parser.parse_args()
    done = run(chosen.name, cases=chosen.cases, seed=chosen.seed, first=chosen.first, corpora=chosen.corpora)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode != 0)


if __name__ == "__main__":
    main()
