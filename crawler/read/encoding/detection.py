"""Detects the encoding of a body that does not declare one."""

import re
from collections.abc import Iterator
from typing import Final

_DETECTION_BYTES: Final = 4 * 1024
"""With four times as many, detection takes half as long again, and as many pages of the corpora are read wrong."""
_DISGUISE_BYTES: Final = 1024
_MARKUP_BYTES: Final = 512 * 1024
"""The part of a page in which we look for text."""
_SLICE_BYTES: Final = 1024 * 1024
_BEYOND_ASCII: Final = bytes(range(128, 256))

_ESCAPE: Final = re.compile(rb"\x1b\$")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_SKIPPED: Final = re.compile(rb"<(?:(script|style)(?=[\t\n\f\r />])|(!--)|[a-z/!?][^>]*+(>?))", re.IGNORECASE)
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
"""Names in the Encoding standard by chardet's names, for the encodings that browsers know."""
_OTHER_SCRIPTS: Final = frozenset(
    "iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 windows-874 windows-1251 windows-1253 windows-1255 windows-1256 koi8-r"
    " koi8-u ibm866 x-mac-cyrillic".split()
)
"""Encodings of other alphabets: no word mixes their letters with ASCII letters."""
_CLASSES: Final = bytes(
    ord("H") if byte > 127 else ord("a") if chr(byte).isalpha() else ord(" ") for byte in range(256)
)
"""Of each byte: beyond ASCII, a letter, or another."""
_BETWEEN_LETTERS: Final = re.compile(rb"aH+(?=a)")
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
"""In the encodings on the left, the bytes 80 to 9F are control characters, which no page has. In those on the right
they are letters and quotes."""


def detect_encoding(body: bytes, /, *, fallback: str) -> str | None:
    """Guess the encoding of a body. None if its bytes tell nothing. `fallback` is returned for Western text that looks
    like another alphabet."""
    # Two encodings use ASCII bytes only: UTF-16, which shows by its NULs, and ISO-2022-JP, which shows by its escapes.
    head = body[:_DISGUISE_BYTES]
    disguised = 5 * head.count(b"\0") >= len(head) > 0 or b"\x1b$" in body
    if not disguised:
        if body.isascii():
            return None
        if is_mostly_utf8(body):
            return "utf-8"
    text = _around(body, _ESCAPE.search(body)) if disguised else _words(body)
    # It takes as long to import as a third of an empty Python, and most pages declare their encoding.
    import chardet  # noqa: PLC0415 - see above

    likely = chardet.detect(text, compat_names=False, prefer_superset=False, include_encodings=_NAME_OF_DETECTED)
    name = _NAME_OF_DETECTED.get(likely["encoding"] or "")
    if name is None or (name.startswith("utf-16") and not disguised):
        return None
    if name in _OTHER_SCRIPTS and mixes_letters(text):
        return fallback
    if name in _WITH_C1 and _C1.search(body):
        name = _WITH_C1[name]
    return name


def mixes_letters(text: bytes, /) -> bool:
    """Whether most runs of bytes beyond ASCII touch an ASCII letter."""
    # A pattern that looks behind each byte takes as long as all else here together.
    classes = text.translate(_CLASSES)
    behind, before = classes.count(b"aH"), classes.count(b"Ha")
    runs = behind + classes.count(b" H") + classes.startswith(b"H")
    return 2 * (behind + before - len(_BETWEEN_LETTERS.findall(classes))) > runs


def _words(body: bytes) -> bytes:
    """The text of a page, up to a limit, mostly what is beyond ASCII. Markup, scripts and styles are left out: they may
    fill most of the page and tell nothing about its language."""
    head = body[:_MARKUP_BYTES]
    gathered: list[bytes] = []
    at = 0
    left, plain_left = _DETECTION_BYTES, _DETECTION_BYTES // 2
    while left > 0:
        found = _SKIPPED.search(head, at)
        piece = head[at : found.start() if found else len(head)]
        if piece.isascii():
            # All candidates share ASCII, so the detector needs little of it: how letters and white space alternate.
            piece = piece[:plain_left]
            plain_left -= len(piece)
        piece = piece[:left]
        left -= len(piece)
        gathered.append(piece)
        if found is None:
            break
        if found[3]:
            at = found.end()
        elif found[1] and (raw := _RAW_END[found[1].lower()].search(head, found.end())):
            at = raw.start()
        elif found[2] and (end := head.find(b"-->", found.end())) >= 0:
            at = end + 1
        else:
            break
    text = b"\n".join(gathered)
    return _around(body, _HIGH.search(body)) if text.isascii() else text


def _around(body: bytes, first: re.Match[bytes] | None) -> bytes:
    start = max(0, first.start() - 64) if first else 0
    return body[start : start + _DETECTION_BYTES]


def is_mostly_utf8(body: bytes, /) -> bool:
    """Whether the body is UTF-8. The last character may be cut. One in twenty characters beyond ASCII may be broken, as
    in pages that are put together from several sources."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return True
        broken = beyond_ascii = 0
        for part in slices(body):
            text = part.decode(errors="replace")
            broken += text.count("\ufffd")
            # A broken sequence never takes an ASCII byte with it. To search for the others takes ten times as long.
            beyond_ascii += len(text) - len(part.translate(None, _BEYOND_ASCII))
        return 20 * broken < beyond_ascii
    return True


def slices(body: bytes) -> Iterator[bytes]:
    """Cut a body in an ASCII-compatible encoding before a `<` or a line end, where no character is torn. Decoding holds
    the GIL for a whole call, so each call gets one slice."""
    at = 0
    while len(body) - at > _SLICE_BYTES:
        end = max(body.rfind(b"<", at + 1, at + _SLICE_BYTES), body.rfind(b"\n", at + 1, at + _SLICE_BYTES))
        if end < 0:
            found = (body.find(b"<", at + _SLICE_BYTES), body.find(b"\n", at + _SLICE_BYTES))
            end = min((place for place in found if place >= 0), default=len(body))
        yield body[at:end]
        at = end
    yield body[at:] if at else body
