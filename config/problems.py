"""What is wrong with a configuration: all problems at once."""

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One thing that the user has to correct, or should know."""

    message: str
    """What was expected, what was found, and what to do."""
    where: str | None = None
    """`crawl.toml:12`, `environment ONCEOVER_…`, `--set` or another option; None if it has no single place."""
    key: str | None = None

    def __str__(self) -> str:
        return ": ".join(text for text in (self.where, self.key, self.message) if text)


class ConfigError(Exception):
    """The configuration can't be used. Its text has a line for each problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        if len(lines) > 1:
            lines = [f"{len(lines)} problems in the configuration", *(f"  {line}" for line in lines)]
        super().__init__("\n".join(lines))

    def without(self, place: str) -> "ConfigError":
        """The same problems, but none has that place, which means nothing to the user."""
        return ConfigError(
            msgspec.structs.replace(each, where=None) if each.where == place else each for each in self.problems
        )


class ServerUnusable(ConfigError):
    """A server that the configuration names can't be used now. This may pass."""


class ServerAway(ServerUnusable):
    """It can't be reached. The configuration may be right."""
