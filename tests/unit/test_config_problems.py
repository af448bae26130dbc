"""Bad input: each problem names the place, what was expected, what was found and what to do."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import ConfigError, Problem, load, settings, toml_value
from crawler.url.urls import LONGEST_URL
from tests.unit.test_config_loader import CONTACT, MINIMAL, SEED, problems_of, written

HUGE = "9" * 5000
PRINTABLE = "not empty and without control characters"
USER_AGENT = "fetch.user_agent: expected text, in printable ASCII, not empty and without a space at its start, found "


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("fetch.timout_s = 1", "fetch.timout_s: unknown key; did you mean fetch.timeout_s?"),
        ("fetch.max-redirects = 1", "fetch.max-redirects: unknown key; did you mean fetch.max_redirects?"),
        ("fetch.max_depth = 1", "fetch.max_depth: unknown key; did you mean scope.max_depth?"),
        ("crawl.seed = 1", "crawl.seed: unknown key; did you mean crawl.seeds or compare.seed?"),
        (
            "frontier.max_delay_s = 1",
            "frontier.max_delay_s: unknown key; did you mean frontier.retry_max_delay_s or politeness.max_delay_s?",
        ),
        (
            "scope.backend = 1",
            (
                "scope.backend: unknown key; did you mean frontier.backend or visited.backend or fetch.backend or "
                "exchange.backend?"
            ),
        ),
        ("urls.zzz = 1", "urls.zzz: unknown key; [urls] has rules"),
        ("timeout_s = 1", "timeout_s: unknown key; did you mean fetch.timeout_s or render.timeout_s?"),
        ("fetsh.timeout_s = 1", "unknown section [fetsh]; did you mean [fetch]?"),
        (
            "zzz.timeout_s = 1",
            "unknown section [zzz]; there are [crawl], [scope], [traps], [focus], [frontier], [visited], ",
        ),
        ("zzz = 1", "zzz: unknown key; `onceover config show` lists all keys"),
        ("outputs = 1", "outputs: unknown key; did you mean [output]?"),
        ("bogus = 1", "bogus: unknown key; `onceover config show` lists all keys"),
        ("output = 1", "output: expected a section, [output], found one value"),
        (
            "frontier.backend = 'redis'",
            'frontier.backend: expected "memory" or "leveldb", or a plug-in, as "package.module:Name", found "redis"',
        ),
        ("visited.backend = 3", 'visited.backend: expected "exact" or '),
        ("visited.options = 3", "visited.options: expected a table of options, found 3"),
        (
            "output.min_free_bytes = '20 MB'",
            'output.min_free_bytes: expected at least "64 MiB", which the frontier needs',
        ),
        ("frontier.queue_by = 'surt-prefix'", "frontier.queue_by: surt-prefix needs frontier.queue_prefixes"),
        (
            "frontier.queue_prefixes = ['a.test']",
            "frontier.queue_prefixes: expected none with frontier.queue_by = host",
        ),
        ("visited.store = 'disk'", 'visited.store: expected "memory" or "leveldb", found "disk"'),
        ("visited.store = ['memory']", 'visited.store: expected "memory" or "leveldb", found ["memory"]'),
        ("scope.within = true", 'scope.within: expected "host" or "domain" or "prefix" or "any", found true'),
        ("scope.max_depth = -1", "scope.max_depth: expected a whole number, 0 to 1_000_000, found -1"),
        ("scope.max_depth = 2.0", "scope.max_depth: expected a whole number, 0 to 1_000_000, found 2.0"),
        ("scope.max_depth = true", "scope.max_depth: expected a whole number, 0 to 1_000_000, found true"),
        ("scope.max_depth = '5'", 'scope.max_depth: expected a whole number, 0 to 1_000_000, found "5"'),
        (
            "scope.max_depth = 0xffffffffffffffffff",
            "scope.max_depth: expected a whole number, 0 to 1_000_000, found 4_722_",
        ),
        ("visited.error_rate = 0", "visited.error_rate: expected a number, 1e-12 to 0.5, found 0"),
        ("visited.error_rate = nan", "visited.error_rate: expected a number, 1e-12 to 0.5, found nan"),
        ("visited.error_rate = '1 %'", 'visited.error_rate: expected a number, 1e-12 to 0.5, found "1 %"'),
        ("politeness.delay_factor = inf", "politeness.delay_factor: expected a number, 0 to 1000, found inf"),
        (
            "fetch.timeout_s = '5 parsecs'",
            (
                "fetch.timeout_s: expected a duration, 0.001 s to 1 d, as a number of seconds or as text such as "
                '"500 ms", "10 min", found "5 parsecs"'
            ),
        ),
        ("fetch.timeout_s = 0", "fetch.timeout_s: expected a duration, 0.001 s to 1 d, "),
        ("fetch.timeout_s = '2 d'", "fetch.timeout_s: expected a duration, 0.001 s to 1 d, "),
        ("fetch.timeout_s = 2024-01-01", "fetch.timeout_s: expected a duration, 0.001 s to 1 d, "),
        ("fetch.timeout_s = -0x" + "f" * 400, "not valid TOML"),
        ("fetch.timeout_s = 0x" + "f" * 400, "fetch.timeout_s: expected a duration, 0.001 s to 1 d, "),
        (
            "fetch.max_body_bytes = '2 TB'",
            (
                "fetch.max_body_bytes: expected a size, 1 B to 1 TB, as a whole number of bytes or as text such as "
                '"512 KiB", "20 MB", found "2 TB"'
            ),
        ),
        ("fetch.max_body_bytes = 1e6", "fetch.max_body_bytes: expected a size, 1 B to 1 TB, "),
        (
            f"scope.max_url_length = {LONGEST_URL + 1}",
            f"scope.max_url_length: expected a whole number, 16 to {LONGEST_URL:_}, found {LONGEST_URL + 1:_}",
        ),
        ("limits.pages = 0", "limits.pages: expected a whole number, 1 to 1_000_000_000_000, found 0"),
        ("output.warc = 'yes'", 'output.warc: expected true or false, found "yes"'),
        ("output.warc = 1", "output.warc: expected true or false, found 1"),
        (
            "crawl.name = 'a/b'",
            "crawl.name: expected text, of letters, digits, dots, dashes and underscores, first a letter",
        ),
        ("crawl.directory = ''", f'crawl.directory: expected text, {PRINTABLE}, found ""'),
        ('crawl.directory = "a\\nb"', f'crawl.directory: expected text, {PRINTABLE}, found "a\\nb"'),
        ("crawl.seeds = 'https://a.test/'", f"crawl.seeds: expected a list of texts, each {PRINTABLE}, found "),
        ("crawl.seeds = ['https://a.test/', 5]", f"crawl.seeds: expected a list of texts, each {PRINTABLE}, found 5"),
        ("crawl.seeds = ['  ']", f'crawl.seeds: expected a list of texts, each {PRINTABLE}, found "  "'),
        ('crawl.seeds = ["http://a/\\u0001"]', f"crawl.seeds: expected a list of texts, each {PRINTABLE}, found "),
        ('fetch.user_agent = "a\\n"', USER_AGENT + r'"a\n"'),
        ("fetch.user_agent = 'Käfer'", USER_AGENT + '"Käfer"'),
        ("fetch.user_agent = ''", USER_AGENT + '""'),
        ("fetch.user_agent = ' a'", USER_AGENT + '" a"'),
        (
            "fetch.languages = ['de', 'e_n']",
            'fetch.languages: expected a list of texts, each a language tag, as "en" or ',
        ),
        (
            "urls.rules = ['Sort Query']",
            'urls.rules: expected a list of texts, each the name of a rule, as "sort-query", ',
        ),
        (
            "fetch.hosts = { 'b.test' = '127.0.0.1', 'a.test' = 'localhost' }",
            (
                'fetch.hosts: expected a table such as { "*.example.org" = "127.0.0.1:8080" }, '
                'with hosts without ports, found { "a.test" = "localhost" }'
            ),
        ),
        (
            "fetch.hosts = { 'a.test:80' = '127.0.0.1:8080' }",
            (
                'fetch.hosts: expected a table such as { "*.example.org" = "127.0.0.1:8080" }, '
                'with hosts without ports, found { "a.test:80" = "127.0.0.1:8080" }'
            ),
        ),
        ("fetch.hosts = { '*x' = '127.0.0.1' }", "fetch.hosts: expected a table such as "),
        (
            "fetch.hosts = { 'a.test' = '::1', '*.xn--ü.de' = '::1' }",
            'fetch.hosts: expected the name of a host, as "www.example.org", found "*.xn--ü.de", which no URL can have',
        ),
        (
            "fetch.unverified = ['xn--ü.de']",
            'fetch.unverified: expected the name of a host, as "www.example.org", found',
        ),
        ("fetch.proxies = { 'xn--ü.de' = 'http://b.test' }", "fetch.proxies: expected the name of a host, as "),
        ("fetch.logins = { 'xn--ü.de' = 'env:LOGIN' }", "fetch.logins: expected the name of a host, as "),
        ("identity.hosts = ['*', 'xn--ü.de']", "identity.hosts: expected the name of a host, as "),
        (
            "fetch.hosts = { a = '999.0.0.1' }",
            'fetch.hosts: expected an IP address for "a", with or without port, found ',
        ),
        (
            "fetch.hosts = { a = '127.0.0.1:' }",
            'fetch.hosts: expected a port from 1 to 65535 for "a", found "127.0.0.1:"',
        ),
        (
            "fetch.hosts = { a = '127.0.0.1:0' }",
            'fetch.hosts: expected a port from 1 to 65535 for "a", found "127.0.0.1:0"',
        ),
        ("fetch.hosts = { a = '[::1]:65536' }", 'fetch.hosts: expected a port from 1 to 65535 for "a", found '),
        (f"fetch.hosts = {{ a = '127.0.0.1:{'1' * 5000}' }}", "fetch.hosts: expected a table such as "),
        (
            "fetch.proxies = { '*' = 'http://192.0.2.1:3128', a = 'http://b.test:99999/' }",
            'fetch.proxies: expected a port from 1 to 65535 for "a", found "http://b.test:99999/"',
        ),
        (
            "fetch.proxies = { a = 'http://b.test:0' }",
            'fetch.proxies: expected a port from 1 to 65535 for "a", found "http://b.test:0"',
        ),
        (
            "fetch.proxies = { a = 'socks5://[1.2]:80' }",
            'fetch.proxies: expected an IPv6 address in the brackets for "a", found "socks5://[1.2]:80"',
        ),
        ("fetch.headers = { 'X-A' = \"b\\r\\nX-C: d\" }", "fetch.headers: expected a table such as "),
        ("fetch.headers = { 'X A' = 'b' }", "fetch.headers: expected a table such as "),
        (
            "fetch.headers = { 'user-agent' = 'b' }",
            "fetch.headers: the header user-agent can't be set here: set fetch.user",
        ),
        ("fetch.headers = { 'Host' = 'b' }", "fetch.headers: the header Host can't be set here: the fetcher sets it"),
        (
            "politeness.min_delay_s = 60",
            "politeness.min_delay_s: expected at most politeness.max_delay_s, which is 30 (default), found 60",
        ),
        (
            "frontier.retry_delay_s = 7200",
            "frontier.retry_delay_s: expected at most frontier.retry_max_delay_s, which is 3600 (default), found 7200",
        ),
        (
            "fetch.connect_timeout_s = 61",
            "fetch.connect_timeout_s: expected at most fetch.timeout_s, which is 60 (default), found 61",
        ),
        (
            "extends = 'brod'",
            (
                "extends: expected the name of a preset, one of broad, compare-literature, "
                "compare-literature-short, one-site, polite-archive, "
            ),
        ),
        (
            "extends = 5",
            (
                "extends: expected the name of a preset, one of broad, compare-literature, "
                "compare-literature-short, one-site, polite-archive, "
            ),
        ),
        (
            "extends = '../broad'",
            (
                "extends: expected the name of a preset, one of broad, compare-literature, "
                "compare-literature-short, one-site, "
            ),
        ),
        (f"scope.max_depth = {HUGE}", "not valid TOML: "),
        ("scope.include = " + "[" * 3000, "not "),
    ],
)
def test_a_wrong_line_of_a_file_is_refused_with_its_place_and_what_was_expected(
    line: str, problem: str, tmp_path: Path
) -> None:
    seeds = "" if line.startswith("crawl.seeds") else 'crawl.seeds = ["https://a.test/"]'
    [found] = problems_of(written(tmp_path, f"{line}\n{seeds}\n"))
    place, _, rest = found.partition(": ")
    assert rest.startswith(problem)
    assert place.startswith("crawl.toml:1") or "not " in problem
    assert len(found) < 400


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "line",
    [
        f'crawl.name = "{LONG}"',
        f'fetch.hosts = {{ "a.test" = "{LONG}" }}',
        f'fetch.hosts = {{ "{LONG}" = "1" }}',
        f'fetch.allow_networks = ["{LONG}"]',
        f'extends = "{LONG}"',
        f"{LONG} = 1",
        f"fetch.{LONG} = 1",
        f"visited.options.{LONG} = 1",
        f"{LONG}.name = 1",
    ],
    ids=lambda line: line.replace(LONG, "LONG"),
)
def test_a_message_quotes_the_beginning_of_a_long_value_and_its_length(line: str, tmp_path: Path) -> None:
    seeds = "" if line.startswith(("crawl.name", "extends")) else 'crawl.seeds = ["https://a.test/"]'
    problems = problems_of(written(tmp_path, f"{line}\n{seeds}\n"))
    assert len("".join(problems)) < 5_000
    assert re.search(r"… \(1,000,\d\d\d characters\)", problems[0])


@pytest.mark.parametrize("value", ['["LONG"]', r'[["LONG"], "a\nb"]'])
def test_a_message_quotes_a_long_list_in_one_line(value: str, tmp_path: Path) -> None:
    line = f"fetch.hosts = {value.replace('LONG', LONG)}"
    [problem] = problems_of(written(tmp_path, f'{line}\ncrawl.seeds = ["https://a.test/"]\n'))
    assert "\n" not in problem
    assert re.search(r'found (\[ )+"xxx', problem)


def test_a_message_about_an_option_quotes_the_beginning_of_a_long_value(tmp_path: Path) -> None:
    path = written(tmp_path, MINIMAL)
    with pytest.raises(ConfigError) as refused:
        load(path, overrides=[f"fetch.{LONG}=1", LONG], environ={f"ONCEOVER_FETCH__{LONG}": "1"})
    assert len(refused.value.problems) == 3
    assert len(str(refused.value)) < 15_000


def test_a_shortened_message_is_not_shortened_again() -> None:
    problem = Problem(LONG)
    assert Problem(problem.message) == problem
    assert problem.message.endswith("x… (1,000,000 characters)")


def test_all_problems_of_all_sources_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, '[crawl]\nseed_files = ["no.txt"]\n[fetch]\ntimeout_s = "x"\nzzz = 1\n[zzz]\na = 1\n')
    problems = problems_of(
        path,
        environ={"ONCEOVER_FETCH__CONCURENCY": "5", "ONCEOVER_LIMITS__PAGES": "many"},
        overrides=["politeness.min_delay_s=60", "scope.within", "=", "zzz.x=1", "fetch.hosts.=x", CONTACT],
    )
    hosts = "fetch.hosts.: unknown key; did you mean fetch.hosts?"
    assert [problem.partition(", found")[0] for problem in problems] == [
        (
            "crawl.toml:5: fetch.zzz: unknown key; [fetch] has user_agent, concurrency, spare, "
            "timeout_s, connect_timeout_s, head_timeout_s, min_window_bytes, window_s, max_body_bytes, "
            "max_sitemap_bytes, max_memory_bytes, max_connection_bytes, extractor, "
            "extractor_options, backend, options, allow_private, "
            "allow_networks, authorities, hosts, "
            "resolver, unverified, proxies, logins, max_redirects, languages, headers, cookies, hsts"
        ),
        (
            "crawl.toml:6: unknown section [zzz]; there are [crawl], [scope], [traps], [focus], [frontier], [visited], "
            "[politeness], [fetch], [identity], [render], [urls], [output], [duplicates], [recrawl], [limits], "
            "[log], [progress], [exchange], [daemon], [compare]"
        ),
        "environment ONCEOVER_FETCH__CONCURENCY: fetch.concurency: unknown key; did you mean fetch.concurrency?",
        "--set: expected KEY=VALUE in UTF-8, as fetch.timeout_s=5",
        "--set: unknown key; `onceover config show` lists all keys",
        "--set: zzz.x: unknown key; `onceover config show` lists all keys",
        f"--set: {hosts}",
        (
            "crawl.toml:4: fetch.timeout_s: expected a duration, 0.001 s to 1 d, as a number of seconds "
            'or as text such as "500 ms", "10 min"'
        ),
        "environment ONCEOVER_LIMITS__PAGES: limits.pages: expected a whole number, 1 to 1_000_000_000_000",
        "--set: politeness.min_delay_s: expected at most politeness.max_delay_s, which is 30 (default)",
        f"crawl.toml:2: crawl.seed_files: can't read {tmp_path}/no.txt: No such file or directory",
    ]


def test_the_text_of_an_error_has_a_line_for_each_problem() -> None:
    one = ConfigError([Problem("expected this", where="--set", key="a.b")])
    assert str(one) == "--set: a.b: expected this"
    two = ConfigError([Problem("this"), Problem("that", where="x.toml:1")])
    assert str(two) == "2 problems in the configuration\n  this\n  x.toml:1: that"


def test_a_default_gives_way_where_lowering_its_upper_limit_is_meant() -> None:
    config = load(None, overrides=[SEED, "fetch.timeout_s=5", "frontier.retry_max_delay_s=1"]).config
    assert (config.fetch.timeout_s, config.frontier.retry_max_delay_s) == (5.0, 1.0)
    assert problems_of(None, overrides=[SEED, "politeness.max_delay_s=0.5"]) == [
        "politeness.min_delay_s: expected at most politeness.max_delay_s, which is 0.5 (--set), found 1"
    ]


def test_a_login_for_a_host_with_a_port_is_told_that_hosts_have_none() -> None:
    [problem] = problems_of(None, overrides=[SEED, 'fetch.logins={ "a.test:8080" = "env:LOGIN" }'])
    assert "with hosts without ports, found" in problem


def test_two_values_are_not_compared_when_one_of_them_is_refused_already() -> None:
    [problem] = problems_of(None, overrides=[SEED, "politeness.max_delay_s=-1", "politeness.min_delay_s=60"])
    assert problem.startswith("--set: politeness.max_delay_s: expected a duration")


def test_a_filter_that_no_memory_can_hold_is_refused() -> None:
    [problem] = problems_of(None, overrides=[SEED, "visited.backend=bloom", "visited.capacity=1_000_000_000_000"])
    assert problem == (
        "--set: visited.capacity: 1_000_000_000_000 URLs at error_rate 0.0001 (default) need a filter of 2232 GiB, "
        "and the largest possible has 128 GiB; lower the capacity or raise the error_rate"
    )
    load(None, overrides=[SEED, "visited.backend=bloom", "visited.capacity=1_000_000_000"])


def test_a_value_that_is_replaced_is_not_checked(tmp_path: Path) -> None:
    path = written(tmp_path, f"{MINIMAL}[fetch]\ntimeout_s = -1\n")
    assert load(path, overrides=["fetch.timeout_s=5"]).config.fetch.timeout_s == 5.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[crawl]\nseeds = [", "crawl.toml:2: not valid TOML: "),
        ("[crawl]\nseeds = 'x\n", "crawl.toml:2: not valid TOML: "),
        ("[crawl]\nseeds\n", "crawl.toml:2:6: not valid TOML: Expected '='"),
        ("[crawl]\nname = 'a'\nname = 'b'\n", "crawl.toml:3:11: not valid TOML: Cannot overwrite a value"),
        ("[fetch]\n[crawl]\n[fetch]\n", "crawl.toml:3:7: not valid TOML: "),
        (
            "[crawl]\n" + "a." * 100_000 + "a = 1\n",
            "crawl.toml:2:1: not valid TOML: expected a key of at most 20 parts",
        ),
    ],
)
def test_a_syntax_error_names_line_and_column(text: str, problem: str, tmp_path: Path) -> None:
    [found] = problems_of(written(tmp_path, text))
    assert found.startswith(problem)


def test_a_missing_file_is_refused_with_the_way_to_write_one(tmp_path: Path) -> None:
    expected = "no.toml: can't read the configuration: No such file or directory; `onceover config init` writes one"
    assert problems_of(tmp_path / "no.toml") == [expected]


def test_a_pipe_is_no_configuration_unless_a_shell_has_made_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "crawl.toml")
    [found] = problems_of(tmp_path / "crawl.toml")
    assert found.startswith("crawl.toml: expected a file, found a pipe")
    reader, writer = os.pipe()
    try:
        os.write(writer, MINIMAL.encode())
        os.close(writer)
        assert load(f"/dev/fd/{reader}").seeds
    finally:
        os.close(reader)


def test_a_directory_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "crawl.toml").mkdir()
    assert problems_of(tmp_path / "crawl.toml") == ["crawl.toml: can't read the configuration: Is a directory"]


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    path.write_bytes("[crawl]\n# Käse\n".encode("latin-1"))
    assert problems_of(path) == ["crawl.toml:2: expected TOML in UTF-8; save the file as UTF-8"]


def test_bytes_that_are_no_text_are_refused_from_environment_and_command_line() -> None:
    bad = b"\xff".decode("utf-8", "surrogateescape")
    problems = problems_of(None, environ={"ONCEOVER_CRAWL__NAME": bad}, overrides=[SEED, f"crawl.directory={bad}"])
    assert problems[0] == "environment ONCEOVER_CRAWL__NAME: crawl.name: expected text in UTF-8"
    assert problems[1].startswith("--set: expected KEY=VALUE in UTF-8")


def test_an_unknown_preset_is_refused_with_the_closest() -> None:
    [problem] = problems_of(None, preset="quick-start", overrides=[SEED])
    assert problem == (
        "--preset: preset: expected the name of a preset, one of broad, compare-literature, compare-literature-short, "
        'one-site, polite-archive, quickstart, found "quick-start"; did you mean quickstart?'
    )


texts = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = (
    st.booleans() | st.integers() | st.floats() | texts | st.dates() | st.sampled_from(["5 s", "10 GB", "host", ""])
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
KEYS = st.sampled_from([key for key in settings() if key != "crawl.seed_files"])


def refusals(path: Path | None, *, overrides: Sequence[str] = ()) -> tuple[Problem, ...]:
    try:
        load(path, overrides=overrides, require_seeds=False)
    except ConfigError as error:
        return error.problems
    return ()


@given(KEYS, values)
def test_any_value_at_any_key_is_taken_or_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    path = written(tmp_path_factory.getbasetemp(), f"{key} = {toml_value(value)}\n", name="any-value.toml")
    # A table of options may have several that are unknown; each is named below the table.
    found = {
        (key if (problem.key or "").startswith(f"{key}.") else problem.key, bool(problem.where))
        for problem in refusals(path)
    }
    assert found in (set(), {(key, True)}, {("politeness.min_delay_s", False)}, {("fetch.user_agent", False)})


@given(KEYS, st.text(max_size=30) | values.map(toml_value))
def test_any_text_on_the_command_line_is_taken_or_refused_by_name(key: str, text: str) -> None:
    # A table of options may have several that are unknown.
    assert (
        len({(problem.key or "").partition(".options.")[0] for problem in refusals(None, overrides=[f"{key}={text}"])})
        <= 1
    )


@given(st.binary(max_size=60) | st.text("[]{}='\"#\\.\n ax", max_size=40).map(str.encode))
def test_any_bytes_as_a_file_are_taken_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-bytes.toml"
    path.write_bytes(data)
    assert all(str(path) in str(problem) for problem in refusals(path))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fetch.headers = { Authorization = 'Bearer geheim-ü' }", 'something else under "Authorization"'),
        ("fetch.headers = { 'X A' = 'geheim' }", 'something else under "X A"'),
        ("fetch.headers = { Accept = 'a', Authorization = ['geheim'] }", 'something else under "Authorization"'),
        ("fetch.headers = ['geheim']", "something else"),
        ("fetch.logins = { 'a.test' = 'env:A', 'b.test' = 'user:geheim' }", 'something else under "b.test"'),
        ("fetch.logins = 'user:geheim'", "something else"),
        ("fetch.proxies = { '*' = 'http://user:geheim@127.0.0.1:1' }", 'something else under "*"'),
        ("[[site]]\nmatch = ['a.test']\nfetch.headers = { A = ['geheim'] }", 'something else under "A"'),
    ],
)
def test_a_wrong_value_that_may_be_a_secret_is_not_shown(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    path.write_text(f'crawl.seeds = ["http://a.test/"]\n{text}\n')
    with pytest.raises(ConfigError) as refused:
        load(path)
    [problem] = refused.value.problems
    assert problem.message.endswith(f", found {found}, which is not shown, because it may be secret")
    assert "geheim" not in str(problem)
