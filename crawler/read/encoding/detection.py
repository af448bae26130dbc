"""Detects the encoding of a body that does not declare one."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from crawler.read.encoding.words import TEXT_BYTES, count_beyond_ascii, count_runs, gather_words

FALLBACK: Final = "windows-1252"
"""The encoding that browsers in most of the world assume for pages that declare none."""

_OTHER_SCRIPT_BYTES: Final = 2 * 1024
"""As much tells scripts other than Latin apart, most of whose letters are beyond ASCII."""
_DISGUISE_BYTES: Final = 1024
_SLICE_BYTES: Final = 1024 * 1024
_BROKEN_BYTES: Final = 2 * 1024
"""From the first broken character on. So much shows of most pages in another encoding that they are not UTF-8."""

_ESCAPE: Final = re.compile(rb"\x1b\$")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
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
_EAST_ASIAN: Final = frozenset({"big5", "euc-jp", "euc-kr", "gbk", "shift_jis"})
_OTHER_SCRIPTS: Final = frozenset(
    "iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 windows-874 windows-1251 windows-1253 windows-1255 windows-1256 koi8-r"
    " koi8-u ibm866 x-mac-cyrillic".split()
)
"""Encodings of other alphabets: no word mixes their letters with ASCII letters."""
_UNDISGUISED: Final = tuple(name for name, of in _NAME_OF_DETECTED.items() if not of.startswith(("iso-2022", "utf-16")))
_NO_OTHER_SCRIPTS: Final = tuple(name for name in _UNDISGUISED if _NAME_OF_DETECTED[name] not in _OTHER_SCRIPTS)
_NO_LATIN_SCRIPT: Final = tuple(
    name for name in _UNDISGUISED if _NAME_OF_DETECTED[name] in _OTHER_SCRIPTS | _EAST_ASIAN | {"utf-8"}
)
_NO_MATCH: Final = "utf-32"
"""What the detector says if no candidate fits. It must be a candidate itself, so it is one in which no page is."""
_GREEK: Final = frozenset({"iso-8859-7", "windows-1253"})
_CAPITAL_ALPHAS: Final = tuple(re.compile(rb"(?<![\x80-\xff])%b[\xdc-\xfe]" % alpha) for alpha in (b"\xb6", b"\xa2"))
"""At the start of a word in small letters, in ISO-8859-7 and in windows-1253."""
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


def detect_encoding(body: bytes, /) -> str | None:
    """Guess the encoding of a body. None if its bytes tell nothing. For Western text that looks like another alphabet,
    it is the `FALLBACK`."""
    # Two encodings use ASCII bytes only: UTF-16, which shows by its NULs, and ISO-2022-JP, which shows by its escapes.
    head = body[:_DISGUISE_BYTES]
    disguised = 5 * head.count(b"\0") >= len(head) > 0 or (b"\x1b" in body and b"\x1b$" in body)
    if not disguised:
        if body.isascii():
            return None
        if is_mostly_utf8(body):
            return "utf-8"
        text, candidates = _narrow(_words(body))
    else:
        text, candidates = _around(body, _ESCAPE.search(body)), tuple(_NAME_OF_DETECTED)
    # It takes as long to import as a third of an empty Python, and most pages declare their encoding.
    import chardet  # noqa: PLC0415 - see above

    likely = chardet.detect(
        text,
        compat_names=False,
        prefer_superset=False,
        include_encodings=(_NO_MATCH, *candidates),
        no_match_encoding=_NO_MATCH,
    )
    name = _NAME_OF_DETECTED.get(likely["encoding"] or "")
    if name is None:
        return None
    if name in _OTHER_SCRIPTS and mixes_letters(text):
        return FALLBACK
    if name in _WITH_C1 and _C1.search(body):
        return _WITH_C1[name]
    return _greek_encoding(body) or name if name in _GREEK else name


def _narrow(text: bytes) -> tuple[bytes, Sequence[str]]:
    """The part of a text that tells its encoding, and the encodings that it may be in. For all of both, the detector
    takes a third longer."""
    high, (runs, touching) = count_beyond_ascii(text), count_runs(text)
    if 2 * high >= 5 * runs:
        # Latin words have one or two letters beyond ASCII in a row, those of other scripts consist of them.
        if 2 * count_beyond_ascii(text[:_OTHER_SCRIPT_BYTES]) >= high:
            return text[:_OTHER_SCRIPT_BYTES], _NO_LATIN_SCRIPT
        # After a line end, where no character is torn.
        return text[text.rfind(b"\n", 0, _OTHER_SCRIPT_BYTES) + 1 :], _NO_LATIN_SCRIPT
    if high < 2 * runs and 2 * touching > runs:
        return text, _NO_OTHER_SCRIPTS
    return text, _UNDISGUISED


def _greek_encoding(body: bytes) -> str | None:
    """The encoding by its byte for a capital alpha with an accent, which is punctuation in the other. None if there is
    none: all other letters are the same in both."""
    in_iso, in_windows = (len(alpha.findall(body)) for alpha in _CAPITAL_ALPHAS)
    if in_iso == in_windows:
        return None
    return "iso-8859-7" if in_iso > in_windows and not _C1.search(body) else "windows-1253"


def mixes_letters(text: bytes, /) -> bool:
    """Whether most runs of bytes beyond ASCII touch an ASCII letter."""
    runs, touching = count_runs(text)
    return 2 * touching > runs


def _words(body: bytes) -> bytes:
    text = gather_words(body)
    return _around(body, _HIGH.search(body)) if text.isascii() else text


def _around(body: bytes, first: re.Match[bytes] | None) -> bytes:
    start = max(0, first.start() - 64) if first else 0
    return body[start : start + TEXT_BYTES]


def is_mostly_utf8(body: bytes, /) -> bool:
    """Whether the body is UTF-8. The last character may be cut. One in twenty characters beyond ASCII may be broken, as
    in pages that are put together from several sources."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return True
        most = count_beyond_ascii(body)
        end = body.rfind(b"<", error.start, error.start + _BROKEN_BYTES)
        if 20 * body[error.start : max(end, 0)].decode(errors="replace").count("\ufffd") >= most:
            return False
        broken = beyond_ascii = 0
        for part in slices(body):
            text = part.decode(errors="replace")
            broken += text.count("\ufffd")
            # A broken sequence never takes an ASCII byte with it. To search for the others takes ten times as long.
            beyond_ascii += len(text) - (len(part) - count_beyond_ascii(part))
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
