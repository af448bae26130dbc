"""Letters that are the same to people, though not to FTS5. Pure."""

import re
import unicodedata
from typing import Final

_UNSEEN: Final = re.compile(
    "[\u00ad\u2060\ufeff"  # SOFT HYPHEN and the like
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # the points of Hebrew
    "\u0610-\u061a\u0640\u064b-\u0652\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"  # those of Arabic
)
"""Most texts leave these out."""
_FORMS: Final = re.compile(
    "[\ufb00-\ufb17\ufb1d-\ufbb1\ufbd3-\ufdc7\ufe70-\ufefc"  # ligatures, and letters as they look in a word
    "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]+"  # full-width and half-width letters
)
_ACCENTED: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff\u0401\u0451]+")
"""Greek and \u0451. Of these FTS5 ignores an accent only if it is a character of its own. Of Latin letters it does
anyway, and that of \u0439 makes another letter."""
_SHARP_S: Final = re.compile("[\u00df\u1e9e]")
_TWO_S: Final = re.compile("ss", re.IGNORECASE)


def as_compared(text: str) -> str:
    """A text as the index has it, and a query asks for it. People see the same, without points."""
    if text.isascii():
        return text
    text = _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), unicodedata.normalize("NFC", text))
    return _ACCENTED.sub(lambda found: unicodedata.normalize("NFD", found[0]), _UNSEEN.sub("", text))


def spellings(words: str) -> list[str]:
    """The ways to write words of a query: ß is also written ss, and in capitals, ı as I, which FTS5 takes for i."""
    ways = (words, _SHARP_S.sub("ss", words), _TWO_S.sub("\u00df", words), words.replace("\u0131", "i"))
    return list(dict.fromkeys(ways))
