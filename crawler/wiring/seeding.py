"""Reads seeds: those of a configuration, and URLs that are added to a crawl."""

from collections.abc import Sequence

from config import Config, ConfigError, Loaded, Problem, has_contact, missing_contact, owned_by_others
from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.names import StaticNames
from crawler.protocols import Discovery
from crawler.url.seeds import read_seed
from crawler.url.urls import Target, UrlReader
from frontier import CrawlUrl, Frontier, Recovering


def seeds(loaded: Loaded, urls: UrlReader) -> list[Target]:
    """The seeds. Raises `ConfigError` with all that can't be crawled, and all files that can't be read."""
    targets, refused = _read_all(loaded.config, urls, [seed.url for seed in loaded.seeds], called="seed")
    problems = [*loaded.unread]
    problems += (Problem(why, where=loaded.seeds[at].origin, key="crawl.seeds") for at, why in refused.items())
    if problems:
        readable = (seed.url for at, seed in enumerate(loaded.seeds) if at not in refused)
        contact = missing_contact(loaded.config, loaded.origins, readable)
        raise ConfigError([*problems, *([] if contact is None else [contact])])
    return targets


def added_seeds(config: Config, urls: UrlReader, discovery: Discovery, texts: Sequence[str]) -> list[CrawlUrl]:
    """URLs to add to a crawl, as seeds. Raises `ValueError`, with all that can't be crawled."""
    targets, refused = _read_all(config, urls, texts, called="URL")
    problems = list(refused.values())
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


async def enqueue(frontier: Frontier, urls: Sequence[CrawlUrl], *, force: bool) -> int:
    """Enqueue URLs that somebody names, and return how many are new. With `force`, settled ones come again, and whole:
    whoever names a page may know that the crawl's copy is cut or wrong, though the server calls it current."""
    if force and isinstance(frontier, Recovering):
        return await frontier.add_anew(urls)
    return await frontier.add(urls, force=force)


def _read_all(
    config: Config, urls: UrlReader, texts: Sequence[str], *, called: str
) -> tuple[list[Target], dict[int, str]]:
    """URLs that a person wrote, and by their places why others can't be crawled: what the fetcher would refuse later is
    refused now. Links are checked when the crawl connects to their host."""
    static = StaticNames(config.fetch.hosts)
    guard = Guard(allow_private=config.fetch.allow_private, networks=config.fetch.allow_networks)
    targets: list[Target] = []
    refused: dict[int, str] = {}
    for place, text in enumerate(texts):
        try:
            target, _ = read_seed(urls, text, called=called)
            why = _refusal(target.host, static, guard)
        except ValueError as error:
            refused[place] = str(error)
            continue
        if why is None:
            targets.append(target)
        else:
            refused[place] = (
                f"{called} '{target.url}' can't be crawled: {target.host.strip('[]')} is not a public address ({why}); "
                "if you may crawl it, set fetch.allow_private = true, or list its network in fetch.allow_networks"
            )
    return targets, refused


def _refusal(host: str, static: StaticNames, guard: Guard) -> str | None:
    name = host.strip("[]")
    if guard.allows_all or static.find(name) is not None:
        return None
    is_address = host.startswith("[") or name.rpartition(".")[2].isdecimal()
    return guard.refusal(name) if is_address else guard.refusal_of_name(name)
