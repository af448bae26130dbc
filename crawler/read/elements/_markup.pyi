from typing import Final

VERSION: Final[int]

def survey(html: bytes, most_attributes: int, /) -> tuple[int, int, int, int, int, bool]: ...
