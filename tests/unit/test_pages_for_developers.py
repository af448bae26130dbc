"""docs/architecture.md and CONTRIBUTING.md name files and functions, and docstrings of packages their modules."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGES = ["CONTRIBUTING.md", "docs/architecture.md"]
ROOTS = ("config/", "crawler/", "docs/", "frontier/", "tests/", "tools/", "visited/")
SHOWN = re.compile(r"`((?:[\w.-]+/)*[\w.-]*)(?::([A-Za-z_][\w.]*))?`")


def places(page: str) -> Iterator[tuple[str, str | None]]:
    """Each path that stands between backquotes, with the name of what it holds where one is told."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for path, name in SHOWN.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
        if path.startswith(ROOTS) or name or path.endswith((".md", ".toml")):
            yield path, name or None


def names(body: list[ast.stmt]) -> Iterator[str]:
    """Functions, classes, their methods as `Class.method`, and constants."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.ClassDef():
                yield node.name
                yield from (f"{node.name}.{name}" for name in names(node.body))
            case ast.Assign():
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    missing = []
    for path, name in places(page):
        file = REPOSITORY / path
        if not file.exists():
            missing.append(path)
        elif name is not None and name not in names(ast.parse(file.read_text(encoding="utf-8")).body):
            missing.append(f"{path}:{name}")
    assert not missing, f"{page} names what is not there: {', '.join(missing)}"


def unlisted(package: Path) -> list[str]:
    """The modules and rooms of a package that its docstring leaves out, although it names at least half of them."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    found = {each.stem for each in package.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()}
    names = {name for name in found if not name.startswith("_")}
    listed = {name for name in names if re.search(rf"\b{name}\b", docstring)}
    return sorted(names - listed) if 2 * len(listed) >= max(4, len(names)) else []


def test_the_docstring_of_a_package_that_lists_its_modules_lists_all() -> None:
    packages = [file.parent for root in ("config", "crawler", "frontier", "visited") for file in _packages(root)]
    missing = {str(package.relative_to(REPOSITORY)): unlisted(package) for package in packages}
    assert not {package: names for package, names in missing.items() if names}


def _packages(root: str) -> list[Path]:
    return sorted((REPOSITORY / root).rglob("__init__.py"))


def test_there_are_places_to_check() -> None:
    assert len(list(places("docs/architecture.md"))) >= 50
    assert len(list(places("CONTRIBUTING.md"))) >= 8
