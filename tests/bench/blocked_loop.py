"""For how long long documents hold up the event loop of a crawl.

`main` is the command with a watch in its event loop, which prints what it saw on stderr.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import perf_counter
from typing import Any

from crawler.cli import main as onceover
from crawler.cli.run import running

LOOK_EVERY_S = 0.001
WORD = "longest holds of the event loop, ms:"
SMALL_PAGES = 500
_SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
_EUC_JP = "<p>日本語のテキストがここにあります。</p>".encode("euc-jp")


def write_documents(root: Path, *, domain: str, port: int) -> set[str]:
    """A site with a document of each kind that takes long; returns their names."""
    documents = {
        "offsite.html": "<p>".join(f'<a href="http://h{n}.example.org/{n}">{n}</a>' for n in range(100_000)).encode(),
        "million.html": b"".join(b"<a href=/million/%d>x</a>" % n for n in range(1_000_000)),
        # Anchors left open in a table: only a tree tells what they hold.
        "tree.html": b"<table><a href=/tree><tr>"
        + b"".join(b'<div><a href="/tree/%d">%d</a></div>' % (n, n) for n in range(100_000)),
        "text.html": b"<p>some text that is <b>long</b> and so on\n" * 450_000,
        "euc-jp.html": _EUC_JP * (20_000_000 // len(_EUC_JP)),
        "sheet.css": b"".join(b"a{background:url(/sheet/%d.png)}\n" % n for n in range(500_000)),
        "list.txt": b"".join(b"http://list.%s:%d/%d\n" % (domain.encode(), port, n) for n in range(500_000)),
    }
    for name, document in documents.items():
        root.joinpath(name).write_bytes(document)
    urls = "".join(f"<url><loc>http://map.{domain}:{port}/{n}</loc></url>" for n in range(50_000))
    root.joinpath("map.xml").write_text(_SITEMAP.format(urls))
    rules = "".join(f"Disallow: /no/{n}/*.html\n" for n in range(20_000))
    robots = f"Sitemap: http://www.{domain}:{port}/map.xml\nUser-agent: *\n{rules}"
    root.joinpath("robots.txt").write_text(robots)
    for number in range(SMALL_PAGES):
        root.joinpath(f"{number}.html").write_text(f'<p><a href="/{number + 1}.html">next</a> ' + "text " * 1000)
    links = "".join(f'<a href="/{name}">{name}</a> ' for name in (*documents, "0.html", "250.html"))
    root.joinpath("index.html").write_text(links)
    return {*documents, "map.xml"}


def main() -> None:
    in_event_loop: Any = running.in_event_loop
    holds: list[float] = []

    def watched(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        async def both() -> Any:
            watching = asyncio.create_task(_watch(holds))
            try:
                return await work()
            finally:
                watching.cancel()

        return in_event_loop(both)

    running.in_event_loop = watched
    try:
        onceover()
    finally:
        longest = sorted(holds, reverse=True)[:10]
        print(WORD, " ".join(f"{1000 * hold:.1f}" for hold in longest), file=sys.stderr)


async def _watch(holds: list[float]) -> None:
    while True:
        began = perf_counter()
        await asyncio.sleep(LOOK_EVERY_S)
        late = perf_counter() - began - LOOK_EVERY_S
        if late > 0.005:
            holds.append(late)


if __name__ == "__main__":
    main()
