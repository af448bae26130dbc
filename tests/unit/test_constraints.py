"""constraints.txt has one version of each distribution that crawls, tests, checks and benchmarks need."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture
def constraints(repository: Path) -> list[Requirement]:
    lines = (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def named_by(project: dict[str, Any]) -> Iterator[str]:
    """What pyproject.toml asks for, whatever extra or group it is for."""
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    yield from project["build-system"]["requires"]
    yield from project["project"]["dependencies"]
    yield from (each for group in (*extras.values(), *groups.values()) for each in group if isinstance(each, str))


def with_all_they_need(wanted: Iterable[str]) -> set[str]:
    """Names of these distributions and of all that they require here; of one that is not installed, the name alone."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(each) for each in wanted]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in found:
                continue
            found.add((name, extra))
            try:
                needed = [Requirement(each) for each in requires(name) or ()]
            except PackageNotFoundError:
                continue
            waiting += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def test_each_distribution_that_is_installed_has_a_tested_version(
    constraints: list[Requirement], repository: Path
) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    constrained = {canonicalize_name(each.name) for each in constraints}
    assert with_all_they_need(named_by(project)) - constrained == set()


def test_each_distribution_is_named_once(constraints: list[Requirement]) -> None:
    named = Counter(canonicalize_name(each.name) for each in constraints)
    assert [name for name, count in named.items() if count > 1] == []


def test_each_constraint_allows_one_version(constraints: list[Requirement]) -> None:
    assert [str(each) for each in constraints if not re.fullmatch(r"==[\w.]+", str(each.specifier))] == []


def test_the_extra_for_texts_names_what_an_old_pip_leaves_out(repository: Path) -> None:
    """pip 23.0, that of Debian 12, does not find lxml's extra html-clean, which jusText calls html_clean."""
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {canonicalize_name(Requirement(each).name) for each in project["optional-dependencies"]["text"]}
    assert {"trafilatura", "lxml-html-clean"} <= named
