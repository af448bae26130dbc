"""What every link extractor promises, run over all three."""

import base64
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter, annotations

from crawler.page import Extract, Link, LinkKind
from crawler.protocols import LinkExtractor
from crawler.read.elements.xhtml import xhtml_to_html
from crawler.read.html.bs4 import Bs4Extractor
from crawler.read.html.lexbor import LexborExtractor
from crawler.read.html.lxml import LxmlExtractor
from crawler.read.options import Options
from crawler.read.pdf import read_pdf
from crawler.url.urls import join
from tests.patience import PATIENCE_S
from tests.unit.read.suites import page, real_pages, suite, suite_files

Make = Callable[..., LinkExtractor]
MAKERS: list[Make] = [LexborExtractor, LxmlExtractor, Bs4Extractor]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


def read(make: Make, html: str | bytes, **options: Any) -> Extract:
    extract = make(agent="onceover", options=Options(**options)).extract(
        page(html if isinstance(html, bytes) else html.encode())
    )
    assert extract.error is None
    return extract


def hrefs(extract: Extract, *kinds: LinkKind) -> list[str]:
    return [link.href for link in extract.links if not kinds or link.kind in kinds]


KINDS = """<!doctype html>
<html lang="de"><head>
<link rel="stylesheet" href="s.css"><link rel="shortcut icon" href="i.ico"><link rel=preconnect href="//x.test">
<link rel="alternate" hreflang="fr" href="fr/"><link rel="Alternate" type="application/atom+xml" href="feed">
<link rel="canonical" href="/c"><link rel=next href=n><link rel=prev href=p><link rel=license href=l>
<link rel=sitemap href=sm.xml><script src="x.js"></script>
<meta http-equiv="Refresh" content="5; URL='r'">
</head><body background=bg.png>
<a href=" a \n" rel="NoFollow  external">one <b>two</b>\n three</a>
<img src=i1 srcset="i2 1x, i3,4 2x"><area href=ar alt=Ar>
<iframe src=if></iframe><video src=v poster=po><source src=so><track src=t></video><audio src=au></audio>
<object data=ob></object><embed src=em><input type=image src=in><input type=text src=no><form action=fo></form>
<table background=tb><tr><td background=td>x</table><a>no href</a><a href>empty</a>
</body></html>"""


def test_each_link_has_its_kind_and_stands_in_document_order(make: Make) -> None:
    extract = read(make, KINDS, forms=True)
    embed, link = LinkKind.EMBED, LinkKind.LINK
    assert [(each.href, each.kind) for each in extract.links] == [
        ("s.css", embed),
        ("i.ico", embed),
        ("fr/", LinkKind.ALTERNATE),
        ("feed", LinkKind.FEED),
        ("/c", LinkKind.CANONICAL),
        ("n", LinkKind.NEXT),
        ("p", LinkKind.NEXT),
        ("l", LinkKind.ALTERNATE),
        ("sm.xml", LinkKind.SITEMAP),
        ("x.js", embed),
        ("r", LinkKind.REFRESH),
        ("bg.png", embed),
        ("a", link),
        ("i2", embed),
        ("i3,4", embed),
        ("i1", embed),
        ("ar", link),
        ("if", LinkKind.FRAME),
        ("v", embed),
        ("po", embed),
        ("so", embed),
        ("t", embed),
        ("au", embed),
        ("ob", embed),
        ("em", embed),
        ("in", embed),
        ("fo", LinkKind.FORM),
        ("tb", embed),
        ("td", embed),
        ("", link),
    ]
    assert Link("a", link, "one two three", "nofollow external") in extract.links
    assert Link("ar", link, "Ar", "") in extract.links


def test_forms_are_left_alone_unless_asked_for(make: Make) -> None:
    html = "<form action=/a><button formaction=/b>x</button><input type=submit formaction=/c></form>"
    assert hrefs(read(make, html)) == []
    for found in (read(make, html, forms=True), read(make, html + "<p>text" * 3000, forms=True)):
        assert hrefs(found, LinkKind.FORM) == ["/a", "/b", "/c"]


SCRIPTS = """<script src=x.js></script><script type="application/ld+json">
{"@context": "https://schema.org", "@type": "Article", "url": "https://e.org/a",
 "n": [{"image": "https:\\/\\/e.org\\/i.png"}],
 "text": "see https://e.org/no", "id": "urn:x"}</script>
<script>var a = '/path/to', b = "https:\\/\\/cdn.e.org\\/x.js?y=1", c = "/",
d = '//e.org/z', e = "a/b", f = "</p>";</script>
<script type="text/template"><a href="https://e.org/template"></script>"""


def test_urls_in_scripts_are_guessed_only_where_wanted_and_marked_so(make: Make) -> None:
    assert hrefs(read(make, SCRIPTS)) == ["x.js"]
    found = read(make, SCRIPTS, scripts=True)
    assert hrefs(found, LinkKind.EMBED) == ["x.js"]
    assert hrefs(found, LinkKind.SPECULATIVE) == [
        "https://e.org/a",
        "https://e.org/i.png",
        "/path/to",
        "https://cdn.e.org/x.js?y=1",
        "//e.org/z",
    ]


@pytest.mark.parametrize(
    "script",
    ["'/" * 200_000, '"https:\\/' * 100_000, "'/" + "\\/" * 200_000, "'//" + "a" * 400_000],
    ids=lambda script: script[:8],
)
@pytest.mark.timeout(PATIENCE_S)
def test_hostile_scripts_take_no_hostile_time(script: str) -> None:
    for media_type in ("", "application/ld+json"):
        read(LexborExtractor, f"<script type='{media_type}'>{script}</script>", scripts=True)
    read(LexborExtractor, f"<script type=application/ld+json>{'[' * 100_000}</script>", scripts=True)


def _pdf(*uris: str) -> bytes:
    writer = PdfWriter()
    for uri in uris:
        writer.add_blank_page(100, 100)
        writer.add_annotation(len(writer.pages) - 1, annotations.Link(rect=(0, 0, 9, 9), url=uri))
    writer.add_metadata({"/Title": " A  title ", "/Author": "Ada"})
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_links_of_pdf_documents_are_read_where_wanted(make: Make) -> None:
    body = _pdf("https://e.org/a", "/b?c")
    assert list(make().extract(page(body, headers=(("Content-Type", "text/html"),))).links) == []
    reader = make(options=Options(pdf=read_pdf))
    found = reader.extract(page(body, headers=()))
    assert (found.content_type, found.title, found.author) == ("application/pdf", "A title", "Ada")
    assert [(link.href, link.kind) for link in found.links] == [
        ("https://e.org/a", LinkKind.LINK),
        ("/b?c", LinkKind.LINK),
    ]
    for broken in (body[: len(body) // 2], b"%PDF-1.7 nothing", body.replace(b"/Annots", b"/Annotz")):
        assert reader.extract(page(broken, headers=())).content_type == "application/pdf"


def test_frames_are_links(make: Make) -> None:
    html = "<html><frameset><frame src=a><frame src=b><noframes><a href=c>x</a></noframes></frameset></html>"
    assert hrefs(read(make, html), LinkKind.FRAME) == ["a", "b"]


LAZY = """<img data-src=a data-srcset="b 1x, c 2x"><img src=d.gif data-src=e>
<picture><source data-srcset=f></picture><img data-srcset=g><iframe data-src=h></iframe><div data-src=no></div>
<video><source data-src=i></video><img DATA-ORIGINAL=j data-lazy-src=k data-lazy-srcset="l?a&amp;b 1x, m 2x">
<img data-lazy-srcset="n 1x"><video data-src=o></video><audio data-src=p></audio><iframe data-lazy-src=q></iframe>"""


def test_images_that_scripts_show_later_are_links(make: Make) -> None:
    for found in (read(make, LAZY), read(make, LAZY + "<p>text" * 3000)):
        assert hrefs(found, LinkKind.EMBED) == [
            *("a", "b", "c", "d.gif", "e", "f", "g", "i", "j", "k", "l?a&b", "m", "n", "o", "p")
        ]
        assert hrefs(found, LinkKind.FRAME) == ["h", "q"]


def test_backgrounds_that_scripts_show_later_are_links(make: Make) -> None:
    html = (
        "<div data-bg=' a.png?x&amp;y '><p DATA-BG=\"url('b.png'), url(c.png)\"><i data-bg='#fff'></i><i data-bg></i>"
        "<a href=x data-bg=d.png>x</a><template><b data-bg=no></b></template>"
    )
    for found in (read(make, html), read(make, html + "<p>text" * 3000), read(make, html + "<p>" * 70_000)):
        assert hrefs(found, LinkKind.EMBED) == ["a.png?x&y", "d.png"]
        assert hrefs(found, LinkKind.CSS) == ["b.png", "c.png"]


def test_documents_within_a_page_are_read(make: Make) -> None:
    html = (
        "<a href=1>x</a>"
        "<iframe srcdoc=\"<base href='/b/'><a href=2>x</a><iframe srcdoc='<img src=3>'></iframe>\" src=4></iframe>"
        "<a href=5>x</a><noframes><body><a href='6?a&amp;b'>x</a></body></noframes>"
        "<div><template shadowrootmode=open><a href=7>x</a><template><a href=no></a></template><slot></slot></template>"
        "<template ShadowRootMode=Closed><p title='>'><a href=8>x</a></template>"
        "<template shadowrootmode=no><a href=no></a></template></div><a href=9>x</a>"
    )
    wanted = ["1", "4", "https://example.org/b/2", "https://example.org/b/3", "5", "6?a&b", "7", "8", "9"]
    for found in (read(make, html), read(make, html + "<p>text" * 3000)):
        assert hrefs(found) == wanted
        assert found.base_url == "https://example.org/a/page.html"
    assert hrefs(read(make, html + "<p>" * 70_000))[-4:] == ["6?a&b", "7", "8", "9"]


def test_documents_within_documents_end(make: Make) -> None:
    html = "<a href=x>x</a>"
    for _ in range(6):
        quoted = html.replace("&", "&amp;").replace("'", "&#39;")
        html = f"<a href=x>x</a><iframe srcdoc='{quoted}'></iframe>"
    assert len(read(make, html).links) == 4
    assert len(read(make, "<iframe srcdoc='<a href=x>'></iframe>" * 3_000).links) == 1_000


def test_what_others_show_of_a_page_is_read_where_wanted(make: Make) -> None:
    html = (
        "<meta property=og:image content=a><meta name=Twitter:Image content=b><meta property=og:image:alt content=no>"
        "<div data-href=c data-url='d?e&amp;f'></div><amp-img src=g srcset='h 1x'><img src=i></amp-img>"
    )
    assert hrefs(read(make, html)) == ["i"]
    assert hrefs(read(make, html, preview_images=True)) == ["a", "b", "i"]
    assert hrefs(read(make, html, amp_images=True)) == ["h", "g", "i"]
    found = read(make, html, data_links=True)
    assert hrefs(found) == ["i", "c", "d?e&f"]
    assert hrefs(found, LinkKind.SPECULATIVE) == ["c", "d?e&f"]
    assert set(hrefs(read(make, html + "<p>" * 70_000, data_links=True))) == {"i", "c", "d?e&f"}


def test_elements_of_svg_are_not_those_of_html_whose_names_they_have(make: Make) -> None:
    html = (
        "<svg><link rel=stylesheet href=no></link><image src=no href=a></image><g><video src=no poster=no></video>"
        "<base href=/b/></base><script src=no xlink:href=b></script><iframe src=no></iframe></g></svg><link href=c>"
    )
    found = read(make, html)
    assert (hrefs(found), found.base_url) == (["a", "b", "c"], "https://example.org/a/page.html")


def test_references_of_svg_are_links(make: Make) -> None:
    html = (
        "<a xlink:href=no>outside</a><svg><a xlink:href=a1>x</a><g><a href=a2 xlink:href=no>y</a></g>"
        "<a href xlink:href=no>z</a><use xlink:href='s.svg#icon'/><use href=t.svg#icon /><use href='#here'/>"
        "<use xlink:href=' #here'/><image href=i1 /><image xlink:href=i2 /><feImage xlink:href=i3 /></svg>"
        "<image src=i4><template><svg><use href=no /></svg></template>"
    )
    for found in (read(make, html), read(make, html + "<p>text" * 3000)):
        assert hrefs(found, LinkKind.LINK) == ["a1", "a2", ""]
        assert set(hrefs(found, LinkKind.EMBED)) == {"s.svg#icon", "t.svg#icon", "i1", "i2", "i3", "i4"}


def test_images_that_are_preloaded_are_links(make: Make) -> None:
    html = (
        "<link rel='preload' as=image imagesrcset='a.png 1x, b,2.png 2x'><link rel=Preload href=c imagesrcset=d>"
        "<link rel=icon href=e imagesrcset=no><link rel=preload imagesrcset><link>"
    )
    assert [(link.href, link.rel) for link in read(make, html).links] == [
        ("a.png", "preload"),
        ("b,2.png", "preload"),
        ("d", "preload"),
        ("c", "preload"),
        ("e", "icon"),
    ]


def test_style_sheets_within_a_page_are_read(make: Make) -> None:
    html = "<style>@import 'a.css'; /* url(no) */ p { background: url(b.png) }</style><style>p { color: red }</style>"
    assert hrefs(read(make, html), LinkKind.CSS) == ["a.css", "b.png"]


def test_an_escaped_quote_in_a_selector_hides_no_url(make: Make) -> None:
    css = r".content-\[\'\'\]:before{content:''}.c\/\*{background:url(a.png)}.d\"{background:url(b.png)}"
    found = read(make, f"<style>{css}</style><style>{css.replace('a.png', 'é.png')}</style>")
    assert hrefs(found, LinkKind.CSS) == ["a.png", "b.png", "é.png", "b.png"]
    sheet = make().extract(page(css.encode(), headers=(("Content-Type", "text/css"),)))
    assert hrefs(sheet) == ["a.png", "b.png"]


@pytest.mark.parametrize(
    ("start", "declared", "charset"),
    [
        ('@charset "windows-1251";', "text/css", ("windows-1251", "css")),
        ('@charset "utf-16le";', "text/css", ("utf-8", "css")),
        ("@charset 'koi8-r';", "text/css", ("windows-1251", "detected")),
        ('@charset "koi8-r";', "text/css; charset=windows-1251", ("windows-1251", "http")),
    ],
)
def test_style_sheets_tell_their_encoding(make: Make, start: str, declared: str, charset: tuple[str, str]) -> None:
    body = f"{start} a{{background:url('картинка.png'); content:'обычный русский текст, слова и буквы'}}".encode(
        "cp1251"
    )
    found = make().extract(page(body, headers=(("Content-Type", declared),)))
    assert (found.charset, found.charset_source) == charset
    assert len(found.links) == 1
    assert found.links[0].href == "картинка.png" or charset[0] == "utf-8"


def test_style_attributes_are_read(make: Make) -> None:
    html = (
        "<div style=\"color: red; background: URL(c.png), url('a.png?x&amp;y')\"><p style='src: url(b.png)'>url(no)</p>"
        "<template><i style='background: url(no)'></i></template></div>"
    )
    assert hrefs(read(make, html), LinkKind.CSS) == ["c.png", "a.png?x&y", "b.png"]
    upper = "<p STYLE='background: URL(a)'>x<p style='b: Url(\"b\")'>"
    for found in (read(make, upper), read(make, upper + "<p>text" * 3000), read(make, upper + "<p>" * 70_000)):
        assert hrefs(found, LinkKind.CSS) == ["a", "b"]


def test_metadata_is_read_from_the_head(make: Make) -> None:
    extract = read(
        make,
        "<html lang=de-AT><title> A\n title </title><meta name=Author content=' Ada  L. '>"
        "<meta name=description content='What it\nis about.'><link rel=canonical href=../c><p>Text.",
    )
    assert extract.title == "A title"
    assert extract.author == "Ada L."
    assert extract.description == extract.abstract == "What it is about."
    assert extract.language == "de-AT"
    assert extract.canonical == "https://example.org/c"


def test_open_graph_stands_in_for_what_is_missing(make: Make) -> None:
    extract = read(make, "<meta property=og:title content=T><meta property=og:description content=D><p>Text.")
    assert (extract.title, extract.description, extract.abstract) == ("T", "D", "D")


def test_the_abstract_is_the_first_sentences_of_a_page_without_description(make: Make) -> None:
    html = (
        "<script>var p = 1</script><h1>H</h1><p> </p><p>One  is first.</p><p>Two <i>is</i> second.</p><p>" + "x " * 500
    )
    extract = read(make, html)
    assert extract.description is None
    assert extract.abstract is not None
    assert extract.abstract.startswith("One is first. Two is second. x x")
    assert len(extract.abstract) <= 301


def test_an_svg_title_is_not_the_pages(make: Make) -> None:
    assert read(make, "<body><svg><title>icon</title></svg><p>x").title is None


def test_the_first_base_decides_wherever_it_stands(make: Make) -> None:
    extract = read(make, "<base target=_top><a href=x>x</a><base href=../b/><base href=/c/>")
    assert extract.base_url == "https://example.org/b/"
    assert read(make, "<base href=''><base href=/b/>").base_url == "https://example.org/a/page.html"


@pytest.mark.parametrize("base", ["javascript:x", "http://[", "data:,"])
def test_a_base_that_is_no_web_address_is_ignored(make: Make, base: str) -> None:
    assert read(make, f"<base href='{base}'><a href=x>x</a>").base_url == "https://example.org/a/page.html"


def test_a_base_that_is_longer_than_any_url_is_ignored(make: Make) -> None:
    # Each href would have to be joined to all of it.
    html = f"<base href='https://e.org/{'x' * 20_000}/'><a href=x>x</a>"
    assert read(make, html).base_url == "https://example.org/a/page.html"


def test_noscript_is_read_and_templates_and_comments_are_not(make: Make) -> None:
    html = (
        "<head><noscript><link rel=stylesheet href=n.css></noscript></head><noscript><img src=n.png></noscript>"
        "<template><a href=t>t</a><img src=t></template><!-- <a href=c>c</a> --><a href=x>x</a>"
    )
    assert hrefs(read(make, html)) == ["n.css", "n.png", "x"]


def test_robots_directives_for_all_and_for_this_agent_are_read(make: Make) -> None:
    assert not read(make, "<meta name=robots content=all>").noindex
    extract = read(make, "<meta name=ROBOTS content='NoIndex'><meta name=otherbot content=nofollow><a href=x>x</a>")
    assert (extract.noindex, extract.nofollow) == (True, False)
    assert extract.links[0].rel == ""
    extract = read(make, "<a href=x rel=me>x</a><meta name=onceover content=none>")
    assert (extract.noindex, extract.nofollow) == (True, True)
    assert extract.links[0].rel == "me nofollow"


def test_headers_speak_too(make: Make) -> None:
    found = make(agent="onceover").extract(
        page(
            b"<base href=/b/><a href=x>x</a>",
            headers=(
                ("content-type", 'Text/HTML; charset="utf-8"'),
                ("Link", '<../n>; rel="next", <c>; rel=canonical, <//x.test>; rel=preconnect'),
                ("X-Robots-Tag", "otherbot: nofollow"),
                ("X-Robots-Tag", "onceover: noindex"),
                ("Content-Language", "fr"),
                ("Refresh", "0; url=r"),
            ),
        )
    )
    assert [(link.href, link.kind) for link in found.links] == [
        ("https://example.org/a/r", LinkKind.REFRESH),
        ("https://example.org/n", LinkKind.HEADER),
        ("https://example.org/a/c", LinkKind.HEADER),
        ("x", LinkKind.LINK),
    ]
    assert found.canonical == "https://example.org/a/c"
    assert (found.noindex, found.nofollow, found.language) == (True, False, "fr")
    assert (found.charset, found.charset_source) == ("utf-8", "http")


def test_legacy_text_is_decoded_as_declared(make: Make) -> None:
    html = '<meta charset="windows-1251"><title>Привет</title><a href="/путь?q=1">Ссылка</a>'
    extract = read(make, html.encode("cp1251"))
    assert extract.title == "Привет"
    assert [(link.href, link.text) for link in extract.links] == [("/путь?q=1", "Ссылка")]
    assert (extract.charset, extract.charset_source) == ("windows-1251", "meta")


def test_a_query_beyond_ascii_is_sent_in_the_encoding_of_its_page(make: Make) -> None:
    html = '<meta charset=windows-1251><a href="/п?q=п&amp;x=%20#п">x</a><a href="?ы=漢">x</a>'.encode(
        "cp1251", "xmlcharrefreplace"
    )
    assert hrefs(read(make, html)) == ["/п?q=%EF&x=%20#п", "?%FB=%26%2328450%3B"]


def test_nothing_is_lost_behind_nuls_and_broken_bytes(make: Make) -> None:
    html = b"<p>\0\xff\xfe\x80<a href='a\0b'>\xe4</a>\0<a href=c>\xc3</a>\xed\xa0\x80<a href=d>d</a>"
    assert [link.href for link in read(make, html).links][1:] == ["c", "d"]


@pytest.mark.parametrize("tag", ["title", "textarea", "iframe", "xmp", "noembed", "style", "script"])
def test_what_is_no_markup_holds_no_links(make: Make, tag: str) -> None:
    found = read(make, f"<{tag}><base href=/b/><a href=no>1</a></{tag} x><a href=x>2</a>")
    assert (found.base_url, hrefs(found)) == ("https://example.org/a/page.html", ["x"])
    assert found.title == ("<base href=/b/><a href=no>1</a>" if tag == "title" else None)
    assert hrefs(read(make, f"<!-- <{tag}> --><p title='<{tag}>'><a href=x>2</a>")) == ["x"]


@pytest.mark.parametrize("tag", ["title", "style", "script"])
def test_elements_of_svg_that_are_closed_at_once_hold_nothing(make: Make, tag: str) -> None:
    assert hrefs(read(make, f"<svg><{tag} /></svg><a href=x>3</a>")) == ["x"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a&amp;b&lt;c&eacute;", "?a&b<cé"),
        ("?a=1&region=2&copy=3&section;4", "?a=1&region=2&copy=3&section;4"),
        ("?a&copy&notit;&copyb", "?a©&notit;&copyb"),
        ("?&#65;&#x42;&;&", "?AB&;&"),
    ],
)
def test_references_in_attributes_are_read_as_the_standard_says(make: Make, written: str, meant: str) -> None:
    assert hrefs(read(make, f'<meta charset=utf-8><a href="{written}">x</a>')) == [meant]
    assert hrefs(read(make, f"<meta charset=utf-8><A HREF={written}>x</A>")) == [meant]


def test_a_paragraph_that_is_left_open_ends_with_the_next(make: Make) -> None:
    assert read(make, "<p>One <b>and</b> a half.<p>Two.<p>Three.").abstract == "One and a half. Two. Three."


def test_an_empty_comment_is_a_whole_one(make: Make) -> None:
    html = (
        "<!--[if IE]><!--><a href=a>x</a><!--<![endif]--><!--><a href=b>x</a><!---><a href=c>x</a><!-- <a href=no>-->"
    )
    assert hrefs(read(make, html)) == ["a", "b", "c"]


def test_broken_html_is_read_as_far_as_it_goes(make: Make) -> None:
    html = "<html><head></head></html><body><div><a href=a>x<p><a href=b>y</div></body></html><p><a href='c'>z"
    # An <a> that is left open is opened again in the next block, by the standard; so `a` may be there twice.
    assert list(dict.fromkeys(hrefs(read(make, html)))) == ["a", "b", "c"]


def test_xhtml_is_read_like_html(make: Make) -> None:
    body = (
        b'<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en">'
        b'<head><title>T</title></head><body><a href="x?a=1&amp;b=2"/><p/></body></html>'
    )
    for declared in ("application/xhtml+xml", "text/xml"):
        found = make().extract(page(body, headers=(("Content-Type", declared),)))
        assert found.content_type == "application/xhtml+xml"
        assert (found.title, hrefs(found)) == ("T", ["x?a=1&b=2"])


XHTML = b"""<?xml version="1.0" encoding="windows-1251"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/><title/><script src="s.js"/><style/>
<script>//<![CDATA[
if (a < b) write('<p/>');
//]]></script></head><body><!-- <iframe/> --><template/><div/><a href="a"/><a href='b' >\xcf</a>
<![CDATA[<a href="no">&amp;]]><textarea/><iframe src="f"/><br/><img src="i"/><svg><path/></svg>
<a href=c/>x</a></body></html>"""


def test_elements_that_xhtml_closes_at_once_hold_nothing(make: Make) -> None:
    found = make().extract(page(XHTML, headers=(("Content-Type", "application/xhtml+xml"),)))
    assert [(link.href, link.text) for link in found.links] == [
        ("s.js", ""),
        ("a", ""),
        ("b", "П"),
        ("f", ""),
        ("i", ""),
        ("c/", "x"),
    ]
    assert (found.charset, found.charset_source) == ("windows-1251", "xml")


@pytest.mark.parametrize("root", ["html", "HTML lang='de'", "head", "body", 'body class="x"', "body\n"])
def test_a_slash_in_a_tag_of_html_ends_nothing(make: Make, root: str) -> None:
    found = read(make, f"<!doctype html><{root} /><title>t</title><p id=p /><a href=x />one</a> two <br/><a href=y/>z")
    assert (found.title, found.abstract) == ("t", "one two z")
    assert [(link.href, link.text) for link in found.links] == [("x", "one"), ("y/", "z")]
    assert found.language == ("de" if "lang" in root else None)


def test_a_slash_in_a_tag_counts_in_svg_and_mathml_alone(make: Make) -> None:
    html = (
        "<template /><a href=no>x</a></template><svg/><template/><a href=no>x</a></template>"
        "<svg><a href=a />x</svg><a href=b /><math><mi/></math>y</a><iframe src=f /><a href=no></a></iframe><a href=c>"
    )
    assert hrefs(read(make, html)) == ["a", "b", "f", "c"]
    assert [link.text for link in read(make, html).links] == ["", "y", "", ""]


def test_an_anchor_that_is_left_open_ends_with_the_next(make: Make) -> None:
    links = read(make, "<a name=n><a href=x>one <b>two</b> <a href=y>three</a> four").links
    assert [(link.href, link.text) for link in links] == [("x", "one two"), ("y", "three")]


def test_xml_that_is_declared_to_be_html_is_read_without_a_warning(make: Make) -> None:
    assert hrefs(read(make, "<?xml version='1.0'?><p><a href=x>x</a>")) == ["x"]


@pytest.mark.parametrize("piece", [b"<a ", b"<a/", b"<![CDATA[", b"<!--", b"<script>", b"<a b='", b"<script/><script>"])
@pytest.mark.timeout(PATIENCE_S)
def test_hostile_xhtml_takes_no_hostile_time(piece: bytes) -> None:
    xhtml_to_html(piece * 200_000)


@pytest.mark.parametrize(
    ("declared", "body", "content_type"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n<a href=x>", "image/png"),
        ("text/html", b"%PDF-1.7 <a href=x>", "application/pdf"),
        ("text/plain", b"<a href=x>", "text/plain"),
        ("application/octet-stream", b"\x00\x01\x02<a href=x>", "application/octet-stream"),
    ],
)
def test_what_is_not_html_has_no_links_of_its_own(make: Make, declared: str, body: bytes, content_type: str) -> None:
    found = make().extract(page(body, headers=(("Content-Type", declared),)))
    assert (found.content_type, list(found.links), found.error) == (content_type, [], None)


def test_an_empty_body_is_an_empty_page(make: Make) -> None:
    for body in (b"", b" ", b"\0", b"\xef\xbb\xbf", b"<"):
        found = make().extract(page(body))
        assert (list(found.links), found.title, found.error) == ([], None, None)


def test_nested_anchors_cannot_make_text_without_bound(make: Make) -> None:
    found = make().extract(page(b"<a href=x><object>" * 2000 + b"text " * 20_000))
    assert found.error is None
    assert all(len(link.text) <= 200 for link in found.links)


def test_an_anchor_left_open_cannot_make_links_without_bound(make: Make) -> None:
    body = b"<div>" * 500 + b"<a href='%b'>" % (b"y" * 1000) + b"</div>x" * 500
    found = make().extract(page(body))
    assert found.error is None
    assert found.links
    assert sum(len(link.href) for link in found.links) <= 4 * len(body) + 1000


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 100_000,
        b"<div></x>" * 50_000,
        b"<svg><style><g>" * 1_500 + b"x" * 100_000,
        b"<svg><g><title>" * 1_500 + b"<g>" * 1_000,
        b"<div>" * 5_000 + b"".join(b"<b a=%d>" % number for number in range(5_000)) + b"</div>x" * 5_000,
        b"<ul><li>" * 100_000,
        b"<a " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">",
        b"<img srcset='" + b"," * 100_000 + b"'>",
        b"<meta http-equiv=refresh content='" + b"1" * 100_000 + b"'>",
        b"<!-- -->" * 50_000,
        b"<![CDATA[" * 50_000,
        b"<base " * 50_000,
        b'<a b="' * 50_000,
        b"<!-- " * 50_000,
        b"<meta charset=" * 20_000,
    ],
    ids=lambda body: body[:12].decode(),
)
@pytest.mark.timeout(PATIENCE_S)
def test_hostile_pages_take_no_hostile_time(make: Make, body: bytes) -> None:
    make().extract(page(body))


TOKENS = [
    *("<?xml version='1.0'?>", "<script/>", "/>"),
    *("<a href=", "<img srcset=", "<base href=", "<meta ", "<link rel=", "<template>", "<svg>", "<table>", "</table>"),
    *(
        "<p>",
        "</a>",
        "<!--",
        "-->",
        ">",
        '"',
        "'",
        " ",
        "x",
        "\0",
        "&amp;",
        "&#0;",
        "\ud800",
        "é",
        "<title>",
        "<noscript>",
    ),
    *(
        "charset=",
        "content=",
        "http-equiv=refresh ",
        "0;url=",
        "name=robots ",
        "<![CDATA[",
        "<frameset>",
        "/",
        "=",
        "//[",
    ),
]


def _try_encode(html: str) -> bytes:
    return html.encode("utf-8", "surrogatepass")


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join).map(_try_encode))
def test_no_page_breaks_an_extractor(body: bytes) -> None:
    for make in MAKERS:
        assert make().extract(page(body)).error is None


@pytest.mark.long
@settings(settings.get_profile("long"))
@given(
    st.binary(max_size=2000) | st.lists(st.sampled_from(TOKENS), max_size=100).map("".join).map(_try_encode),
    st.sampled_from(["text/html", "text/xml", "text/css", "application/rss+xml", "text/plain", ""]),
)
def test_no_bytes_break_an_extractor_in_the_long_run(body: bytes, declared: str) -> None:
    for make in MAKERS:
        assert make().extract(page(body, headers=(("Content-Type", declared),))).error is None


def _fuzz_inputs(corpora: Path) -> list[bytes]:
    with tarfile.open(fileobj=io.BytesIO(suite(corpora, "html_url.tar.gz"))) as archive:
        members = (archive.extractfile(member) for member in archive if member.isfile())
        return [file.read() for file in members if file is not None]


def test_fuzz_inputs_of_others_break_nothing(corpora: Path, make: Make) -> None:
    inputs = _fuzz_inputs(corpora)
    assert len(inputs) > 500
    extractor = make()
    for body in inputs if make is not Bs4Extractor else inputs[::10]:
        assert extractor.extract(page(body)).error is None, body[:200]


def _link_set(extract: Extract) -> set[str]:
    joined = (join(extract.base_url, link.href) for link in extract.links if link.kind is LinkKind.LINK)
    return {url.partition("#")[0] for url in joined if url is not None}


def _differing(corpora: Path, extractor: LinkExtractor, every: int) -> list[str]:
    different, count = [], 0
    for number, (oracle, each) in enumerate(real_pages(corpora)):
        if number % every:
            continue
        count += 1
        extract = extractor.extract(each)
        assert extract.error is None
        if _link_set(extract) != set(oracle["links_http_no_fragment"]):
            different.append(oracle["file"])
    assert count >= 400 // every
    return different


def test_links_of_real_pages_are_those_of_the_oracle(corpora: Path) -> None:
    assert _differing(corpora, LexborExtractor(), 4) == []
    assert _differing(corpora, LxmlExtractor(), 8) == []


@pytest.mark.long
def test_links_of_all_real_pages_are_those_of_the_oracle(corpora: Path) -> None:
    assert _differing(corpora, LexborExtractor(), 1) == []
    assert _differing(corpora, LxmlExtractor(), 1) == []
    assert _differing(corpora, Bs4Extractor(), 1) == []


def test_the_three_agree_on_sites_made_to_be_hard(corpora: Path) -> None:
    for name, body in suite_files(corpora, "heritrix-selftest-sites/"):
        if name.endswith((".html", ".htm")):
            by_lexbor, by_lxml, by_soup = (_link_set(make().extract(page(body))) for make in MAKERS)
            assert by_lexbor == by_lxml == by_soup, name


def test_links_that_scrapy_expects_are_found(corpora: Path, make: Make) -> None:
    # Its policies (allowed and denied patterns, restricted areas, one of each URL) are not an extractor's.
    cases = [
        case for case in json.loads(suite(corpora, "link_extractor_tests.json")) if case["options"] == {"args": []}
    ]
    assert cases
    for case in cases:
        body = base64.b64decode(case["body_base64"])
        found = make().extract(
            page(body, url=case["url"], headers=(("Content-Type", f"text/html; charset={case['encoding']}"),))
        )
        missing = {link["url"].partition("#")[0] for link in case["links"]} - _link_set(found)
        assert {url for url in missing if url.startswith("http")} == set(), case["test"]
