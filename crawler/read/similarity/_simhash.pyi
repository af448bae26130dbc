from typing import Final

VERSION: Final[int]

def simhash(text: bytes, is_markup: bool, references: dict[str, str], /) -> tuple[int, int]: ...
