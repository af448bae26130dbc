"""Which directories the crawls of a folder may have."""

from pathlib import Path

import pytest

from crawler.serve.folder import overlaps, read_folder


@pytest.mark.parametrize(
    ("directories", "refused"),
    [
        ({"a": "crawls/a", "b": "crawls/b", "c": "crawls/ab"}, {}),
        ({"a": "crawls/a", "b": "crawls/a"}, {"b": "a"}),
        ({"a": "crawls/a", "b": "crawls/a/records/x"}, {"b": "a"}),
        ({"a": "crawls/a/records/x", "b": "crawls/a"}, {"b": "a"}),
        ({"a": "link/a", "b": "crawls/a"}, {"b": "a"}),
        # A refused crawl keeps no other from running.
        ({"a": "crawls/a", "b": "crawls", "c": "crawls/c"}, {"b": "a"}),
        (
            {"a": "daemon", "b": ".", "c": "daemon/crawls", "d": "..", "e": "daemons"},
            dict.fromkeys("abcd", "the daemon"),
        ),
    ],
)
def test_the_directories_of_crawls_and_the_folder_of_the_daemon_do_not_overlap(
    directories: dict[str, str], refused: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "crawls").mkdir()
    (tmp_path / "link").symlink_to("crawls")
    found = overlaps({name: str(tmp_path / each) for name, each in directories.items()}, homes=[tmp_path])
    assert found.keys() == refused.keys()
    for name, user in refused.items():
        assert f"and {user} uses {tmp_path}" in found[name]


def test_a_crawl_in_the_folder_of_the_daemon_is_broken(tmp_path: Path) -> None:
    (tmp_path / "self.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\ndirectory = "daemon"\n')
    found = read_folder(tmp_path)["self"]
    assert found.plan is None
    assert f"self.toml: crawl.directory is {tmp_path}/daemon, and the daemon uses" in found.problems[0]
