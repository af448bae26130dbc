"""`onceover plugins` lists every backend, where it comes from, and what is wrong with it."""

import json

import pytest

from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.wiring.plugins.kinds import KINDS
from tests.e2e.crawling import Ended
from tests.e2e.operating import command_here
from tests.unit.plugins.installing import SETS, Site
from visited.backends import BACKENDS, PEERS, REMOTE


def run(*arguments: str) -> Ended:
    return command_here("plugins", *arguments)


def test_all_of_ours_are_listed_and_none_is_broken() -> None:
    ended = run("--json")
    listed = json.loads(ended.out)
    assert ended.code == COMPLETE
    assert {each["package"] for each in listed} == {"onceover"}
    assert [each["name"] for each in listed if each["kind"] == "visited"] == [*BACKENDS, *REMOTE, *PEERS]
    assert {(each["kind"], each["name"]) for each in listed} == {
        (kind.name, name) for kind in KINDS.values() for name in kind.ours
    }
    assert not [each for each in listed if each["broken"]]


def test_a_plug_in_is_listed_with_its_package_and_options(site: Site) -> None:
    site.add("string-sets", "string_sets", entries={"visited.strings": "string_sets:DESCRIPTOR"}, version="2.1")
    [found] = [each for each in json.loads(run("--json").out) if each["package"] != "onceover"]
    options = found.pop("options")
    assert found == {
        "kind": "visited",
        "name": "strings",
        "package": "string-sets",
        "version": "2.1",
        "place": "string_sets:DESCRIPTOR",
        "broken": None,
    }
    assert options[0] == {
        "name": "letters",
        "default": 100,
        "required": False,
        "expected": "a whole number, 1 to 100",
        "meaning": "Length of a URL.",
    }
    assert "string-sets 2.1" in run().out


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("broken", "import blooom", "No module named 'blooom'"),
        ("bloom", SETS, '"bloom" is the name of 2 visited sets'),
    ],
)
def test_a_broken_plug_in_is_listed_with_the_reason_and_the_others_too(
    name: str, code: str, why: str, site: Site
) -> None:
    site.add("broken-sets", "broken_sets", code, entries={f"visited.{name}": "broken_sets:DESCRIPTOR"})
    site.add("string-sets", "string_sets", entries={"visited.strings": "string_sets:DESCRIPTOR"})
    ended = run()
    assert ended.code == FAILED
    assert why in ended.out
    assert "string-sets 1.0" in ended.out
    listed = json.loads(run("--json").out)
    assert {each["package"] for each in listed if each["broken"]} >= {"broken-sets"}
