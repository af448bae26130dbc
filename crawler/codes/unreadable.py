"""The errors of data that can't be decoded."""

from typing import Final

import msgspec

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for what is not of the expected form, for text that is not UTF-8, and for values nested too
deeply."""
