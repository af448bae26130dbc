"""What programs import from `crawler`: there when used, loaded no earlier, and known to type checkers."""

import ast
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest

import crawler
import crawler.testing


def test_every_name_is_there_and_means_the_same_everywhere() -> None:
    for name in crawler.__all__:
        exported = getattr(crawler, name)
        assert exported is getattr(crawler, name)
        if name != "Fetched":  # a union, which knows no home
            assert getattr(import_module(exported.__module__), name) is exported
            assert exported.__doc__
    assert set(crawler.__all__) <= set(dir(crawler))


@pytest.mark.parametrize("package", [crawler, crawler.testing], ids=lambda package: package.__name__)
def test_the_stub_names_the_same_homes(package: ModuleType) -> None:
    source = Path(package.__file__ or "")
    stub = ast.parse(source.with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    module = ast.parse(source.read_text(encoding="utf-8"))
    [lazy] = [node for node in module.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_HOMES"]
    assert lazy.value is not None
    assert ast.literal_eval(lazy.value) == homes
    assert homes.keys() == set(package.__all__)


def test_both_forms_of_a_crawl_take_the_same() -> None:
    assert signature(crawler.crawl_sync) == signature(crawler.Crawl)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'crawler' has no attribute 'Crawler'"):
        crawler.Crawler  # type: ignore[attr-defined] # noqa: B018 - raises
    with pytest.raises(ImportError, match="cannot import name 'Crawler'"):
        exec("from crawler import Crawler")
    with pytest.raises(AttributeError, match=r"module 'crawler\.testing' has no attribute 'CrawlContract'"):
        crawler.testing.CrawlContract  # type: ignore[attr-defined] # noqa: B018 - raises


def test_names_are_loaded_when_they_are_used(repository: Path) -> None:
    code = """
import sys, crawler
assert not [name for name in sys.modules if name.startswith("crawler.")]
crawler.PageRecord
assert "crawler.page" in sys.modules
assert not {"aiohttp", "plyvel", "config"} & sys.modules.keys()
from crawler import Crawl
assert {"aiohttp", "config"} <= sys.modules.keys()
assert "uvloop" not in sys.modules
assert "crawler.cli" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True)


def test_a_suite_is_loaded_without_the_others(repository: Path) -> None:
    code = """
import sys
from crawler.testing import SinkContract
assert not {"crawler.testing.fetch", "crawler.testing.visited", "aiohttp"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True)
