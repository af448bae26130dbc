"""Checks of batches, cutting of huge ones, and verdicts on them."""

from collections.abc import Callable, Sequence

_PLAIN = frozenset({str})


def check_sequence(urls: object) -> None:
    """Raise TypeError unless this is a sequence, and not a str.

    A generator would be used up by the first loop over it. A single str is a sequence of letters, which is never meant.
    """
    if type(urls) is list:  # nearly always
        return
    if isinstance(urls, str):
        raise TypeError("expected a sequence of URLs, found one str; wrap it in a list")
    if not isinstance(urls, Sequence):
        raise TypeError(f"expected a sequence of URLs, found {type(urls).__name__}; make a list of it")


def check_batch(urls: Sequence[str]) -> None:
    """Raise TypeError unless this is a sequence of str."""
    check_sequence(urls)
    if set(map(type, urls)) <= _PLAIN:
        return
    for number, url in enumerate(urls):
        if not isinstance(url, str):
            raise TypeError(f"expected str for each URL, found {type(url).__name__} at {number}")


def add_in_pieces(urls: Sequence[str], most: int, add: Callable[[Sequence[str]], list[bool]]) -> list[bool]:
    """Call `add` for pieces of at most `most` URLs, one after the other, and return all verdicts."""
    check_sequence(urls)
    if len(urls) <= most:
        return add(urls)
    verdicts: list[bool] = []
    for start in range(0, len(urls), most):
        verdicts += add(urls[start : start + most])
    return verdicts


def mark_new(verdicts: list[bool], urls: Sequence[str], new: set[str]) -> None:
    """Call the `new` ones among the URLs of a batch new, each at its first place. Uses up `new`."""
    for place, url in enumerate(urls):
        if url in new:
            new.remove(url)
            verdicts[place] = True
