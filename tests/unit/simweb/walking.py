"""An independent, naive crawl of a world by its answers alone: breadth first, nothing of the map is used."""

import re
from collections import deque
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import msgspec
from protego import Protego

from crawler.simweb.world import Reply, World

_SESSION = re.compile(r"(;jsessionid=[0-9a-f]{32})|([?&]PHPSESSID=[0-9a-f]{32})")
_MAX_ATTEMPTS = 6


class Walked(msgspec.Struct):
    """What the walk settled: the last status by URL; None for what was not fetched whole."""

    statuses: dict[str, int | None]
    excluded: set[str]
    targets: dict[str, str]
    failures: dict[str, int]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


def walk(
    world: World, *, obey: bool = True, agent: str = "onceover", port: int | None = None, within: str = ""
) -> Walked:
    """Crawl from the seed, or from the root of the host `within` and nowhere else."""
    walked = Walked({}, set(), {}, {})
    todo = deque([f"http://{within}/"] if within else world.seeds(port=port))
    met = set(todo)
    rules: dict[str, Protego | None] = {}
    while todo:
        url = todo.popleft()
        parts = urlsplit(url)
        if obey:
            if parts.netloc not in rules:
                rules[parts.netloc] = _rules(world, parts.netloc)
            rule = rules[parts.netloc]
            if rule is None or not rule.can_fetch(url, agent):
                walked.excluded.add(url)
                continue
        for found in _settle(world, url, walked):
            if found not in met and within in found:
                met.add(found)
                todo.append(found)
    return walked


def links(body: bytes, charset: str, base: str) -> list[str]:
    parser = _Links()
    parser.feed(body.decode(charset))
    parser.close()
    return [canonical(urljoin(base, href.strip())) for href in parser.hrefs if not href.startswith(("mailto", "javas"))]


def canonical(url: str) -> str:
    parts = urlsplit(_SESSION.sub("", url))
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path}{query}"


def charset_of(reply: Reply) -> str:
    declared = dict(reply.headers).get("Content-Type", "")
    return declared.partition("charset=")[2] or "latin-1"


def _settle(world: World, url: str, walked: Walked) -> list[str]:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    attempt = 1
    reply = world.respond(parts.netloc, target)
    while attempt < _MAX_ATTEMPTS and (reply.cut_at is not None or reply.status >= 500 or reply.status == 429):
        walked.failures[url] = attempt
        attempt += 1
        reply = world.respond(parts.netloc, target, attempt=attempt)
    if reply.cut_at is not None:
        walked.statuses[url] = None
        return []
    walked.statuses[url] = reply.status
    location = dict(reply.headers).get("Location")
    if location is not None:
        walked.targets[url] = canonical(urljoin(url, location))
        return [walked.targets[url]]
    return links(reply.body, charset_of(reply), url)


def _rules(world: World, authority: str) -> Protego | None:
    reply = world.respond(authority, "/robots.txt")
    for _ in range(5):
        location = dict(reply.headers).get("Location")
        if location is None:
            break
        reply = world.respond(authority, location)
    if reply.status >= 500:
        return None
    return Protego.parse(reply.body.decode() if reply.status == 200 else "")
