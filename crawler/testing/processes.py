"""Work in another process, which may be killed.

The work is a method of a test class. The other process imports the module of that class, makes an instance with the
same attributes, and calls the method with a function that reports to this process.
"""

import importlib
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import IO, Any, Final

import msgspec
import pytest

from crawler.testing.timeouts import MAX_WAIT_S

Report = Callable[[object], None]
"""Sends a value that JSON can hold. It has reached the pipe when this returns."""
Work = Callable[..., None]
"""A method of a test class. Its first argument is the function that reports."""

_START: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from crawler.testing.processes import run_job; run_job(sys.stdin.buffer)"
)


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the other process needs to call the method."""

    module: str
    file: str | None
    class_name: str
    state: dict[str, Any]
    method: str
    arguments: tuple[Any, ...]


def run_apart(work: Work, *arguments: object) -> list[Any]:
    """Call the method in another process, and return what it reports. Fails the test if the process fails."""
    with _process(work, arguments) as (process, stderr):
        assert process.stdout is not None
        reports = _complete_lines(process.stdout.readlines())
        if process.wait() != 0:
            _fail(process, stderr)
    return reports


def kill_after(reports: int, work: Work, *arguments: object) -> list[Any]:
    """Call the method in another process, kill this with SIGKILL after that many reports, and return all reports. Those
    that were sent until the kill are among them."""
    with _process(work, arguments) as (process, stderr):
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(reports)]
        if not all(lines):
            _fail(process, stderr)
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
        process.wait()
    return _complete_lines(lines)


def run_job(file: IO[bytes]) -> None:
    """The other process: read the job, and do it."""
    job: _Job = pickle.load(file)  # noqa: S301  # it comes from our own process
    # What the work prints must not be taken for a report.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as reports:
        os.dup2(2, 1)

        def report(value: object) -> None:
            print(json.dumps(value), file=reports, flush=True)

        test_class: Any = _module(job.module, job.file)
        for name in job.class_name.split("."):
            test_class = getattr(test_class, name)
        test = test_class.__new__(test_class)
        test.__dict__.update(job.state)
        getattr(test, job.method)(report, *job.arguments)


@contextmanager
def _process(work: Work, arguments: tuple[object, ...]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    job = _job(work, arguments)
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        ) as process,
    ):
        watch = threading.Timer(MAX_WAIT_S, process.kill)
        watch.start()
        try:
            assert process.stdin is not None
            process.stdin.write(job)
            process.stdin.close()
            yield process, stderr
        finally:
            process.kill()
            watch.cancel()
            watch.join()


def _job(work: Work, arguments: tuple[object, ...]) -> bytes:
    test = getattr(work, "__self__", None)
    assert test is not None, f"expected a method of a test class, found {work!r}"
    test_class = type(test)
    if "<locals>" in test_class.__qualname__:
        pytest.fail(f"{test_class.__qualname__} can't run in another process: write the class at the top of its module")
    module = sys.modules[test_class.__module__]
    job = _Job(
        module=module.__name__,
        file=getattr(module, "__file__", None),
        class_name=test_class.__qualname__,
        state=vars(test),
        method=work.__name__,
        arguments=arguments,
    )
    path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100  # an entry may be empty
    try:
        return pickle.dumps(path) + pickle.dumps(job)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        pytest.fail(f"the attributes of a {test_class.__qualname__} can't be sent to another process: {error}")


def _module(name: str, file: str | None) -> ModuleType:
    """The module of a test class. Pytest may have loaded it from its file, under a name that can't be imported."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}.") or file is None:
            raise
    else:
        if file is None or module.__file__ == file:
            return module
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _complete_lines(lines: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def _fail(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    code = process.wait()
    stderr.seek(0)
    text = stderr.read().decode("utf-8", "replace").strip()
    pytest.fail(f"the other process ended with {code} before it had reported everything:\n{text}", pytrace=False)
