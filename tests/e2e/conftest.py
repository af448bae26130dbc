"""What the tests of the command share: the simulated web, and installed plug-ins."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crawler.simweb.process import running
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import SMALL, Web, environment
from tests.e2e.forks import forking


@pytest.fixture(scope="session", autouse=True)
def _forks() -> Iterator[None]:
    with forking(environment()):
        yield


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    """40 pages on 5 hosts."""
    with running(SMALL) as port:
        yield Web(port, SMALL)


@pytest.fixture(scope="session")
def slow_web() -> Iterator[Web]:
    """The same, whose pages take a tenth of a second each, so that a crawl can be met while it runs."""
    params = msgspec.structs.replace(SMALL, slow=0.95, duplicates=0.0, delay_s=0.1)
    with running(params) as port:
        yield Web(port, params)


@pytest.fixture(scope="session")
def plugins(repository: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with all packages of examples/, as pip installs them: one for all workers of a run."""
    of_worker = tmp_path_factory.getbasetemp()
    folder = (of_worker if worker_id == "master" else of_worker.parent) / "plugins"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "site").exists():
            _install_examples(repository, folder)
    return folder / "site"


def _install_examples(repository: Path, folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "tests")
    shutil.copytree(repository / "examples", folder / "sources", ignore=ignored, dirs_exist_ok=True)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    sources = [str(path.parent) for path in sorted((folder / "sources").glob("*/pyproject.toml"))]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "made"), *sources],
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (folder / "made").rename(folder / "site")
