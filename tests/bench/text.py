"""How well and how fast the main text of pages is found: by this crawler, trafilatura, resiliparse and readability.

The pages are the real ones of the corpora. A few pages say what their text is, as `articleBody` in
JSON-LD. With `--truth FILE`, a person says it: FILE is `ground-truth.json` of scrapinghub's
article-extraction-benchmark, whose pages the corpora have, too.

A text is compared by its runs of four words, as in that benchmark: precision is the share of those found that belong to
the text, recall the share of those of the text that were found; both are means over pages, and F1 is that of the means
of each page. `everything` is the text of the whole page. Speed is that of reading pages from their bytes, decoding
and parsing included, for ours as in a crawl with `output.text`. Whatever is not installed is left out.
"""

import argparse
import gzip
import html
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import msgspec
import turbohtml

from crawler.page import Page, Wanted
from crawler.read.content.reading import read_content
from crawler.read.html.lexbor import lexbor_extractor
from tests.bench.report import Options, emit, tell

CORPUS: Final = Path(__file__).parents[3] / "shared" / "corpora" / "html-real-pages.zip"
LEAST_CHARACTERS: Final = 500
"""A shorter text says little about how well it is found."""
_WORD: Final = re.compile(r"\w+")
_TAG: Final = re.compile(r"<[^>]+>")
_RUN: Final = 4
_OURS: Final = Wanted(text=True)
_BOTH: Final = Wanted(text=True, markdown=True)

Reader = Callable[["Sample"], str]


class Sample(msgspec.Struct, frozen=True):
    name: str
    body: bytes
    expected: str | None

    @property
    def decoded(self) -> str:
        return self.body.decode("utf-8", "replace")


def samples(truth: dict[str, str]) -> Iterator[Sample]:
    """The pages, each with its text if somebody says it."""
    with ZipFile(CORPUS) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".html.gz"):
                body = gzip.decompress(archive.read(name))
                plain = name.rpartition("/")[2].removesuffix(".html.gz")
                yield Sample(plain, body, truth.get(plain) if truth else declared_text(body))


def declared_text(body: bytes) -> str | None:
    """What the page itself says is its text."""
    found = []
    for script in turbohtml.parse(body.decode("utf-8", "replace")).select('script[type="application/ld+json" i]'):
        try:
            found += list(_article_bodies(json.loads(script.text, strict=False)))
        except ValueError:
            continue
    texts = [html.unescape(_TAG.sub(" ", html.unescape(each))) for each in found]
    longest = max(texts, key=len, default="")
    return longest if len(longest) >= LEAST_CHARACTERS else None


def _article_bodies(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(body := value.get("articleBody"), str):
            yield body
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _article_bodies(each)


def runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return Counter(tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1)))


def agreement(found: str, expected: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of one page."""
    ours, theirs = runs(found), runs(expected)
    common = (ours & theirs).total()
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def by_us(sample: Sample, wanted: Wanted = _OURS) -> str:
    headers = [(b"Content-Type", b"text/html; charset=utf-8")]
    page = Page(
        url="http://h.test/",
        status=200,
        headers=headers,
        fetched_at=0,
        duration_s=0,
        body=sample.body,
        raw_body=sample.body,
    )
    extract = msgspec.structs.replace(_EXTRACT, base_url=page.url)
    return read_content(page, extract, wanted).text or ""


def readers() -> dict[str, Reader]:
    """Those that are installed."""
    found: dict[str, Reader] = {
        "ours": by_us,
        "ours_and_markdown": lambda sample: by_us(sample, _BOTH),
        "everything": lambda sample: turbohtml.parse(sample.decoded).to_text(),
    }
    for name, module, make in (
        ("trafilatura", "trafilatura", _trafilatura),
        ("resiliparse", "resiliparse.extract.html2text", _resiliparse),
        ("readability", "readability", _readability),
    ):
        try:
            found[name] = make(import_module(module))
        except ModuleNotFoundError:
            tell(f"{name} is not installed, and left out")
    return found


def _trafilatura(module: Any) -> Reader:
    return lambda sample: module.extract(sample.decoded, include_comments=False) or ""


def _resiliparse(module: Any) -> Reader:
    return lambda sample: str(module.extract_plain_text(sample.decoded, main_content=True))


def _readability(module: Any) -> Reader:
    return lambda sample: turbohtml.parse(module.Document(sample.decoded).summary()).to_text()


def measure(reader: Reader, pages: list[Sample]) -> dict[str, float]:
    scores, seconds = [], 0.0
    for sample in pages:
        began = time.process_time()
        text = reader(sample)
        seconds += time.process_time() - began
        if sample.expected is not None:
            scores.append(agreement(text, sample.expected))
    precision, recall, f1 = (statistics.fmean(each) for each in zip(*scores, strict=True))
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "f1_median": statistics.median(each[2] for each in scores),
        "mb_per_s": sum(len(sample.body) for sample in pages) / 1e6 / seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only pages whose text is known")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object on stdout, nothing else")
    parser.add_argument("--truth", type=Path, help="ground-truth.json of article-extraction-benchmark")
    asked = parser.parse_args()
    if not CORPUS.exists():
        tell(f"no pages at {CORPUS}: they are not part of the repository")
        emit({}, asked=Options(quick=asked.quick, as_json=asked.as_json, seed=0))
        return
    truth = {} if asked.truth is None else json.loads(asked.truth.read_bytes())
    pages = list(samples({name: each["articleBody"] for name, each in truth.items()}))
    figures: dict[str, float] = {"pages_with_text": sum(each.expected is not None for each in pages)}
    if asked.quick:
        pages = [each for each in pages if each.expected is not None]
    figures["pages"] = len(pages)
    for name, reader in readers().items():
        tell(name)
        figures |= {f"{name}_{what}": value for what, value in measure(reader, pages).items()}
    emit(
        figures,
        asked=Options(quick=asked.quick, as_json=asked.as_json, seed=0),
        packages=("turbohtml", "trafilatura", "resiliparse", "readability-lxml"),
    )


_EXTRACT: Final = lexbor_extractor().extract(
    Page(
        url="http://h.test/",
        status=200,
        headers=[(b"Content-Type", b"text/html; charset=utf-8")],
        fetched_at=0,
        duration_s=0,
        body=b"<p>",
        raw_body=b"<p>",
    )
)

if __name__ == "__main__":
    main()
