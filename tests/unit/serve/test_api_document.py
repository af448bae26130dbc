"""The API's document, and where it may listen."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from crawler.serve.api.openapi import document
from crawler.serve.api.routes import ROUTES
from crawler.serve.folder import problems_of_new
from tests.e2e.operating import command_here

DOCUMENT = json.loads(json.dumps(document(ROUTES, "1.0")))
GOOD = b'[crawl]\nseeds = ["http://a.test/"]\n'


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == "$ref")
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_the_document_describes_each_route_and_all_that_it_refers_to() -> None:
    described = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(ROUTES)
    assert all(operation["summary"] for operation in operations)
    schemas = DOCUMENT["components"]["schemas"]
    assert {name.removeprefix("#/components/schemas/") for name in references(DOCUMENT)} == schemas.keys()
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_what_an_action_takes_besides_the_request_is_read_from_the_request() -> None:
    for route in ROUTES:
        taken = [name for name in ("query", "body") if getattr(route, name) is not None]
        assert list(signature(route.action).parameters)[2:] == taken, route.name


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(each)


def test_programs_can_generate_clients_from_the_document() -> None:
    arrays = [each for each in objects(DOCUMENT) if each.get("type") == "array"]
    assert arrays
    assert all(isinstance(each.get("items"), dict) for each in arrays), arrays
    required = {
        operation["operationId"]: operation["requestBody"]["required"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    }
    assert required["changeSettings"]
    assert not required["pauseCrawl"]


@pytest.mark.parametrize("address", ["0.0.0.0:80", "192.0.2.1:80", "example.org:80", "8040", "127.0.0.1:", "[::]:1"])
def test_the_api_listens_on_the_loopback_interface_alone(address: str, tmp_path: Path) -> None:
    told = command_here("daemon", str(tmp_path), "--listen", address)
    assert told.code == 2
    assert "expected an address of the loopback interface" in told.err
    assert list(tmp_path.iterdir()) == []


def test_a_new_configuration_may_not_leave_the_folder_nor_use_the_directory_of_another_or_of_the_daemon(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.toml").write_bytes(GOOD)
    (tmp_path / "link").symlink_to("/")
    for more in ("", "[render]\nbrowser = 'chromium'\n[fetch]\nlogins = {}"):
        assert problems_of_new(tmp_path, "b", GOOD + more.encode()) == ()
    for more, word in (
        ("directory = '/tmp/x'", "crawl.directory: expected a path within"),
        ("directory = '../x'", "crawl.directory: expected a path within"),
        ("directory = 'link/x'", "crawl.directory: expected a path within"),
        ("seed_files = ['/etc/hostname']", "crawl.seed_files: expected a path within"),
        ("seed_files = ['token']", "crawl.seed_files: expected no file that the daemon has for itself, found token"),
        ("seed_files = ['daemon/api']", "crawl.seed_files: expected no file that the daemon has for itself"),
        ("[scope]\nplace_files = ['/etc/hostname']", "scope.place_files: expected a path within"),
        ("[scope]\nexclude_place_files = ['../x']", "scope.exclude_place_files: expected a path within"),
        ("[fetch]\nauthorities = ['/etc/hostname']", "fetch.authorities: expected a path within"),
        ("[identity]\nkeys = '/etc'", "identity.keys: expected a path within"),
        ("[exchange]\npassword_file = '/etc/hostname'", "exchange: expected in files that were put into"),
        ("[fetch.logins]\n'a.test' = 'file:/etc/hostname'", "fetch.logins: expected in files that were put into"),
        ("[render]\nbrowser = '/bin/true'", "render.browser: expected in files that were put into"),
        ("[visited.options]\npassword_file = 'x'", "visited.options.password_file: expected in files that were put"),
        (
            "[[output.sink]]\nbackend = 'postgres'\noptions.password_file = 'x'",
            "output.sink.options.password_file: expected in files that were put into",
        ),
        ("directory = 'crawls/a'", "a.toml uses"),
        ("directory = 'crawls/a/records'", "a.toml uses"),
        ("directory = 'crawls'", "a.toml uses"),
        ("directory = 'daemon'", "the daemon uses"),
        ("directory = 'daemon/b'", "the daemon uses"),
        ("directory = '.'", "the daemon uses"),
        ("seed = 5", "b.toml:3: crawl.seed: unknown key"),
        ("seeds = [", "b.toml:3"),
    ):
        for mark in (b"", BOM_UTF8):
            told = " ".join(problems_of_new(tmp_path, "b", mark + GOOD + more.encode()))
            assert word in told, (mark, told)
    assert {path.name for path in tmp_path.iterdir()} == {"a.toml", "link"}
