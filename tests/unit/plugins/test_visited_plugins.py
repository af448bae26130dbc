"""Visited sets of other packages: how a configuration names them, and what is refused."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from config import ConfigError, Loaded, json_schema, render_show, render_toml
from crawler.disk.directory import CrawlDirectory
from crawler.wiring.configuration import load
from crawler.wiring.plugins import catalog
from crawler.wiring.plugins.catalog import Catalog, descriptor
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.packages import Registration
from crawler.wiring.storage import visited_set
from tests.unit.plugins.installing import SETS, Site
from visited import CannotList, is_prompt, list_urls
from visited.descriptor import Parameters
from visited.making import make_set

SEED = 'crawl.seeds=["https://a.test/"]'


def known_to_none(urls: Sequence[str]) -> list[bool]:
    return [False] * len(urls)


PARAMETERS = Parameters(capacity=1000, error_rate=0.01, site_of=str, domain_of=str)


def loaded(*overrides: str) -> Loaded:
    return load(None, overrides=[SEED, *overrides])


def refusal(*overrides: str) -> str:
    with pytest.raises(ConfigError) as refused:
        loaded(*overrides)
    [problem] = refused.value.problems
    assert "\n" not in str(problem)
    return str(problem)


def write(folder: Path, text: str) -> Path:
    path = folder / "crawl.toml"
    path.write_text(f'[crawl]\nseeds = ["https://a.test/"]\n{text}')
    return path


@pytest.fixture
def strings(site: Site) -> Site:
    site.add("string-sets", "string_sets", entries={"visited.strings": "string_sets:DESCRIPTOR"}, version="2.1")
    return site


@pytest.mark.parametrize("name", ["strings", "string_sets:DESCRIPTOR", "string_sets:StringSet", "string_sets:Plain"])
async def test_a_set_is_named_by_its_entry_point_or_by_the_path_of_its_descriptor_or_class(
    name: str, strings: Site, tmp_path: Path
) -> None:
    found = loaded(f"visited.backend={name}", "visited.verify=false")
    made = visited_set(found.config, CrawlDirectory(tmp_path), known_to_none)
    assert await made.add_many(["a", "b", "a"]) == [True, True, False]
    assert made.describe().backend == "strings"
    assert descriptor(VISITED, name).name == name


async def test_its_options_reach_its_maker(strings: Site) -> None:
    options = loaded(
        "visited.backend=strings", "visited.options.letters=7", 'visited.options.alphabets=["a-z", "0-9"]'
    ).config.visited.options
    assert options == {"letters": 7, "alphabets": ("a-z", "0-9")}
    made = make_set(descriptor(VISITED, "strings"), PARAMETERS, options)
    assert made._visited.options.letters == 7  # type: ignore[attr-defined]
    assert make_set(descriptor(VISITED, "strings"), PARAMETERS, {"shards": 3}).describe().details["shards"] == 3


def test_its_options_are_checked_with_their_lines_and_shown_with_their_meanings(strings: Site, tmp_path: Path) -> None:
    path = write(tmp_path, '[visited]\nbackend = "strings"\n[visited.options]\nletters = 0\nalphabet = 3\n')
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert [str(each) for each in refused.value.problems] == [
        f"{path}:6: visited.options.letters: expected a whole number, 1 to 100, found 0",
        f"{path}:7: visited.options.alphabet: unknown option of strings; did you mean visited.options.alphabets?",
    ]
    found = load(write(tmp_path, '[visited]\nbackend = "strings"\n[visited.options]\nletters = 9\n'))
    [row] = [row for row in render_show(found) if row.key.startswith("visited.options")]
    assert (row.key, row.value, row.meaning) == ("visited.options.letters", "9", "Length of a URL.")
    (tmp_path / "again.toml").write_text(render_toml(found.config))
    assert load(tmp_path / "again.toml").config == found.config


def test_a_set_of_a_comparison_may_be_a_plug_in(strings: Site, tmp_path: Path) -> None:
    block = '[[compare.set]]\nbackend = "strings"\noptions = { letters = 5 }\n[[compare.set]]\nbackend = "strngs"\n'
    with pytest.raises(ConfigError, match='did you mean "strings"'):
        load(write(tmp_path, block))
    assert load(write(tmp_path, block.replace("strngs", "bloom"))).config.compare.set[0].options == {"letters": 5}


def test_the_schema_of_a_configuration_has_the_names_that_are_installed(strings: Site) -> None:
    visited = json_schema(Catalog())["properties"]["visited"]["properties"]
    assert "strings" in visited["backend"]["anyOf"][0]["enum"]
    assert "letters" in visited["options"]["properties"]


BROKEN = {
    "import blooom_filters": "ModuleNotFoundError: No module named 'blooom_filters'",
    "raise RuntimeError('line 1\\nline 2')": "RuntimeError: line 1 line 2",
    "import sys; sys.exit(3)": "SystemExit: 3",
    "x = (": "SyntaxError: '(' was never closed",
    "pass": "AttributeError: module 'broken_sets' has no attribute 'DESCRIPTOR'",
    "DESCRIPTOR = 3": "expected a visited.descriptor.Descriptor or a class at broken_sets:DESCRIPTOR, found int",
    "from visited.descriptor import *; DESCRIPTOR = Descriptor(name='a', make=3)": "TypeError: expected a function or",
    "from visited.descriptor import *; DESCRIPTOR = Descriptor(name='a', make=print, options=dict)": (
        "expected a msgspec.Struct as options, found <class 'dict'>"
    ),
    "from visited.descriptor import *; DESCRIPTOR = Descriptor(name='a', make=print, options=CommonOptions)": (
        "its option shards has the name of one that each visited set has"
    ),
    "from visited.descriptor import *; DESCRIPTOR = Descriptor(name='a', make=print, needs={'gold'})": (
        "needs may have capacity, directory, server, found gold"
    ),
    "from visited.descriptor import *; DESCRIPTOR = Descriptor(name='a', make=print, folder='../up')": (
        "expected a plain name as folder, found '../up'"
    ),
    """
    import msgspec
    from visited.descriptor import *
    class Options(msgspec.Struct):
        when: complex = 1j
    DESCRIPTOR = Descriptor(name='a', make=print, options=Options)
    """: "options.when can't be a ",
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_plug_in_is_refused_in_one_line_that_names_its_package(code: str, site: Site) -> None:
    site.add("broken-sets", "broken_sets", code, entries={"visited.broken": "broken_sets:DESCRIPTOR"})
    problem = refusal("visited.backend=broken")
    beginning = '--set: visited.backend: the visited set "broken" of broken-sets 1.0 can\'t be used: '
    assert problem.startswith(beginning), problem
    assert BROKEN[code] in problem


def test_a_path_that_leads_nowhere_is_refused(site: Site) -> None:
    problem = refusal("visited.backend=no_such.module:Set")
    assert problem == (
        '--set: visited.backend: the visited set "no_such.module:Set" can\'t be used: there is no module no_such: '
        "install its package, or put its folder on PYTHONPATH"
    )


@pytest.mark.parametrize(
    ("maker", "problem"),
    [
        ("lambda p: 1 / 0", "can't be made: ZeroDivisionError: division by zero"),
        ("lambda: None", "can't be made: TypeError: <lambda>() takes 0 positional arguments but 1 was given"),
        ("lambda p: 5", "can't be made: expected a visited set, but its maker returned int, which has no add_many, "),
    ],
)
def test_a_maker_that_fails_is_an_error_that_names_the_package(
    maker: str, problem: str, site: Site, tmp_path: Path
) -> None:
    site.add("broken-sets", "broken_sets", f"make = {maker}", entries={"visited.broken": "broken_sets:make"})
    found = loaded("visited.backend=broken")
    with pytest.raises(ConfigError) as refused:
        visited_set(found.config, CrawlDirectory(tmp_path), known_to_none)
    expected = f'visited: the visited set "broken" of broken-sets 1.0 {problem}'
    assert str(refused.value).replace("make()", "<lambda>()").startswith(expected)


ANSWERS = {
    "[True] * (len(urls) - 1)": "expected an answer from add_many for each of 3 URLs, found 2",
    "[True] * 4": "expected an answer from add_many for each of 3 URLs, found 4",
    "None": "expected a list from add_many, an answer for each URL, found NoneType",
    "[None] * len(urls)": "expected True or False from add_many, found NoneType",
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("options", [{}, {"shards": 2}])
async def test_a_set_that_does_not_answer_for_each_url_has_failed_and_is_named(
    answer: str, options: dict[str, int], site: Site
) -> None:
    code = SETS.replace("return fresh", f"return {answer}")
    site.add("few-sets", "few_sets", code, entries={"visited.few": "few_sets:StringSet"})
    made = make_set(descriptor(VISITED, "few"), PARAMETERS, options)
    with pytest.raises(PluginFailed) as failed:
        await made.add_many(["a", "b", "c"])
    expected = f'the visited set "few" of few-sets 1.0 failed: {ANSWERS[answer]}'
    assert str(failed.value) == expected or options  # a shard has less of them
    assert str(failed.value)[:60] == expected[:60]


FILTERS = """
    from visited.descriptor import Descriptor
    from visited.wrappers.simple import SimpleSet

    class Filter:
        def __init__(self): self.met = set()

        def add(self, url, /): return self.met.add(url)

        def has(self, url, /): return url in self.met

        def discard(self, url, /): return self.met.discard(url)

        def rate(self): return 0.0

        def memory_bytes(self): return 100

        def dump(self): return sorted(self.met)

        def load(self, data, /): self.met = set()

    DESCRIPTOR = Descriptor(name="wrong", make=lambda *_: SimpleSet("wrong", Filter, parameters={}))
"""


async def test_a_set_whose_filter_returns_something_wrong_has_failed(site: Site) -> None:
    site.add("wrong-sets", "wrong_sets", FILTERS, entries={"visited.wrong": "wrong_sets:DESCRIPTOR"})
    made = make_set(descriptor(VISITED, "wrong"), PARAMETERS, {})
    named = '^the visited set "wrong" of wrong-sets 1.0 failed: expected'
    with pytest.raises(PluginFailed, match=f"{named} True or False from add of the filter, found NoneType$"):
        await made.add_many(["a"])
    with pytest.raises(PluginFailed, match=f"{named} True or False from discard of the filter, found NoneType$"):
        await made.forget_many(["a"])
    with pytest.raises(PluginFailed, match=f"{named} bytes from dump of the filter, found list$"):
        made.dump(BytesIO())


async def test_a_set_whose_filter_lacks_a_method_is_not_made(site: Site, tmp_path: Path) -> None:
    code = FILTERS.replace("def discard", "def delete")
    site.add("wrong-sets", "wrong_sets", code, entries={"visited.wrong": "wrong_sets:DESCRIPTOR"})
    with pytest.raises(ConfigError, match=r"TypeError: expected a filter with add, has, discard, .*, found Filter"):
        visited_set(loaded("visited.backend=wrong").config, CrawlDirectory(tmp_path), known_to_none)


async def test_a_set_that_has_or_tells_something_wrong_has_failed(site: Site) -> None:
    code = SETS.replace("return VisitedStats(", "return dict(").replace("[url in self.met", "[True, *self.met][1:]; [0")
    site.add("odd-sets", "odd_sets", code)
    made = make_set(descriptor(VISITED, "odd_sets:StringSet"), PARAMETERS, {})
    with pytest.raises(PluginFailed, match=r"failed: expected VisitedStats from describe, found dict"):
        made.describe()
    with pytest.raises(PluginFailed, match=r"expected an answer from has_many for each of 2 URLs, found 0"):
        made.has_many(["a", "b"])


WRONG = {
    "count=len(self.met)": (
        "count=None",
        "wrong VisitedStats from describe: Expected `int`, got `null` - at `$.count`",
    ),
    "return len(self.met)": (
        'return "many"',
        "no count from __len__: 'str' object cannot be interpreted as an integer",
    ),
    "return len(known)": ("return known", "expected a count from forget_many, found set"),
}


@pytest.mark.parametrize("right", WRONG)
async def test_a_set_that_counts_wrongly_has_failed(right: str, site: Site) -> None:
    wrong, why = WRONG[right]
    site.add("odd-sets", "odd_sets", SETS.replace(right, wrong), entries={"visited.odd": "odd_sets:StringSet"})
    made = make_set(descriptor(VISITED, "odd"), PARAMETERS, {})
    with pytest.raises(PluginFailed) as failed:
        assert [made.describe(), len(made), await made.forget_many(["a"])]
    assert str(failed.value) == f'the visited set "odd" of odd-sets 1.0 failed: {why}'


async def test_a_set_of_others_still_lists_its_urls_and_says_whether_it_is_prompt(site: Site) -> None:
    listing = SETS.replace(
        "def __len__", "is_prompt = True\n\n        def urls(self): return iter(self.met)\n\n        def __len__"
    )
    site.add("listing-sets", "listing_sets", listing)
    site.add("mute-sets", "mute_sets")
    made = make_set(descriptor(VISITED, "listing_sets:StringSet"), PARAMETERS, {})
    await made.add_many(["a", "b"])
    assert (sorted(list_urls(made)), is_prompt(made)) == (["a", "b"], True)
    mute = make_set(descriptor(VISITED, "mute_sets:StringSet"), PARAMETERS, {})
    assert not is_prompt(mute)
    with pytest.raises(CannotList):
        list_urls(mute)


def test_a_set_for_which_there_is_not_enough_memory_is_named(tmp_path: Path) -> None:
    config = loaded("visited.backend=bloom", "visited.options.bits=1_099_511_627_776").config
    with pytest.raises(ConfigError, match=r"^visited: bloom for 1,000,000 URLs takes more memory than there is; lower"):
        visited_set(config, CrawlDirectory(tmp_path), known_to_none)


def test_a_name_that_two_packages_have_is_refused_and_a_path_still_works(strings: Site) -> None:
    strings.add("other-sets", "other_sets", SETS, entries={"visited.strings": "other_sets:DESCRIPTOR"})
    assert refusal("visited.backend=strings") == (
        '--set: visited.backend: "strings" is the name of 2 visited sets: name the path of one, '
        '"other_sets:DESCRIPTOR" of other-sets 1.0 and "string_sets:DESCRIPTOR" of string-sets 2.1'
    )
    loaded("visited.backend=other_sets:DESCRIPTOR")


def test_a_name_of_ours_is_ours_although_a_package_has_it_too(site: Site) -> None:
    site.add("other-sets", "other_sets", SETS, entries={"visited.bloom": "other_sets:DESCRIPTOR"})
    loaded("visited.backend=bloom", "visited.options.hashes=3", "visited.options.bits=640")
    loaded("visited.backend=other_sets:DESCRIPTOR", "visited.options.letters=50")


def test_backends_of_ours_take_no_look_at_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def registered(group: str, name: str | None = None) -> list[Registration]:
        asked.append(group)
        return []

    monkeypatch.setattr(catalog, "registrations", registered)
    loaded("visited.backend=bloom", "frontier.backend=memory", "fetch.extractor=lxml", "output.warc=true")
    assert asked == []
    refusal("visited.backend=blooom")
    assert "onceover.visited" in asked


def test_the_package_of_a_module_is_looked_for_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("odd-name", "string_sets")
    read, looks = importlib.metadata.packages_distributions, 0

    def look() -> Mapping[str, list[str]]:
        nonlocal looks
        looks += 1
        return read()

    monkeypatch.setattr(importlib.metadata, "packages_distributions", look)
    loaded("visited.backend=string_sets:DESCRIPTOR")
    assert str(catalog.find(VISITED, "string_sets:DESCRIPTOR").package) == "odd-name 1.0"
    assert looks == 1


def test_an_option_without_a_default_must_be_given(site: Site) -> None:
    code = SETS.replace("letters: Annotated", "server: str\n        letters: Annotated")
    site.add("string-sets", "string_sets", code, entries={"visited.strings": "string_sets:DESCRIPTOR"})
    assert refusal("visited.backend=strings") == "--set: visited.options.server: expected text, found none"
    loaded("visited.backend=strings", "visited.options.server=here")


def test_a_plug_in_is_imported_only_when_it_is_named(site: Site) -> None:
    site.add("loud-sets", "loud_sets", "raise SystemExit", entries={"visited.loud": "loud_sets:DESCRIPTOR"})
    loaded("visited.backend=bloom")
    assert "loud" in Catalog().plugins("visited")


def test_auto_chooses_among_candidates(strings: Site, tmp_path: Path) -> None:
    from crawler.wiring.auto_backend import choose_backend  # noqa: PLC0415

    def choice(*overrides: str) -> str:
        config = loaded("visited.backend=auto", "visited.capacity=1_000_000", *overrides).config
        return choose_backend(config, CrawlDirectory(tmp_path))[0].visited.backend

    assert choice('visited.candidates=["strings", "bloom"]', "visited.memory_bytes=200 MB") == "strings"
    assert choice('visited.candidates=["strings", "bloom"]', "visited.memory_bytes=50 MB") == "bloom"
    assert choice("visited.memory_bytes=200 MB") == "exact"
    with pytest.raises(ConfigError, match=r"visited.candidates: raw can't be chosen by formulas"):
        choice('visited.candidates=["raw"]')
    assert refusal('visited.candidates=["strngs"]').endswith('found "strngs"; did you mean "strings"?')
