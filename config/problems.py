"""What is wrong with a configuration: all problems at once."""

from collections.abc import Iterable

import msgspec


def shortened(text: str, *, longest: int = 2_000, shown: int = 500) -> str:
    """A text for a message. One that is longer, because it quotes something long, ends early and tells its length."""
    return text if len(text) <= longest else f"{text[:shown]}… ({len(text):,} characters)"


class Problem(msgspec.Struct, frozen=True):
    """One thing that the user has to correct, or should know."""

    message: str
    """What was expected, what was found, and what to do."""
    where: str | None = None
    """`crawl.toml:12`, `environment ONCEOVER_…`, `--set` or another option; None if it has no single place."""
    key: str | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if (text := getattr(self, name)) is not None:
                msgspec.structs.force_setattr(self, name, shortened(text))

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
    """It can't be reached, or takes no writes at the moment. The configuration may be right."""
