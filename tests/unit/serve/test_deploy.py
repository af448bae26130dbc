"""The files in deploy/ fit the command and the system that they are for."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.cli.serve.daemon import daemon

ONCEOVER = Path(sys.executable).with_name("onceover")


@pytest.fixture
def unit(repository: Path) -> str:
    return (repository / "deploy" / "onceover.service").read_text()


@pytest.fixture
def containerfile(repository: Path) -> str:
    return (repository / "deploy" / "Containerfile").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, of Debian's systemd")
def test_systemd_understands_each_line_of_the_unit(unit: str, tmp_path: Path) -> None:
    installed = tmp_path / "onceover.service"
    installed.write_text(unit.replace("/opt/onceover/bin/onceover", str(ONCEOVER)))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(installed)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if installed.name in line]) == (0, [])


def test_a_crawl_that_the_system_kills_for_want_of_memory_ends_no_other(unit: str) -> None:
    """By default, systemd stops a service of which it kills a process so."""
    assert "OOMPolicy=continue" in unit.splitlines()


def test_the_unit_and_the_container_run_a_command_that_exists(unit: str, containerfile: str, tmp_path: Path) -> None:
    found = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    assert found is not None
    in_unit = shlex.split(found[1])
    entry, arguments = (
        [
            json_text.strip(' "')
            for json_text in re.findall(rf"^{word} \[(.+)\]$", containerfile, re.MULTILINE)[0].split(",")
        ]
        for word in ("ENTRYPOINT", "CMD")
    )
    assert in_unit == [*entry, *arguments]
    program, command, directory = in_unit
    assert Path(program).name == ONCEOVER.name
    assert command == daemon.name
    context = daemon.make_context(command, [directory.replace("/srv/onceover", str(tmp_path))])
    assert context.params["directory"] == tmp_path


def test_the_container_shares_sets_and_signs_requests(containerfile: str) -> None:
    """A daemon in it has no other way to these extras."""
    [extras] = re.findall(r'"\.\[(.+)\]"', containerfile)
    assert set(extras.split(",")) == {"redis", "signatures"}


def test_the_container_installs_what_the_checkout_has(containerfile: str, repository: Path) -> None:
    constraints = re.findall(r"--constraint (\S+)", containerfile)
    assert constraints
    assert all((repository / path).is_file() for path in constraints)
    ignored = (repository / ".dockerignore").read_text().splitlines()
    assert not {"README.md", "LICENSE", "setup.py", "pyproject.toml", *constraints} & set(ignored)
    assert {".git", "**/*.so"} <= set(ignored)  # history, and extensions compiled for another Python
    copied = re.findall(r"^COPY --from=build (\S+) (\S+)$", containerfile, re.MULTILINE)
    venvs = re.findall(r"python3 -m venv (\S+)", containerfile)
    assert copied == [(venv, venv) for venv in venvs]  # programs of a venv name its path


def test_commands_that_are_run_in_the_container_are_found_by_name(containerfile: str, repository: Path) -> None:
    """As `kubectl exec onceover-0 -- onceover backup …`, which no shell and no ENTRYPOINT helps."""
    assert re.search(r"kubectl exec \S+ -- onceover ", (repository / "deploy/cluster/kubernetes.yaml").read_text())
    runs = containerfile.rpartition("\nFROM ")[2]
    [entry] = re.findall(r'^ENTRYPOINT \["(.+)"\]$', runs, re.MULTILINE)
    searched = [path for value in re.findall(r"^ENV PATH=(\S+)$", runs, re.MULTILINE) for path in value.split(":")]
    assert str(Path(entry).parent) in searched


@pytest.mark.parametrize("within", ["a", "a/part-1", "a/20261123T020000Z", "a/20261123T020000Z/part-1"])
def test_the_logs_of_crawls_are_rotated_with_a_schedule_and_in_parts(within: str, repository: Path) -> None:
    rotated = (repository / "deploy" / "onceover.logrotate").read_text().partition("{")[0]
    patterns = [pattern for pattern in rotated.split() if pattern.startswith("/srv/")]
    assert sum(Path(f"/srv/onceover/crawls/{within}/logs/crawl.log").match(pattern) for pattern in patterns) == 1
