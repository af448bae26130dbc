"""In which encoding a body is written, and its text.

The order is that of the HTML and Encoding standards: a byte order mark, the HTTP header, a declaration in the document
(<meta>, or an XML declaration), and last what the bytes themselves suggest. A declaration is believed even where it is
wrong, because browsers believe it too. Decoding never fails: what is broken becomes U+FFFD, and the rest is read.
"""

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import quote_from_bytes

import chardet
import endec
import msgspec

from crawler.read.declared_encoding import declared_in_html, declared_in_xml
from crawler.read.labels import CODE_PAGES, SINGLE_BYTE, encoding_of_label

Source = Literal["bom", "http", "meta", "xml", "css", "detected", "default"]

FALLBACK: Final = "windows-1252"
"""What browsers take for pages that tell nothing, in most of the world."""

_DETECTION_BYTES: Final = 16 * 1024
_DISGUISE_BYTES: Final = 1024
_MARKUP_BYTES: Final = 512 * 1024
"""In which text is looked for."""
_SLICE_BYTES: Final = 1024 * 1024

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))

_ASCII_COMPATIBLE: Final = SINGLE_BYTE | frozenset({"gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"})

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_FROM_BEYOND_ASCII = re.compile(r"[^\x00-\x7f].*", re.DOTALL)
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")
_QUERY_SAFE: Final = r"!$%&*()+,/:;=?@[\]^`{|}"
"""What the URL standard leaves as it is in a query, beside letters, digits and `-._~`."""


class Encoding(msgspec.Struct, frozen=True, gc=False):
    """How a body is to be decoded, and why."""

    name: str
    """Name in the WHATWG Encoding standard, lower-case."""
    source: Source
    bom_bytes: int = 0


def encoding_of(body: bytes, /, *, http_charset: str | None, is_xml: bool = False, is_xhtml: bool = False) -> Encoding:
    """`is_xml` of a document that is no page; `is_xhtml` of a page in XML, which says so before any <meta>."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Encoding(name, "bom", len(mark))
    if http_charset and (in_header := encoding_of_label(http_charset)):
        return Encoding(in_header, "http")
    if (is_xml or is_xhtml) and (in_xml := declared_in_xml(body)):
        return Encoding(in_xml, "xml")
    if is_xml:
        return Encoding("utf-8", "default") if is_mostly_utf8(body) else _detected(body)
    if in_html := declared_in_html(body):
        return Encoding(*in_html)
    return _detected(body)


def to_text(body: bytes, encoding: Encoding, /) -> str:
    """The body decoded, without byte order mark."""
    name = encoding.name
    body = body[encoding.bom_bytes :]
    if name in _ASCII_COMPATIBLE or name == "utf-8":
        return "".join(_decoded(part, name) for part in _slices(body))
    return _decoded(body, name)


def _decoded(body: bytes, name: str) -> str:
    if name in SINGLE_BYTE:
        # For these, Python is several times as fast as the library.
        return codecs.charmap_decode(body, "replace", _single_byte_table(name))[0]
    if name == "utf-8":
        return body.decode("utf-8", "replace")
    if name == "replacement":
        # Browsers show nothing of these, because scripts were smuggled in with them. A crawler wants the links, and
        # they are in ASCII.
        return body.decode("ascii", "replace")
    return endec.decode(body, name, "replace", bom="ignore")


def _slices(body: bytes) -> Iterator[bytes]:
    """Parts of a body in an encoding in which these bytes are always characters of their own, cut before one of them.
    A thread that decodes keeps all others waiting until a call returns."""
    at = 0
    while len(body) - at > _SLICE_BYTES:
        end = max(body.rfind(b"<", at + 1, at + _SLICE_BYTES), body.rfind(b"\n", at + 1, at + _SLICE_BYTES))
        if end < 0:
            found = (body.find(b"<", at + _SLICE_BYTES), body.find(b"\n", at + _SLICE_BYTES))
            end = min((place for place in found if place >= 0), default=len(body))
        yield body[at:end]
        at = end
    yield body[at:] if at else body


def to_utf8(body: bytes, encoding: Encoding, /) -> bytes:
    """The body in UTF-8, without byte order mark. What is UTF-8 already is handed on as it is, broken or not."""
    if encoding.name == "utf-8":
        return body[encoding.bom_bytes :] if encoding.bom_bytes else body
    if encoding.name in _ASCII_COMPATIBLE and body.isascii():
        return body
    return to_text(body, encoding).encode("utf-8")


@lru_cache(maxsize=64)
def _single_byte_table(name: str) -> str:
    """The 256 characters."""
    every = bytes(range(256))
    codec = CODE_PAGES.get(name)
    return every.decode(codec, "replace") if codec is not None else endec.decode(every, name, "replace", bom="ignore")


def percent_encoded_query(href: str, encoding: Encoding, /) -> str:
    """The href with its query in the page's encoding, as browsers send it; it is ASCII then, and means the same to the
    URL parser, which knows no other encoding than UTF-8."""
    path, mark, query = href.partition("?")
    if not mark or query.isascii() or encoding.name.startswith("utf-") or encoding.name == "replacement":
        return href
    query, hash_mark, fragment = query.partition("#")
    # In ISO-2022-JP, what is beyond ASCII may change how the letters behind it are written.
    pattern = _FROM_BEYOND_ASCII if encoding.name == "iso-2022-jp" else _BEYOND_ASCII
    query = pattern.sub(lambda found: _percent_encoded(found[0], encoding.name), query.translate(_NOT_IN_URLS))
    return f"{path}?{query}{hash_mark}{fragment}"


def _percent_encoded(text: str, name: str) -> str:
    if (encoded := _encoded(text, name)) is not None:
        return quote_from_bytes(encoded, safe=_QUERY_SAFE)
    if len(text) == 1:
        return f"%26%23{ord(text)}%3B"
    lacking = "".join(re.escape(char) for char in set(text) if _encoded(char, name) is None)
    return "".join(_percent_encoded(piece, name) for piece in re.split(f"([{lacking}])", text) if piece)


def _encoded(text: str, name: str) -> bytes | None:
    try:
        return text.encode(CODE_PAGES[name]) if name in CODE_PAGES else endec.encode(text, name)
    except UnicodeError:
        return None


_ESCAPE: Final = re.compile(rb"\x1b\$")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_SKIPPED: Final = re.compile(rb"<(?:(script|style)(?=[\t\n\f\r />])|(!--)|[a-z/!?])", re.IGNORECASE)
_RAW_END: Final = {name: re.compile(rb"</%b" % name, re.IGNORECASE) for name in (b"script", b"style")}
_NAME_OF_DETECTED: Final = {
    **{f"iso8859-{part}": f"iso-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{page}": f"windows-{page}" for page in (874, *range(1250, 1259))},
    "iso8859-1": "windows-1252",
    "iso8859-9": "windows-1254",
    "big5hkscs": "big5",
    "cp866": "ibm866",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "euc_jis_2004": "euc-jp",
    "euc_kr": "euc-kr",
    "gb18030": "gbk",
    "iso2022_jp_2": "iso-2022-jp",
    "iso2022_jp_2004": "iso-2022-jp",
    "iso2022_jp_ext": "iso-2022-jp",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    "shift_jis_2004": "shift_jis",
    "tis-620": "windows-874",
    "utf-16-be": "utf-16be",
    "utf-16-le": "utf-16le",
    "utf-8": "utf-8",
}
"""Names in the standard, of the encodings that browsers know among those that chardet tells apart."""
_OTHER_SCRIPTS: Final = frozenset(
    "iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 windows-874 windows-1251 windows-1253 windows-1255 windows-1256 koi8-r"
    " koi8-u ibm866 x-mac-cyrillic".split()
)
"""Encodings of letters that no word has beside those of ASCII."""
_RUN: Final = re.compile(rb"[\x80-\xff]+")
_MIXED: Final = re.compile(rb"(?<=[a-zA-Z])[\x80-\xff]+|[\x80-\xff]+(?=[a-zA-Z])")
_C1: Final = re.compile(rb"[\x80-\x9f]")
_WITH_C1: Final = {
    "iso-8859-2": "windows-1250",
    "iso-8859-3": "windows-1252",
    "iso-8859-4": "windows-1257",
    "iso-8859-7": "windows-1253",
    "iso-8859-8": "windows-1255",
    "iso-8859-10": "windows-1252",
    "iso-8859-13": "windows-1257",
    "iso-8859-14": "windows-1252",
    "iso-8859-15": "windows-1252",
    "iso-8859-16": "windows-1250",
}
"""To these, the bytes from 80 to 9F are control characters, which no page has; to the others they are letters and
quotes."""


def _detected(body: bytes) -> Encoding:
    # Two encodings are made of ASCII bytes only: UTF-16, by its NULs, and ISO-2022-JP, by its escapes.
    head = body[:_DISGUISE_BYTES]
    disguised = 5 * head.count(b"\0") >= len(head) > 0 or b"\x1b$" in body
    if not disguised:
        if body.isascii():
            return Encoding(FALLBACK, "default")
        if is_mostly_utf8(body):
            return Encoding("utf-8", "detected")
    text = _around(body, _ESCAPE.search(body)) if disguised else _words(body)
    likely = chardet.detect(text, compat_names=False, prefer_superset=False, include_encodings=_NAME_OF_DETECTED)
    name = _NAME_OF_DETECTED.get(likely["encoding"] or "")
    if name is None or (name.startswith("utf-16") and not disguised):
        return Encoding(FALLBACK, "default")
    if name in _OTHER_SCRIPTS and 2 * len(_MIXED.findall(text)) > len(_RUN.findall(text)):
        return Encoding(FALLBACK, "detected")
    if name in _WITH_C1 and _C1.search(body):
        name = _WITH_C1[name]
    return Encoding(name, "detected")


def _words(body: bytes) -> bytes:
    """The text of a page without its markup, scripts and styles, which tell nothing of the language and may fill most
    of it; up to a limit, and mostly what is beyond ASCII."""
    head = body[:_MARKUP_BYTES]
    gathered: list[bytes] = []
    at = 0
    left, plain_left = _DETECTION_BYTES, _DETECTION_BYTES // 2
    while left > 0:
        found = _SKIPPED.search(head, at)
        piece = head[at : found.start() if found else len(head)]
        if piece.isascii():
            # Of what they have in common, encodings need little: how letters and white space alternate.
            piece = piece[:plain_left]
            plain_left -= len(piece)
        piece = piece[:left]
        left -= len(piece)
        gathered.append(piece)
        if found is None:
            break
        if found[1]:
            raw = _RAW_END[found[1].lower()].search(head, found.end())
            at = raw.start() if raw else -1
        else:
            at = head.find(b"-->" if found[2] else b">", found.end())
        if at < 0:
            break
        at += not found[1]
    text = b"\n".join(gathered)
    return _around(body, _HIGH.search(body)) if text.isascii() else text


def _around(body: bytes, first: re.Match[bytes] | None) -> bytes:
    start = max(0, first.start() - 64) if first else 0
    return body[start : start + _DETECTION_BYTES]


def is_mostly_utf8(body: bytes, /) -> bool:
    """Whether the body is UTF-8; the last character may be cut, and of twenty characters beyond ASCII one be broken,
    as in pages put together from several sources."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return True
        broken = beyond_ascii = 0
        for part in _slices(body):
            text = part.decode(errors="replace")
            broken += text.count("\ufffd")
            beyond_ascii += sum(map(len, _BEYOND_ASCII.findall(text)))
        return 20 * broken < beyond_ascii
    return True
