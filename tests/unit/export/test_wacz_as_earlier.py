"""A WACZ file is an earlier crawl like any other: bodies are found in it, and copied from it."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from crawler.export.aside import locked_folder
from crawler.export.wacz.unpacking import unpacked
from crawler.export.writers import ExportRefused
from crawler.write.dedupe.sources import responses_in, sources_in
from tests.unit.export.test_tables import run
from tests.unit.export.test_wacz import Opened, archived_crawl
from tests.unit.write.samples import page

BODY = b"<p>the same" * 100


async def test_what_refers_to_a_wacz_is_packed_whole_and_read_from_there(tmp_path: Path) -> None:
    wacz = tmp_path / "earlier.wacz"
    run(await archived_crawl(tmp_path / "earlier", page(1, BODY), page(2)), "wacz", wacz)
    crawl = await archived_crawl(tmp_path / "crawl", page(3, BODY), against=[wacz])
    with (crawl / "crawl.toml").open("a") as configuration:
        configuration.write(f'[output]\ndedupe_against = ["{wacz}"]\n')
    assert [each.url for each in responses_in(Path(sources_in([wacz])[0].path))] == [page(1).url, page(2).url]

    printed = run(crawl, "wacz", tmp_path / "a.wacz", "--text-by", "turbohtml").output
    assert f"{wacz}/archive/" in printed
    assert ".unpacked" not in printed
    opened = Opened(tmp_path / "a.wacz")
    assert [kind for kind, _, _ in opened.captures()] == ["response", "revisit"]
    assert opened.payloads()[page(3).url] == BODY
    assert opened.pages[0]["text"].startswith("the same")
    opened.close()
    run(crawl, "wacz", tmp_path / "b.wacz", "--earlier", str(wacz))
    left = tmp_path / ".c.wacz.unpacked"  # by a process that was killed
    left.mkdir()
    (left / "0").mkdir()
    (left / "0" / "a.warc.gz").touch()
    with locked_folder(left), pytest.raises(ExportRefused, match="another export"):
        run(crawl, "wacz", tmp_path / "c.wacz", "--earlier", str(wacz))
    run(crawl, "wacz", tmp_path / "c.wacz", "--earlier", str(wacz))
    left_over = {each.name for each in tmp_path.iterdir()}
    assert left_over == {"a.wacz", "b.wacz", "c.wacz", "crawl", "earlier", "earlier.wacz"}


async def test_it_is_unpacked_in_a_folder_beside_which_nothing_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wacz, folder = tmp_path / "earlier.wacz", tmp_path / "tables"
    run(await archived_crawl(tmp_path / "crawl", page(1)), "wacz", wacz)
    folder.mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path or mode != os.W_OK)
    with unpacked([wacz], folder) as (place,):
        assert place.is_relative_to(folder)
    assert list(folder.iterdir()) == []


async def test_two_exports_to_stdout_from_one_folder_unpack_it_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wacz, crawl, current = tmp_path / "earlier.wacz", await archived_crawl(tmp_path / "crawl", page(1)), tmp_path / "a"
    run(crawl, "wacz", wacz)
    current.mkdir()
    monkeypatch.chdir(current)
    with unpacked([wacz], io.BytesIO()) as (place,):
        printed = run(crawl, "csv", Path("-"), "--earlier", str(wacz), "--text-by", "turbohtml").stdout
        assert place.exists()
        assert not place.is_relative_to(current)
    assert len(printed.splitlines()) == 2
    assert not place.exists()
    assert list(current.iterdir()) == []


@pytest.mark.parametrize("keep", [30, -40])
async def test_a_broken_wacz_is_told(tmp_path: Path, keep: int) -> None:
    wacz, crawl = tmp_path / "earlier.wacz", await archived_crawl(tmp_path / "crawl", page(1))
    run(crawl, "wacz", wacz)
    wacz.write_bytes(wacz.read_bytes()[:keep])
    with pytest.raises(OSError, match=r"earlier\.wacz can't be read"):
        list(responses_in(wacz))
    with pytest.raises(ExportRefused, match="can't be read as a WACZ file"):
        run(crawl, "wacz", tmp_path / "a.wacz", "--earlier", str(wacz))


async def test_nothing_but_archives_is_taken_out_of_a_wacz(tmp_path: Path) -> None:
    wacz, crawl = tmp_path / "earlier.wacz", await archived_crawl(tmp_path / "crawl", page(1))
    with zipfile.ZipFile(wacz, "w") as package:
        for name in ("../out.warc.gz", "archive/../../out.warc.gz", "/archive/out.warc.gz", "archive/x/out.warc.gz"):
            package.writestr(name, b"x")
    with pytest.raises(ExportRefused, match=r"has no WARC files to look into: expected archive/\*\.warc\.gz"):
        run(crawl, "wacz", tmp_path / "a.wacz", "--earlier", str(wacz))
    assert not list(tmp_path.parent.glob("out.warc.gz"))
