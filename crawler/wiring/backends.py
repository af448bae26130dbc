"""The backends that a configuration names."""

from config import Config, ConfigError, Problem
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import FRONTIER
from frontier.descriptor import Descriptor


def frontier_backend(config: Config) -> Descriptor:
    """The backend of the frontier."""
    found: Descriptor = descriptor(FRONTIER, config.frontier.backend)
    return found


def lacks(config: Config, what: str) -> ConfigError:
    """The error for what the backend of the frontier can't do: it completes "… can't …"."""
    return ConfigError([Problem(f"{config.frontier.backend} can't {what}", key="frontier.backend")])
