"""Importing a package must not load what its parts stand on: import-linter sees the arrows, this the effect."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest

import crawler
from crawler.codes.exit_codes import USAGE
from crawler.simweb.params import bench_params
from crawler.simweb.process import running

TECHNOLOGIES = {
    "aiohttp",
    "bs4",
    "lxml",
    "mmh3",
    "numpy",
    "plyvel",
    "protego",
    "pytest",
    "redis",
    "rich",
    "selectolax",
    "turbohtml",
    "uvloop",
}


def loaded_by_importing(module: str, directory: Path) -> set[str]:
    """Top-level modules that a fresh interpreter holds after importing one."""
    command = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", command], cwd=directory, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["visited", "frontier", "config", "crawler", "crawler.page", "crawler.engine"])
def test_importing_what_the_engine_knows_loads_no_technology(module: str, repository: Path) -> None:
    assert loaded_by_importing(module, repository) & TECHNOLOGIES == set()


@pytest.mark.parametrize(
    ("module", "ours"),
    [
        ("visited", {"visited"}),
        ("config", {"config", "frontier", "visited"}),
        ("frontier", {"frontier"}),
        ("crawler.page", {"crawler"}),
    ],
)
def test_importing_a_package_loads_no_package_above_it(module: str, ours: set[str], repository: Path) -> None:
    assert loaded_by_importing(module, repository) & {"config", "crawler", "frontier", "visited"} == ours


@pytest.mark.parametrize("module", ["crawler.operate.opening", "crawler.operate.report.making"])
def test_what_reads_a_stored_crawl_loads_nothing_that_asks_servers(module: str, repository: Path) -> None:
    assert "aiohttp" not in loaded_by_importing(module, repository)


def test_the_concrete_frontier_is_what_loads_leveldb(repository: Path) -> None:
    assert "plyvel" in loaded_by_importing("frontier.leveldb.store", repository)


def test_the_contract_suites_name_the_extra_that_they_need(repository: Path) -> None:
    command = "import sys; sys.modules['pytest'] = None; import crawler.testing"
    ended = subprocess.run([sys.executable, "-c", command], cwd=repository, check=False, capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: crawler.testing needs pytest and hypothesis: pip install 'onceover-crawler[testing]'"
    )


def test_the_command_starts_no_threads_that_multiply_matrices(repository: Path) -> None:
    script = """
import os, sys, onceover_crawler
sys.argv[1:] = ["--version"]
try:
    onceover_crawler.main()
except SystemExit:
    import numpy
    assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=repository, env=environment)


NEVER_FOR_THE_VERSION = {"aiohttp", "asyncio", "config", "importlib.metadata", "msgspec", "numpy", "rich", "ssl"}


def test_the_version_loads_nothing_of_a_crawl(repository: Path) -> None:
    script = """
import sys, onceover_crawler
sys.argv[1:] = ["--version"]
try:
    onceover_crawler.main()
finally:
    print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, check=True, capture_output=True, text=True)
    # An editable installation may load some before any of our code runs.
    assert set(done.stdout.split()) & NEVER_FOR_THE_VERSION - loaded_by_python(repository) == set()


NEVER_FOR_ONE_PAGE = {
    "aiohttp.web",
    "bs4",
    "chardet",
    "crawler.operate.answers",
    "crawler.parts.sharing",
    "crawler.prune.following",
    "crawler.render",
    "crawler.supervise",
    "crawler.write.dedupe.originals",
    "cronsim",
    "cryptography",
    "difflib",
    "endec",
    "frontier.regroup",
    "frontier.upkeep",
    "http_message_signatures",
    "http_sf",
    "importlib.metadata",
    "jinja2",
    "lxml",
    "multiprocessing",
    "numpy",
    "playwright",
    "psycopg",
    "pyarrow",
    "pydantic",
    "re2",
    "redis",
    "rich",
    "selectolax",
    "sqlite3",
    "turbohtml",
    "visited.redis.making",
    "zipfile",
}
"""What a crawl loads only when it meets what needs it: old or unlabelled encodings, pages that need a tree, XML
other than plain sitemaps, preferences, plug-ins, extras, parts, browsers, an operator, a terminal, a repair."""


def test_a_crawl_of_one_page_loads_only_what_it_uses(repository: Path, tmp_path: Path) -> None:
    """Its site has a sitemap, whose entries are plain."""
    script = """
import sys, onceover_crawler
try:
    onceover_crawler.main()
except SystemExit as ended:
    print(*sys.modules, file=sys.stderr)
    assert ended.code == 0, ended.code
"""
    with running(bench_params(1)) as port:
        options = ["--dir", str(tmp_path / "crawl"), "--seed", "http://h00000.sim.test/", "--json"]
        for setting in (f'fetch.hosts={{"*.sim.test"="127.0.0.1:{port}"}}', "output.warc=true", "scope.max_depth=0"):
            options += ["--set", setting]
        command = [sys.executable, "-c", script, "crawl", *options, "--set", "politeness.min_delay_s=0"]
        done = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
    assert msgspec.json.decode(done.stdout)["status"]["pages"] == 1
    assert set(done.stderr.split()) & NEVER_FOR_ONE_PAGE - loaded_by_python(repository) == set()


def test_xml_that_lists_no_urls_loads_no_parser(repository: Path) -> None:
    """Such as the description for search engines that many sites have."""
    script = """
import sys
from crawler.read.encoding.text import UTF_8
from crawler.read.listings import find_links
for xml in (b"<?xml version='1.0'?><OpenSearchDescription><Url/></OpenSearchDescription>", b"<feed/>"):
    assert find_links("text/xml", xml, UTF_8, "https://example.org/", None).links == []
    print("lxml.etree" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("module", ["crawler.operate.answers", "crawler.cli.run.part"])
def test_what_many_crawls_need_loads_few_libraries(repository: Path, module: str) -> None:
    """What answers operators, and the process of a part."""
    command = f"import crawler.cli.crawl, {module}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], cwd=repository, check=True, capture_output=True, text=True)
    libraries = {name for name in NEVER_FOR_ONE_PAGE if not name.startswith("crawler.")}
    assert set(done.stdout.split()) & libraries - loaded_by_python(repository) == set()


def loaded_by_python(directory: Path) -> set[str]:
    command = "import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], cwd=directory, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_version_is_that_of_the_package() -> None:
    assert crawler.__version__ == version("onceover-crawler")


@pytest.mark.parametrize(
    "arguments", [["cluster", "status", "--url", "redis://127.0.0.1:1"], ["crawl", "--cluster", "redis://127.0.0.1:1"]]
)
def test_commands_about_many_machines_say_which_extra_they_need(arguments: list[str], tmp_path: Path) -> None:
    without = "import sys; sys.modules['redis'] = None; from crawler.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, *arguments], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == USAGE
    assert "redis is not installed: pip install 'onceover-crawler[redis]'" in done.stderr
    assert "Traceback" not in done.stderr
