"""Commands of a daemon's folder work there, wherever they are started."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.cli.run.current_directory import working_in

NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home, begun = tmp_path / "home", tmp_path / "begun"
    home.mkdir()
    begun.mkdir()
    monkeypatch.chdir(begun)
    yield home
    begun.chmod(0o755)


def test_the_directory_of_before_is_the_current_one_again(home: Path) -> None:
    before = Path.cwd()
    with working_in(home):
        assert Path.cwd() == home
    assert Path.cwd() == before


def test_a_directory_that_is_deleted_meanwhile_holds_nobody_up(home: Path) -> None:
    begun = Path.cwd()
    with working_in(home):
        begun.rmdir()
    with pytest.raises(FileNotFoundError):
        Path.cwd()
    begun.mkdir()


@pytest.mark.usefixtures("home")
def test_a_directory_that_this_user_may_not_enter_holds_nobody_up() -> None:
    """As that of root, from which `sudo -u` starts a command."""
    Path.cwd().chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(PermissionError):
            os.stat("any")  # noqa: PTH116 - of the current directory
        with working_in(Path("/")):
            assert Path.cwd() == Path("/")
    finally:
        os.seteuid(user)
