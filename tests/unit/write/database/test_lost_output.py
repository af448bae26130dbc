"""Files of sinks that are gone when a crawl is resumed."""

from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.wiring.configuration import load
from crawler.wiring.opening.lost_output import lost_output


def test_the_earlier_configuration_is_only_read_if_files_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may name files of millions of seeds."""
    directory = CrawlDirectory(tmp_path)
    directory.configuration.write_text('[output]\nsinks = ["sqlite"]\n')
    loaded = load(directory.configuration, require_seeds=False)
    (told,) = lost_output(loaded, directory)
    assert "the files of the sink sqlite in" in told
    (directory.sinks / "sqlite").mkdir(parents=True)
    (directory.sinks / "sqlite" / "crawl.sqlite").touch()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("crawler.wiring.opening.lost_output.load", refuse)
    assert lost_output(loaded, directory) == []
