"""What a crawl in parts needs: how many parts, which settings it refuses, and what all parts must agree on."""

import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from config import Config, ConfigError, Loaded, Problem
from crawler import __version__
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from crawler.url.canonical_rules import DEFAULT_RULES, RULES
from crawler.url.descriptor import Descriptor as RuleDescriptor
from crawler.url.hosts import has_registered_domain, installed_suffixes, split_port, use_suffixes
from crawler.wiring.components.discovering import queue_prefixes
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import CANONICAL_RULE

CONFIGURATION: Final = "the configuration"
"""The name by which parts agree on it."""


def number_of_parts(config: Config) -> int:
    """How many parts a new crawl gets."""
    parts = config.crawl.parts
    return cores() if parts == "auto" else parts


def cores() -> int:
    """How many cores this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def check_parts(loaded: Loaded) -> None:
    """Refuse what can't be divided among parts. Raises `ConfigError`."""
    if loaded.config.crawl.parts == 1:
        return
    problems = [*_wide_prefixes(loaded), *_foreign_rules(loaded)]
    if problems:
        raise ConfigError(problems)


def _wide_prefixes(loaded: Loaded) -> list[Problem]:
    prefixes = queue_prefixes(loaded.config)
    wide = [key for key in ([] if prefixes is None else prefixes.site_keys) if not _is_in_a_domain(key)]
    return [
        loaded.problem(
            "frontier.queue_prefixes",
            f"expected places within a registered domain, as the crawl is in parts, found {_host(key)}; name its "
            "domains, or set crawl.parts = 1",
        )
        for key in wide
    ]


def _is_in_a_domain(queue_key: str) -> bool:
    host = _host(queue_key)
    return host.startswith("[") or host.rpartition(".")[2].isdigit() or has_registered_domain(host)


def _host(queue_key: str) -> str:
    host = split_port(queue_key)[0]
    return host if host.startswith("[") else ".".join(reversed(host.split(",")))


def _foreign_rules(loaded: Loaded) -> list[Problem]:
    urls = loaded.config.urls
    given = [("urls.rules", name) for name in (DEFAULT_RULES if urls.rules is None else urls.rules)]
    given += [("urls.rule", each.backend) for each in urls.rule]
    return [
        loaded.problem(
            key if key in loaded.origins else "urls.rules",
            f"expected rules that keep the domain of a URL, as the crawl is in parts, found {name!r}: two parts could "
            "take different URLs for one page. Leave it out, or set crawl.parts = 1",
        )
        for key, name in given
        if name not in RULES and not _keeps_domain(name)
    ]


def _keeps_domain(rule: str) -> bool:
    try:
        found: RuleDescriptor = descriptor(CANONICAL_RULE, rule)
    except KeyError:
        return False
    return found.keeps_domain


def begin_suffixes(directory: CrawlDirectory) -> None:
    """Keep the list of public suffixes of this program for the whole life of a crawl, because it says which part a
    domain belongs to."""
    replace_file(directory.suffixes, installed_suffixes())


def use_suffixes_of(directory: CrawlDirectory) -> None:
    """Divide domains in this process as the crawl does that has this directory."""
    if directory.suffixes.exists():
        use_suffixes(read_file(directory.suffixes))


def agreement(
    identity: Mapping[str, str], directory: CrawlDirectory, layout: Layout, configuration: str
) -> dict[str, str]:
    """What all parts of a crawl must agree on, by name. `identity` is that of their states, and `configuration` what
    they were given."""
    suffixes = read_file(directory.suffixes) if directory.suffixes.exists() else installed_suffixes()
    return {
        **identity,
        "the version of onceover": __version__,
        "the number of parts": str(len(layout.parts)),
        "the division of the crawl": layout.generation,
        "the list of public suffixes": _digest(suffixes),
        CONFIGURATION: _digest(configuration.encode()),
    }


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
