"""Which directories the crawls of a folder may have."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from config import Config, Setting, settings
from config.loading.blocks import all_values
from crawler.serve import folder
from crawler.serve.folder import clear_remains, overlaps, problems_of_new, read_folder, set_aside
from tests.e2e.crawling import USAGE
from tests.e2e.operating import command_here


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


def test_relative_paths_in_a_checked_folder_start_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.toml").write_text('crawl.seeds = ["http://a.test/"]\nscope.place_files = ["places.txt"]\n')
    monkeypatch.chdir(tmp_path)
    lacking = command_here("config", "check", "home")
    assert lacking.code == USAGE
    assert lacking.err.startswith("onceover: home/a.toml:2: scope.place_files: can't read ")
    (home / "places.txt").write_text("http://a.test/\n")
    assert command_here("config", "check", "home").out == "home/a.toml is valid: 1 seed, into crawls/a\n"
    assert Path.cwd() == tmp_path


def test_a_configuration_that_vanishes_while_its_folder_is_read_is_no_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    (tmp_path / "link.toml").symlink_to("nowhere")
    monkeypatch.setattr(folder, "read_names", lambda _: ["a.toml", "gone.toml", "link.toml"])
    assert read_folder(tmp_path).keys() == {"a", "link"}


def test_files_that_can_be_no_crawls_hold_nobody_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = '[crawl]\nseeds = ["http://a.test/"]\n'
    (tmp_path / "good.toml").write_text(good)
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "two\nlines.toml").write_text(good)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml")).write_text(good)
    longest = "\xfc" * 120
    (tmp_path / f"{longest}.toml").write_text(good)
    (tmp_path / f"{longest}x.toml").write_text(good)
    found = read_folder(tmp_path)
    assert {name for name, each in found.items() if each.plan is not None} == {"good", longest}
    assert found.keys() == {"good", longest, "pipe", "device", "loop", "folder"}
    assert "expected a file, found something else" in found["pipe"].problems[0]
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [
        "two\nlines.toml",
        f"{longest}x.toml",
        "\udcff.toml",
    ]
    assert set_aside(tmp_path, longest).exists()
    checked = command_here("config", "check", str(tmp_path))
    assert (checked.code, checked.err.count("expected a file, found something else")) == (USAGE, 3), checked


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a." * 100_000 + "a = 1", "new.toml:1:1: not valid TOML: expected a key of at most"),
        ("a = " + "1" * 10_000, "new.toml:1: not valid TOML: Exceeds the limit"),
        ("a = \xff", "new.toml:1: expected TOML in UTF-8"),
    ],
)
def test_a_configuration_that_cannot_be_parsed_is_refused_with_its_line(
    text: str, problem: str, tmp_path: Path
) -> None:
    [found] = problems_of_new(tmp_path, "new", text.encode("latin-1"))
    assert found.startswith(problem)
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_that_somebody_has_hidden_is_kept_when_a_program_sends_another(tmp_path: Path) -> None:
    hidden = tmp_path / ".new.toml"
    hidden.write_text("mine")
    assert problems_of_new(tmp_path, "new", b'crawl.seeds = ["http://a.test/"]') == ()
    assert [path.name for path in tmp_path.iterdir()] == [".new.toml"]
    assert hidden.read_text() == "mine"


def test_what_a_daemon_that_was_killed_was_writing_is_deleted_and_what_people_hide_stays(tmp_path: Path) -> None:
    for name in ("..a.toml", "..a.toml.made", "..a.toml.new"):
        (tmp_path / name).write_text("half")
    kept = [".....toml.deleted", ".a.toml", ".a.toml.bak", ".a.toml.deleted", ".a.toml.made", ".a.toml.new"]
    kept += [".deleted", "a.toml", "a.toml.new"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    assert clear_remains(tmp_path) == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_the_digest_of_a_configuration_depends_on_what_it_says_and_not_on_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another digest ends the rest of a crawl that is complete or has reached its limit."""
    text, site = '[crawl]\nseeds = ["http://a.test/"]\n', '[[site]]\nmatch = ["a.test"]\n'

    def digest(text: str) -> str:
        (tmp_path / "a.toml").write_text(text)
        plan = read_folder(tmp_path)["a"].plan
        assert plan is not None
        return plan.digest

    assert digest(text) == digest(f'{text}name = "a"\ndirectory = "crawls/a"\n') == "00a518f298634f81f9fa63de06cb0777"
    others = [
        f"{text}[limits]\npages = 5\n",
        *(f"{text}{site}politeness.min_delay_s = {delay}\n" for delay in (5, 6)),
        '[crawl]\nseed_files = ["seeds.txt"]\n',
    ]
    (tmp_path / "seeds.txt").write_text("http://a.test/\n")
    digests = [digest(each) for each in [text, *others]]
    (tmp_path / "seeds.txt").write_text("http://b.test/\n")
    digests.append(digest(others[-1]))
    assert len(set(digests)) == len(digests)
    delays = ["politeness.min_delay_s = 5\n", "politeness.max_delay_s = 50\n"]
    assert digest(text + site + "".join(delays)) == digest(text + site + "".join(reversed(delays)))
    one_site = digest(f"{text}[limits]\npages = 5\n{site}")
    assert digest(f"{text}[limits]\npages = 5\n{site}politeness.min_delay_s = 1\n") != one_site

    def of_another_version(config: Config) -> Iterator[tuple[str, Setting, object]]:
        """It has another order of settings, and one more in each block."""
        further = msgspec.structs.replace(settings()["crawl.name"], section="site", name="further", default=None)
        yield "site[1].further", further, None
        yield from reversed(list(all_values(config)))

    monkeypatch.setattr(folder, "all_values", of_another_version)
    assert digest(f"{text}[limits]\npages = 5\n{site}") == one_site
