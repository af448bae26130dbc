"""What one configuration changes of another, told in a line for each setting."""

from functools import partial
from pathlib import Path

from config import changes, differences, load
from tests.unit.test_config_loader import MINIMAL, written


def told(directory: Path, before: str, after: str, *overrides: str) -> list[str]:
    old = load(written(directory, MINIMAL + before, name="old.toml"), overrides=["crawl.name=x"])
    new = load(written(directory, MINIMAL + after, name="new.toml"), overrides=["crawl.name=x", *overrides])
    return changes(old.config, new)


def test_what_is_the_same_is_not_told(tmp_path: Path) -> None:
    text = '[fetch]\ntimeout_s = "1 min"\n[[site]]\nmatch = ["a"]\nfetch.timeout_s = 30\n'
    assert told(tmp_path, text, text.replace("1 min", "60 s")) == []


def test_settings_of_blocks_are_told_and_those_that_come_and_go(tmp_path: Path) -> None:
    site = '[[site]]\nmatch = ["*.a.test"]\npoliteness.min_delay_s = {}\n'
    assert told(tmp_path, site.format(5), site.format(6)) == ["site[1].politeness.min_delay_s is 6.0; it was 5.0"]
    assert told(tmp_path, site.format(5), "") == [
        'site[1].match is unset; it was ["*.a.test"]',
        "site[1].politeness.min_delay_s is unset; it was 5.0",
    ]
    assert told(tmp_path, "", "[limits]\npages = 5\n") == ["limits.pages is 5; it was unset"]


def test_of_lists_and_tables_what_came_and_what_went_is_told_and_long_ones_are_cut(tmp_path: Path) -> None:
    before = f"[scope]\nexclude = {[f'/{number}' for number in range(9)]}\n"
    after = f"[scope]\nexclude = {['/8', '/new', 'x' * 200]}\n"
    assert told(tmp_path, before, after) == [
        f'scope.exclude has "/new", "{"x" * 78}… more and no longer has "/0", "/1", "/2" and 5 others'
    ]
    assert told(tmp_path, "[scope]\nexclude = ['/a', '/b']\n", "[scope]\nexclude = ['/b', '/a']\n") == [
        "scope.exclude is in another order"
    ]
    hosts = '[fetch]\nhosts = {{ "a.test" = "127.0.0.{}" }}\n'
    assert told(tmp_path, hosts.format(1), hosts.format(2)) == [
        'fetch.hosts has "a.test" = "127.0.0.2" more and no longer has "a.test" = "127.0.0.1"'
    ]


def test_values_of_headers_are_not_told(tmp_path: Path) -> None:
    def headers(text: str) -> str:
        return f"[fetch]\nheaders = {{ {text} }}\n"

    told_of = partial(told, tmp_path)
    one, two, both = 'X-Key = "hush-1"', 'X-Key = "hush-2"', 'X-Key = "hush-2", Cookie = "hush-3"'
    assert told_of(headers(one), headers(two)) == ['fetch.headers has another value of "X-Key"']
    assert told_of(headers(one), headers(both)) == ['fetch.headers has "Cookie" more and has another value of "X-Key"']
    assert told_of(headers(both), headers(two)) == ['fetch.headers no longer has "Cookie"']
    assert told_of("", headers(one)) == ['fetch.headers is ["X-Key"]; it was []']
    site = '[[site]]\nmatch = ["a.test"]\nfetch.headers = {{ {} }}\n'
    assert told_of(site.format(one), site.format(two)) == ['site[1].fetch.headers has another value of "X-Key"']
    old = load(written(tmp_path, MINIMAL + headers(one)))
    new = load(written(tmp_path, MINIMAL + headers(both)))
    assert "hush" not in str(differences(old.config, new.config))


def test_limits_of_one_run_change_nothing_that_lasts(tmp_path: Path) -> None:
    assert told(tmp_path, "[limits]\npages = 5\n", "[limits]\npages = 5\n", "limits.pages=9", "limits.bytes=9") == []
    loaded = load(written(tmp_path, f"{MINIMAL}[limits]\npages = 5\n"), environ={"ONCEOVER_LIMITS__PAGES": "7"})
    assert (loaded.config.limits.pages, loaded.lasting.limits.pages) == (7, 5)


def test_a_preset_changes_what_a_crawl_was_run_with_and_gives_way_to_a_users_file(tmp_path: Path) -> None:
    path = written(tmp_path, f"{MINIMAL}[fetch]\nconcurrency = 3\n")
    assert load(path, preset="broad").config.fetch.concurrency == 3
    assert load(path, preset="broad", as_run=True).config.fetch.concurrency == 256
