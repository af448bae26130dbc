"""What traps refuse of real URLs: `python -m tests.bench.traps [--quick] [--json]`.

Nobody made the URLs of the corpora to trap a crawler, so nearly each of them that is refused is a page lost. They are
printed, by rule, to be looked at.
"""

import gzip
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator

from crawler.discover.traps import Trap, Traps
from crawler.page import LinkKind
from crawler.url.urls import Target, UrlReader
from tests.bench import report
from tests.bench.urls import CORPORA, real_urls

PAGES = CORPORA.parent / "html-real-pages.zip"
NOBODY = "https://example.org/"


def links() -> Iterator[tuple[str, str, LinkKind]]:
    """Href, base and kind: the lists of URLs as links, and all that real pages link to."""
    for url in real_urls():
        yield url, NOBODY, LinkKind.LINK
    if not PAGES.exists():
        return
    with zipfile.ZipFile(PAGES) as archive:
        for name in archive.namelist():
            if name.endswith(".jsonl.gz"):
                for line in gzip.decompress(archive.read(name)).splitlines():
                    page = json.loads(line)
                    for place, hrefs in page["raw"].items():
                        kind = (
                            LinkKind.LINK if place.startswith(("a@", "area@", "iframe@", "form@")) else LinkKind.EMBED
                        )
                        for href in hrefs:
                            yield href, page["base"], kind


def main() -> None:
    asked = report.options("Count and print the real URLs that traps refuse.")
    reader = UrlReader()
    traps = Traps(calendar_years=10, year=2026)
    refused: dict[Trap, list[str]] = defaultdict(list)
    seen: set[tuple[str, bool]] = set()
    for number, (href, base, kind) in enumerate(links()):
        if asked.quick and number % 10:
            continue
        target = reader.read(href, base)
        if not isinstance(target, Target) or (target.url, kind is LinkKind.EMBED) in seen:
            continue
        seen.add((target.url, kind is LinkKind.EMBED))
        if trap := traps.refusal(target, kind=kind):
            refused[trap].append(f"{kind:<6} {target.url}")
    if not asked.as_json:
        for trap in Trap:
            for line in refused[trap]:
                sys.stdout.write(f"{trap:<18} {line[:160]}\n")
    figures = {"urls": len(seen), **{f"refused_{trap}": len(refused[trap]) for trap in Trap}}
    report.emit(figures, asked=asked, packages=["ada-url"])


if __name__ == "__main__":
    main()
