"""The shipped suites: a fault makes the right tests fail, and a third party needs five lines."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

LEAKS_ALLOWED = ("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")
"""A test that fails closes nothing, and the next one would be blamed for it."""
FAULTS = ("sets", "sinks", "frontiers", "extractors", "fetchers", "rules")
INI = """
    [pytest]
    filterwarnings = error
    asyncio_mode = {mode}
    asyncio_default_fixture_loop_scope = function
"""


class Outcomes(msgspec.Struct, frozen=True):
    """The tests of a run, by what became of them."""

    failed: set[str]
    passed: set[str]
    text: str


def run_pytest(directory: Path, *arguments: str, python_path: Path, mode: str = "strict") -> Outcomes:
    """Run pytest in a process of its own, without any `conftest.py`, and with warnings as errors."""
    (directory / "pytest.ini").write_text(dedent(INI.format(mode=mode)))
    options = ["-c", str(directory / "pytest.ini"), "--rootdir", str(directory), "-rA", "--tb=short"]
    command = ["-m", "pytest", *options, "--hypothesis-seed=0", "--basetemp=temporary"]
    ended = subprocess.run(
        [sys.executable, *command, "--noconftest", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env={"PYTHONPATH": str(python_path), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.partition(" - ")[0].split("::", 1) for line in ended.stdout.splitlines()]
    names: dict[str, set[str]] = {"FAILED": set(), "PASSED": set()}
    for line in lines:
        if len(line) == 2 and (outcome := line[0].split(" ")[0]) in names:
            names[outcome].add(line[1])
    return Outcomes(names["FAILED"], names["PASSED"], ended.stdout + ended.stderr)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_the_right_tests_fail(name: str, repository: Path, tmp_path: Path) -> None:
    module = importlib.import_module(f"tests.contracts.faults.{name}")
    classes = [value for key, value in vars(module).items() if key.startswith("Test")]
    expected = {f"{each.__name__}::{test}" for each in classes for test in each.FAILS}
    tests = {node.partition("::")[2] for node in expected}
    correct = {f"TestGood::{test}" for test in tests if hasattr(module.TestGood, test.partition("[")[0])}
    nodes = [f"{module.__file__}::{node}" for node in sorted(expected | correct)]
    ended = run_pytest(tmp_path, *LEAKS_ALLOWED, *nodes, python_path=repository)
    assert ended.failed == expected, ended.text
    assert ended.passed, ended.text


FIVE_LINES = """
    from crawler.testing import VisitedSetContract
    from cuckoo_set import DESCRIPTOR

    class TestCuckoo(VisitedSetContract):
        descriptor = DESCRIPTOR
"""


@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("strict", []),
        ("auto", ["--import-mode=importlib", "-k", "new_once or another_process"]),
        (
            "strict",
            ["-p", "no:asyncio", "-p", "no:xdist", "-W", "default::pytest.PytestConfigWarning", "-k", "new_once"],
        ),
    ],
    ids=["strict", "auto and importlib", "without pytest-asyncio"],
)
def test_five_lines_test_the_set_of_a_package_elsewhere(
    mode: str, arguments: list[str], repository: Path, tmp_path: Path
) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(repository / "examples" / "cuckoo-set" / "cuckoo_set", packages / "cuckoo_set")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_cuckoo.py").write_text(dedent(FIVE_LINES))
    ended = run_pytest(tmp_path, str(tests), *arguments, python_path=packages, mode=mode)
    assert not ended.failed, ended.text
    assert "TestCuckoo::test_a_url_is_new_once" in ended.passed, ended.text
    if not arguments:
        assert len(ended.passed) >= 20, ended.text
        assert "it keeps no files beside its snapshot" in ended.text


def test_a_method_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        dedent("""
            from crawler.testing import SinkContract, VisitedSetContract

            class TestSink(SinkContract):
                pass

            class TestSet(VisitedSetContract):
                pass
        """)
    )
    ended = run_pytest(tmp_path, "-k", "closing_twice", python_path=tmp_path)
    assert len(ended.failed) == 2
    assert "expected a `descriptor` or a method `open_sink` in TestSink, found neither" in ended.text
    assert "expected a `descriptor` or a method `make_set` in TestSet, found neither" in ended.text


def test_a_sink_may_leave_its_file_to_the_garbage_collector_if_it_is_never_closed(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        dedent("""
            from crawler.testing import SinkContract

            class Sink:
                def __init__(self, directory):
                    self._file = open(directory / "numbers", "a")

                async def write(self, page, record, /):
                    print(record.number, file=self._file, flush=True)

                async def aclose(self):
                    self._file.close()

            class TestSink(SinkContract):
                def open_sink(self, directory):
                    return Sink(directory)

                def read_numbers(self, directory):
                    return [int(line) for line in (directory / "numbers").read_text().splitlines()]
        """)
    )
    ended = run_pytest(tmp_path, "-k", "never_closed", python_path=tmp_path)
    assert ended.passed, ended.text
