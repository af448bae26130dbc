"""The indexes of all archives of a crawl, as one for other tools."""

from pathlib import Path

import msgspec
import pytest

from crawler.export.archives import export_index
from crawler.write.cdxj.lines import parse
from crawler.write.cdxj.making import archives
from tests.unit.prune.written import unchanged, whole, write


def test_visits_without_a_body_are_left_out_and_repeated_bodies_are_not(tmp_path: Path) -> None:
    body = b"the same" * 100
    unasked = msgspec.structs.replace(whole(3, b""), status=304)
    crawl = write(tmp_path, [whole(0, body), unchanged(0, 1), whole(2, body), unasked], revisits=10)
    assert export_index(crawl.path, None, tmp_path / "all.cdxj", overwrite=False) == 2
    captures = [parse(line)[2] for line in (tmp_path / "all.cdxj").read_bytes().splitlines()]
    assert [each.mime for each in captures] == ["text/html", "warc/revisit"]


def test_an_archive_on_a_disk_that_is_missing_is_not_left_out(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0), whole(1)])
    [*_, last] = archives(crawl.warc)
    last.unlink()
    last.symlink_to(tmp_path / "missing" / last.name)
    with pytest.raises(FileNotFoundError, match=last.name):
        export_index(crawl.path, None, tmp_path / "all.cdxj", overwrite=False)
