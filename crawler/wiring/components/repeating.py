"""Makes what finds out whether a page repeats another one."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from config import Config
from crawler.protocols import Repeats
from crawler.repeats.judge import RepeatJudge, Rules
from crawler.repeats.stored import StoredFingerprints
from crawler.url.urls import BadUrl, Target, UrlReader
from frontier import Frontier


def fingerprints(
    config: Config, directory: Path, urls: UrlReader, stack: AsyncExitStack
) -> Sequence[StoredFingerprints]:
    """The fingerprints of the crawl, which `stack` closes; nothing if near duplicates are not looked for."""
    duplicates = config.duplicates
    if duplicates.near == "off":
        return ()

    def name_of(url: str) -> str:
        target = urls.read(url, url)
        return url if isinstance(target, BadUrl) else target.canonical

    known = StoredFingerprints(
        directory, only_archived=duplicates.near == "no-keep", name_of=name_of, distance=duplicates.near_distance
    )
    stack.push_async_callback(known.aclose)
    return (known,)


def repeats(
    config: Config,
    known: Sequence[StoredFingerprints],
    read_url: Callable[[str, str], Target | BadUrl],
    frontier: Frontier,
) -> Repeats | None:
    """None if nothing follows from what a page repeats."""
    duplicates = config.duplicates
    if duplicates.near == "off" and duplicates.canonical == "note":
        return None
    rules = Rules(
        near="mark" if duplicates.near == "off" else duplicates.near,
        distance=duplicates.near_distance,
        canonical="mark" if duplicates.canonical == "note" else duplicates.canonical,
        across_domains=duplicates.canonical_across_domains,
    )
    return RepeatJudge(rules, fingerprints=next(iter(known), None), read_url=read_url, status_of=frontier.status_of)
