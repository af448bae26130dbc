"""Of sitemaps, only what has changed lately: `scope.sitemap_max_age_s`."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.write.records import read_records
from tests.e2e.test_text import crawled

XML = b"Content-Type: application/xml"


def changed(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


def listed(element: str, **dates: str | None) -> str:
    dated = (
        f"<{element}><loc>/{name}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</{element}>"
        for name, date in dates.items()
    )
    return "".join(dated)


def answer(seen: Seen) -> Script:
    match seen.target:
        case "/":
            return [
                page(f"<sitemapindex>{listed('sitemap', new=changed(1), old=changed(9))}</sitemapindex>".encode(), XML)
            ]
        case "/new":
            dates = {
                "fresh": changed(2),
                "stale": changed(8),
                "edge": changed(7)[:10],
                "day": changed(9)[:10],
                "year": changed(0)[:4],
                "undated": None,
                "unread": "last week",
            }
            return [page(f"<urlset>{listed('url', **dates)}</urlset>".encode(), XML)]
        case "/fresh":
            return [page(b"<a href=/linked>", b"Content-Type: text/html")]
    return [page(b"<p>page", b"Content-Type: text/html")]


@pytest.mark.parametrize(("max_depth", "found"), [(20, {"/linked"}), (2, set[str]())])
async def test_only_urls_and_sitemaps_that_have_changed_lately_are_fetched(
    tmp_path: Path, max_depth: int, found: set[str]
) -> None:
    async with raw_server(answer) as server:
        settings = {"scope.sitemap_max_age_s": 7 * 86_400, "scope.max_depth": max_depth}
        await crawled(server, tmp_path, settings)
    fetched = ["/", "/new", "/fresh", "/edge", "/year", "/undated", "/unread"]
    assert {*server.targets} == {*fetched, *found}
    refused = {each.url: each.refused for each in read_records(tmp_path / "records") if each.refused}
    assert refused["http://a.test/"] == {"outdated": 1}
    assert refused["http://a.test/new"] == {"outdated": 2}


def with_others(seen: Seen) -> Script:
    if seen.target != "/":
        return [page(b"<p>page", b"Content-Type: text/html")]
    entries = (
        f"<url><loc>/{name}</loc><lastmod>{changed(days)}</lastmod><xhtml:link rel='alternate' href='/{name}-fr'/>"
        f"<image:image><image:loc>/{name}.png</image:loc></image:image></url>"
        for name, days in (("fresh", 2), ("stale", 8))
    )
    return [page(f"<urlset>{''.join(entries)}</urlset>".encode(), XML)]


async def test_translations_and_images_of_outdated_urls_are_outdated_too(tmp_path: Path) -> None:
    async with raw_server(with_others) as server:
        await crawled(server, tmp_path, {"scope.sitemap_max_age_s": 7 * 86_400})
    assert {*server.targets} == {"/", "/fresh", "/fresh-fr", "/fresh.png"}


def feed(seen: Seen) -> Script:
    if seen.target != "/":
        return [page(b"<p>page", b"Content-Type: text/html")]
    items = (
        f"<item><link>/{name}</link><pubDate>{format_datetime(datetime.now(UTC) - timedelta(days=days))}</pubDate>"
        f"<comments>/{name}-comments</comments></item>"
        for name, days in (("fresh", 2), ("stale", 8))
    )
    return [page(f"<rss><channel><link>/home</link>{''.join(items)}</channel></rss>".encode(), XML)]


async def test_only_new_entries_of_feeds_are_fetched(tmp_path: Path) -> None:
    async with raw_server(feed) as server:
        await crawled(server, tmp_path, {"scope.sitemap_max_age_s": 7 * 86_400})
    assert {*server.targets} == {"/", "/home", "/fresh", "/fresh-comments"}


async def test_without_a_limit_everything_is_fetched(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        await crawled(server, tmp_path, {})
    assert {"/old", "/stale", "/day"} <= {*server.targets}
