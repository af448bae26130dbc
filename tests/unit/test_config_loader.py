"""From files, environment and arguments to one configuration."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from config import Config, ConfigError, Loaded, load, settings, toml_value
from config.schema.crawl import Crawl

SEED = 'crawl.seeds=["https://a.test/"]'
MINIMAL = '[crawl]\nseeds = ["https://a.test/"]\n'
CONTACT = "fetch.user_agent=bot (+https://library.se/bot)"

DESIGNED = r"""
[crawl]
seeds = ["https://docs.example.org/"]      # and/or seed_files = ["seeds.txt"]
directory = "crawls/docs"                  # state and output; resumed when it exists

[scope]
within = "host"                            # host | domain | prefix | any, of the seeds
include = []
exclude = ['\.iso$']                       # patterns
max_depth = 20

[frontier]
backend = "leveldb"                        # memory | leveldb | redis
queue_by = "host"                          # host | domain | ip
durability = "process"                     # process | power

[visited]
backend = "dsbf"                           # exact | bloom | blocked | counting | dsbf | per-site | auto
capacity = 1_000_000
error_rate = 0.0001

[politeness]
robots = true
min_delay_s = 1.0
max_delay_s = 30.0
delay_factor = 2.0
per_host = 1

[fetch]
user_agent = "onceover/1.0 (+https://example.org/about-our-crawler)"
concurrency = 64
timeout_s = 60
max_body_bytes = 20_000_000
extractor = "lexbor"                       # lexbor | lxml | bs4
allow_private = false
hosts = { "*.sim.test" = "127.0.0.1" }     # static names, before DNS

[output]
records = true
warc = true
links = false

[limits]
# pages = 1000                           # unset means no limit
# bytes = "10 GB"
# seconds = 3600
"""


def written(directory: Path, text: str, *, name: str = "crawl.toml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(
    path: Path | None,
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    preset: str | None = None,
) -> list[str]:
    """The problems as lines, without the directory of the file."""
    with pytest.raises(ConfigError) as refused:
        load(path, overrides=overrides, environ=environ, preset=preset)
    prefix = f"{path.parent}/" if path else ""
    return [str(problem).removeprefix(prefix) for problem in refused.value.problems]


def loaded_text(directory: Path, text: str, *, overrides: Sequence[str] = ()) -> Loaded:
    return load(written(directory, text), overrides=overrides)


def test_seeds_alone_make_a_configuration(tmp_path: Path) -> None:
    loaded = loaded_text(tmp_path, MINIMAL)
    assert loaded.config == Config(crawl=Crawl(seeds=("https://a.test/",)))
    assert [(seed.url, seed.origin) for seed in loaded.seeds] == [("https://a.test/", f"{tmp_path}/crawl.toml:2")]


def test_the_designed_configuration_loads(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, DESIGNED))
    assert loaded.config.visited.backend == "dsbf"
    assert loaded.config.fetch.hosts == {"*.sim.test": "127.0.0.1"}
    assert loaded.config.scope.exclude == (r"\.iso$",)


@pytest.mark.parametrize("key", list(settings()))
def test_each_setting_can_come_from_a_file_the_environment_and_the_command_line(key: str, tmp_path: Path) -> None:
    setting = settings()[key]
    examples = {
        "crawl.seeds": ("https://b.test/",),
        "urls.rules": ("sort-query",),
        "crawl.seed_files": ("/dev/null",),
        "politeness.hours": "22:00-06:00",
        "daemon.schedule": "0 3 * * 1",
        "visited.candidates": ("dsbf", "exact"),
        "exchange.password_file": "/dev/null",
        "exchange.password_env": "REDIS_PASSWORD",
        "exchange.tls_ca": "/dev/null",
        "exchange.tls_cert": "/dev/null",
        "exchange.tls_key": "/dev/null",
        "identity.email": "us@library.se",
        "identity.keys": "/srv/keys",
        "identity.agent": "https://bot.library.se",
    }
    value = examples.get(key, setting.minimum if setting.default is None else setting.default)
    text = toml_value(value)
    variable = f"ONCEOVER_{setting.section.upper()}__{setting.name.upper()}"
    path = written(tmp_path, f"[{setting.section}]\n{setting.name} = {text}\n")
    for loaded, origin in (
        (load(path, require_seeds=False), f"{path}:2"),
        (load(path, environ={variable: text}, require_seeds=False), f"environment {variable}"),
        (load(path, environ={variable: text}, overrides=[f"{key}={text}"], require_seeds=False), "--set"),
    ):
        assert getattr(getattr(loaded.config, setting.section), setting.name) == value
        assert loaded.origins[key] == origin
        others = {other: where for other, where in loaded.origins.items() if other != key}
        assert set(others.values()) == {"default"}
        assert len(others) == len(settings()) - 1


def test_the_command_line_goes_before_the_environment_the_file_the_preset_and_the_default(tmp_path: Path) -> None:
    path = written(tmp_path, f'extends = "polite-archive"\n{MINIMAL}[fetch]\ntimeout_s = 4\n')
    environ = {"ONCEOVER_FETCH__TIMEOUT_S": "3", "UNRELATED": "1"}
    loads = [
        load(path, environ=environ, overrides=["fetch.timeout_s=1", "fetch.timeout_s=2 s"]),
        load(path, environ=environ),
        load(path),
        loaded_text(tmp_path, f'extends = "polite-archive"\n{MINIMAL}'),
        loaded_text(tmp_path, MINIMAL),
    ]
    assert [loaded.config.fetch.timeout_s for loaded in loads] == [2.0, 3.0, 4.0, 1200.0, 60.0]
    assert [re.sub(r"^/.*/", "", loaded.origins["fetch.timeout_s"]) for loaded in loads] == [
        "--set",
        "environment ONCEOVER_FETCH__TIMEOUT_S",
        "crawl.toml:5",
        "preset polite-archive:10",
        "default",
    ]


def test_a_preset_can_be_named_by_the_caller_and_gives_way_to_the_one_that_a_file_extends(tmp_path: Path) -> None:
    assert load(None, preset="quickstart", overrides=[SEED]).config.limits.pages == 1000
    path = written(tmp_path, f'extends = "broad"\n{MINIMAL}')
    both = load(path, preset="quickstart").config
    assert (both.limits.pages, both.fetch.concurrency, both.scope.max_depth) == (1000, 256, 8)


def test_a_preset_builds_on_another() -> None:
    long, short = (
        load(None, preset=name, environ={}, require_seeds=False).config.compare
        for name in ("compare-literature", "compare-literature-short")
    )
    assert (short.work, short.set, short.expect) == (long.work, long.set, long.expect)
    assert (long.rounds, long.scale, long.past_capacity) == (2, 1.0, 1.0)
    assert (short.rounds, short.scale, short.past_capacity) == (1, 0.5, 1.0)


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("fetch.timeout_s=5", 5.0),
        ("fetch.timeout_s=1.5 min", 90.0),
        ('fetch.timeout_s="10 s"', 10.0),
        (" fetch.timeout_s = 5 ", 5.0),
        ("fetch.max_body_bytes=20 MB", 20_000_000),
        ("fetch.extractor=lxml", "lxml"),
        ('fetch.extractor="lxml"', "lxml"),
        ("fetch.allow_private=true", True),
        ("fetch.languages=de", ("de",)),
        ('fetch.languages=["de", "en"]', ("de", "en")),
        ("fetch.languages=", ()),
        ("scope.exclude=a=b", ("a=b",)),
        (r"scope.exclude=\.iso$", (r"\.iso$",)),
        ("crawl.name=2024", "2024"),
        ("crawl.directory=2024-01-31", "2024-01-31"),
        ('crawl.directory=a "b"', 'a "b"'),
        ("limits.pages=7", 7),
        ("limits.pages=", None),
        ("limits.bytes=10 GB", 10**10),
        ("urls.rules=sort-query", ("sort-query",)),
        ("urls.rules=", None),
        ("urls.rules=[]", ()),
        ('fetch.hosts={"a.test" = "127.0.0.1"}', {"a.test": "127.0.0.1"}),
        ("fetch.hosts.*.sim.test=127.0.0.1:8080", {"*.sim.test": "127.0.0.1:8080"}),
        ("fetch.hosts.'b.test'=::1", {"b.test": "::1"}),
        ("fetch.headers.X-Test=1", {"X-Test": "1"}),
    ],
)
def test_a_value_on_the_command_line_is_toml_or_plain_text(override: str, value: object) -> None:
    key = ".".join(override.partition("=")[0].strip().split(".")[:2])
    loaded = load(None, overrides=[SEED, override])
    setting = settings()[key]
    assert getattr(getattr(loaded.config, setting.section), setting.name) == value


def test_one_entry_of_a_table_is_added_to_those_of_the_file(tmp_path: Path) -> None:
    text = f'{MINIMAL}[fetch.hosts]\n"a.test" = "127.0.0.1"\n"b.test" = "127.0.0.1"\n'
    overrides = ["fetch.hosts.b.test=127.0.0.2", "fetch.hosts.c.test=127.0.0.3"]
    hosts = loaded_text(tmp_path, text, overrides=overrides).config.fetch.hosts
    assert hosts == {"a.test": "127.0.0.1", "b.test": "127.0.0.2", "c.test": "127.0.0.3"}


def test_text_with_line_feeds_can_not_smuggle_in_other_settings() -> None:
    [problem] = problems_of(None, overrides=[SEED, "fetch.timeout_s=5\nx = 3"])
    assert problem.startswith("--set: fetch.timeout_s: expected a duration")


@pytest.mark.parametrize(
    ("text", "name", "directory"),
    [
        (MINIMAL, "library-of-2024", "crawls/library-of-2024"),
        (f'{MINIMAL}name = "x"\n', "x", "crawls/x"),
        (f'{MINIMAL}directory = "d"\n', "library-of-2024", "d"),
        (f'{MINIMAL}name = "x"\ndirectory = "d"\n', "x", "d"),
    ],
)
def test_name_and_directory_follow_from_the_file_where_they_are_not_given(
    text: str, name: str, directory: str, tmp_path: Path
) -> None:
    crawl = load(written(tmp_path, text, name="library of 2024.toml")).config.crawl
    assert (crawl.name, crawl.directory) == (name, directory)


def test_a_file_whose_name_holds_no_letter_gives_the_default_name(tmp_path: Path) -> None:
    assert load(written(tmp_path, MINIMAL, name="—.toml")).config.crawl == Crawl(seeds=("https://a.test/",))


def test_a_configuration_may_begin_with_a_byte_order_mark_and_end_its_lines_with_crlf(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode() + b"[fetch]\r\ntimeout_s = 3\r\n")
    loaded = load(path)
    assert loaded.config.fetch.timeout_s == 3.0
    assert loaded.origins["fetch.timeout_s"] == f"{path}:4"


def test_without_a_need_for_seeds_the_defaults_load(tmp_path: Path) -> None:
    loaded = load(None, require_seeds=False)
    assert loaded.config == Config()
    assert loaded.seeds == ()


def test_an_error_of_a_later_stage_names_the_place_of_its_value(tmp_path: Path) -> None:
    loaded = loaded_text(tmp_path, f"{MINIMAL}[scope]\nexclude = ['(']\n")
    assert str(loaded.refuse("scope.exclude", "no pattern")) == f"{tmp_path}/crawl.toml:4: scope.exclude: no pattern"
    assert str(loaded.refuse("urls.rules", "no rule")) == "urls.rules: no rule"


def test_loading_needs_no_more_than_a_reader_of_the_environment_gives(tmp_path: Path) -> None:
    environ = {"ONCEOVER_TOKEN": "secret", "ONCEOVER_": "x", "HOME": "/", "onceover_fetch__timeout_s": "x"}
    assert load(written(tmp_path, MINIMAL), environ=environ).config.fetch.timeout_s == 60.0
