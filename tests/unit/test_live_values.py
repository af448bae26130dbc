"""The values that hold while a crawl runs are those of its latest configuration."""

from pathlib import Path

from config import load
from crawler.discover.quota import OverQuota, PageLimits, PageQuota
from crawler.wiring.live.values import Latest, Values, make_values
from frontier.memory.notes import MemoryNotes


def values(folder: Path, more: str = "") -> Values:
    file = folder / "crawl.toml"
    file.write_text(f'[crawl]\nseeds = ["http://a.test/", "http://b.test/"]\n{more}')
    return make_values(load(file, environ={}))


def test_limits_and_blocks_of_sites_that_come_and_go_hold_from_then_on(tmp_path: Path) -> None:
    latest = Latest(values(tmp_path))
    quota = PageQuota(MemoryNotes(), latest.page_limits)
    quota.spend("http://a.test/1")
    assert (latest.page_limits("http://a.test/"), latest.obeys_robots("http://a.test/")) == (None, True)

    latest.set(values(tmp_path, "[traps]\npages_per_host = 1\n"))
    assert quota.refusal("http://a.test/2") is None  # pages are counted while there is a limit
    quota.spend("http://a.test/2")
    assert quota.refusal("http://a.test/3") is OverQuota.HOST

    site = '[[site]]\nmatch = ["a.test"]\ntraps.pages_per_host = 2\npoliteness.robots = false\n'
    latest.set(values(tmp_path, site))
    assert latest.page_limits("http://a.test/") == PageLimits(per_host=2)
    assert latest.page_limits("http://b.test/") is None
    assert (latest.obeys_robots("http://a.test/"), latest.obeys_robots("http://b.test/")) == (False, True)
    assert quota.refusal("http://a.test/3") is None
    quota.spend("http://a.test/3")
    assert quota.refusal("http://a.test/4") is OverQuota.HOST

    latest.set(values(tmp_path))
    assert quota.refusal("http://a.test/4") is None
