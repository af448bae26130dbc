"""Python takes the compiled code where there is some, and that is of its version."""

import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.sanitizers.build import extensions

USERS = {
    "crawler.discover.links._bulk": "crawler.discover.links.bulk",
    "crawler.fetch.connect._heads": "crawler.fetch.connect.response_heads",
    "crawler.page._digests": "crawler.page.digests",
    "crawler.page.headers._wanted": "crawler.page.headers.wanted",
    "crawler.read.elements._markup": "crawler.read.elements.markup",
    "crawler.read.encoding._words": "crawler.read.encoding.words",
    "crawler.read.html._scan": "crawler.read.html.scan",
    "crawler.read.similarity._simhash": "crawler.read.similarity.simhash",
    "crawler.repeats._similar": "crawler.repeats.similar",
    "crawler.url._hrefs": "crawler.url.hrefs",
    "crawler.write._warc_members": "crawler.write.warc_members",
    "frontier.link_table._link_table": "frontier.link_table.table",
    "visited.bits._kernel": "visited.bits.kernel",
}


def test_each_extension_is_in_the_list() -> None:
    ours = {each.name for name, each in extensions().items() if name != "faulty"}
    assert set(USERS) == ours


@pytest.mark.parametrize("extension", USERS)
def test_what_is_compiled_is_used(extension: str) -> None:
    if find_spec(extension) is None:
        pytest.skip("it was built without the extension")
    assert importlib.import_module(USERS[extension]).IS_COMPILED, "compiled from other code: install the project again"


def test_what_is_compiled_by_one_version_of_python_serves_all(repository: Path) -> None:
    """By the headers of Python 3.13, an extension does not tell 3.11 and 3.12 how long the length of a `#` is, and they
    refuse to read its arguments. But one wheel is for all, and environments of several versions may share a
    checkout."""
    code = [path for name in ("crawler", "frontier", "visited") for path in (repository / name).rglob("*.[ch]")]
    assert len(code) >= len(USERS)
    formats = re.compile(r'(?:PyArg_|Py_BuildValue|PyObject_Call)\w*\([^;]*?"[^"\n]*#')
    assert [path.name for path in code if formats.search(path.read_text())] == []


def test_make_builds_each_extension_again_when_its_code_changes_checks_it_and_cleans_it_away(repository: Path) -> None:
    text = (repository / "Makefile").read_text()
    assert re.search(
        r"^BUILT_FROM := .*\$\(shell find crawler frontier visited -name '\*\.\[ch\]'\)$", text, re.MULTILINE
    )
    assert "\n\tfind crawler frontier visited -name '*.so' -delete\n" in text
    ours = [each for name, each in extensions().items() if name != "faulty"]
    assert {source.split("/")[0] for each in ours for source in each.sources} <= {"crawler", "frontier", "visited"}
    checked = re.search(r"^COMPILED := ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert checked is not None
    assert set(checked[1].replace("\\\n", " ").split()) == set(USERS.values())
