import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.read.encoding import detection
from crawler.read.encoding.declaration import find_html_encoding, prescan
from crawler.read.encoding.detection import is_mostly_utf8, mixes_letters
from crawler.read.encoding.labels import ENCODINGS, SINGLE_BYTE, encoding_of_label
from crawler.read.encoding.query import percent_encode_query
from crawler.read.encoding.text import Encoding, encoding_of, to_text, to_utf8
from crawler.read.html.lexbor import lexbor_extractor
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.read.suites import page, real_pages, suite, suite_files


def test_every_label_of_the_standard_names_its_encoding(corpora: Path) -> None:
    wrong = [
        (label, encoding["name"])
        for group in json.loads(suite(corpora, "whatwg-encoding/encodings.json"))
        for encoding in group["encodings"]
        for label in encoding["labels"]
        if encoding_of_label(label) != encoding["name"].lower()
    ]
    assert wrong == []


def test_labels_are_read_without_regard_to_case_and_space() -> None:
    assert encoding_of_label(" \tISO-8859-1\n") == "windows-1252"
    assert encoding_of_label("utf-7") is None
    assert encoding_of_label("") is None


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_every_encoding_can_be_decoded_whatever_the_bytes(name: str) -> None:
    body = bytes(range(256)) * 2 + b"<a href=x>"
    assert isinstance(to_text(body, Encoding(name, "http")), str)
    assert to_utf8(body, Encoding(name, "http")).decode("utf-8", "replace")


SLICED = ["utf-8", "gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr", "windows-1252", "koi8-r"]


@given(
    name=st.sampled_from(SLICED),
    pieces=st.lists(
        st.one_of(
            st.text("日本語のé本<a>\n", max_size=8).map(lambda some: some.encode("shift_jis", "ignore")),
            st.text("日本語のé本<a>\n", max_size=8).map(lambda some: some.encode("gb18030")),
            st.text("日本語のé本<a>\n", max_size=8).map(str.encode),
            st.binary(max_size=8),
        )
    ),
    size=st.integers(1, 20),
)
def test_a_long_text_is_decoded_in_slices_as_it_would_be_whole(name: str, pieces: list[bytes], size: int) -> None:
    body = b"".join(pieces)
    with pytest.MonkeyPatch().context() as patch:
        patch.setattr(detection, "_SLICE_BYTES", size)
        sliced = to_text(body, Encoding(name, "http"))
        assert b"".join(detection.slices(body)) == body
        mostly = is_mostly_utf8(body)
    assert sliced == to_text(body, Encoding(name, "http"))
    assert mostly == is_mostly_utf8(body)


def test_no_step_of_decoding_takes_more_than_a_slice() -> None:
    body = b"<p>\xa4\xa2\n" * 500_000
    parts = list(detection.slices(body))
    assert max(map(len, parts)) <= detection._SLICE_BYTES < len(body)
    # Here no place is known to be a boundary.
    assert next(detection.slices(b"\xa4" * len(body))) == b"\xa4" * len(body)


def test_every_sniffing_case_is_decided_as_it_says(corpora: Path) -> None:
    wrong = []
    for case in json.loads(suite(corpora, "encoding_sniffing_tests1.json")):
        found = encoding_of(base64.b64decode(case["data_base64"]), http_charset=None)
        if found.name != case["expected_encoding"].lower():
            wrong.append((case["data"][:200], found, case["expected_encoding"]))
    assert wrong == []


_FOLDERS = {
    "ascii": "windows-1252",
    "cp932": "shift_jis",
    "gb2312": "gbk",
    "maccyrillic": "x-mac-cyrillic",
    "macroman": "macintosh",
    "tis-620": "windows-874",
    "utf-8-sig": "utf-8",
}
_NOT_IN_THE_STANDARD = {"euc-tw", "utf-32", "utf-32le", "utf-32be"}


def test_declared_legacy_encodings_are_all_right_and_undeclared_ones_mostly(corpora: Path) -> None:
    declared, declared_wrong, undeclared, undeclared_wrong = 0, [], 0, []
    for name, body in suite_files(corpora, "chardet-tests/"):
        folder = name.split("/")[-2].lower()
        if folder in _NOT_IN_THE_STANDARD:
            continue
        base = match[0] if (match := re.match(r"(?:iso-8859|windows)-\d+", folder)) else folder
        expected = _FOLDERS.get(base) or encoding_of_label(base)
        assert expected is not None, folder
        found = encoding_of(body, http_charset=None, is_xml=name.endswith(".xml"))
        text = to_text(body, found).lstrip("\ufeff")
        right = text == to_text(body, Encoding(expected, "http")).lstrip("\ufeff")
        if found.source in ("detected", "default"):
            undeclared += 1
            undeclared_wrong += [] if right else [(name, found)]
        else:
            declared += 1
            declared_wrong += [] if right else [(name, found)]
    assert declared > 100
    assert declared_wrong == []
    assert len(undeclared_wrong) <= 0.05 * undeclared, undeclared_wrong


@pytest.mark.parametrize(
    ("body", "http", "expected"),
    [
        (b"\xef\xbb\xbfx", "windows-1251", ("utf-8", "bom")),
        (b"\xff\xfex\0", None, ("utf-16le", "bom")),
        (b"<meta charset=koi8-r>", "windows-1251", ("windows-1251", "http")),
        (b"<meta charset=koi8-r>", "no-such-charset", ("koi8-r", "meta")),
        (b"<meta charset=utf-16le>", None, ("utf-8", "meta")),
        (b"<meta charset=x-user-defined>", None, ("windows-1252", "meta")),
        (b"<META content='text/html; charset = \"gb2312\"' HTTP-EQUIV=Content-Type>", None, ("gbk", "meta")),
        (b"<!-- <meta charset=koi8-r> --><p>x", None, ("windows-1252", "default")),
        (b"<title>" + b" " * 5000 + b"</title><meta charset=koi8-r>", None, ("koi8-r", "meta")),
        (b"<title>" + b" " * 5000 + b"<meta charset=big5></title><Meta charset=koi8-r>", None, ("koi8-r", "meta")),
        (b"<script>'<meta charset=big5>'</script>" + b" " * 5000, None, ("big5", "meta")),
        (
            b" " * 1024 + b"<script src=x>'<meta charset=big5>'</SCRIPT ><style>x<meta charset=big5></style>",
            None,
            ("windows-1252", "default"),
        ),
        (b" " * 1024 + b"<!-- <script> --><meta charset=koi8-r><script></script>", None, ("koi8-r", "meta")),
        (b" " * 1024 + b"<script><meta charset=koi8-r>", None, ("windows-1252", "default")),
        (b'<?xml version="1.0" encoding="iso-8859-5"?><html>', None, ("iso-8859-5", "xml")),
        (b'<?xml version="1.0" encoding="iso-8859-5"?><meta charset=koi8-r>', None, ("koi8-r", "meta")),
        ("Grüße".encode(), None, ("utf-8", "detected")),
        ("Grüße".encode()[:4], None, ("utf-8", "detected")),
        (b"plain", None, ("windows-1252", "default")),
        (b"", None, ("windows-1252", "default")),
        ("Привет, мир! Это обычный русский текст.".encode("cp1251"), None, ("windows-1251", "detected")),
        ("これは日本語の文章です。".encode("iso2022_jp") * 5, None, ("iso-2022-jp", "detected")),
    ],
)
def test_the_encoding_comes_from_the_strongest_witness(
    body: bytes, http: str | None, expected: tuple[str, str]
) -> None:
    found = encoding_of(body, http_charset=http)
    assert (found.name, found.source) == expected


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<META/CHARSET=' KOI8-R\n'>", "koi8-r"),
        (b"<meta content='text/html;charset \n= \"koi8-r\"' http-equiv=Content-Type>", "koi8-r"),
        (b"<meta http-equiv=content-type content='charset charsetcharset=koi8-r;x'>", "koi8-r"),
        (b"<meta http-equiv=content-type content='charset=;charset=koi8-r'>", None),
        (b"<meta http-equiv=content-type content='charset=\"koi8-r'>", None),
        (b"<meta http-equiv=' content-type' content='charset=koi8-r'>", None),
        (b"<meta content='charset=koi8-r'>", None),
        (b"<meta http-equiv=content-type content='charset=latin1' charset=koi8-r>", "koi8-r"),
        (b"<meta http-equiv=content-type content='charset=koi8-r' charset=none>", None),
        (b"<meta charset=none><meta charset=koi8-r charset=latin1>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<!-- --!><meta charset=latin1> --><meta charset=koi8-r>", "koi8-r"),
        (b"</x a='<meta charset=latin1>'><meta charset=koi8-r>", "koi8-r"),
        (b"<!x '><meta charset=koi8-r>'>", "koi8-r"),
        (b"<metadata charset=koi8-r></meta charset=koi8-r>", None),
        (b"<meta charset=koi8-r/>", None),
        (b"<meta charset=koi8-r", None),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<meta charset=hz-gb-2312>", "replacement"),
    ],
)
def test_meta_is_looked_for_as_the_standard_says(head: bytes, name: str | None) -> None:
    assert prescan(head) == name


_BEGINNING = '<!DOCTYPE html>|\n|<html|  lang=\'e>n\'| a="\'"| x|/|>|<head>|\r\n|<meta charset=|utf-8|"KOI8-R"| |/|>|y'


@settings(max_examples=1000)
@given(st.data())
def test_a_usual_beginning_is_read_as_the_standard_says(data: st.DataObject) -> None:
    pieces = [piece for piece in _BEGINNING.split("|") if data.draw(st.integers(0, 9))]
    for _ in range(data.draw(st.integers(0, 2))):
        pieces.insert(
            data.draw(st.integers(0, len(pieces))), data.draw(st.sampled_from(["'", '"', "=", "<", "<p>", " "]))
        )
    body = "".join(pieces).encode()
    for each in (body, body.ljust(1024 + data.draw(st.integers(0, 40))), b" " * (1024 - len(body)) + body + b" "):
        name = prescan(each[:1024]) or prescan(each, late=True)
        assert find_html_encoding(each) == (None if name is None else (name, "meta"))


def test_json_is_utf8_unless_it_says_otherwise_or_cannot_be() -> None:
    for body in (b'{"a": 1}', '{"ж": 1}'.encode()):
        assert encoding_of(body, http_charset=None, is_json=True) == Encoding("utf-8", "default")
    assert encoding_of(b"[]", http_charset="koi8-r", is_json=True) == Encoding("koi8-r", "http")
    russian = '{"text": "Съешь же ещё этих мягких французских булок, да выпей чаю"}'.encode("cp1251")
    assert encoding_of(russian, http_charset=None, is_json=True) == Encoding("windows-1251", "detected")
    for media_type in ("application/json", "application/ld+json"):
        found = lexbor_extractor().extract(page(b'{"a": 1}', headers=(("Content-Type", media_type),)))
        assert (found.charset, found.charset_source) == ("utf-8", "default")


def test_xml_is_utf8_unless_it_says_otherwise_or_cannot_be() -> None:
    assert encoding_of(b"<a/>", http_charset=None, is_xml=True) == Encoding("utf-8", "default")
    declared = b"<?xml version='1.0' encoding='Shift_JIS'?><a/>"
    assert encoding_of(declared, http_charset=None, is_xml=True) == Encoding("shift_jis", "xml")
    assert encoding_of("<a>ж</a>".encode("utf-16-le"), http_charset=None, is_xml=True).name == "utf-16le"
    text = "<a>" + "Обычный русский текст. " * 5 + "</a>"
    assert encoding_of(text.encode("koi8-r"), http_charset=None, is_xml=True) == Encoding("koi8-r", "detected")


def test_a_page_in_xml_says_so_before_any_meta() -> None:
    body = b'<?xml version="1.0" encoding="iso-8859-5"?><html><meta charset=koi8-r>'
    assert encoding_of(body, http_charset=None, is_xhtml=True) == Encoding("iso-8859-5", "xml")


def test_a_page_in_xml_is_utf8_whatever_its_meta_says_unless_it_cannot_be() -> None:
    html = '<html xmlns="http://www.w3.org/1999/xhtml"><meta charset="koi8-r"/><a href="?q=Обычный&#1078;"/></html>'
    found = lexbor_extractor().extract(page(html.encode(), headers=(("Content-Type", "application/xhtml+xml"),)))
    assert (found.charset, found.charset_source) == ("utf-8", "default")
    assert [link.href for link in found.links] == ["?q=Обычныйж"]
    assert encoding_of(html.encode("koi8-r"), http_charset=None, is_xhtml=True) == Encoding("koi8-r", "meta")


def test_one_broken_character_does_not_make_a_utf8_page_another() -> None:
    body = ("Ärger über öffentliche Fußgängerübergänge " * 5).encode() + b"\xe9" + "ä".encode()
    found = encoding_of(body, http_charset=None)
    assert found == Encoding("utf-8", "detected")
    assert to_text(body, found).endswith("\ufffdä")


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("gbk", b"\xc4\xe3\x80<b>", "你\N{EURO SIGN}<b>"),
        ("gb18030", b"\x80\xc4\x80\xff<b>", "\N{EURO SIGN}膧\ufffd<b>"),
        ("euc-jp", b"\xad\xa1\xfc\xe2\xa1\xc1\xa4\xa2\xff<b>", "①髙～あ\ufffd<b>"),
        ("euc-jp", b"\xa2\xaf<b>", "\ufffd<b>"),
        ("euc-jp", b"\x8f\xb0\xa1\x8e\xb1\xa4<b>", "丂ｱ\ufffd<b>"),
        ("euc-jp", b"\x8f\xa2\xb7\x8f\xb0\xa1\xfc\xf1\x8f\xf3\xf3<b>", "～丂ⅰ\ufffd<b>"),
        ("iso-2022-jp", b"\x1b$B!A\x1b(B<b>", "～<b>"),
        ("iso-2022-jp", b"\x1b$B-!\x1b(I1\x1b(J~<b>", "①ｱ‾<b>"),
        ("big5", b"\x88\x62\xa1\x45\xf9\xfe\x87\x40\xa1<b>", "Ê̄‧￭䏰\ufffd<b>"),
        ("gb18030", b"\xa6\xd9\x81\x35\xf4\x37\xff<b>", "︐\ue7c7\ufffd<b>"),
        ("koi8-u", b"\xae\xbe", "ўЎ"),
        ("x-user-defined", b"\x80<b>\xff", "\uf780<b>\uf7ff"),
        ("replacement", b"\x1b$)C<a href=x>\x80", "\x1b$)C<a href=x>\ufffd"),
        ("ibm437", b"\x80<b>\xe1", "Ç<b>ß"),
        ("windows-1252", b"\x80\x81\x93", "\N{EURO SIGN}\x81\N{LEFT DOUBLE QUOTATION MARK}"),
        ("windows-1253", b"\xd2", "\ufffd"),
        ("shift_jis", b"\x87\x40<a>", "\N{CIRCLED DIGIT ONE}<a>"),
        ("shift_jis", b"\x83<a>", "\ufffd<a>"),
        ("euc-kr", b"\x81\x41<a>", "\uac02<a>"),
        ("utf-8", b"\xe4\xbd<a>\0b", "\ufffd<a>\0b"),
        ("iso-8859-8-i", b"\xe0", "א"),
        ("utf-16le", b"a\0b", "a\ufffd"),
    ],
)
def test_broken_and_odd_bytes_lose_nothing_of_what_follows(name: str, body: bytes, text: str) -> None:
    assert to_text(body, Encoding(name, "http")) == text


def test_utf8_and_ascii_are_handed_on_without_a_copy() -> None:
    body = b"<p>plain</p>"
    assert to_utf8(body, Encoding("utf-8", "http")) is body
    assert to_utf8(body, Encoding("windows-1252", "default")) is body
    assert to_utf8("é".encode("cp1252"), Encoding("windows-1252", "default")) == "é".encode()


def test_single_byte_encodings_are_known_as_such() -> None:
    assert "windows-1251" in SINGLE_BYTE
    assert not SINGLE_BYTE & {"gbk", "big5", "utf-8", "utf-16le", "euc-kr", "replacement"}


_PIECES = [
    b"<meta",
    b" charset",
    b"=",
    b'"',
    b"'",
    b"utf-8",
    b">",
    b"<!--",
    b"-->",
    b"</a",
    b"<a",
    b"<?",
    b" ",
    b"/",
    b"content",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map(b"".join) | st.binary(max_size=200))
def test_no_bytes_break_the_decision(body: bytes) -> None:
    prescan(body)
    for is_xml in (False, True):
        found = encoding_of(body, http_charset=None, is_xml=is_xml)
        to_text(body, found)
        assert found.name in ENCODINGS


def test_queries_are_sent_in_the_encoding_of_the_page(corpora: Path) -> None:
    judged = 0
    for case in json.loads((corpora / "url/percent-encoding.json").read_bytes()):
        for name, expected in case["output"].items() if isinstance(case, dict) else ():
            if name == "utf-8" or case["input"].isascii():
                continue
            found = percent_encode_query(f"a?x={case['input']}#é", Encoding(name, "http"))
            assert found == f"a?x={expected}#é", case
            judged += 1
    assert judged >= 6


@pytest.mark.parametrize(
    ("name", "query", "expected"),
    [
        ("utf-8", "é", "é"),
        ("utf-16le", "é", "é"),
        ("replacement", "é", "é"),
        ("windows-1251", "ж=é&b", "%E6=%26%23233%3B&b"),
        ("euc-jp", "日本é語", "%C6%FC%CB%DC%26%23233%3B%B8%EC"),
        ("iso-2022-jp", "あ", "%1B$B$%22%1B(B"),
        ("iso-2022-jp", "a=¥x&b=あい☃ う", "a=%1B(J\\x&b=%1B$B$%22$$%1B(B%26%239731%3B%20%1B$B$&%1B(B"),
        ("iso-2022-jp", "あ\t\nb", "%1B$B$%22%1B(Bb"),
        ("x-user-defined", "\uf7ff", "%FF"),
        ("ibm437", "é☃", "%82%26%239731%3B"),
    ],
)
def test_what_the_encoding_of_a_query_lacks_becomes_a_reference(name: str, query: str, expected: str) -> None:
    assert percent_encode_query(f"?{query}", Encoding(name, "meta")) == f"?{expected}"


RUSSIAN = "Обычный русский текст: слова, буквы и предложения. "
MARKUP = "<div class='x' data-a='y'><img src='/i.png'></div>" * 800
SCRIPT = "<script>var a = 'é è à ç ü'; if (a < b) { c() }</script><style>a { content: 'ñ' }</style><!-- ß -->" * 40


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r"])
def test_markup_and_scripts_do_not_hide_the_language_of_a_page(codec: str) -> None:
    body = "é".encode("cp1252") + (SCRIPT + MARKUP).encode("cp1252") + b"<p>" + (RUSSIAN * 4).encode(codec)
    found = encoding_of(body, http_charset=None)
    assert to_text(body[-200:], found) == (RUSSIAN * 4)[-200:]
    hidden = MARKUP.encode() + b"<img alt='" + (RUSSIAN * 4).encode(codec) + b"'>"
    assert to_text(hidden, encoding_of(hidden, http_charset=None)).endswith(f"{RUSSIAN * 4}'>")


def test_letters_of_windows_rule_out_the_encodings_that_have_none_there() -> None:
    text = "Der Preis beträgt 5 €, sagte er: „Größe zählt – natürlich“. "
    for text_only in (
        text,
        text.replace("€", "Euro"),
        "<p>L’été, où l’élève dit : « Déjà ! » – « Oui… », c’était à Orléans.",
    ):
        body = text_only.encode("cp1252")
        assert to_text(body, encoding_of(body, http_charset=None)) == text_only


def test_an_escape_far_behind_is_found() -> None:
    body = MARKUP.encode() + ("日本語の文章です。" * 20).encode("iso-2022-jp")
    assert encoding_of(body, http_charset=None).name == "iso-2022-jp"


@pytest.mark.parametrize("piece", [b"<a>", b"<script>", b"<!--", b"<", b"<a ", b"</script", b"<style><script>", b"x"])
@pytest.mark.timeout(MAX_WAIT_S)
def test_hostile_markup_takes_no_hostile_time_to_tell_its_encoding(piece: bytes) -> None:
    encoding_of(piece * (3_000_000 // len(piece)) + b"\xff\xfe", http_charset=None)
    encoding_of(b"\xff\xfd" + piece * (3_000_000 // len(piece)), http_charset=None)


_CODECS = {
    **dict.fromkeys(("ru", "uk", "bg"), ("cp1251", "koi8-r")),
    **dict.fromkeys(("pl", "cs", "sk", "hu", "ro"), ("cp1250", "iso-8859-2")),
    "el": ("cp1253",),
    "tr": ("cp1254",),
    "ja": ("cp932", "euc-jp"),
    "zh": ("gbk", "big5"),
    "ko": ("cp949",),
    "he": ("cp1255",),
    "ar": ("cp1256",),
    "fa": ("cp1256",),
    "th": ("cp874",),
    "lt": ("cp1257",),
}


def test_real_pages_in_encodings_that_nobody_declared_are_read_right(corpora: Path) -> None:
    wrong: list[tuple[str, str]] = []
    count = 0
    for number, (_, each) in enumerate(real_pages(corpora)):
        text = re.sub(r"(?i)<meta[^>]*charset[^>]*>|<\?xml[^>]*\?>", "", each.body.decode(errors="replace"))
        named = re.search(r"<html[^>]*\blang=[\"']?([a-zA-Z]{2})", text)
        if named is None or text.isascii() or (named[1] not in _CODECS and number % 8):
            continue
        for codec in _CODECS.get(named[1].lower(), ("cp1252",)):
            body = text.encode(codec, "xmlcharrefreplace")
            if body.isascii():
                continue
            count += 1
            found = encoding_of(body, http_charset=None)
            if to_text(body, found) != body.decode(codec):
                wrong.append((codec, found.name))
    assert count > 60
    assert len(wrong) <= 0.03 * count, wrong


@pytest.mark.parametrize("name", ["koi8-r", "windows-1251", "iso-8859-5", "ibm866"])
def test_one_foreign_word_shows_its_script(name: str) -> None:
    text = "<p>Copies are now in stock of this splendid dance floor selection. <b>посети</b> All the way from Bulgaria."
    assert encoding_of(text.encode(name), http_charset=None) == Encoding(name, "detected")


def test_bytes_that_fit_no_encoding_get_that_of_most_pages() -> None:
    assert encoding_of(b"\x80\x9e\xd1", http_charset=None) == Encoding("windows-1252", "default")


def test_words_that_mix_letters_are_in_latin_script() -> None:
    text = "Příliš žluťoučký kůň úpěl ďábelské ódy"
    assert encoding_of(text.encode("cp1250"), http_charset=None) == Encoding("windows-1250", "detected")


@pytest.mark.parametrize(("name", "codec"), [("iso-8859-7", "iso8859-7"), ("windows-1253", "cp1253")])
def test_the_capital_alpha_tells_which_greek_it_is(name: str, codec: str) -> None:
    text = "<p>Η αγορά είναι γεμάτη κόσμο, και τα παιδιά παίζουν στην πλατεία. " * 40 + "Άλλοι μένουν στο σπίτι."
    assert encoding_of(text.encode(codec), http_charset=None) == Encoding(name, "detected")


@given(st.lists(st.sampled_from([b"\xe0", b"\xff\x80", b"a", b"Z", b" ", b"1"]), max_size=12).map(b"".join))
def test_letters_are_mixed_if_most_runs_beyond_ascii_touch_one(text: bytes) -> None:
    runs = list(re.finditer(rb"[\x80-\xff]+", text))
    touching = [run for run in runs if (text[: run.start()][-1:] + text[run.end() :][:1]).strip(b" 1")]
    assert mixes_letters(text) == (2 * len(touching) > len(runs))


@given(st.lists(st.sampled_from([b"\xc3\xa9", b"\xe3\x81", b"\x82", b"\xff", b"a", b"<"]), max_size=60).map(b"".join))
def test_one_in_twenty_characters_may_be_broken(pieces: bytes) -> None:
    body = pieces + b"<"  # otherwise the last character may be cut
    text = body.decode(errors="replace")
    broken, beyond_ascii = text.count("\ufffd"), len(re.sub(r"[\x00-\x7f]", "", text))
    assert is_mostly_utf8(body) == (20 * broken < beyond_ascii or not broken)
