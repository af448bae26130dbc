"""Which pages the archive gets, and who knows that it lacks the others."""

import tracemalloc

import msgspec
import pytest

from config import ConfigError, load
from crawler.record import ArchiveFilter
from crawler.wiring.live.live import pipeline_options
from tests.unit.write.samples import page


@pytest.mark.parametrize(
    ("patterns", "wanted", "unwanted"),
    [
        (["text/html"], ["text/html"], ["text/plain", "application/xhtml+xml", None]),
        (["image/*", "!image/svg+xml"], ["image/png"], ["image/svg+xml", "text/html"]),
        (["!video/*", "!audio/*"], ["text/html", "image/png", None], ["video/mp4", "audio/ogg"]),
        (["*/*"], ["text/html", None], []),
        (["application/octet-strea?"], [None], ["text/html"]),
    ],
)
def test_types_are_chosen_by_patterns(
    patterns: list[str], wanted: list[str | None], unwanted: list[str | None]
) -> None:
    chosen = ArchiveFilter(types=tuple(patterns))
    assert {chosen.refusal(page(1), each) for each in wanted} <= {None}
    assert {chosen.refusal(page(1), each) for each in unwanted} <= {"unwanted-type"}


def test_long_types_that_servers_declare_do_not_stay_in_memory() -> None:
    chosen, fetched = ArchiveFilter(types=("text/*",)), page(1)
    tracemalloc.start()
    try:
        found = {
            chosen.refusal(fetched, f"{kind}/{'x' * 60_000}{at}") for kind in ("text", "image") for at in range(50)
        }
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found, held < 1_000_000) == ({None, "unwanted-type"}, True)


def test_a_body_up_to_the_limit_as_received_is_archived() -> None:
    chosen = ArchiveFilter(max_body_bytes=3)
    fetched = page(1, b"much longer", raw_body=b"abc")
    assert chosen.refusal(fetched, "text/html") is None
    assert chosen.refusal(msgspec.structs.replace(fetched, raw_body=b"abcd"), "text/html") == "too-large"


def test_the_filter_follows_the_settings_that_hold_now() -> None:
    begun = ['crawl.seeds=["http://a.test/"]']
    options = [
        pipeline_options(load(None, overrides=[*begun, *more], environ={}).config)
        for more in ([], ['output.warc_types=["!image/*"]'], ["output.warc_max_body_bytes=0"])
    ]
    assert [each.archive_filter for each in options] == [
        None,
        ArchiveFilter(types=("!image/*",)),
        ArchiveFilter(max_body_bytes=0),
    ]


@pytest.mark.parametrize("pattern", ["image", "Image/*", "image/[a-z]", "a/b/c", ""])
def test_what_is_no_media_type_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="warc_types"):
        load(None, overrides=['crawl.seeds=["http://a.test/"]', f'output.warc_types=["{pattern}"]'], environ={})
