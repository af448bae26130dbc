"""Finds the encoding of a body and decodes it.

The order is that of the HTML and Encoding standards: byte order mark, HTTP header, declaration in the document (<meta>
or XML declaration), and last a guess from the bytes (`detection`). A wrong declaration is believed, because browsers
believe it too. Decoding never fails: broken bytes become U+FFFD.
"""

import codecs
from functools import lru_cache
from typing import Final, Literal

import msgspec

from crawler.read.encoding.declaration import find_html_encoding, find_xml_encoding
from crawler.read.encoding.detection import FALLBACK, detect_encoding, is_mostly_utf8, slices
from crawler.read.encoding.labels import CODE_PAGES, SINGLE_BYTE, encoding_of_label

Source = Literal["bom", "http", "meta", "xml", "css", "detected", "default"]

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
_MARKS: Final = tuple(mark for mark, _ in _BOMS)

_ASCII_COMPATIBLE: Final = SINGLE_BYTE | frozenset({"gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"})


class Encoding(msgspec.Struct, frozen=True, gc=False):
    """How to decode a body, and who said so."""

    name: str
    """Name in the WHATWG Encoding standard, lower-case."""
    source: Source
    bom_bytes: int = 0


UTF_8: Final = Encoding("utf-8", "default")


def encoding_of(
    body: bytes, /, *, http_charset: str | None, is_xml: bool = False, is_json: bool = False, is_xhtml: bool = False
) -> Encoding:
    """The encoding of a body. `is_xml`: XML that is not a page. `is_json`: JSON, which is UTF-8 (RFC 8259). `is_xhtml`:
    a page in XML, where a <meta> counts only if the page can't be UTF-8."""
    if body.startswith(_MARKS):
        mark, name = next(each for each in _BOMS if body.startswith(each[0]))
        return Encoding(name, "bom", len(mark))
    if http_charset and (in_header := encoding_of_label(http_charset)):
        return Encoding(in_header, "http")
    if (is_xml or is_xhtml) and (in_xml := find_xml_encoding(body)):
        return Encoding(in_xml, "xml")
    if (is_xml or is_json or is_xhtml) and is_mostly_utf8(body):
        return Encoding("utf-8", "default")
    if is_xml or is_json:
        return _detected_encoding(body)
    if in_html := find_html_encoding(body):
        return Encoding(*in_html)
    return _detected_encoding(body)


def _detected_encoding(body: bytes) -> Encoding:
    name = detect_encoding(body)
    return Encoding(FALLBACK, "default") if name is None else Encoding(name, "detected")


def to_text(body: bytes, encoding: Encoding, /) -> str:
    """Decode the body; drop the byte order mark."""
    name = encoding.name
    body = body[encoding.bom_bytes :]
    if name in _ASCII_COMPATIBLE or name == "utf-8":
        return "".join(_decode(part, name) for part in slices(body))
    return _decode(body, name)


def decode(body: bytes, name: str, /) -> str:
    """Decode a body whose encoding is known; drop the byte order mark."""
    return to_text(body, _known_encoding(body, name))


def utf8_of(body: bytes, name: str, /) -> bytes:
    """Like `to_utf8`, for a body whose encoding is known."""
    return to_utf8(body, _known_encoding(body, name))


def _known_encoding(body: bytes, name: str) -> Encoding:
    bom_bytes = next((len(mark) for mark, of in _BOMS if of == name and body.startswith(mark)), 0)
    return Encoding(name, "default", bom_bytes)


def _decode(body: bytes, name: str) -> str:
    if name in SINGLE_BYTE:
        # For these, Python is several times as fast as the library.
        return codecs.charmap_decode(body, "replace", _single_byte_table(name))[0]
    if name == "utf-8":
        return body.decode("utf-8", "replace")
    if name == "replacement":
        # Browsers show nothing in these encodings, because attackers hid scripts in them. A crawler wants the links,
        # which are in ASCII.
        return body.decode("ascii", "replace")
    return _decode_legacy(body, name)


def _decode_legacy(body: bytes, name: str) -> str:
    import endec  # noqa: PLC0415 - most crawls meet UTF-8 only

    return endec.decode(body, name, "replace", bom="ignore")


def to_utf8(body: bytes, encoding: Encoding, /) -> bytes:
    """Recode the body as UTF-8; drop the byte order mark. A body in UTF-8 comes back unchanged, broken or not."""
    if encoding.name == "utf-8":
        return body[encoding.bom_bytes :] if encoding.bom_bytes else body
    if encoding.name in _ASCII_COMPATIBLE and body.isascii():
        return body
    return to_text(body, encoding).encode("utf-8")


@lru_cache(maxsize=64)
def _single_byte_table(name: str) -> str:
    """The characters of the bytes 0 to 255."""
    every = bytes(range(256))
    codec = CODE_PAGES.get(name)
    return every.decode(codec, "replace") if codec is not None else _decode_legacy(every, name)
