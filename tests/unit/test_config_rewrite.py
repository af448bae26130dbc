"""Values of settings change in a file, and all else in it stays."""

from pathlib import Path

import pytest

from config import ConfigError, load
from config.loading.loader import setting_values
from config.show.rewrite import rewrite_toml

WRITTEN = """\
# Our docs.
[crawl]
seeds = ["http://a.test/"]  # all of them

[fetch]
timeout_s = 5   # slow servers
hosts = { "a.test" = "127.0.0.1" }

[visited]
backend = "bloom"
[visited.options]
shards = 2

[[site]]
match = ["a.test"]
fetch.timeout_s = 7
"""


def changed(written: str, place: Path, *settings: str) -> str:
    file = place / "docs.toml"
    file.write_text(written)
    text = rewrite_toml(written, setting_values(file, settings))
    file.write_text(text)
    return text


def test_only_the_value_changes_and_comments_stay(tmp_path: Path) -> None:
    assert changed(WRITTEN, tmp_path, "fetch.timeout_s=300") == WRITTEN.replace("= 5 ", '= "5 min" ')
    assert changed(WRITTEN, tmp_path, 'crawl.seeds=["http://b.test/"]') == WRITTEN.replace("a.test/", "b.test/")


def test_a_setting_that_the_file_does_not_have_comes_into_its_section(tmp_path: Path) -> None:
    text = changed(WRITTEN, tmp_path, "fetch.concurrency=3", "limits.pages=10", r"scope.exclude=\.iso$")
    found = load(tmp_path / "docs.toml").config
    assert (found.fetch.concurrency, found.limits.pages, found.scope.exclude) == (3, 10, (r"\.iso$",))
    assert (found.fetch.timeout_s, found.site[0].overrides) == (5, {"fetch.timeout_s": 7.0})
    assert {line for line in WRITTEN.splitlines() if line} <= set(text.splitlines())


def test_tables_and_options_change_as_a_whole(tmp_path: Path) -> None:
    changed(WRITTEN, tmp_path, "fetch.hosts.b.test=127.0.0.2", "visited.options.shards=4")
    found = load(tmp_path / "docs.toml").config
    assert found.fetch.hosts == {"a.test": "127.0.0.1", "b.test": "127.0.0.2"}
    assert found.visited.options == {"shards": 4}
    assert found.site[0].match == ("a.test",)


@pytest.mark.parametrize(
    "written",
    [
        'crawl.seeds = ["http://a.test/"]\nfetch.timeout_s = 5\n',
        'fetch = { timeout_s = 5 }\ncrawl = { seeds = ["http://a.test/"] }',
        '[fetch]\r\ntimeout_s = 5\r\n\r\n[crawl]\r\nseeds = ["http://a.test/"]\r\n',
        '[fetch.hosts]\n"a.test" = "127.0.0.1"\n[crawl]\nseeds = ["http://a.test/"]\n[fetch]\ntimeout_s = 5\n',
    ],
)
def test_each_way_to_write_a_section_can_be_changed(written: str, tmp_path: Path) -> None:
    changed(written, tmp_path, "fetch.timeout_s=6", "fetch.spare=7", "politeness.per_host=2", "fetch.hosts.b.test=::1")
    found = load(tmp_path / "docs.toml").config
    assert (found.fetch.timeout_s, found.fetch.spare, found.politeness.per_host) == (6, 7, 2)
    assert found.crawl.seeds == ("http://a.test/",)
    assert found.fetch.hosts["b.test"] == "::1"
    changed((tmp_path / "docs.toml").read_text(), tmp_path, "limits.pages=5")
    changed((tmp_path / "docs.toml").read_text(), tmp_path, "limits.pages=")
    assert load(tmp_path / "docs.toml").config.limits.pages is None


def test_all_that_is_wrong_is_told_and_no_file_that_is_named_is_read(tmp_path: Path) -> None:
    (tmp_path / "docs.toml").write_text("[fetch]\ntimeout_z = 5\n")
    with pytest.raises(ConfigError) as refused:
        setting_values(tmp_path / "docs.toml", ["fetch.spare=x", "limits.page=5", "nonsense"])
    told = str(refused.value)
    for each in ("docs.toml:2: fetch.timeout_z", "fetch.spare: expected", "limits.page: unknown", "expected KEY=VALUE"):
        assert each in told
    (tmp_path / "docs.toml").write_text("")
    found = setting_values(tmp_path / "docs.toml", ["crawl.seed_files=nowhere.txt"])
    assert found == {"crawl.seed_files": ("nowhere.txt",)}


def test_what_is_added_ends_its_lines_as_the_rest_does(tmp_path: Path) -> None:
    for written in (WRITTEN, WRITTEN.replace("\n", "\r\n")):
        file = tmp_path / "docs.toml"
        file.write_bytes(written.encode())
        text = rewrite_toml(written, setting_values(file, ["fetch.spare=7", "limits.pages=5", "politeness.per_host=2"]))
        assert "per_host" in text
        assert text.count("\r\n") == (text.count("\n") if "\r" in written else 0)
