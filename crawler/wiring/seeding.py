"""Reads seeds: those of a configuration, and URLs that are added to a crawl."""

from collections.abc import Sequence

from config import Config, ConfigError, Loaded, Problem, has_contact, owned_by_others
from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.names import StaticNames
from crawler.protocols import Discovery
from crawler.url.seeds import read_seed
from crawler.url.urls import Target, UrlReader
from frontier import CrawlUrl


def seeds(loaded: Loaded, urls: UrlReader) -> list[Target]:
    """The seeds. Raises `ConfigError` with all that can't be crawled, and all files that can't be read."""
    reader = _SeedReader(loaded.config, urls, called="seed")
    targets = []
    problems = [*loaded.unread]
    for seed in loaded.seeds:
        try:
            targets.append(reader.read(seed.url))
        except ValueError as error:
            problems.append(Problem(str(error), where=seed.origin, key="crawl.seeds"))
    if problems:
        raise ConfigError(problems)
    return targets


def added_seeds(config: Config, urls: UrlReader, discovery: Discovery, texts: Sequence[str]) -> list[CrawlUrl]:
    """URLs to add to a crawl, as seeds. Raises `ValueError`, with all that can't be crawled."""
    reader = _SeedReader(config, urls, called="URL")
    targets = []
    problems = []
    for text in texts:
        try:
            targets.append(reader.read(text))
        except ValueError as error:
            problems.append(str(error))
    if not has_contact(config.fetch.user_agent):
        foreign = owned_by_others((target.url for target in targets), hosts=config.fetch.hosts)
        if foreign is not None:
            problems.append(
                f"{foreign} may belong to others: expected a URL or an e-mail address in fetch.user_agent at which "
                "they can reach you"
            )
    if problems:
        raise ValueError("\n".join(problems))
    return discovery.seeds(texts)


class _SeedReader:
    """Reads URLs that a person wrote, and refuses now what the fetcher would refuse later. Links are checked when the
    crawl connects to their host."""

    def __init__(self, config: Config, urls: UrlReader, *, called: str) -> None:
        self._urls = urls
        self._called = called
        self._static = StaticNames(config.fetch.hosts)
        self._guard = Guard(allow_private=config.fetch.allow_private, networks=config.fetch.allow_networks)

    def read(self, text: str) -> Target:
        """Raises `ValueError`, with what to do."""
        target, _ = read_seed(self._urls, text, called=self._called)
        host = target.host.strip("[]")
        if self._guard.allows_all or self._static.find(host) is not None:
            return target
        if target.host.startswith("[") or host.rpartition(".")[2].isdecimal():
            why = self._guard.refusal(host)
        else:
            why = self._guard.refusal_of_name(host)
        if why is not None:
            raise ValueError(
                f"{self._called} '{target.url}' can't be crawled: {host} is not a public address ({why}); "
                "if you may crawl it, set fetch.allow_private = true, or list its network in fetch.allow_networks"
            )
        return target
