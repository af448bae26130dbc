import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.read.css import css_urls
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.read.suites import suite


@pytest.mark.parametrize(
    ("css", "urls"),
    [
        ("a{background:url(a.png)}", ["a.png"]),
        ("a{background:URL( 'a b.png' ) , url(\"c)d\")}", ["a b.png", "c)d"]),
        ("@import 'a.css';@import url(b.css) screen;@IMPORT\n\"c.css\"", ["a.css", "b.css", "c.css"]),
        ("@import url('a.css')", ["a.css"]),
        ("/* url(a) @import 'b' */ a{b:url(c)}", ["c"]),
        ("a{content:'url(a)'} b{c:\"@import 'x'\"}", []),
        (r"a{b:url(a\ b\)\2e png)}", ["a b).png"]),
        (r"a{b:url('a\'b\
c')}", ["a'bc"]),
        ("a{b:curl(a)} @important 'b'; .url (x)", []),
        ("a{b:url()} c{d:url('')}", []),
        (r"a{b:\75rl(c)} d{e:u\72 l( 'f' )} g{h:\55\52\00004c(i)} j{k:u\rl(l)}", ["c", "f", "i", "l"]),
        (r"@\69mport 'm'; @i\mport url(n)", ["m", "n"]),
        (r"a{b:i\6D age-set('c' 1x)} d{e:\73 rc('f')}", ["c", "f"]),
        (r"a{b:\\75rl(no)} c{d:x\75rl(no)} e{f:\78 url(no)} g{h:url\28no) i:\75 x} \@\69mport 'no';", []),
        (r"a{b:\75rl(c\4\61 d\\\75\20\62)}", ["c\4ad\\u b"]),
        (r"a{b:\e9url(no)} c{d:\e9\75rl(no)} e{f:\31url(no)} g{h:\75rl(\2f\69)}", ["/i"]),
        ("a{b:url(#c)} d{e:url( '#default#VML' )} f{g:url(h#i)} @import '#j'", ["h#i"]),
        ("@import/**/'a'", ["a"]),
        ("@import foo 'a'", []),
        ("a{b:url(unclosed", ["unclosed"]),
        ("a{b:url( unclosed ", ["unclosed"]),
        ("a{b:url(", []),
        ("@namespace svg url(http://www.w3.org/2000/svg);@NameSpace 'x';a{b:url(c)}", ["c"]),
        ("@namespaces url(a)", ["a"]),
        ("/* unclosed url(a)", []),
        ("/* unclosed * url(a) **", []),
        ("/*/ url(a) /**/ b:url(c)", ["c"]),
        ("/**/ b:url(c) /***/ d:url(e)", ["c", "e"]),
        ("a{b:url(a b 'c) d:url(e)}", ["e"]),
        ("a{b:url(a/* c */'d) e:url( 'f' )}", ["f"]),
        ("a{b:image-set('a.png' 1x, \"b.png\" 2x); c:'d' 'e', 'f'}", ["a.png", "b.png"]),
        ("a{b:-webkit-image-set( 'a' type('image/avif'), url(b) 1x,\n'd' type(\"image/png\"))}", ["a", "b", "d"]),
        ("a{b:image-set(linear-gradient(red, blue) 1x, 'c' 2x)} d{e:image-setting('f')}", ["c"]),
        ("a{b:image-set('c' 1x)} d{e:f, 'g'}", ["c"]),
        # Escapes in names, as Tailwind writes them.
        (r".content-\[\'\'\]:before{b:url(a)} .c:after{content:'x'} d{b:url(c)}", ["a", "c"]),
        (r".before\:content-\[\"\"\]{a:b} .x\/\*{b:url(a)} .y\@import 'no'; .z\'{b:url('c')}", ["a", "c"]),
        (r".bg-\[url\(\'no\.png\'\)\]{b:url('a.png')}", ["a.png"]),
        (r"@import\41 'no'; @import url(\'a); .\\{b:url('c')}", ["'a", "c"]),
        ("\\\n'no url(a)' b:url(c)", ["c"]),
        ("@font-face{src:url(a.woff2) format('woff2'),url(a.eot?#iefix)}", ["a.woff2", "a.eot?#iefix"]),
    ],
)  # fmt: skip
def test_urls_are_those_that_the_tokens_of_css_make(css: str, urls: list[str]) -> None:
    assert list(css_urls(css)) == urls


@given(
    st.lists(
        st.sampled_from(
            ["url(", ")", "'", '"', "\\", "/*", "*/", "@import", " ", "a", "\n", "\\41 ", "image-set(", ","]
        ),
        max_size=200,
    )
)
def test_no_style_sheet_breaks_it(pieces: list[str]) -> None:
    assert all(css_urls("".join(pieces)))


@pytest.mark.parametrize(
    "piece",
    [
        "url(",
        "url( ",
        "url(a ",
        "'",
        "/*",
        "/* *",
        "@import ",
        "\\",
        'url("',
        "@import/**/",
        "@namespace ",
        "image-set(",
        "image-set(','",
        "url(a'",
    ],
)
@pytest.mark.timeout(MAX_WAIT_S)
def test_hostile_style_sheets_take_no_hostile_time(piece: str) -> None:
    list(css_urls(piece * 100_000))


def test_fuzz_inputs_of_others_break_nothing(corpora: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(suite(corpora, "css_url.tar.gz"))) as archive:
        members = (archive.extractfile(member) for member in archive if member.isfile())
        inputs = [file.read().decode("utf-8", "replace") for file in members if file is not None]
    assert len(inputs) > 100
    for text in inputs:
        assert sum(map(len, css_urls(text))) <= len(text)
