"""What is read of a page for its own sake, on request: its text."""

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to read."""

    text: bool = False
    markdown: bool = False
    max_bytes: int = 1_000_000
    """Limit for each in UTF-8. A longer text is cut."""

    @property
    def anything(self) -> bool:
        return self.text or self.markdown


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. None is what was not wanted, or is not there."""

    text: str | None = None
    """The main text, without navigation and the like."""
    markdown: str | None = None
    """The same in Markdown. Links are absolute."""
    troubles: tuple[str, ...] = ()
    """For people: what is incomplete, and why."""
