"""How long a text may be."""


def limited(name: str, text: str, max_bytes: int, troubles: list[str]) -> str | None:
    """The text within the limit, in UTF-8; None if it is empty. What is cut is noted."""
    if len(text) * 4 > max_bytes:
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > max_bytes:
            troubles.append(f"its {name} is cut at {max_bytes:,} bytes")
            return encoded[:max_bytes].decode("utf-8", "ignore")
    return text or None


def cut_note(read_bytes: int | None) -> list[str]:
    """A note, if only so much of a page was read."""
    return [] if read_bytes is None else [f"its text is that of the first {read_bytes:,} bytes"]
