"""In which encoding a body is written, and its text.

The order is that of the HTML and Encoding standards: a byte order mark, the HTTP header, a declaration in the document
(<meta>, or an XML declaration), and last what the bytes themselves suggest. A declaration is believed even where it is
wrong, because browsers believe it too. Decoding never fails: what is broken becomes U+FFFD, and the rest is read.
"""

import codecs
import re
from functools import lru_cache
from typing import Final, Literal

import chardet
import msgspec

from crawler.read.east_asian import EAST_ASIAN, decoded
from crawler.read.labels import PYTHON_CODECS, SINGLE_BYTE, encoding_of_label

Source = Literal["bom", "http", "meta", "xml", "detected", "default"]

FALLBACK: Final = "windows-1252"
"""What browsers take for pages that tell nothing, in most of the world."""

_PRESCAN_BYTES: Final = 1024
_LATE_PRESCAN_BYTES: Final = 128 * 1024
"""The standard looks at 1,024 bytes first, but a parser that meets a declaration later starts over, so pages rely on
that: of real pages, one in eight."""
_DETECTION_BYTES: Final = 16 * 1024

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))


_ASCII_COMPATIBLE: Final = SINGLE_BYTE | frozenset({"gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"})


class Encoding(msgspec.Struct, frozen=True, gc=False):
    """How a body is to be decoded, and why."""

    name: str
    """Name in the WHATWG Encoding standard, lower-case."""
    source: Source
    bom_bytes: int = 0


def encoding_of(body: bytes, /, *, http_charset: str | None, is_xml: bool = False) -> Encoding:
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Encoding(name, "bom", len(mark))
    if http_charset and (declared := encoding_of_label(http_charset)):
        return Encoding(declared, "http")
    if is_xml:
        declared_in_xml = _declared_in_xml(body)
        if declared_in_xml is None and is_mostly_utf8(body):
            return Encoding("utf-8", "default")
        return declared_in_xml or _detected(body)
    return _declared_in_html(body) or _detected(body)


def percent_encoded_query(href: str, encoding: Encoding, /) -> str:
    """The href with its query in the page's encoding, as browsers send it; it is ASCII then, and means the same to the
    URL parser, which knows no other encoding than UTF-8."""
    path, mark, query = href.partition("?")
    if not mark or query.isascii() or encoding.name.startswith("utf-"):
        return href
    query, hash_mark, fragment = query.partition("#")
    codec = PYTHON_CODECS[encoding.name]
    encoded = "".join(char if char.isascii() else _percent_encoded(char, codec) for char in query)
    return f"{path}?{encoded}{hash_mark}{fragment}"


def _percent_encoded(char: str, codec: str) -> str:
    try:
        return "".join(f"%{byte:02X}" for byte in char.encode(codec))
    except UnicodeEncodeError:
        return f"%26%23{ord(char)}%3B"


def to_text(body: bytes, encoding: Encoding, /) -> str:
    """The body decoded, without byte order mark."""
    name = encoding.name
    body = body[encoding.bom_bytes :]
    if name in SINGLE_BYTE:
        return codecs.charmap_decode(body, "replace", _single_byte_table(name))[0]
    if name in EAST_ASIAN:
        return decoded(body, name)
    return body.decode(PYTHON_CODECS[name], "replace")


def to_utf8(body: bytes, encoding: Encoding, /) -> bytes:
    """The body in UTF-8, without byte order mark. What is UTF-8 already is handed on as it is, broken or not."""
    if encoding.name == "utf-8":
        return body[encoding.bom_bytes :] if encoding.bom_bytes else body
    if encoding.name in _ASCII_COMPATIBLE and body.isascii():
        return body
    return to_text(body, encoding).encode("utf-8", "replace")


@lru_cache(maxsize=64)
def _single_byte_table(name: str) -> str:
    """256 characters. Where Python knows none, the standard has a control character, or U+FFFD from 0xA0 on."""
    codec = PYTHON_CODECS[name]
    return "".join(
        bytes([byte]).decode(codec, "ignore") or (chr(byte) if byte < 0xA0 else "\ufffd") for byte in range(256)
    )


_XML_DECLARATION = re.compile(rb"""<\?xml[\s\x00][^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")


def _declared_in_xml(body: bytes) -> Encoding | None:
    if body[:1] == b"<" and body[1:2] == b"\0" == body[3:4]:
        return Encoding("utf-16le", "xml")
    if body[:3] == b"\0<\0":
        return Encoding("utf-16be", "xml")
    match = _XML_DECLARATION.match(body[:_PRESCAN_BYTES])
    if match is None:
        return None
    name = encoding_of_label(match[1].decode("ascii"))
    # The declaration could be read byte by byte, so it is not in UTF-16, whatever it says.
    return Encoding("utf-8" if name.startswith("utf-16") else name, "xml") if name else None


_CHARSET = re.compile(rb"charset", re.IGNORECASE)


def _declared_in_html(body: bytes) -> Encoding | None:
    in_xml = _declared_in_xml(body) if body.startswith((b"<?xml", b"<\0?", b"\0<\0?")) else None
    if in_xml is not None and in_xml.name.startswith("utf-16"):
        return in_xml
    for limit in (_PRESCAN_BYTES, _LATE_PRESCAN_BYTES):
        if _CHARSET.search(body, 0, limit) and (name := prescan(body[:limit])):
            return Encoding(name, "meta")
        if in_xml is not None:
            return in_xml
    return None


_TAG = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|(/?[a-z])|[!/?])", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*(=?[^\t\n\f\r />=]*)"""
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r >]*)))?"""
)
_NAME_END = re.compile(rb"[\t\n\f\r >]|$")
_CHARSET_VALUE = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*))""", re.IGNORECASE
)


def prescan(head: bytes, /) -> str | None:
    """The encoding that <meta> declares in the first bytes: "prescan a byte stream" of the HTML standard."""
    position = 0
    while match := _TAG.search(head, position):
        position = match.end()
        if match[1]:
            # `<!-->` is a whole comment.
            position = head.find(b"-->", position - 2) + 3
            if position < 3:
                return None
        elif match[2]:
            attributes, position = _attributes(head, position)
            if name := _meta_encoding(attributes):
                return name
        elif match[3]:
            end = _NAME_END.search(head, position)
            _, position = _attributes(head, end.start() if end else position)
        else:
            position = head.find(b">", position - 1) + 1
            if position < 1:
                return None
    return None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Attributes of the tag whose name ends at that position, and where they end."""
    attributes: dict[bytes, bytes] = {}
    while True:
        match = _ATTRIBUTE.match(head, position)
        if match is None or match.end() == position or match.end() >= len(head):
            return attributes, len(head) if match is not None and match.end() >= len(head) else position
        position = match.end()
        if match[1]:
            attributes.setdefault(match[1].lower(), (match[2] or match[3] or match[4] or b""))
        if head[position : position + 1] == b">":
            return attributes, position + 1


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None:
        if attributes.get(b"http-equiv", b"").lower() != b"content-type":
            return None
        match = _CHARSET_VALUE.search(attributes.get(b"content", b""))
        if match is None:
            return None
        label = match[1] or match[2] or match[3] or b""
    name = encoding_of_label(label.decode("latin-1"))
    if name is None:
        return None
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


_HIGH = re.compile(rb"[\x80-\xff]")
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


def _detected(body: bytes) -> Encoding:
    # Two encodings are made of ASCII bytes only: UTF-16, by its NULs, and ISO-2022-JP, by its escapes.
    head = body[:_PRESCAN_BYTES]
    disguised = 5 * head.count(b"\0") >= len(head) > 0 or b"\x1b$" in body
    if not disguised:
        if body.isascii():
            return Encoding(FALLBACK, "default")
        if is_mostly_utf8(body):
            return Encoding("utf-8", "detected")
    first = _HIGH.search(body)
    # Markup may fill the head of a page; what tells encodings apart begins with the first byte beyond ASCII.
    start = 0 if disguised or first is None else max(0, first.start() - 64)
    found = chardet.detect(
        body[start : start + _DETECTION_BYTES],
        compat_names=False,
        prefer_superset=False,
        include_encodings=_NAME_OF_DETECTED,
    )["encoding"]
    name = _NAME_OF_DETECTED.get(found) if found else None
    if name is not None and name.startswith("utf-16") and not disguised:
        name = None
    return Encoding(name, "detected") if name else Encoding(FALLBACK, "default")


def is_mostly_utf8(body: bytes, /) -> bool:
    """Whether the body is UTF-8; the last character may be cut, and of twenty characters beyond ASCII one be broken,
    as in pages put together from several sources."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return True
        text = body.decode(errors="replace")
        broken = text.count("\ufffd")
        return 20 * broken < sum(map(len, re.findall(r"[^\x00-\x7f]+", text)))
    return True
