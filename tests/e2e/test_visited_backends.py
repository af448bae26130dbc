"""That every visited set carries a crawl that is stopped, resumed and handed over to another."""

import re
from pathlib import Path

import msgspec
import pytest

from crawler.codes.exit_codes import COMPLETE, LIMIT, USAGE
from tests.e2e.crawling import Web, assert_sound, assert_told, fetched, onceover, setting
from visited.backends import BACKENDS

DSBF = ("visited.backend=dsbf", "visited.capacity=10", "visited.error_rate=1e-9")
SETTINGS = {name: (f"visited.backend={name}", "visited.capacity=10000") for name in BACKENDS} | {
    "exact on disk": ("visited.backend=exact", "visited.store=leveldb"),
    "small filters": ("visited.backend=per-site", "visited.site_bytes=8192"),
    "Apoidea": ("visited.backend=per-site", "visited.options={by='domain', site_bytes='8 KiB', filters=5}"),
    "the literature's dsbf": ("visited.options={leaf_bits=8192, split_at='count', lists='urls'}", *DSBF),
    "shards": ("visited.backend=dsbf", "visited.capacity=10000", "visited.options.shards=3"),
    "white list": ("visited.backend=bloom", "visited.white_list=http://h00003.sim.test/"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_crawl_that_is_stopped_and_resumed_is_complete_with_every_visited_set(
    name: str, tmp_path: Path, web: Web
) -> None:
    options = [*web.options, "--dir", "crawl", *setting(*SETTINGS[name])]
    assert onceover("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    assert_sound(tmp_path / "crawl")
    ended = onceover("crawl", *options, cwd=tmp_path)
    assert_told(ended, COMPLETE, "Resuming: ")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_a_crawl_is_handed_from_one_visited_set_to_the_next(tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl"]
    for pages, name in ((8, "dsbf"), (8, "counting"), (8, "exact on disk")):
        settings = setting(*SETTINGS[name])
        assert onceover("crawl", *options, *settings, "--max-pages", str(pages), cwd=tmp_path).code == LIMIT
    assert onceover("crawl", *options, *setting(*SETTINGS["dsbf"]), cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_check_and_crawl_tell_it_and_go_on(tmp_path: Path, web: Web) -> None:
    settings = setting("visited.backend=bloom", "visited.options.bits=64")
    (tmp_path / "crawl.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    checked = onceover("config", "check", "crawl.toml", *settings, cwd=tmp_path)
    assert checked.code == COMPLETE
    assert "warning: --set: visited.options.bits: bloom with 64 bits is too small for 1,000,000 URLs" in checked.err
    form = onceover("config", "check", "crawl.toml", "--json", *settings, cwd=tmp_path)
    assert [each["key"] for each in msgspec.json.decode(form.out)["warnings"]] == ["visited.options.bits"]
    crawled = onceover("crawl", *web.options, "--dir", "crawl", *settings, "--max-pages", "1", cwd=tmp_path)
    assert "visited.options.bits: bloom with 64 bits is too small" in " ".join(crawled.err.split())


def test_the_urls_of_a_set_that_keeps_them_are_printed_also_those_of_the_white_list(tmp_path: Path, web: Web) -> None:
    listed = next(iter(web.pages))
    settings = setting(*SETTINGS["the literature's dsbf"], f'visited.white_list=["{listed}"]')
    assert onceover("crawl", *web.options, "--dir", "crawl", *settings, cwd=tmp_path).code == COMPLETE
    exported = onceover("frontier", "export", "crawl", cwd=tmp_path)
    ledger = {msgspec.json.decode(line)["url"] for line in exported.out.splitlines()}
    printed = onceover("inspect", "crawl", "visited-urls", cwd=tmp_path)
    assert_told(printed, COMPLETE)
    assert sorted(printed.out.splitlines()) == sorted(ledger)
    assert listed in ledger
    shown = onceover("inspect", "crawl", "visited", cwd=tmp_path)
    assert re.search(r"unverified_false_positive_rate  \d", shown.out)
    assert not re.search(r"\.\d{6}", shown.out)


def test_a_set_that_keeps_no_urls_says_what_lists_them(tmp_path: Path, web: Web) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "1", cwd=tmp_path).code == LIMIT
    refused = onceover("inspect", "crawl", "visited-urls", cwd=tmp_path)
    assert (refused.code, refused.out) == (USAGE, "")
    assert "exact does not keep its URLs. `onceover frontier export crawl` lists all URLs" in refused.err
