"""Python takes the compiled code where there is some, and that is of its version."""

import gc
import importlib
import re
import subprocess
import weakref
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import pytest

from tests.sanitizers.build import extensions

OURS = sorted(each.name for name, each in extensions().items() if name != "faulty")


def user_of(extension: str, repository: Path) -> str:
    """The module that takes it."""
    package, _, name = extension.rpartition(".")
    line = f"    from {package} import {name} as compiled\n"
    [user] = [path for path in (repository / package.replace(".", "/")).glob("*.py") if line in path.read_text()]
    return f"{package}.{user.stem}"


@pytest.mark.parametrize("extension", OURS)
def test_what_is_compiled_is_used(extension: str, repository: Path) -> None:
    if find_spec(extension) is None:
        pytest.skip("it was built without the extension")
    user = importlib.import_module(user_of(extension, repository))
    assert user.IS_COMPILED, "compiled from other code: install the project again"


@pytest.mark.parametrize("extension", OURS)
def test_an_extension_that_nobody_refers_to_is_freed(extension: str) -> None:
    spec = find_spec(extension)
    if spec is None:
        pytest.skip("it was built without the extension")
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    reference = weakref.ref(module)
    del module
    gc.collect()
    assert reference() is None


def test_what_is_compiled_by_one_version_of_python_serves_all(repository: Path) -> None:
    """By the headers of Python 3.13, an extension does not tell 3.11 and 3.12 how long the length of a `#` is, and they
    refuse to read its arguments. But one wheel is for all, and environments of several versions may share a
    checkout."""
    code = [path for name in ("crawler", "frontier", "visited") for path in (repository / name).rglob("*.[ch]")]
    assert len(code) >= len(OURS)
    formats = re.compile(r'(?:PyArg_|Py_BuildValue|PyObject_Call)\w*\([^;]*?"[^"\n]*#')
    assert [path.name for path in code if formats.search(path.read_text())] == []


def test_make_builds_each_extension_again_when_its_code_changes_checks_it_and_cleans_it_away(repository: Path) -> None:
    text = (repository / "Makefile").read_text()
    assert re.search(
        r"^BUILT_FROM := .*\$\(shell find crawler frontier visited -name '\*\.\[ch\]'\)$", text, re.MULTILINE
    )
    assert "\n\tfind crawler frontier visited -name '*.so' -delete\n" in text
    assert {name.split(".")[0] for name in OURS} <= {"crawler", "frontier", "visited"}
    ask = ["make", "--no-print-directory", "--eval", "print: ; @echo $(COMPILED)", "print"]
    checked = subprocess.run(ask, capture_output=True, text=True, check=True, cwd=repository).stdout.split()
    assert sorted(checked) == sorted(user_of(each, repository) for each in OURS)
