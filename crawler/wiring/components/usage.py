"""Says what is kept, by what sites say about its use."""

from collections.abc import Callable

from config import Config
from crawler.fetch.robots.rules import product_token
from crawler.page import PageRecord
from crawler.preferences.judging import Preferences


def preferences(config: Config) -> Preferences:
    return Preferences(
        config.crawl.purpose,
        are_respected=config.crawl.respect_preferences,
        robots_names={"robots", product_token(config.fetch.user_agent)},
    )


def keeps_loads_of(config: Config) -> Callable[[PageRecord], bool] | None:
    """Says of a rendered page whether what it loaded, and its screenshots, are archived with it. None if no page has
    any."""
    if not (config.render.patterns and (config.render.archive or config.render.screenshot)):
        return None
    judge = preferences(config)
    return lambda record: not judge.usage(record.preferences or ()).refuses_embeds
