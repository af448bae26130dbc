"""Python takes the compiled code where there is some, and that is of its version."""

import importlib
from importlib.util import find_spec

import pytest

from tests.sanitizers.build import extensions

USERS = {
    "crawler.discover.links._bulk": "crawler.discover.links.bulk",
    "crawler.read.elements._markup": "crawler.read.elements.markup",
    "crawler.read.html._scan": "crawler.read.html.scan",
    "crawler.read.similarity._simhash": "crawler.read.similarity.simhash",
    "crawler.repeats._similar": "crawler.repeats.similar",
    "crawler.url._hrefs": "crawler.url.hrefs",
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
