"""What a batch of URLs must be, and how a huge one is cut."""

from collections.abc import Callable, Sequence

_PLAIN = frozenset({str})


def check_sequence(urls: object) -> None:
    """Raise TypeError for what is no sequence, as a generator, which would be used up by the first look at it; one str
    is a sequence of its letters, and never meant."""
    if isinstance(urls, str):
        raise TypeError("expected a sequence of URLs, found one str; wrap it in a list")
    if not isinstance(urls, Sequence):
        raise TypeError(f"expected a sequence of URLs, found {type(urls).__name__}; make a list of it")


def check_batch(urls: Sequence[str]) -> None:
    """Raise TypeError for what is not a sequence of str."""
    check_sequence(urls)
    if set(map(type, urls)) <= _PLAIN:
        return
    for number, url in enumerate(urls):
        if not isinstance(url, str):
            raise TypeError(f"expected str for each URL, found {type(url).__name__} at {number}")


def in_pieces(urls: Sequence[str], most: int, add: Callable[[Sequence[str]], list[bool]]) -> list[bool]:
    """The verdicts of `add` for pieces of at most so many URLs, one after the other."""
    check_sequence(urls)
    if len(urls) <= most:
        return add(urls)
    verdicts: list[bool] = []
    for start in range(0, len(urls), most):
        verdicts += add(urls[start : start + most])
    return verdicts
