"""Seeds, in the configuration and in files of their own."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from config import ConfigError, Loaded, Seed, load
from tests.unit.test_config_loader import CONTACT, MINIMAL, problems_of, written


def loaded_seeds(loaded: Loaded, directory: Path) -> list[tuple[str, str]]:
    return [(seed.url, seed.origin.removeprefix(f"{directory}/")) for seed in loaded.seeds]


def seeds_of(data: bytes, directory: Path) -> list[tuple[str, str]]:
    (directory / "seeds.txt").write_bytes(data)
    return loaded_seeds(load(written(directory, '[crawl]\nseed_files = ["seeds.txt"]\n')), directory)


def test_a_seed_file_has_one_url_per_line_with_comments_and_empty_lines(tmp_path: Path) -> None:
    data = (
        b"# ours\nhttps://a.test/\n\n  https://b.test/x#part  # and theirs\n\t#\nhttps://c.test/?a=#b\nhttps://a.test/"
    )
    assert seeds_of(data, tmp_path) == [
        ("https://a.test/", "seeds.txt:2"),
        ("https://b.test/x#part", "seeds.txt:4"),
        ("https://c.test/?a=#b", "seeds.txt:6"),
        ("https://a.test/", "seeds.txt:7"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_seed_file_may_come_from_any_system(end: str, mark: bytes, tmp_path: Path) -> None:
    data = mark + end.join(["https://a.test/", "", "https://ä.test/ü", ""]).encode()
    assert seeds_of(data, tmp_path) == [("https://a.test/", "seeds.txt:1"), ("https://ä.test/ü", "seeds.txt:3")]


def test_what_is_no_line_end_in_a_text_file_is_none_here(tmp_path: Path) -> None:
    assert seeds_of("https://a.test/\u2028\x0cx\n".encode(), tmp_path) == [
        ("https://a.test/\u2028\x0cx", "seeds.txt:1")
    ]


def test_seeds_are_kept_as_written_for_those_who_judge_urls(tmp_path: Path) -> None:
    data = "ftp://a.test/\nhttps://a.test/ä b\nno url\n".encode()
    assert [url for url, _ in seeds_of(data, tmp_path)] == ["ftp://a.test/", "https://a.test/ä b", "no url"]


def test_seeds_of_the_configuration_come_before_those_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "1.txt").write_text("https://b.test/\n")
    (tmp_path / "2.txt").write_text("https://c.test/\n")
    text = '[crawl]\nseed_files = ["lists/1.txt", "2.txt"]\nseeds = [\n  "https://a.test/",\n  "https://d.test/",\n]\n'
    path = written(tmp_path, text)
    loaded = load(path)
    assert loaded_seeds(loaded, tmp_path) == [
        ("https://a.test/", "crawl.toml:4"),
        ("https://d.test/", "crawl.toml:5"),
        ("https://b.test/", "lists/1.txt:1"),
        ("https://c.test/", "2.txt:1"),
    ]
    assert loaded.config.crawl.seed_files == (f"{tmp_path}/lists/1.txt", f"{tmp_path}/2.txt")


def test_seeds_from_the_command_line_say_so() -> None:
    loaded = load(None, overrides=["crawl.seeds=https://a.test/"])
    assert loaded.seeds == (Seed("https://a.test/", "--set"),)


def test_seed_files_are_found_beside_the_configuration_or_from_the_command_line_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "seeds.txt").write_text(f"https://{name}.test/\n")
    monkeypatch.chdir(tmp_path / "here")
    path = written(tmp_path / "there", '[crawl]\nseed_files = ["seeds.txt"]\n')
    override = "crawl.seed_files=seeds.txt"
    beside = load(path)
    relative = load(Path("../there/crawl.toml"))
    here = load(path, overrides=[override])
    without = load(None, environ={"ONCEOVER_CRAWL__SEED_FILES": "seeds.txt"})
    assert [loaded.seeds[0].url for loaded in (beside, relative, here, without)] == [
        "https://there.test/",
        "https://there.test/",
        "https://here.test/",
        "https://here.test/",
    ]
    assert here.seeds[0].origin == "seeds.txt:1"
    assert all(Path(name).is_absolute() for name in here.config.crawl.seed_files + relative.config.crawl.seed_files)


def test_other_files_are_found_here_and_stay_the_same_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration of a run is read again from other directories."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    text = (
        f'{MINIMAL}[scope]\nplace_files = ["in.txt"]\nexclude_place_files = ["out.txt"]\n'
        '[fetch]\nauthorities = ["ca.pem"]\n'
    )
    config = load(written(tmp_path / "there", text)).config
    assert config.scope.place_files == (f"{tmp_path}/in.txt",)
    assert config.scope.exclude_place_files == (f"{tmp_path}/out.txt",)
    assert config.fetch.authorities == (f"{tmp_path}/ca.pem",)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            "https://a.test/\nhttps://ä.test/\n".encode("latin-1"),
            "seeds.txt:2: expected seeds in UTF-8, found the byte 0xe4; save the file as UTF-8",
        ),
        (
            "https://a.test/\n".encode("utf-16"),
            "seeds.txt: expected seeds in UTF-8, found UTF-16; save the file as UTF-8",
        ),
        (
            gzip.compress(b"https://a.test/\n", mtime=0),
            "seeds.txt: expected seeds in UTF-8, found gzip; unpack the file first",
        ),
        (b"\x28\xb5\x2f\xfd\x04", "seeds.txt: expected seeds in UTF-8, found zstd; unpack the file first"),
        (
            b"PK\x03\x04\x14\x00[Content_Types].xml",
            "seeds.txt: expected seeds in UTF-8, found a ZIP file, as a spreadsheet is one; save the list as text",
        ),
    ],
)
def test_a_seed_file_that_is_not_utf_8_is_refused(data: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_bytes(data)
    assert problems_of(written(tmp_path, '[crawl]\nseed_files = ["seeds.txt"]\n')) == [problem]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no.txt", "No such file or directory"), ("dir", "Is a directory"), ("file/x", "Not a directory")],
)
def test_a_seed_file_that_can_not_be_read_is_refused_with_the_line_that_names_it(
    name: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").touch()
    path = written(tmp_path, f'[crawl]\n\nseed_files = ["{name}"]\n')
    problem = f"crawl.toml:3: crawl.seed_files: can't read {tmp_path}/{name}: {reason}"
    assert problems_of(path) == [problem]
    assert [str(each) for each in load(path, require_seeds=False).unread] == [problem.replace("crawl.toml", str(path))]


def test_a_crawl_without_seeds_is_refused_with_what_to_write(tmp_path: Path) -> None:
    wanted = 'write seeds = ["https://…/"] or seed_files = ["…"] under [crawl]'
    assert problems_of(None) == [f"no seeds: {wanted}"]
    (tmp_path / "seeds.txt").write_text("# later\n")
    path = written(tmp_path, '[crawl]\nseed_files = ["seeds.txt"]\n')
    assert problems_of(path) == [f"no seeds (there is none in {tmp_path}/seeds.txt): {wanted}"]


def test_a_comparison_is_told_that_it_needs_no_seeds(tmp_path: Path) -> None:
    path = written(tmp_path, '[[compare.work]]\nname = "links"\nurls = "urls.txt"\n')
    (problem,) = problems_of(path)
    assert problem.endswith("; a comparison needs none, and `onceover compare` checks it")


def test_missing_seeds_are_not_told_beside_the_reason_for_it(tmp_path: Path) -> None:
    path = written(tmp_path, '[crawl]\nsedes = ["https://a.test/"]\n')
    assert problems_of(path) == ["crawl.toml:2: crawl.sedes: unknown key; did you mean crawl.seeds?"]


@pytest.mark.parametrize(
    ("seeds", "overrides"),
    [
        (["https://library.se/"], [CONTACT]),
        (["https://library.se/"], ["fetch.user_agent=bot (me@library.se)"]),
        (["https://library.se/"], ["fetch.hosts.library.se=127.0.0.1:8080"]),
        (["http://127.0.0.1:8080/", "http://h1.sim.test/", "https://docs.example.org/"], []),
    ],
)
def test_a_crawl_needs_a_contact_only_where_somebody_may_want_it(seeds: Sequence[str], overrides: list[str]) -> None:
    loaded = load(None, overrides=[f"crawl.seeds={list(seeds)}", *overrides])
    assert [seed.url for seed in loaded.seeds] == seeds


def test_a_crawl_of_others_without_a_contact_is_refused_with_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("https://library.se/\n")
    path = written(tmp_path, f'{MINIMAL}seed_files = ["seeds.txt"]\n')
    told = (
        "expected a URL or an e-mail address at which people can reach you, because https://library.se/ may belong to "
    )
    example = 'add your own: "onceover/1.0 (+https://your.site/crawler)" or "onceover/1.0 (you@your.site)"'
    default = "onceover/1.0 (+https://example.org/about-our-crawler)"
    assert problems_of(path) == [f'fetch.user_agent: {told}others; found "{default}"; {example}']
    assert problems_of(path, overrides=["fetch.user_agent=bot"]) == [
        f'--set: fetch.user_agent: {told}others; found "bot"; {example}'
    ]


def test_a_refused_user_agent_is_not_refused_twice() -> None:
    with pytest.raises(ConfigError) as refused:
        load(None, overrides=["crawl.seeds=https://library.se/", "fetch.user_agent="])
    assert [problem.key for problem in refused.value.problems] == ["fetch.user_agent"]
