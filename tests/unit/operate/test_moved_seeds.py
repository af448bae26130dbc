"""A crawl whose file of seeds is gone, as after a copy to another machine: what needs no seeds works all the same."""

from pathlib import Path

import pytest

from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, StoredCrawl, make, url_of


def without_seeds(tmp_path: Path, parts: int) -> StoredCrawl:
    gone = tmp_path / "seeds.txt"
    gone.write_text("".join(f"http://{host}/\n" for host in HOSTS))
    crawl = make(tmp_path / "crawl", parts=parts, settings=[f'crawl.seed_files=["{gone}"]'])
    gone.unlink()
    return crawl


@pytest.mark.parametrize("parts", [1, PARTS])
def test_a_crawl_whose_seeds_are_gone_tells_all_that_it_has(parts: int, tmp_path: Path) -> None:
    crawl = without_seeds(tmp_path, parts)
    assert f"{SETTLED * len(HOSTS)} of {EACH * len(HOSTS)} settled" in crawl.do("status").out
    assert f"{SETTLED * len(HOSTS)} of {EACH * len(HOSTS)} settled" in crawl.do("report").out
    assert len(crawl.exported()) == EACH * len(HOSTS)
    for command in (
        ("inspect", "DIR", "fsck"),
        ("inspect", "DIR", "url", url_of(HOSTS[0], 0)),
        ("diff", "DIR", "DIR"),
        ("top", "DIR", "--once"),
        ("retire", "DIR", HOSTS[0]),
        ("backup", "DIR", "--to", str(tmp_path / "copy")),
    ):
        ended = crawl.run(*command)
        assert ended.code == 0, (command, ended.err)


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_judges_links_refuses_without_the_seeds_until_others_are_named(parts: int, tmp_path: Path) -> None:
    crawl = without_seeds(tmp_path, parts)
    for command in (
        ("add", "DIR", f"http://{HOSTS[0]}/new"),
        ("recrawl", "DIR"),
        ("frontier", "rebuild", "DIR", "--from-records"),
        ("inspect", "DIR", "fsck", "--repair"),
    ):
        ended = crawl.run(*command)
        assert ended.code == 2, command
        assert "crawl.seed_files: can't read " in ended.err
    assert not list(crawl.directory.rglob("*before*"))
    (tmp_path / "moved.txt").write_text(f"http://{HOSTS[0]}/\n")
    assert crawl.do("set", f'crawl.seed_files=["{tmp_path / "moved.txt"}"]').code == 0
    assert crawl.do("add", f"http://{HOSTS[0]}/new").code == 0


def test_a_seed_that_was_added_to_the_file_since_asks_no_command_for_a_contact(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"http://{HOSTS[0]}/\n")
    crawl = make(tmp_path / "crawl", parts=1, settings=[f'crawl.seed_files=["{seeds}"]'])
    seeds.write_text("https://belongs.to.others.org/\n")
    for command in (
        ("status", "DIR"),
        ("inspect", "DIR", "fsck"),
        ("add", "DIR", f"http://{HOSTS[0]}/new", "--force"),
        ("parts", "DIR", "--into", "2"),
    ):
        ended = crawl.run(*command)
        assert ended.code == 0, (command, ended.err)
    demo = crawl.run("demo", "--dir", "DIR")
    assert "has the crawl 'crawl', expected a demo" in demo.err
    ended = crawl.run("crawl", "--dir", "DIR")
    assert ended.code == 2, ended.out
    assert "because https://belongs.to.others.org/ may belong to others" in ended.err
