from typing import Final

VERSION: Final[int]

def digest_text(sha1: bytes, /) -> str: ...
