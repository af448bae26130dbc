# What the functions take and return stands in `visited.bits.kernel`: the protocol, and where they differ from it.
from typing import Any

VERSION: int

def __getattr__(name: str) -> Any: ...
