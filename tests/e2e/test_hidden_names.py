"""A user's own `config.py`, beside a script or in PYTHONPATH, hides ours: an error that names the file, wherever that
can be told."""

import subprocess
import sys
from pathlib import Path

import pytest

from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import COMPLETE, USAGE, Ended, environment

NAMES = ("config", "crawler", "frontier", "visited")
OURS = "print('ours')"
COMMAND = "from onceover_crawler import main; main()"


def python(folder: Path, *arguments: str, path: list[Path], safe: bool = False) -> Ended:
    """The interpreter, run in a folder. With `safe`, it does not look for modules there, as an installed command does
    not."""
    done = subprocess.run(
        [sys.executable, *(["-P"] if safe else []), *arguments],
        cwd=folder,
        env=environment(PYTHONPATH=":".join(map(str, path))),
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def script(folder: Path, code: str, repository: Path, *, name: str = "script.py") -> Ended:
    (folder / name).write_text(code)
    return python(folder, name, path=[repository])


def told(hidden: str, file: Path, repository: Path) -> str:
    return (
        f"{file} hides the package '{hidden}' of onceover, which is in {repository}: rename it, or move it out of the "
        "folder of the script and out of PYTHONPATH"
    )


@pytest.mark.parametrize("name", ["config", "frontier", "visited"])
@pytest.mark.parametrize("as_package", [False, True])
def test_a_script_is_told_which_file_beside_it_hides_a_package(
    tmp_path: Path, repository: Path, name: str, as_package: bool
) -> None:
    file = tmp_path / (f"{name}/__init__.py" if as_package else f"{name}.py")
    file.parent.mkdir(exist_ok=True)
    file.write_text("DEBUG = True\n")
    for code in ("from crawler import Crawl", "import crawler", f"import {name}, crawler", "import crawler.url.urls"):
        ended = script(tmp_path, code, repository)
        assert ended.code == 1
        assert ended.err.rstrip().endswith(f"ImportError: {told(name, file, repository)}")


def test_a_module_that_hides_the_crawler_itself_is_named_by_python(tmp_path: Path, repository: Path) -> None:
    """None of our code runs then."""
    file = tmp_path / "crawler.py"
    file.write_text("")
    ended = script(tmp_path, "from crawler import Crawl", repository)
    assert f"ImportError: cannot import name 'Crawl' from 'crawler' ({file})" in ended.err
    ended = script(tmp_path, "from crawler import Crawl", repository, name="crawler.py")
    assert "ImportError: cannot import name 'Crawl' from partially initialized module 'crawler'" in ended.err
    assert str(file) in ended.err


@pytest.mark.parametrize("code", ["import frontier", "from frontier.shell import QueueFrontier", "import config"])
def test_a_module_that_hides_the_visited_sets_is_named_by_python(tmp_path: Path, repository: Path, code: str) -> None:
    """These packages know no package but that one."""
    (tmp_path / "visited.py").write_text("")
    ended = script(tmp_path, f"{code}\n{OURS}", repository)
    if code == "import frontier":
        assert ended.out == "ours\n"  # its values and protocols need no visited set
    else:
        assert "'visited'" in ended.err.splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_tells_what_in_pythonpath_hides_a_package(tmp_path: Path, repository: Path, name: str) -> None:
    file = tmp_path / f"{name}.py"
    file.write_text("")
    ended = python(tmp_path, "-c", COMMAND, "--version", path=[tmp_path, repository], safe=True)
    assert ended == Ended(USAGE, "", f"onceover: {told(name, file, repository)}\n")


@pytest.mark.parametrize("name", NAMES)
def test_the_module_of_the_command_tells_what_in_its_folder_hides_a_package(
    tmp_path: Path, repository: Path, name: str
) -> None:
    assert python(tmp_path, "-m", "onceover_crawler", "--version", path=[repository]).code == COMPLETE
    file = tmp_path / f"{name}.py"
    file.write_text("")
    ended = python(tmp_path, "-m", "onceover_crawler", "--version", path=[repository])
    assert ended == Ended(USAGE, "", f"onceover: {told(name, file, repository)}\n")


@pytest.mark.parametrize("name", ["config", "frontier", "visited"])
def test_other_modules_that_are_run_tell_it_too(tmp_path: Path, repository: Path, name: str) -> None:
    file = tmp_path / f"{name}.py"
    file.write_text("")
    ended = python(tmp_path, "-m", "crawler.simweb", "--help", path=[repository])
    assert ended.code == 1
    assert told(name, file, repository) in ended.err


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_that_name_hides_nothing(tmp_path: Path, repository: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "site.yaml").touch()
    ended = script(tmp_path, f"from crawler import Crawl\n{OURS}", repository)
    assert ended == Ended(COMPLETE, "ours\n", "")
    assert python(tmp_path, "-m", "onceover_crawler", "--version", path=[repository]).code == COMPLETE


def test_an_installation_may_be_reached_by_a_link(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "linked").symlink_to(repository)
    (tmp_path / "script.py").write_text(f"from crawler import Crawl\n{OURS}")
    assert python(tmp_path, "script.py", path=[tmp_path / "linked"]).out == "ours\n"
    assert python(tmp_path, "-m", "onceover_crawler", "--version", path=[tmp_path / "linked"]).code == COMPLETE
