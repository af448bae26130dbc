"""Which links a page has."""

import pytest

from crawler.page import Link, LinkKind
from crawler.testing.read.suite import MANY_OPEN, HtmlExtractorSuite, hrefs, page

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

SCRIPTS = """<script src=x.js></script><script type="application/ld+json">
{"@context": "https://schema.org", "@type": "Article", "url": "https://e.org/a",
 "n": [{"image": "https:\\/\\/e.org\\/i.png"}],
 "text": "see https://e.org/no", "id": "urn:x"}</script>
<script>var a = '/path/to', b = "https:\\/\\/cdn.e.org\\/x.js?y=1", c = "/",
d = '//e.org/z', e = "a/b", f = "</p>";</script>
<script type="text/template"><a href="https://e.org/template"></script>"""

LAZY = """<img data-src=a data-srcset="b 1x, c 2x"><img src=d.gif data-src=e>
<picture><source data-srcset=f></picture><img data-srcset=g><iframe data-src=h></iframe><div data-src=no></div>
<video><source data-src=i></video><img DATA-ORIGINAL=j data-lazy-src=k data-lazy-srcset="l?a&amp;b 1x, m 2x">
<img data-lazy-srcset="n 1x"><video data-src=o></video><audio data-src=p></audio><iframe data-lazy-src=q></iframe>"""


class LinkTests(HtmlExtractorSuite):
    """Links of each kind, in document order."""

    def test_each_link_has_its_kind_and_stands_in_document_order(self) -> None:
        extract = self.read(KINDS, forms=True)
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

    def test_forms_are_left_alone_unless_asked_for(self) -> None:
        html = "<form action=/a><button formaction=/b>x</button><input type=submit formaction=/c></form>"
        assert hrefs(self.read(html)) == []
        for found in (self.read(html, forms=True), self.read(html + "<p>text" * 3000, forms=True)):
            assert hrefs(found, LinkKind.FORM) == ["/a", "/b", "/c"]

    def test_urls_in_scripts_are_guessed_only_where_wanted_and_marked_so(self) -> None:
        assert hrefs(self.read(SCRIPTS)) == ["x.js"]
        found = self.read(SCRIPTS, scripts=True)
        assert hrefs(found, LinkKind.EMBED) == ["x.js"]
        assert hrefs(found, LinkKind.SPECULATIVE) == [
            "https://e.org/a",
            "https://e.org/i.png",
            "/path/to",
            "https://cdn.e.org/x.js?y=1",
            "//e.org/z",
        ]

    def test_frames_are_links(self) -> None:
        html = "<html><frameset><frame src=a><frame src=b><noframes><a href=c>x</a></noframes></frameset></html>"
        assert hrefs(self.read(html), LinkKind.FRAME) == ["a", "b"]

    def test_images_that_scripts_show_later_are_links(self) -> None:
        for found in (self.read(LAZY), self.read(LAZY + "<p>text" * 3000)):
            assert hrefs(found, LinkKind.EMBED) == [
                *("a", "b", "c", "d.gif", "e", "f", "g", "i", "j", "k", "l?a&b", "m", "n", "o", "p")
            ]
            assert hrefs(found, LinkKind.FRAME) == ["h", "q"]

    def test_images_that_phones_show_are_embedded(self) -> None:
        icons = "apple-touch-icon apple-touch-icon-precomposed apple-touch-startup-image mask-icon fluid-icon".split()
        found = self.read("".join(f"<link rel={each} href={each}>" for each in icons))
        assert hrefs(found, LinkKind.EMBED) == list(icons)

    def test_a_hint_beside_another_relation_hides_no_link(self) -> None:
        html = (
            "<link rel='dns-prefetch stylesheet' href=a><link rel='dns-prefetch shortcut icon' href=b>"
            "<link rel='dns-prefetch preconnect' href=no><link rel='preconnect canonical' href=c>"
        )
        given = '<d>; rel="preconnect preload", <no>; rel="preconnect", <no>; rel="dns-prefetch preconnect", <e>'
        found = self.make_extractor().extract(
            page(html.encode(), headers=(("Content-Type", "text/html"), ("Link", given)))
        )
        assert hrefs(found) == ["https://example.org/a/d", "https://example.org/a/e", "a", "b", "c"]
        assert found.canonical == "https://example.org/a/c"

    def test_each_part_of_a_table_may_have_a_background(self) -> None:
        html = (
            "<table background=a><thead background=b><tr background='c&amp;d'><th background=e>x</table>"
            "<table><tfoot background=f><tr><td background=g>x<tbody background=h><tr lang=en><td><tr></table>"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found, LinkKind.EMBED) == ["a", "b", "c&d", "e", "f", "g", "h"]

    def test_backgrounds_that_scripts_show_later_are_links(self) -> None:
        html = (
            "<div data-bg=' a.png?x&amp;y '><p DATA-BG=\"url('b.png'), url(c.png)\">"
            "<i data-bg='#fff'></i><i data-bg></i>"
            "<a href=x data-bg=d.png>x</a><template><b data-bg=no></b></template>"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000), self.read(html + MANY_OPEN)):
            assert hrefs(found, LinkKind.EMBED) == ["a.png?x&y", "d.png"]
            assert hrefs(found, LinkKind.CSS) == ["b.png", "c.png"]

    def test_documents_within_a_page_are_read(self) -> None:
        html = (
            "<a href=1>x</a>"
            "<iframe srcdoc=\"<base href='/b/'><a href=2>x</a><iframe srcdoc='<img src=3>'></iframe>\" src=4></iframe>"
            "<a href=5>x</a><noframes><body><a href='6?a&amp;b'>x</a></body></noframes>"
            "<div><template shadowrootmode=open><a href=7>x</a><template><a href=no></a></template>"
            "<slot></slot></template>"
            "<template ShadowRootMode=Closed><p title='>'><a href=8>x</a></template>"
            "<template shadowrootmode=no><a href=no></a></template></div><a href=9>x</a>"
        )
        wanted = ["1", "4", "https://example.org/b/2", "https://example.org/b/3", "5", "6?a&b", "7", "8", "9"]
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found) == wanted
            assert found.base_url == "https://example.org/a/page.html"
        assert hrefs(self.read(html + MANY_OPEN))[-4:] == ["6?a&b", "7", "8", "9"]

    def test_a_shadow_root_of_svg_is_no_document_of_its_own(self) -> None:
        svg = "<template shadowrootmode=open><template shadowrootmode=open><a href=1>x</a></template></template>"
        html = f"<svg>{svg}</svg><math><template shadowrootmode=open><mi>x</mi></template></math><a href=2>x</a>"
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found) == ["1", "2"]

    def test_documents_within_documents_end(self) -> None:
        html = "<a href=x>x</a>"
        for _ in range(6):
            quoted = html.replace("&", "&amp;").replace("'", "&#39;")
            html = f"<a href=x>x</a><iframe srcdoc='{quoted}'></iframe>"
        assert len(self.read(html).links) == 4
        assert len(self.read("<iframe srcdoc='<a href=x>'></iframe>" * 3_000).links) == 1_000

    def test_what_others_show_of_a_page_is_read_where_wanted(self) -> None:
        html = (
            "<meta property=og:image content=a><meta name=Twitter:Image content=b>"
            "<meta property=og:image:alt content=no>"
            "<div data-href=c data-url='d?e&amp;f'></div><amp-img src=g srcset='h 1x'><img src=i></amp-img>"
        )
        assert hrefs(self.read(html)) == ["i"]
        assert hrefs(self.read(html, preview_images=True)) == ["a", "b", "i"]
        assert hrefs(self.read(html, amp_images=True)) == ["h", "g", "i"]
        found = self.read(html, data_links=True)
        assert hrefs(found) == ["i", "c", "d?e&f"]
        assert hrefs(found, LinkKind.SPECULATIVE) == ["c", "d?e&f"]
        assert set(hrefs(self.read(html + MANY_OPEN, data_links=True))) == {"i", "c", "d?e&f"}

    def test_elements_of_svg_are_not_those_of_html_whose_names_they_have(self) -> None:
        html = (
            "<svg><link rel=stylesheet href=no></link><image src=no href=a></image><g><video src=no poster=no></video>"
            "<base href=/b/></base><script src=no xlink:href=b></script><iframe src=no></iframe></g></svg><link href=c>"
        )
        found = self.read(html)
        assert (hrefs(found), found.base_url) == (["a", "b", "c"], "https://example.org/a/page.html")

    @pytest.mark.parametrize("parent", ["switch", "mask", "clipPath", "pattern", "marker", "symbol"])
    def test_a_link_of_svg_may_stand_in_any_container(self, parent: str) -> None:
        assert hrefs(self.read(f"<svg><{parent}><a xlink:href=a>x</a></{parent}></svg>")) == ["a"]

    def test_elements_of_svg_outside_of_svg_change_nothing(self) -> None:
        html = (
            "<svg><path d=x></path></svg><div>"
            + 40 * "<path d=y>"
            + "<g><mask><script src=a></script><link rel=icon href=b>"
            "<video src=c></video><a xlink:href=no>x</a><iframe src=d></iframe></div>"
            "<svg><g><a xlink:href=e><script src=no xlink:href=f></script></a></g></svg>"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found) == ["a", "b", "c", "d", "e", "f"]

    def test_references_of_svg_are_links(self) -> None:
        html = (
            "<a xlink:href=no>outside</a><svg><a xlink:href=a1>x</a><g><a href=a2 xlink:href=no>y</a></g>"
            "<a href xlink:href=no>z</a><use xlink:href='s.svg#icon'/><x><use href=t.svg#icon /></x><use href='#here'/>"
            "<use xlink:href=' #here'/><image href=i1 /><image xlink:href=i2 /><feImage xlink:href=i3 /></svg>"
            "<image src=i4><template><svg><use href=no /></svg></template><feImage href=no /><use href=no />"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found, LinkKind.LINK) == ["a1", "a2", ""]
            assert set(hrefs(found, LinkKind.EMBED)) == {"s.svg#icon", "t.svg#icon", "i1", "i2", "i3", "i4"}

    def test_urls_in_presentation_attributes_of_svg_are_links(self) -> None:
        html = (
            "<p fill='url(no)'>x</p><svg mask=\"URL( 'a#x')\"><path fill='url(b?c&amp;d) red' stroke='url(#no)'/>"
            "<g filter='url(&quot;#no&quot;)'><path d='url(no)' clip-path='url(e)' marker-end=' url(f)'/></g></svg>"
            "<div fill='url(no)'>x</div><svg fill='url(g)'/>"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert hrefs(found) == ["a#x", "b?c&d", "e", "f", "g"]
            assert hrefs(found, LinkKind.CSS) == hrefs(found)
        assert hrefs(self.read("<svg fill='url(a)'><g><svg mask='url(b)'/></g></svg>")) == ["a", "b"]
        assert hrefs(self.read("<svg><path fill='url(#a)'/><path fill=\"url('#b')\"/></svg><a href=x>y</a>")) == ["x"]
        for attribute in (f"fill={' ' * 50}'url(a)'", f"fill{' ' * 50}=url(a)", f"fill='{' ' * 50}url(a)'"):
            assert hrefs(self.read(f"<svg><path {attribute} /></svg>")) == ["a"]

    def test_any_element_of_mathml_may_be_a_link(self) -> None:
        html = (
            "<p href=no>x</p><math href=a><mrow HREF='b?c&amp;d'><mi>x</mi></mrow><mi href>y</mi>"
            "<mtext><a href=e>z</a></mtext></math><i href=no>x</i>"
        )
        for found in (self.read(html), self.read(html + "<p>text" * 3000)):
            assert sorted(hrefs(found, LinkKind.LINK)) == ["a", "b?c&d", "e"]
        assert hrefs(self.read("<math href=a><mrow><math href=b></math></mrow></math>")) == ["a", "b"]

    def test_images_that_are_preloaded_are_links(self) -> None:
        html = (
            "<link rel='preload' as=image imagesrcset='a.png 1x, b,2.png 2x'><link rel=Preload href=c imagesrcset=d>"
            "<link rel=icon href=e imagesrcset=no><link rel=preload imagesrcset><link>"
        )
        assert [(link.href, link.rel) for link in self.read(html).links] == [
            ("a.png", "preload"),
            ("b,2.png", "preload"),
            ("d", "preload"),
            ("c", "preload"),
            ("e", "icon"),
        ]

    def test_headers_speak_too(self) -> None:
        found = self.make_extractor(agent="onceover").extract(
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

    def test_a_link_header_is_read_like_a_link_element(self) -> None:
        values = (
            "</wp-json/>; rel='https://api.w.org/'",
            '</s.css>; rel=preload; as=style, <//x.test>; rel="preconnect dns-prefetch"',
            '</h>; rel="x preconnect stylesheet"',
            "</x>; rel=pingback, </l>; rel=license, </n>",
        )
        found = self.make_extractor().extract(page(b"", headers=tuple(("Link", value) for value in values)))
        assert [(link.href.removeprefix("https://example.org/"), link.kind) for link in found.links] == [
            ("s.css", LinkKind.EMBED),
            ("h", LinkKind.EMBED),
            ("l", LinkKind.HEADER),
            ("n", LinkKind.HEADER),
        ]

    def test_noscript_is_read_and_templates_and_comments_are_not(self) -> None:
        html = (
            "<head><noscript><link rel=stylesheet href=n.css></noscript></head><noscript><img src=n.png></noscript>"
            "<template><a href=t>t</a><img src=t></template><!-- <a href=c>c</a> --><a href=x>x</a>"
        )
        assert hrefs(self.read(html)) == ["n.css", "n.png", "x"]
