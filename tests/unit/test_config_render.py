"""A configuration written out: rows, TOML, JSON Schema, the manual."""

import json
import re
import tomllib
from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from config import (
    Config,
    ConfigError,
    Fetch,
    Loaded,
    Setting,
    json_schema,
    load,
    preset_text,
    presets,
    render_run,
    render_show,
    render_toml,
    settings,
    toml_value,
)
from config.contact import in_ascii
from config.loading.blocks import block_kinds
from config.settings import sections
from frontier.backends import descriptor
from tests.unit.test_config_loader import CONTACT, DESIGNED, MINIMAL, problems_of, written

REPOSITORY = Path(__file__).parents[2]
MANUAL = REPOSITORY / "docs" / "configuration.md"
TABULATING = run_path(str(REPOSITORY / "tools" / "tabulate_settings.py"))
ADDRESSES = ["127.0.0.1", "127.0.0.1:8080", "::1", "[::1]", "[2001:db8::1]:65535"]
PROXIES = ["http://192.0.2.1:3128", "https://[::1]:1/", "socks5h://proxy.test"]


def valid(setting: Setting, seed_file: str) -> st.SearchStrategy[Any]:
    """Values that a setting may have, extremes among them."""
    values = st.none() | _valid(setting, seed_file) if setting.optional else _valid(setting, seed_file)
    assert isinstance(values, st.SearchStrategy)
    return values


def _valid(setting: Setting, seed_file: str) -> st.SearchStrategy[Any]:
    texts = st.from_regex(setting.pattern or "")
    if setting.key in ("fetch.unverified", "identity.hosts"):
        texts = texts.filter(in_ascii)
    match setting.key:
        case "crawl.seed_files":
            return st.sampled_from([(), (seed_file,), (seed_file, seed_file)])
        case "fetch.hosts":
            return st.dictionaries(_names(setting), st.sampled_from(ADDRESSES), max_size=3)
        case "fetch.allow_networks":
            return st.sampled_from([(), ("10.1.0.0/16", "fd00::/8"), ("192.168.1.1",)])
        case "fetch.proxies":
            return st.dictionaries(_names(setting), st.sampled_from(PROXIES), max_size=3)
        case "fetch.logins" | "crawl.purpose_names":
            return st.dictionaries(_names(setting), texts, max_size=3)
        case "fetch.headers":
            return st.dictionaries(st.from_regex(r"^X-[a-z]+\Z"), texts, max_size=3)
        case "fetch.user_agent":
            return texts.map(lambda text: f"{text}(+https://library.se/)")
        case "output.sinks":
            return st.just(())
        case "output.dedupe_against" | "scope.place_files" | "scope.exclude_place_files" | "fetch.authorities":
            return st.sampled_from([(), ("/archive/site",)])
        case "visited.capacity":
            return st.integers(1, 10**10)
        case "output.min_free_bytes":
            return st.just(0) | st.integers(descriptor("leveldb").min_free_bytes, int(setting.maximum or 0))
        case "visited.site_bytes":
            return st.integers(8, 2**27).map(lambda words: 8 * words)
    match setting.kind:
        case "bool":
            return st.booleans()
        case "int":
            return st.integers(int(setting.minimum or 0), int(setting.maximum or 0))
        case "ints":
            return st.lists(st.integers(int(setting.minimum or 0), int(setting.maximum or 0)), max_size=3).map(tuple)
        case "bytes":
            most = int(setting.maximum or 0)
            sizes = st.integers(int(setting.minimum or 0), most)
            return sizes | st.sampled_from([size for size in (10**6, 3 * 10**9, 2**30) if size <= most])
        case "float" | "seconds":
            return st.floats(setting.minimum, setting.maximum)
        case "choice":
            return st.sampled_from(setting.choices)
        case "text":
            return texts
        case "texts":
            items = st.sampled_from(setting.choices) if setting.choices else texts
            return st.lists(items, max_size=3).map(tuple)
        case "table":
            raise NotImplementedError(setting.key)
        case "options":
            return st.sampled_from([{}, {"shards": 3}] if setting.backends == "visited" else [{}])


def _names(setting: Setting) -> st.SearchStrategy[str]:
    return st.from_regex(setting.key_pattern or "").filter(in_ascii)


def ordered(values: dict[str, Any], lower: str, upper: str) -> None:
    values[lower], values[upper] = sorted((values[lower], values[upper]))


def config_of(values: dict[str, Any]) -> Config:
    ordered(values, "politeness.min_delay_s", "politeness.max_delay_s")
    ordered(values, "frontier.retry_delay_s", "frontier.retry_max_delay_s")
    ordered(values, "fetch.connect_timeout_s", "fetch.timeout_s")
    ordered(values, "render.wait_s", "render.timeout_s")
    if values["visited.backend"] == "auto":
        values["visited.options"] = {}
    if values["visited.backend"] == "exact-leveldb":
        values["frontier.backend"] = "leveldb"
    if (
        values["frontier.backend"] == "memory"
        or values["frontier.queue_by"] == "ip"
        or values["frontier.parallel_queues"]
    ):
        values["crawl.parts"] = 1
    values["frontier.queue_prefixes"] = ("*.a.test",) if values["frontier.queue_by"] == "surt-prefix" else ()
    if values["output.warc_text"]:
        values["output.text"] = True
    if values["render.screenshot"]:
        values["output.warc"] = True
    tables: dict[str, dict[str, Any]] = {section: {} for section in sections()}
    for key, value in values.items():
        tables[settings()[key].section][settings()[key].name] = value
    return msgspec.convert(tables, Config)


@pytest.fixture(scope="module")
def seed_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("seeds") / "seeds.txt"
    path.write_text("https://a.test/\n")
    return str(path)


@hypothesis_settings(max_examples=15)  # each has all of the 200 settings
@given(st.data())
def test_a_configuration_that_is_written_loads_as_the_same_configuration(
    seed_file: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    strategy = st.fixed_dictionaries({key: valid(setting, seed_file) for key, setting in settings().items()})
    config = config_of(data.draw(strategy))
    text = render_toml(config)
    path = written(tmp_path_factory.getbasetemp(), text, name="written.toml")
    assert load(path, require_seeds=False).config == config
    assert list(Draft202012Validator(json_schema()).iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "[fetch]\ntimeout_s = 7\n",
        "[frontier]\nretry_max_delay_s = 1\n",
        "[render]\ntimeout_s = 1\n",
        '[[site]]\nmatch = ["*.a.test"]\nfetch.timeout_s = 7\nfrontier.retry_max_delay_s = 1\n',
    ],
)
def test_a_default_that_gave_way_does_so_too_where_it_is_written(text: str, tmp_path: Path) -> None:
    loaded = load(written(tmp_path, MINIMAL + text))
    assert load(written(tmp_path, render_toml(loaded.config), name="as-run.toml")).config == loaded.config


def test_the_configuration_of_a_run_is_refused_if_its_end_is_missing(tmp_path: Path) -> None:
    config = load(written(tmp_path, MINIMAL)).config
    text = render_run(config)
    for whole in (text, text.replace("\n", "\r\n")):
        assert load(written(tmp_path, whole, name="as-run.toml")).config == config
    assert load(written(tmp_path, text.rstrip() + "\n[[site]]\nmatch = ['a.test']\n", name="as-run.toml")).config.site
    lines = text.splitlines(keepends=True)
    for kept in (len(lines) // 3, len(lines) // 2, len(lines) - 1):
        for end in ("\n", "\r\n"):
            cut = "".join(lines[:kept]).replace("\n", end)
            with pytest.raises(ConfigError, match="the file is cut"):
                load(written(tmp_path, cut, name="as-run.toml"))
    for kept in (0, 1, len(lines[0]) - 1):
        with pytest.raises(ConfigError, match=r'the file is cut: expected "# The end of the configuration\."'):
            load(written(tmp_path, text[:kept], name="crawl.toml"), require_seeds=False)
    assert not load(written(tmp_path, "", name="mine.toml"), require_seeds=False).seeds


def test_a_written_configuration_tells_of_each_setting_what_it_means_and_what_it_may_be() -> None:
    text = render_toml(Config())
    for setting in settings().values():
        line = re.search(rf"^(# )?{setting.name} =.*$", text, re.MULTILINE)
        assert line is not None
        assert " ".join(setting.meaning.split()) in text.replace("\n# ", " ")
    assert '# Longest duration of a fetch. [0.001 s to 1 d]\ntimeout_s = "1 min"\n' in text
    assert (
        '# Longer bodies are cut at this size; their record says so. [1 B to 1 TB]\nmax_body_bytes = "20 MB"\n' in text
    )
    assert "# Number of fetched pages. [1 to 1_000_000_000_000 pages]\n# pages =\n" in text
    assert max(map(len, text.splitlines())) <= 120


def test_each_row_tells_key_value_origin_and_meaning(tmp_path: Path) -> None:
    path = written(tmp_path, f"{MINIMAL}[fetch]\nmax_body_bytes = 5_000_000\n")
    rows = render_show(load(path, overrides=["limits.pages=10_000"]))
    assert [row.key for row in rows] == list(settings())
    by_key = {row.key: row for row in rows}
    assert by_key["crawl.seeds"].value == '["https://a.test/"]'
    size = by_key["fetch.max_body_bytes"]
    assert (size.value, size.origin) == ('"5 MB"', f"{path}:4")
    assert size.meaning == "Longer bodies are cut at this size; their record says so."
    assert (by_key["limits.pages"].value, by_key["limits.pages"].origin) == ("10_000", "--set")
    assert (by_key["limits.bytes"].value, by_key["limits.bytes"].origin) == ("unset", "default")


@pytest.mark.parametrize("setting", settings().values(), ids=list(settings()))
def test_each_setting_states_its_unit_its_limits_and_its_meaning(setting: Setting) -> None:
    assert setting.meaning[0].isupper() or setting.meaning.startswith(setting.choices or "?")
    assert setting.meaning.endswith(".")
    rate = setting.name.endswith("_per_s")
    assert (
        setting.name.removesuffix("_per_s").endswith("_s") == (setting.kind == "seconds")
        or rate
        or (setting.key == "limits.seconds")
    )
    assert setting.name.removesuffix("_per_s").endswith("_bytes") == (setting.kind == "bytes") or (
        setting.key == "limits.bytes"
    )
    if setting.kind in ("int", "ints", "float", "bytes", "seconds"):
        assert setting.minimum is not None
        assert setting.maximum is not None
    if setting.kind in ("text", "texts", "table") and not setting.choices and setting.key != "output.sinks":
        assert setting.pattern
        assert setting.form
    assert not setting.optional or setting.default is None
    assert msgspec.convert(setting.default, setting.type) == setting.default


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Fetch().timeout_s = 5.0  # type: ignore[misc]


def schema_errors(text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(json_schema()).iter_errors(tomllib.loads(text))]


def test_the_json_schema_is_one_of_draft_2020_12_and_can_be_written_as_json() -> None:
    schema = json.loads(json.dumps(json_schema()))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    described = schema["properties"]["fetch"]["properties"]["timeout_s"]
    assert described["description"] == "Longest duration of a fetch."
    assert described["default"] == 60.0


@pytest.mark.parametrize(
    "text",
    [
        MINIMAL,
        DESIGNED.replace("dsbf", "exact", 1),
        'extends = "broad"\n',
        'limits.bytes = "10 GB"',
        'visited = { backend = "per-site", options = { site_bytes = "8 KiB", filters = 3, shards = 2 } }',
        '[[compare.set]]\nbackend = "bloom"\noptions = { bits_per_url = 12.5 }',
        'limits.bytes = "1.5 GiB"',
        "limits.bytes = 5",
        'fetch.timeout_s = "5 min"',
        'fetch.timeout_s = "500ms"',
        "fetch.timeout_s = 0.5",
        'fetch.hosts = { "*.a.test" = "[::1]:80" }',
        *map(preset_text, presets()),
    ],
)
def test_the_json_schema_takes_what_loads(text: str, tmp_path: Path) -> None:
    assert schema_errors(text) == []
    load(written(tmp_path, text), require_seeds=False)


@pytest.mark.parametrize(
    "line",
    [
        "fetch.timout_s = 1",
        "fetsh = {}",
        "fetch = 1",
        "extends = 'brod'",
        "frontier.backend = 'redis'",
        "scope.max_depth = -1",
        "scope.max_depth = 1.5",
        "scope.max_depth = true",
        "visited.error_rate = 0",
        "visited.backend = 'blom'",
        "visited.options = 3",
        "visited.options.shard = 3",
        "visited.options.shards = 0",
        "fetch.timeout_s = 0",
        "fetch.timeout_s = '5 parsecs'",
        "fetch.max_body_bytes = '5 K'",
        "output.warc = 'yes'",
        "crawl.name = 'a/b'",
        'crawl.name = "a\\n"',
        "crawl.seeds = 'https://a.test/'",
        "crawl.seeds = [1]",
        "crawl.seeds = ['']",
        "fetch.hosts = { a = 'localhost' }",
        "fetch.hosts = { '*x' = '127.0.0.1' }",
    ],
)
def test_the_json_schema_refuses_what_is_refused(line: str, tmp_path: Path) -> None:
    assert schema_errors(line) != []
    with pytest.raises(ConfigError):
        load(written(tmp_path, line), require_seeds=False)


CRAWLS = [name for name in presets() if not name.startswith("compare-")]


def test_there_are_four_presets_of_crawls_and_a_comparison_in_a_long_and_a_short_form() -> None:
    assert CRAWLS == ["broad", "one-site", "polite-archive", "quickstart"]
    assert [name for name in presets() if name not in CRAWLS] == ["compare-literature", "compare-literature-short"]
    with pytest.raises(KeyError):
        preset_text("../pyproject")


@pytest.mark.parametrize("name", CRAWLS)
def test_each_preset_loads_once_it_has_a_seed(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, preset_text(name))
    loaded = load(path, overrides=["crawl.seeds=https://a.test/"])
    changed = {key for key, origin in loaded.origins.items() if origin.startswith(str(path))}
    assert len(changed) > 8
    assert problems_of(path) == ['no seeds: write seeds = ["https://…/"] or seed_files = ["…"] under [crawl]']


@pytest.mark.parametrize("name", CRAWLS)
def test_each_preset_says_in_its_first_line_what_it_is_for_and_where_to_put_seeds_and_contact(name: str) -> None:
    text = preset_text(name)
    assert re.match(r"# [A-Z].*\n", text)
    assert re.search(r"^# (seeds|seed_files) = ", text, re.MULTILINE)
    assert re.search(r"^# user_agent = ", text, re.MULTILINE)


def test_a_preset_extended_or_copied_is_the_same_configuration(tmp_path: Path) -> None:
    def loaded(text: str) -> Loaded:
        return load(written(tmp_path, text), require_seeds=False)

    for name in presets():
        assert loaded(f'extends = "{name}"\n').config == loaded(preset_text(name)).config


def test_the_tables_of_the_manual_are_current() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    assert text == TABULATING["with_tables"](text), "run `python -m tools.tabulate_settings docs/configuration.md`"


def test_the_tables_name_every_setting_and_every_row_has_four_cells() -> None:
    rows = [row for row in TABULATING["render_markdown"]().splitlines() if row.startswith("| `")]
    own = [setting.name for kind in block_kinds().values() for setting in kind.own]
    assert [row.split("`")[1] for row in rows] == [*(setting.name for setting in settings().values()), *own]
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_tables_go_between_their_marks_only() -> None:
    with pytest.raises(ValueError, match="expected the lines"):
        TABULATING["with_tables"]("# no marks\n")


def test_the_examples_of_the_manual_are_true(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    example, sites = (text for language, text in blocks if language == "toml")
    [output] = [text for language, text in blocks if language == "text"]
    path = written(tmp_path, example)
    assert load(path).config.fetch.user_agent in example
    assert len(load(written(tmp_path, example + sites)).config.site) == 2
    path = written(tmp_path, example.replace("user_agent", "timout_s = 5\nconcurrency = 'many'\nuser_agent"))
    problems = problems_of(path, overrides=["politeness.min_delay_s=60"])
    assert [
        f"{len(problems)} problems in the configuration",
        *(f"  {each}" for each in problems),
    ] == output.splitlines()
    overrides = re.findall(r"`--set '?([^`]*?)'?`", MANUAL.read_text(encoding="utf-8"))
    assert len(overrides) >= 6
    for override in overrides:
        load(None, overrides=[CONTACT, override], require_seeds=False)


def test_a_value_quoted_as_toml_passes_through_the_command_line_unchanged() -> None:
    for name in ('"x"', "2024", "true", "[1]", "a b", r"c:\d", "'"):
        loaded = load(None, overrides=[f"crawl.directory={toml_value(name)}"], require_seeds=False)
        assert loaded.config.crawl.directory == name
