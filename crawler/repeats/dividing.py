"""Divides the fingerprints of a crawl among its parts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from crawler.repeats.stored import StoredFingerprints, read_fingerprints


def divide_fingerprints(
    sources: Sequence[Path], targets: Sequence[Path], *, owner_of: Callable[[str], int], progress: Callable[[int], None]
) -> None:
    """Give each target the fingerprints of its URLs; `owner_of` tells the target of a URL. The sources stay. After a
    crash, call it again. Nothing is made if there are none. Raises `OSError`."""
    found: Iterator[tuple[int, int, str]] = (each for source in sources for each in read_fingerprints(source))
    with ExitStack() as stack:
        opened: dict[int, StoredFingerprints] = {}
        for count, (fingerprint, number, url) in enumerate(found, 1):
            owner = owner_of(url)
            if owner not in opened:
                opened[owner] = StoredFingerprints(targets[owner])
                stack.callback(opened[owner].close)
            opened[owner].add(fingerprint, number=number, url=url)
            if count % 10_000 == 0:
                progress(count)
