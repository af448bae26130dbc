"""Where the first key of a space may be, so that a look at its beginning never walks over what was deleted there."""


class Head:
    """A place in a space of keys before which there is no key."""

    def __init__(self, start: bytes) -> None:
        self.start = start

    def note_written(self, key: bytes) -> None:
        self.start = min(self.start, key)

    def note_first(self, key: bytes) -> None:
        """All keys were read from `start`: this is the first one, or the place up to which there is none."""
        self.start = max(self.start, key)
