"""What the tests of the command share: the simulated web, and installed plug-ins."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crawler.simweb.process import running
from tests.e2e.crawling import SMALL, Web, environment
from tests.e2e.forks import forking
from tests.timeouts import MAX_WAIT_S


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
def plugins(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all packages of examples/, as pip installs them."""
    folder = tmp_path_factory.mktemp("plugins")
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "tests")
    shutil.copytree(repository / "examples", folder / "sources", ignore=ignored)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    sources = [str(path.parent) for path in sorted((folder / "sources").glob("*/pyproject.toml"))]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), *sources],
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"
