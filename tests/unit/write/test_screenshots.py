"""Screenshots in the archive, beside their pages."""

from pathlib import Path

import msgspec

from crawler.page import Rendering, Screenshot
from crawler.write.cdxj.lines import parse
from crawler.write.cdxj.making import archives, index_of, lines_of
from crawler.write.gzip_members import HEAD_BYTES
from crawler.write.warc import WarcOptions, WarcSink
from crawler.write.warc_reader import Capture, captures, captures_at
from tests.unit.write.samples import archived, page, record_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4000
JPEG = b"\xff\xd8\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\xff\xd9"
SHOWN = (
    Screenshot(kind="view", media_type="image/png", image=PNG),
    Screenshot(kind="fullPage", media_type="image/jpeg", image=JPEG),
    Screenshot(kind="thumbnail", media_type="image/jpeg", failure="the time of the page was over"),
)
SHOWN_PAGE = msgspec.structs.replace(page(1), screenshots=SHOWN, rendering=Rendering.WHOLE)


async def write(directory: Path) -> None:
    sink = WarcSink(directory, WarcOptions(revisits=9))
    for number, each in enumerate((SHOWN_PAGE, page(2), msgspec.structs.replace(SHOWN_PAGE, url=page(3).url)), 1):
        await sink.write(each, record_of(each, number))
    await sink.aclose()


async def test_screenshots_are_resources_at_the_end_of_their_page(tmp_path: Path) -> None:
    await write(tmp_path)
    found = [each for each in archived(tmp_path) if each.number == 1]
    assert [each.kind for each in found] == ["response", "request", "metadata", "conversion", "resource", "resource"]
    response, _, metadata, _, view, whole = found
    assert (view.payload, whole.payload) == (PNG, JPEG)
    for each, kind, media_type in ((view, "view", "image/png"), (whole, "fullPage", "image/jpeg")):
        assert each.fields["WARC-Target-URI"] == f"urn:{kind}:{page(1).url}"
        assert each.fields["Content-Type"] == media_type
        assert each.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]
        assert each.fields["WARC-Date"] == response.fields["WARC-Date"]
        assert each.fields["WARC-Payload-Digest"] == each.fields["WARC-Block-Digest"]
    assert "screenshotFailed: thumbnail: the time of the page was over" in metadata.payload.decode()


async def test_the_index_names_screenshots_whether_written_with_the_archive_or_made_from_it(tmp_path: Path) -> None:
    await write(tmp_path)
    [archive] = archives(tmp_path)
    lines = index_of(archive).read_bytes().splitlines()
    assert lines == sorted(lines_of(archive))
    shown = [(key, each) for key, _, each in map(parse, lines) if key.startswith("urn:")]
    assert [key for key, _ in shown] == [f"urn:{kind}:{page(n).url}" for kind in ("fullPage", "view") for n in (1, 3)]
    assert [(each.mime, each.status) for _, each in shown] == [("image/jpeg", None)] * 2 + [("image/png", None)] * 2
    for _, each in shown:
        resource = next(captures_at(archive, each.place()[0], max_bytes=HEAD_BYTES))
        assert (resource.kind, resource.url) == ("resource", each.url)


async def test_screenshots_change_nothing_that_is_read_back_of_a_page(tmp_path: Path) -> None:
    await write(tmp_path)
    found = [each for each in captures(tmp_path, full_blocks=True) if isinstance(each, Capture) and each.number == 1]
    by_kind = {each.kind: each for each in found}
    assert by_kind["response"].http()[-1] == page(1).body
    assert (by_kind["conversion"].block, by_kind["resource"].block) == (SHOWN_PAGE.body, JPEG)
