"""Which links style sheets have."""

import pytest

from crawler.page import LinkKind
from crawler.testing.read.suite import MANY_OPEN, HtmlExtractorSuite, hrefs, page


class StyleTests(HtmlExtractorSuite):
    """Style sheets, style elements and style attributes."""

    def test_style_sheets_within_a_page_are_read(self) -> None:
        html = (
            "<style>@import 'a.css'; /* url(no) */ p { background: url(b.png) }</style><style>p { color: red }</style>"
        )
        assert hrefs(self.read(html), LinkKind.CSS) == ["a.css", "b.png"]

    def test_an_escaped_quote_in_a_selector_hides_no_url(self) -> None:
        css = r".content-\[\'\'\]:before{content:''}.c\/\*{background:url(a.png)}.d\"{background:url(b.png)}"
        found = self.read(f"<style>{css}</style><style>{css.replace('a.png', 'é.png')}</style>")
        assert hrefs(found, LinkKind.CSS) == ["a.png", "b.png", "é.png", "b.png"]
        sheet = self.make_extractor().extract(page(css.encode(), headers=(("Content-Type", "text/css"),)))
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
    def test_style_sheets_tell_their_encoding(self, start: str, declared: str, charset: tuple[str, str]) -> None:
        body = f"{start} a{{background:url('картинка.png'); content:'обычный русский текст, слова и буквы'}}".encode(
            "cp1251"
        )
        found = self.make_extractor().extract(page(body, headers=(("Content-Type", declared),)))
        assert (found.charset, found.charset_source) == charset
        assert len(found.links) == 1
        assert found.links[0].href == "картинка.png" or charset[0] == "utf-8"

    def test_styles_that_refer_to_the_page_itself_have_no_link_whatever_its_base(self) -> None:
        styles = "<style>a{b:url(#c)} v{behavior:url(\"#default#VML\")}</style><p style='d:url(#e); f:url(g)'>"
        for html in (f"<base href=/b/>{styles}", f"<base href=/b/>{styles}" + "<p>text" * 3000):
            assert hrefs(self.read(html)) == ["g"]

    def test_style_attributes_are_read(self) -> None:
        html = (
            "<div style=\"color: red; background: URL(c.png), url('a.png?x&amp;y')\">"
            "<p style='src: url(b.png)'>url(no)</p>"
            "<template><i style='background: url(no)'></i></template></div>"
        )
        assert hrefs(self.read(html), LinkKind.CSS) == ["c.png", "a.png?x&y", "b.png"]
        upper = "<p STYLE='background: URL(a)'>x<p style='b: Url(\"b\")'>"
        for found in (self.read(upper), self.read(upper + "<p>text" * 3000), self.read(upper + MANY_OPEN)):
            assert hrefs(found, LinkKind.CSS) == ["a", "b"]
        sets = "<p style=\"a: image-set('a' 1x, 'b' 2x)\">x<p style=\"b:Image-Set('c' 1x, url(d) 2x)\"><p style=e:f>"
        for found in (self.read(sets), self.read(sets + "<p>text" * 3000), self.read(sets + MANY_OPEN)):
            assert hrefs(found, LinkKind.CSS) == ["a", "b", "c", "d"]
