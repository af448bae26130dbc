"""A configuration that was made from all sources."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from config.backends import Backends, OwnBackends
from config.loading.blocks import block_key, block_kinds, with_overrides
from config.loading.checks import DEFAULT
from config.loading.seeds import Seed
from config.problems import ConfigError, Problem
from config.schema import Config
from config.schema.crawl import Limits


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration, and where its values come from."""

    config: Config
    origins: dict[str, str]
    """Where the value of each key comes from: `default`, `crawl.toml:12`, `preset broad:7`, `environment ONCEOVER_…`,
    `--set` or another option. A key of a block is written `site[1].match`, and the block itself `site[1]`."""
    seeds: tuple[Seed, ...]
    """Those of `seeds`, then those of the seed files, in their order."""
    unread: tuple[Problem, ...] = ()
    """Seed files that can't be read, where no seeds are required."""
    backends: Backends = OwnBackends()
    """The backends that it may name."""
    lasting_limits: Limits | None = None
    """The limits that also apply to later runs, if these are others than those of `config`."""

    @property
    def lasting(self) -> Config:
        """The configuration for later runs. Limits from the command line or the environment only apply to this run."""
        if self.lasting_limits is None:
            return self.config
        return msgspec.structs.replace(self.config, limits=self.lasting_limits)

    def refuse(self, key: str, message: str) -> ConfigError:
        """An error about a value that only a later stage can check, such as a pattern or the name of a rule."""
        return ConfigError([self.problem(key, message)])

    @contextmanager
    def refusing(self, key: str, errors: tuple[type[Exception], ...] = (ValueError,)) -> Iterator[None]:
        """A context in which these errors become errors about that value."""
        try:
            yield
        except errors as error:
            raise self.refuse(key, str(error).removeprefix(f"{key}: ")) from error

    def problem(self, key: str, message: str) -> Problem:
        """A problem with a value, and where the value comes from."""
        origin = self.origins[key]
        return Problem(message, where=None if origin == DEFAULT else origin, key=key)

    def of_sites(self, numbers: Iterable[int]) -> "Loaded":
        """The configuration where these blocks `[[site]]` match; they are numbered from 0, and later ones override
        earlier ones. It has no blocks itself, and its origins name them."""
        origins = dict(self.origins)
        chosen = tuple(numbers)
        for number in chosen:
            for key in self.config.site[number].overrides:
                name = block_key(block_kinds()["site"], number + 1)
                origins[key] = f"{self.origins[f'{name}.{key}']}, {name}"
        config = with_overrides(self.config, [self.config.site[number] for number in chosen])
        return msgspec.structs.replace(
            self, config=msgspec.structs.replace(config, site=()), origins=origins, lasting_limits=None
        )
