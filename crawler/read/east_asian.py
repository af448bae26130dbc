"""East Asian text, decoded as the Encoding standard says where Python's codecs say otherwise.

- `gbk`, `gb18030`: a single byte 0x80 is the euro sign.
- `euc-jp`, `iso-2022-jp`: the rows of NEC and IBM, as ①, № and 髙, are part of it; six signs, as the wave dash, are
  their full-width forms, as on Windows.

Source: https://encoding.spec.whatwg.org/#legacy-multi-byte-chinese-(simplified)-encodings and the following section.
Left as Python has it: some two hundred rare characters of Big5 and of JIS X 0212.
"""

import codecs
from functools import lru_cache
from typing import Final

from crawler.read.labels import PYTHON_CODECS

EAST_ASIAN: Final = frozenset({"gbk", "gb18030", "euc-jp", "iso-2022-jp"})

_AS_ON_WINDOWS: Final = str.maketrans("〜‖−¢£¬", "～∥－￠￡￢")
_EURO: Final = "\N{EURO SIGN}"


def decoded(body: bytes, name: str, /) -> str:
    """The text of a body in one of `EAST_ASIAN`; what is broken becomes U+FFFD."""
    text = body.decode(PYTHON_CODECS[name], _error_handler(name))
    return text if name.startswith("gb") else text.translate(_AS_ON_WINDOWS)


@lru_cache(maxsize=8)
def _error_handler(name: str) -> str:
    """The name of the error handler of an encoding. Python knows handlers by name only, and for the whole process."""
    if name == "iso-2022-jp":
        return "replace"
    handler = f"onceover-{name}"
    codecs.register_error(handler, _japanese if name == "euc-jp" else _chinese)
    return handler


def _chinese(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    if error.object[error.start] == 0x80:
        return _EURO, error.start + 1
    return "\ufffd", error.end


def _japanese(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    pair = error.object[error.start : error.start + 2]
    if len(pair) == 2 and all(0xA1 <= byte <= 0xFE for byte in pair):
        # The same row and cell in Shift JIS, whose codec for Windows has what NEC and IBM added.
        row, cell = pair[0] - 0xA1, pair[1] - 0xA1
        lead = row // 2 + (0x81 if row < 62 else 0xC1)
        trail = cell + (0x9F if row % 2 else 0x40 if cell < 63 else 0x41)
        found = bytes((lead, trail)).decode("cp932", "replace")
        return found if len(found) == 1 else "\ufffd", error.start + 2
    return "\ufffd", error.end
