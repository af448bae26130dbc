"""How HTML and XHTML are read."""

import pytest

from crawler.page import LinkKind
from crawler.testing.read.suite import HtmlExtractorSuite, hrefs, page

XHTML = b"""<?xml version="1.0" encoding="windows-1251"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/><title/><script src="s.js"/><style/>
<script>//<![CDATA[
if (a < b) write('<p/>');
//]]></script></head><body><!-- <iframe/> --><template/><div/><a href="a"/><a href='b' >\xcf</a>
<![CDATA[<a href="no">&amp;]]><textarea/><iframe src="f"/><br/><img src="i"/><svg><path/></svg>
<a href=c/>x</a></body></html>"""


class SyntaxTests(HtmlExtractorSuite):
    """Encodings, references, raw text, XHTML, and what is broken."""

    def test_legacy_text_is_decoded_as_declared(self) -> None:
        html = '<meta charset="windows-1251"><title>Привет</title><a href="/путь?q=1">Ссылка</a>'
        extract = self.read(html.encode("cp1251"))
        assert extract.title == "Привет"
        assert [(link.href, link.text) for link in extract.links] == [("/путь?q=1", "Ссылка")]
        assert (extract.charset, extract.charset_source) == ("windows-1251", "meta")

    def test_a_query_beyond_ascii_is_sent_in_the_encoding_of_its_page(self) -> None:
        html = '<meta charset=windows-1251><a href="/п?q=п&amp;x=%20#п">x</a><a href="?ы=漢">x</a>'.encode(
            "cp1251", "xmlcharrefreplace"
        )
        assert hrefs(self.read(html)) == ["/п?q=%EF&x=%20#п", "?%FB=%26%2328450%3B"]

    def test_a_query_within_a_page_is_sent_in_its_encoding_but_one_of_a_srcdoc_in_utf_8(self) -> None:
        html = (
            "<meta charset=windows-1252><iframe srcdoc=\"<a href='?é'>x</a>"
            "<template shadowrootmode=open><a href='?ê'>x</a></template>\"></iframe>"
            "<template shadowrootmode=open><a href='?ë'>x</a></template><link rel=canonical href='?è'>"
        ).encode("cp1252")
        found = self.read(html)
        assert hrefs(found) == ["?é", "?ê", "?%EB", "?%E8"]
        assert found.canonical == "https://example.org/a/page.html?%E8"

    def test_nothing_is_lost_behind_nuls_and_broken_bytes(self) -> None:
        html = b"<p>\0\xff\xfe\x80<a href='a\0b'>\xe4</a>\0<a href=c>\xc3</a>\xed\xa0\x80<a href=d>d</a>"
        assert [link.href for link in self.read(html).links][1:] == ["c", "d"]

    @pytest.mark.parametrize("tag", ["title", "textarea", "iframe", "xmp", "noembed", "style", "script"])
    def test_what_is_no_markup_holds_no_links(self, tag: str) -> None:
        found = self.read(f"<{tag}><base href=/b/><a href=no>1</a></{tag} x><a href=x>2</a>")
        assert (found.base_url, hrefs(found)) == ("https://example.org/a/page.html", ["x"])
        assert found.title == ("<base href=/b/><a href=no>1</a>" if tag == "title" else None)
        assert hrefs(self.read(f"<!-- <{tag}> --><p title='<{tag}>'><a href=x>2</a>")) == ["x"]

    @pytest.mark.parametrize("tag", ["title", "style", "script"])
    def test_elements_of_svg_that_are_closed_at_once_hold_nothing(self, tag: str) -> None:
        assert hrefs(self.read(f"<svg><{tag} /></svg><a href=x>3</a>")) == ["x"]

    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("?a&amp;b&lt;c&eacute;", "?a&b<cé"),
            ("?a=1&region=2&copy=3&section;4", "?a=1&region=2&copy=3&section;4"),
            ("?a&copy&notit;&copyb", "?a©&notit;&copyb"),
            ("?&#65;&#x42;&;&", "?AB&;&"),
        ],
    )
    def test_references_in_attributes_are_read_as_the_standard_says(self, written: str, meant: str) -> None:
        assert hrefs(self.read(f'<meta charset=utf-8><a href="{written}">x</a>')) == [meant]
        assert hrefs(self.read(f"<meta charset=utf-8><A HREF={written}>x</A>")) == [meant]

    def test_an_empty_comment_is_a_whole_one(self) -> None:
        html = (
            "<!--[if IE]><!--><a href=a>x</a><!--<![endif]--><!--><a href=b>x</a>"
            "<!---><a href=c>x</a><!-- <a href=no>-->"
        )
        assert hrefs(self.read(html)) == ["a", "b", "c"]

    def test_broken_html_is_read_as_far_as_it_goes(self) -> None:
        html = "<html><head></head></html><body><div><a href=a>x<p><a href=b>y</div></body></html><p><a href='c'>z"
        # An <a> that is left open is opened again in the next block, by the standard; so `a` may be there twice.
        assert list(dict.fromkeys(hrefs(self.read(html)))) == ["a", "b", "c"]

    def test_xhtml_is_read_like_html(self) -> None:
        body = (
            b'<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en">'
            b'<head><title>T</title></head><body><a href="x?a=1&amp;b=2"/><p/></body></html>'
        )
        for declared in ("application/xhtml+xml", "text/xml"):
            found = self.make_extractor().extract(page(body, headers=(("Content-Type", declared),)))
            assert found.content_type == "application/xhtml+xml"
            assert (found.title, hrefs(found)) == ("T", ["x?a=1&b=2"])

    def test_elements_of_xhtml_may_have_a_prefix(self) -> None:
        body = (
            b'<h:html xmlns:h="http://www.w3.org/1999/xhtml" xmlns:s="http://www.w3.org/2000/svg" xmlns:o="urn:o">'
            b"<h:head><h:title>T</h:title></h:head><h:body><h:a href='a'>x</h:a><o:a href='no'/>"
            b"<s:svg><s:image href='i'/></s:svg><h:script src='s'/><h:a href='b'/></h:body></h:html>"
        )
        for declared in ("application/xhtml+xml", "text/xml"):
            found = self.make_extractor().extract(page(body, headers=(("Content-Type", declared),)))
            assert (found.title, hrefs(found)) == ("T", ["a", "i", "s", "b"])

    def test_style_sheets_before_the_root_of_xhtml_are_embedded(self) -> None:
        body = (
            b'<?xml version="1.0"?><?xml-stylesheet type="text/css" href="s?a&amp;b"?>'
            b'<!-- <?xml-stylesheet href="no"?> -->'
            b'<html xmlns="http://www.w3.org/1999/xhtml" lang="de"><body><a href="a"/></body></html>'
        )
        found = self.make_extractor().extract(page(body, headers=(("Content-Type", "application/xhtml+xml"),)))
        assert (found.language, hrefs(found, LinkKind.EMBED), hrefs(found, LinkKind.LINK)) == ("de", ["s?a&b"], ["a"])

    @pytest.mark.parametrize("declared", ["image/svg+xml", "application/xml"])
    def test_svg_documents_are_read(self, declared: str) -> None:
        body = (
            b'<?xml version="1.0"?><?xml-stylesheet href="s.css"?><!DOCTYPE svg [<!ENTITY e "x">]>'
            b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><title>T</title>'
            b'<style><![CDATA[@import "t.css";]]></style><script xlink:href="s.js"/>'
            b'<a xlink:href="a"><use href="u.svg#i"/><use href="#here"/></a><image href="i"/></svg>'
        )
        found = self.make_extractor().extract(page(body, headers=(("Content-Type", declared),)))
        assert (found.content_type, found.title, found.error) == ("image/svg+xml", None, None)
        assert hrefs(found) == ["t.css", "s.js", "a", "u.svg#i", "i", "s.css"]

    def test_line_breaks_and_tabs_in_attributes_of_xhtml_are_spaces(self) -> None:
        body = b"<html><a href='\na\r\nb\t'/><a \n href = \n\"c\n\td\"/><a href='e&#10;f'/>='\n<a\nhref='g'/></html>"
        found = self.make_extractor().extract(page(body, headers=(("Content-Type", "application/xhtml+xml"),)))
        assert hrefs(found) == ["a b", "c  d", "e\nf", "g"]

    def test_elements_that_xhtml_closes_at_once_hold_nothing(self) -> None:
        found = self.make_extractor().extract(page(XHTML, headers=(("Content-Type", "application/xhtml+xml"),)))
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
    def test_a_slash_in_a_tag_of_html_ends_nothing(self, root: str) -> None:
        found = self.read(
            f"<!doctype html><{root} /><title>t</title><p id=p /><a href=x />one</a> two <br/><a href=y/>z"
        )
        assert (found.title, found.abstract) == ("t", "one two z")
        assert [(link.href, link.text) for link in found.links] == [("x", "one"), ("y/", "z")]
        assert found.language == ("de" if "lang" in root else None)

    def test_a_slash_in_a_tag_counts_in_svg_and_mathml_alone(self) -> None:
        html = (
            "<template /><a href=no>x</a></template><svg/><template/><a href=no>x</a></template>"
            "<svg><a href=a />x</svg><a href=b /><math><mi/></math>y</a>"
            "<iframe src=f /><a href=no></a></iframe><a href=c>"
        )
        assert hrefs(self.read(html)) == ["a", "b", "f", "c"]
        assert [link.text for link in self.read(html).links] == ["", "y", "", ""]

    def test_an_anchor_that_is_left_open_ends_with_the_next(self) -> None:
        links = self.read("<a name=n><a href=x>one <b>two</b> <a href=y>three</a> four").links
        assert [(link.href, link.text) for link in links] == [("x", "one two"), ("y", "three")]

    def test_xml_that_is_declared_to_be_html_is_read_without_a_warning(self) -> None:
        assert hrefs(self.read("<?xml version='1.0'?><p><a href=x>x</a>")) == ["x"]

    @pytest.mark.parametrize(
        ("declared", "body", "content_type"),
        [
            ("image/png", b"\x89PNG\r\n\x1a\n<a href=x>", "image/png"),
            ("text/html", b"%PDF-1.7 <a href=x>", "application/pdf"),
            ("text/plain", b"<a href=x>", "text/plain"),
            ("application/octet-stream", b"\x00\x01\x02<a href=x>", "application/octet-stream"),
        ],
    )
    def test_what_is_not_html_has_no_links_of_its_own(self, declared: str, body: bytes, content_type: str) -> None:
        """One that reads such documents, too, may say what is wrong with them."""
        found = self.make_extractor().extract(page(body, headers=(("Content-Type", declared),)))
        assert (found.content_type, list(found.links)) == (content_type, [])

    def test_an_empty_body_is_an_empty_page(self) -> None:
        for body in (b"", b" ", b"\0", b"\xef\xbb\xbf", b"<"):
            found = self.make_extractor().extract(page(body))
            assert (list(found.links), found.title, found.error) == ([], None, None)

    def test_nested_anchors_cannot_make_text_without_bound(self) -> None:
        found = self.make_extractor().extract(page(b"<a href=x><object>" * 2000 + b"text " * 20_000))
        assert found.error is None
        assert all(len(link.text) <= 200 for link in found.links)

    def test_an_anchor_left_open_cannot_make_links_without_bound(self) -> None:
        body = b"<div>" * 500 + b"<a href='%b'>" % (b"y" * 1000) + b"</div>x" * 500
        found = self.make_extractor().extract(page(body))
        assert found.error is None
        assert found.links
        assert sum(len(link.href) for link in found.links) <= 4 * len(body) + 1000
