"""What a batch of URLs must be."""

from collections.abc import Sequence


def check_batch(urls: Sequence[str]) -> None:
    """Raise TypeError for what is not a sequence of str; one str is a sequence of its letters, and never meant."""
    if isinstance(urls, str):
        raise TypeError("expected a sequence of URLs, found one str; wrap it in a list")
    for number, url in enumerate(urls):
        if not isinstance(url, str):
            raise TypeError(f"expected str for each URL, found {type(url).__name__} at {number}")
