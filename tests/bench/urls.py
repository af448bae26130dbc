"""URLs to measure with: real ones where the corpora are there, and as many as are asked for."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "url-lists"


def real_urls() -> list[str]:
    """The distinct URLs of the lists beside the repository, in order; made-up ones where there are none."""
    lines: dict[str, None] = {}
    for path in sorted(CORPORA.glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            lines.update(dict.fromkeys(line.strip() for line in file))
    lines.pop("", None)
    if lines:
        return list(lines)
    return [
        f"https://www.h{number % 9973}.example/some/longer/path/{number * 7919}/page.html?id={number}"
        for number in range(500_000)
    ]


class Stream:
    """Links as a crawl meets them: some new, some met before, each a string of its own."""

    def __init__(self, real: list[str], *, distinct: int, repeats: float, seed: int) -> None:
        """`repeats` is the share of links that were met before; 0..1."""
        self._real = real
        self._distinct = distinct
        self._repeats = repeats
        self._seed = seed

    def url(self, number: int) -> str:
        """The URL of this number: real ones first, then the same with a number behind."""
        turn, place = divmod(number, len(self._real))
        return f"{self._real[place]}{'' if turn == 0 else f'?v={turn}'} "[:-1]

    def batches(self, size: int, *, at_once: int = 65_536) -> Iterator[list[list[str]]]:
        """Lists of batches, some `at_once` URLs in each, until all distinct URLs have come."""
        chance = random.Random(self._seed)
        met = 0
        while met < self._distinct:
            numbers: list[int] = []
            while len(numbers) < at_once and met < self._distinct:
                if met and chance.random() < self._repeats:
                    numbers.append(int(chance.random() * met))
                else:
                    numbers.append(met)
                    met += 1
            links = [self.url(number) for number in numbers]
            yield [links[start : start + size] for start in range(0, len(links), size)]
