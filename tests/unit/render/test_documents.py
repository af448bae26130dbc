"""What the rendered document says, and which links it has."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from crawler.page import Link, LinkKind
from crawler.read.html.lexbor import lexbor_extractor
from crawler.render.visit import MAX_LINK_CHARACTERS, MAX_LINKS
from crawler.testing.fetch.raw_server import Script, page
from tests.unit.render.rendering import Rendering, html, needs_chromium, rendering

pytestmark = needs_chromium

XHTML = b"Content-Type: application/xhtml+xml"
SCRIPTS: dict[str, Script] = {
    "/legacy": [page("<body>\u00fc<noscript>1 &lt; 2<a href=/?\u00fc></a></noscript>"
                     "<a href=' /?q=gr\u00fcn x#\u00fc'></a><a href='/\u00fc?a=\u00fc&b=&#1046;'></a>"
                     "<a href='/#?\u00fc'></a><area href='?\u00fc'><a href='mailto:x?subject=\u00fc'></a>"
                     "<iframe src=/inner?\u00fc></iframe>".encode("latin-1"),
                     b"Content-Type: text/html; charset=latin1")],
    "/moved": html("<body><script>history.pushState({},'','/far/away')</script><a href=near>"),
    "/headless": html("<script>history.pushState({},'','/far/away');document.head.remove()</script><a href=near>"),
    "/shadow": html("<div id=d></div><script>const s=d.attachShadow({mode:'open'});"
                    "s.innerHTML='<p><a href=/in-shadow rel=NoFollow> see\\n it </a><div id=b></div>"
                    "<img src=/small.png srcset=/large.png><img src=data:image/png,x>';"
                    "s.getElementById('b').attachShadow({mode:'open'}).innerHTML='<a href=/deeper>'</script>"),
    "/many-images": html("<div id=d></div><script>const s=d.attachShadow({mode:'open'});s.innerHTML="
                         f"Array.from({{length:{MAX_LINKS}}},(_,i)=>`<img loading=lazy hidden src=/${{i}}.png>`)"
                         ".join('')+'<a href=/0.png></a><a href=/last></a>'</script>"),
    "/half-pairs": html("<div id=d></div><script>const s=d.attachShadow({mode:'open'});"
                        "s.innerHTML='<a href=/1>'+'x'.repeat(199)+'\\ud83d\\ude00</a><a id=b rel=\\ude00 href=/b></a>"
                        "<a id=a></a>';s.getElementById('a').setAttribute('href','http://[\\ud83d')</script>"),
    "/long-popups": html("<body><script>for(let i=0;i<80;i++)open('/'+i+'a'.repeat(65000))</script>"),
    "/pairs": html("<body><script>document.body.append('\\ud83d\\ude00'.repeat(600000))</script>"),
    "/pairs-moved": html("<body>x<script>document.body.append('\\ud83d\\ude00'.repeat(600000))"
                         "</script>"),
    "/latin": [page("<title>gr\u00fcn</title>".encode("latin-1"), b"Content-Type: text/html; charset=iso-8859-1")],
    "/inner?%FC": html("in the frame"),
    "/xhtml": [page(b"<html xmlns='http://www.w3.org/1999/xhtml'><body><script>document.body.append('ran')</script>"
                    b"</body></html>", XHTML)],
    "/broken": [page(b"<html xmlns='http://www.w3.org/1999/xhtml'><p></b><a href='/behind'/></html>", XHTML)],
    "/other-xml": [page(b"<all><a href='/other'/></all>", XHTML)],
}  # fmt: skip


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Rendering]:
    async with rendering(SCRIPTS, tmp_path / "browsers") as made:
        yield made


async def test_links_are_read_from_the_rendered_document(web: Rendering) -> None:
    extractor = lexbor_extractor()
    latin = extractor.extract(await web.page("/latin"))
    assert (latin.charset, latin.charset_source, latin.title) == ("utf-8", "bom", "grün")
    legacy = await web.page("/legacy")
    assert [link.href for link in extractor.extract(legacy).links] == [
        "/?%FC", "/?q=gr%FCn%20x#ü", "/ü?a=%FC&b=%26%231046%3B", "/#?ü", "?%FC", "mailto:x?subject=ü", "/inner?%FC",
    ]  # fmt: skip
    assert '<body>ü<noscript>1 &lt; 2<a href="/?%FC"></a></noscript><a' in legacy.body.decode()
    assert [target for target in web.server.targets if "inner" in target] == ["/inner?%FC"]
    for path in ("/moved", "/headless"):
        moved = extractor.extract(await web.page(path))
        assert moved.base_url == "http://www.site.test/far/away", path
        assert [link.href for link in moved.links] == ["near"], path
    shadow = extractor.extract(await web.page("/shadow"))
    assert list(shadow.links) == [
        Link("http://www.site.test/in-shadow", LinkKind.LINK, text="see it", rel="nofollow"),
        Link("http://www.site.test/deeper", LinkKind.LINK),
        Link("http://www.site.test/small.png", LinkKind.EMBED),
        Link("http://www.site.test/large.png", LinkKind.EMBED),
    ]


async def test_images_in_a_shadow_tree_take_no_place_of_links(web: Rendering) -> None:
    found = lexbor_extractor().extract(await web.page("/many-images"))
    links = [link for link in found.links if link.kind == LinkKind.LINK]
    assert [link.href for link in links] == ["http://www.site.test/0.png", "http://www.site.test/last"]
    assert found.links[2] == Link("http://www.site.test/1.png", LinkKind.EMBED)


async def test_xhtml_that_the_browser_does_not_read_to_its_end_stays_as_received(web: Rendering) -> None:
    for path in ("/broken", "/other-xml"):
        got = await web.page(path)
        assert got.rendering == "left", path
        assert got.body is got.raw_body
    read = await web.page("/xhtml")
    assert read.rendering == "whole"
    assert b"</script>ran" in read.body


async def test_the_browser_reads_a_page_in_the_encoding_that_the_crawl_detects(tmp_path: Path) -> None:
    text = "<title>\u65e5\u672c\u8a9e\u306e\u30da\u30fc\u30b8</title><a href='/\u00e4?\u00e4'></a><p>\u8a9e</p>"
    script = "<script>const a=document.links[0];a.href=a.href;document.body.append(document.characterSet)</script>"
    scripts: dict[str, Script] = {
        "/utf-8": [page((text + script).encode(), b"Content-Type: text/html")],
        "/unknown": [page((text + script).encode(), b"Content-Type: Text/HTML; charset=utf8mb4")],
        "/declared": [page((text + "<meta charset=latin1>" + script).encode(), b"Content-Type: text/html")],
    }
    async with rendering(scripts, tmp_path / "browsers", at_once=1) as web:
        for path in ("/utf-8", "/unknown"):
            got = await web.page(path)
            assert "<title>\u65e5\u672c\u8a9e".encode() in got.body, path
            assert b'<a href="http://www.site.test/%C3%A4?%C3%A4">' in got.body, path
            assert got.body.endswith(b"UTF-8</body></html>"), path
            assert got.header("Content-Type") in ("text/html", "Text/HTML; charset=utf8mb4")
        assert (await web.page("/declared")).body.endswith(b"windows-1252</body></html>")


async def test_pairs_of_surrogates_are_whole_and_halves_do_not_end_the_browser(web: Rendering) -> None:
    for path in ("/pairs", "/pairs-moved"):  # in one of the two, a piece of the document would end within a pair
        got = await web.page(path)
        assert got.rendering == "whole", path
        assert got.body.decode().count("\U0001f600") == 600_000, path
    halves = await web.page("/half-pairs")
    assert halves.rendering == "whole"
    assert list(halves.links) == [
        Link("http://www.site.test/1", LinkKind.LINK, text="x" * 199),
        Link("http://www.site.test/b", LinkKind.LINK, rel="\ufffd"),
        Link("http://[\ufffd", LinkKind.LINK),
    ]


async def test_the_links_of_scripts_take_bounded_memory(web: Rendering) -> None:
    links = (await web.page("/long-popups")).links
    assert MAX_LINK_CHARACTERS - 65_100 < sum(len(link.href) for link in links) <= MAX_LINK_CHARACTERS
