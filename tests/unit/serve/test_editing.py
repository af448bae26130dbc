"""Settings are changed in the file of a crawl as `set` takes them, and as far as a program may send a configuration."""

import os
from pathlib import Path

import pytest

from config import ConfigError
from crawler.serve.editing import Unwritable, edit, read_text, replace_text
from tests.full_disk import no_space

DOCS = """\
[crawl]
seeds = ["http://a.test/"]  # mine
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "docs.toml").write_text(DOCS)
    return tmp_path


def test_an_edit_is_written_and_can_be_undone(home: Path) -> None:
    file = home / "docs.toml"
    file.chmod(0o600)
    edited = edit(home, "docs", ["limits.pages=10", "crawl.seed_files=", "politeness.max_delay_s=5 min"])
    assert file.read_text() == DOCS
    assert [each.key for each in edited.changes] == ["politeness.max_delay_s", "limits.pages"]
    assert sorted(edited.settings) == ["crawl.seed_files=[]", "limits.pages=10", 'politeness.max_delay_s="5 min"']
    edited.write()
    assert "pages = 10" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    edited.undo()
    assert file.read_text() == DOCS
    assert {path.name for path in home.iterdir()} == {"docs.toml"}


def test_paths_are_those_in_the_folder(home: Path) -> None:
    (home / "seeds.txt").write_text("http://b.test/\n")
    edited = edit(home, "docs", ["crawl.seed_files=seeds.txt"])
    assert b'seed_files = ["seeds.txt"]' in edited.after
    assert edited.settings == [f'crawl.seed_files=["{home / "seeds.txt"}"]']


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["politeness.min_delay_z=5"], "politeness.min_delay_z: unknown key; did you mean politeness.min_delay_s?"),
        (["limits.pages=many"], "limits.pages: expected a whole number"),
        (["crawl.seed_files=/etc/hostname"], "crawl.seed_files: expected a path within"),
        (["crawl.seed_files=token"], "crawl.seed_files: expected no file that the daemon has for itself"),
        (['crawl.seed_files=["nowhere.txt"]'], "nowhere.txt"),
        (["crawl.directory=/tmp/x"], "crawl.directory: expected a path within"),
        (["crawl.name=../x"], "crawl.name: expected"),
        (["crawl.directory=crawls/other"], "crawl.directory: expected"),
        (["render.browser=/bin/true"], "render.browser: expected in files that were put into"),
        (["fetch.logins.a.test=file:/etc/hostname"], "fetch.logins: expected in files that were put into"),
        (["exchange.url=redis://a.test"], "exchange: expected in files that were put into"),
        (["visited.options.password_file=x"], "visited.options.password_file: expected in files that were put into"),
        (
            ['visited.options={"password_file"="x"}', "visited.options={}"],
            "visited.options.password_file: expected in files that were put into",
        ),
        (["fetch.hosts.a.test=::1", "fetch.hosts=5"], "fetch.hosts: expected a table"),
        (["crawl.name=new"], "where the crawl is, found"),
    ],
)
def test_what_set_or_put_refuse_is_refused(home: Path, settings: list[str], words: str) -> None:
    (home / "other.toml").write_text('crawl.seeds = ["http://b.test/"]')
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    with pytest.raises(ConfigError) as refused:
        edit(home, "docs", settings)
    assert words in str(refused.value)
    assert "--set" not in str(refused.value)
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


def test_a_value_that_the_file_cannot_give_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEOVER_LIMITS__PAGES", "7")
    with pytest.raises(ConfigError, match=r"limits.pages: docs.toml can't .* environment ONCEOVER_LIMITS__PAGES"):
        edit(home, "docs", ["limits.pages=10"])
    monkeypatch.delenv("ONCEOVER_LIMITS__PAGES")
    (home / "docs.toml").write_text('extends = "quickstart"\n' + DOCS)
    with pytest.raises(ConfigError, match=r"limits.pages: docs.toml can't .* preset quickstart"):
        edit(home, "docs", ["limits.pages="])


def test_what_is_no_file_of_the_folder_is_left_alone(home: Path, tmp_path: Path) -> None:
    (home / "linked.toml").symlink_to(home / "docs.toml")
    os.mkfifo(home / "pipe.toml")
    for name, found in (("linked", "a symbolic link"), ("pipe", "something else"), ("gone", "nothing")):
        with pytest.raises(Unwritable, match=f"expected a file at .*{name}.toml, found {found}; change it where"):
            edit(home, name, ["limits.pages=10"])
    (home / "..docs.toml").mkdir()
    with pytest.raises(Unwritable, match="can't be written to: Is a directory; change it where it is kept"):
        edit(home, "docs", ["limits.pages=10"])


def test_the_whole_text_is_replaced_unless_somebody_has_changed_it_meanwhile(home: Path) -> None:
    file, new = home / "docs.toml", DOCS + '[[site]]\nmatch = ["a.test"]\npoliteness.min_delay_s = 9\n'
    edited = replace_text(home, "docs", new, before=read_text(home, "docs"))
    assert file.read_text() == DOCS
    assert [each.key for each in edited.changes] == ["site[1].match", "site[1].politeness.min_delay_s"]
    edited.write()
    assert file.read_text() == new
    with pytest.raises(Unwritable, match=r"docs.toml was changed by somebody else meanwhile"):
        replace_text(home, "docs", DOCS, before=DOCS)
    file.write_text("[crawl\n")
    replace_text(home, "docs", DOCS, before="[crawl\n").write()
    assert read_text(home, "docs") == DOCS
    file.write_bytes(b"\xff")
    with pytest.raises(Unwritable, match=r"docs.toml can't be read: .*; change it where it is kept"):
        read_text(home, "docs")


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ("[limits]\npages = 'many'\n", "docs.toml:4: limits.pages: expected"),
        ("[crawl", "docs.toml:3"),
        ("[render]\nbrowser = '/bin/true'\n", "render.browser: expected in files that were put into"),
        ("[scope]\nplace_files = ['/etc/hostname']\n", "scope.place_files: expected a path within"),
        ("[urls]\nrules = 5\n", "urls.rules"),
    ],
)
def test_a_text_that_set_or_put_would_refuse_is_refused(home: Path, more: str, word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        replace_text(home, "docs", DOCS + more, before=DOCS)
    assert word in str(refused.value)
    assert {path.name: path.read_text() for path in home.iterdir()} == {"docs.toml": DOCS}


def test_what_was_put_into_a_file_by_hand_stays_when_its_text_is_replaced(home: Path) -> None:
    by_hand = DOCS + "[fetch]\nlogins = { 'a.test' = 'env:LOGIN' }\n"
    (home / "docs.toml").write_text(by_hand)
    assert replace_text(home, "docs", f"{by_hand}timeout_s = 9\n", before=by_hand).changes[0].key == "fetch.timeout_s"
    with pytest.raises(ConfigError, match=r"fetch.logins: expected in files that were put into"):
        replace_text(home, "docs", by_hand.replace("a.test'", "b.test'"), before=by_hand)


def test_a_full_disk_is_told_as_one_and_leaves_nothing_behind(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fdopen", no_space)
    with pytest.raises(OSError, match="No space left on device"):
        edit(home, "docs", ["limits.pages=10"])
    assert {path.name for path in home.iterdir()} == {"docs.toml"}
