"""Near duplicates: what fingerprints cost, and what they recognize: `python -m tests.bench.simhash [--quick] [--json]`.

Pages are those of the corpora and of Debian's python3-doc and apache2-doc, as far as they are there, and simulated ones
of 8 KB. A copy is a page in which words are replaced by those of other pages, or three words, such as a date, are
added. A false alarm is a pair of different pages of one collection whose fingerprints differ in few bits.
"""

import random
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import mmh3
import numpy as np
from numpy.typing import NDArray

from crawler.read.similarity.simhash import _text_of, _words, fingerprint, fingerprint_in_python
from crawler.repeats.similar import SimilarIndex, make_similar_index
from crawler.simweb.expected import Kind
from crawler.simweb.params import bench_params
from crawler.simweb.world import World
from crawler.url.urls import host_of, path_of
from tests.bench.report import emit, options, tell
from tests.conftest import CORPORA
from tests.unit.read.suites import real_pages

DOCS = {
    "python": Path("/usr/share/doc/python3-doc/html"),
    "apache": Path("/usr/share/doc/apache2-doc/manual/en"),
}
MIN_WORDS = 50
SHINGLES = (1, 2, 3, 4)
DISTANCES = (3, 6)
QUERIES = 300
"""Fingerprints that are looked for in an index; none of them is in it."""
COPIES: dict[str, Callable[[int], int]] = {
    "one_word": lambda _: 1,
    "one_percent": lambda words: max(1, words // 100),
    "five_percent": lambda words: max(1, words // 20),
}

Hashes = NDArray[np.uint64]


def collections(quick: bool) -> Iterator[tuple[str, list[bytes]]]:
    if CORPORA.is_dir():
        yield "real", [page.body for _, page in real_pages(CORPORA)][:: 8 if quick else 1]
    for name, folder in DOCS.items():
        files = sorted(folder.rglob("*.html"))
        if files:
            yield name, [file.read_bytes() for file in files[:: max(1, len(files) // (30 if quick else 300))]]


def simulated(pages: int) -> list[bytes]:
    world = World(bench_params(pages))
    items = islice((item for item in world.expected() if item.kind is Kind.PAGE), pages)
    return [world.respond(host_of(item.url), path_of(item.url)).body for item in items]


def simhash(words: Hashes, *, shingle: int) -> int:
    """The fingerprint of words by their hashes, by the definition, with shingles of any length."""
    count = max(1, len(words) - shingle + 1)
    mixed = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for at in range(min(shingle, len(words))):
            mixed = (mixed ^ words[at : at + count]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(33)
    bits = np.unpackbits(mixed.view(np.uint8).reshape(-1, 8), axis=1)
    return int.from_bytes(np.packbits(2 * bits.sum(axis=0) > count).tobytes(), "big")


def false_alarms(fingerprints: Sequence[int], texts: Sequence[bytes], distance: int = DISTANCES[0]) -> int:
    found = np.array(fingerprints, dtype=np.uint64)
    alarms = 0
    for number in range(len(found)):
        near = np.nonzero(np.bitwise_count(found[number + 1 :] ^ found[number]) <= distance)[0]
        alarms += sum(texts[number] != texts[number + 1 + int(each)] for each in near)
    return alarms


def changed(words: Hashes, others: Hashes, count: int, chance: random.Random) -> Hashes:
    copy = words.copy()
    for at in chance.sample(range(len(words)), count):
        copy[at] = others[chance.randrange(len(others))]
    return copy


def with_three_more(words: Hashes, others: Hashes, chance: random.Random) -> Hashes:
    start = chance.randrange(len(others) - 3)
    return np.insert(words, chance.randrange(len(words)), others[start : start + 3])


def quality(figures: dict[str, float], *, quick: bool, seed: int) -> None:
    """False alarms of each collection, and the share of copies that are recognized, by the length of shingles."""
    pages: list[Hashes] = []
    for name, bodies in collections(quick):
        tell(f"{name}: {len(bodies)} pages")
        texts = [b" ".join(each.encode() for each in _words(_text_of(body))) for body in bodies]
        texts = [text for text in texts if len(text.split()) >= MIN_WORDS]
        hashed = [_hash_words(text.split()) for text in texts]
        figures[f"pages_{name}"] = len(hashed)
        own = [fingerprint(text, is_markup=False).simhash for text in texts]
        for distance in DISTANCES:
            figures[f"false_alarms_{name}_within_{distance}"] = false_alarms(own, texts, distance)
        for shingle in SHINGLES:
            figures[f"false_alarms_{name}_{shingle}"] = false_alarms(
                [simhash(words, shingle=shingle) for words in hashed], texts
            )
        pages += hashed[::2]
    if not pages:
        return
    chance, others = random.Random(seed), np.concatenate(pages[::7])
    for shingle in SHINGLES:
        for kind in (*COPIES, "a_date"):
            copies = [
                with_three_more(words, others, chance)
                if kind == "a_date"
                else changed(words, others, COPIES[kind](len(words)), chance)
                for words in pages
            ]
            distances = [
                (simhash(one, shingle=shingle) ^ simhash(other, shingle=shingle)).bit_count()
                for one, other in zip(pages, copies, strict=True)
            ]
            for distance in DISTANCES:
                found = sum(each <= distance for each in distances) / len(distances)
                figures[f"found_{kind}_{shingle}_within_{distance}"] = found


def _hash_words(words: list[bytes]) -> Hashes:
    return np.array([mmh3.hash64(word, signed=False)[0] for word in words], dtype=np.uint64)


def seconds(act: Callable[[], object], repeats: int = 5) -> float:
    """The median of the processor time."""
    took = []
    for _ in range(repeats):
        start = time.thread_time()
        act()
        took.append(time.thread_time() - start)
    return statistics.median(took)


def costs(figures: dict[str, float], *, quick: bool) -> None:
    tell("what a fingerprint costs")
    pages = simulated(50 if quick else 500)
    size = sum(map(len, pages))
    compiled_s = seconds(lambda: [fingerprint(page, is_markup=True) for page in pages])
    python_s = seconds(lambda: [fingerprint_in_python(page, is_markup=True) for page in pages[:20]], 1)
    figures["us_per_8kb_page"] = compiled_s / size * 8000 * 1e6
    figures["mb_per_s"] = size / compiled_s / 1e6
    figures["us_per_8kb_page_python"] = python_s / sum(map(len, pages[:20])) * 8000 * 1e6
    if CORPORA.is_dir():
        bodies = [page.body for _, page in real_pages(CORPORA)][:: 8 if quick else 1]
        real_s = seconds(lambda: [fingerprint(body, is_markup=True) for body in bodies], 3)
        figures["mb_per_s_real"] = sum(map(len, bodies)) / real_s / 1e6


def index_costs(figures: dict[str, float], *, quick: bool, seed: int) -> None:
    chance = np.random.default_rng(seed)
    for name, size in (("100k", 10**5),) if quick else (("1m", 10**6), ("10m", 10**7)):
        tell(f"an index of {size:,} fingerprints")
        added = chance.integers(0, 2**64, size, dtype=np.uint64).tobytes()
        tracemalloc.start()
        index = make_similar_index()
        start = time.thread_time()
        index.extend(added)
        figures[f"load_s_{name}"] = time.thread_time() - start
        figures[f"bytes_per_page_{name}"] = tracemalloc.get_traced_memory()[0] / size
        tracemalloc.stop()
        for distance in (3, 6, 8):
            asked = chance.integers(0, 2**64, QUERIES, dtype=np.uint64).tolist()
            took = seconds(partial(_look_up, index, asked, distance))
            figures[f"look_up_us_{name}_within_{distance}"] = took / QUERIES * 1e6


def _look_up(index: SimilarIndex, asked: Sequence[int], distance: int) -> None:
    for each in asked:
        index.near(each, distance)


def main() -> None:
    asked = options(__doc__ or "")
    figures: dict[str, float] = {}
    costs(figures, quick=asked.quick)
    index_costs(figures, quick=asked.quick, seed=asked.seed)
    quality(figures, quick=asked.quick, seed=asked.seed)
    emit(figures, asked=asked, packages=["numpy"], meanings=MEANINGS)


MEANINGS = {
    "us_per_8kb_page": "processor time of a fingerprint; a page costs some 700 us without it",
    "mb_per_s": "the same, of HTML",
    "us_per_8kb_page_python": "without compiled code",
    "mb_per_s_real": "of pages of the web",
    "load_s_10m": "to fill an index when a crawl is opened",
    "look_up_us_10m_within_3": "to look for a near duplicate among ten million pages",
    "bytes_per_page_10m": "memory of the index",
    "false_alarms_real_within_3": "pairs of different pages within three bits",
    "false_alarms_real_2": "the same with another hash of words, and shingles of two of them",
    "found_one_percent_3_within_3": "share of copies that are recognized if one of a hundred words is another",
}


if __name__ == "__main__":
    main()
