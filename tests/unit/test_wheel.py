"""What is handed out: the four packages with their data, the module of the command, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.sanitizers.build import extensions

PACKAGES = ("config", "crawler", "frontier", "visited")
COMMAND = "onceover_crawler"
BUILT_FROM = (f"{COMMAND}.py", "pyproject.toml", "setup.py", "LICENSE", "README.md")
NOT_SHIPPED = {".c", ".h", ".pyc", ".so"}
"""Sources of the extension and what the interpreter and the compiler left here."""


def build(repository: Path, directory: Path, *, environment: dict[str, str] | None = None) -> Path:
    """The wheel, unpacked, of a copy: a build leaves files behind and would pick up older ones."""
    source = directory / "source"
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(repository / package, source / package, ignore=ignored)
    for name in BUILT_FROM:
        if (repository / name).exists():
            shutil.copy(repository / name, source)
    shutil.copytree(repository / "tests" / "unit", source / "tests" / "unit")
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir"]
    done = subprocess.run(
        [sys.executable, *command, str(directory), str(source)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=directory,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = directory.glob("onceover_crawler-*.whl")
    unpacked = directory / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    return unpacked


def files_in(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def unpacked(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    unoptimized = {**os.environ, "CFLAGS": "-O0"}  # which takes half as long
    return build(repository, tmp_path_factory.mktemp("wheel"), environment=unoptimized)


def test_the_wheel_holds_exactly_the_four_packages_their_data_and_the_module_of_the_command(
    unpacked: Path, repository: Path
) -> None:
    expected = {
        f"{package}/{name}"
        for package in PACKAGES
        for name in files_in(repository / package)
        if "__pycache__" not in name and Path(name).suffix not in NOT_SHIPPED
    } | {f"{COMMAND}.py"}
    shipped = {name for name in files_in(unpacked) if not name.startswith("onceover_crawler-")}
    compiled = {name for name in shipped if name.endswith(".so")}

    assert shipped - compiled == expected
    ours = {each.name for name, each in extensions().items() if name != "faulty"}
    assert compiled <= {f"{name.replace('.', '/')}.abi3.so" for name in ours}
    assert {f"{package}/py.typed" for package in PACKAGES} <= shipped


def test_the_wheel_names_the_command_the_license_and_no_tool_of_ours(unpacked: Path) -> None:
    [info] = unpacked.glob("onceover_crawler-*.dist-info")
    metadata = (info / "METADATA").read_text(encoding="utf-8")

    assert f"onceover = {COMMAND}:main" in (info / "entry_points.txt").read_text(encoding="utf-8").splitlines()
    assert "Name: onceover-crawler" in metadata.splitlines()
    assert "License-Expression: Apache-2.0 AND MIT" in metadata
    assert (info / "licenses" / "LICENSE").is_file()
    assert "Requires-Dist: aiohttp" in metadata
    pytest_lines = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: pytest")]
    assert all(line.endswith('extra == "testing"') for line in pytest_lines)


def test_no_message_or_page_says_to_install_the_package_of_a_stranger(repository: Path) -> None:
    places = [*PACKAGES, "docs", "tools", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "constraints.txt"]
    files = [file for place in places for file in (repository / place, *(repository / place).rglob("*"))]
    told = [
        f"{file.relative_to(repository)}: {found.group()}"
        for file in files
        if file.is_file() and file.suffix not in {".so", ".pyc", ".png"}
        for found in re.finditer(r"pip install[^\n]*|onceover\[\w+\]", file.read_text(encoding="utf-8"))
    ]

    assert [line for line in told if "onceover" in line and "onceover-crawler" not in line] == []
    assert any("onceover-crawler[compare]" in line for line in told)
    assert any("onceover-crawler[pdf]" in line for line in told)
    assert any("onceover-crawler[testing]" in line for line in told)


def test_every_package_of_the_wheel_can_be_imported_from_it(unpacked: Path, tmp_path: Path) -> None:
    command = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); import {', '.join(PACKAGES)};"
        f"print(*(module.__file__ for module in ({', '.join(PACKAGES)})), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path, env={}
    )

    assert done.stdout.split() == [str(unpacked / package / "__init__.py") for package in PACKAGES]


def test_a_wheel_is_built_where_there_is_no_compiler(repository: Path, tmp_path: Path) -> None:
    nothing = {"CC": "/bin/false", "CXX": "/bin/false", "PATH": "/nonexistent", "HOME": str(tmp_path)}
    unpacked = build(repository, tmp_path, environment=nothing)

    assert (unpacked / "visited" / "__init__.py").is_file()
    assert list(unpacked.rglob("*.so")) == []
