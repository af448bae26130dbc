"""The configuration of a crawl in the register, for the coordinator, which alone replaces it."""

from crawler.cluster.register import Register
from crawler.cluster.values import Forgotten, RegisterDamaged
from crawler.redis.client import FAILURES, reason_of


class StoredConfiguration:
    """Replaces the configuration, also after an answer of Redis was lost."""

    def __init__(self, register: Register, version: int) -> None:
        """`version` is that of the configuration with which this coordinator begins."""
        self.version = version
        self._register = register
        self._is_unsure = False
        """Whether Redis may have stored a change of which it has said nothing."""

    async def replace(self, text: str) -> None:
        """Store the next version. Raises `OSError`."""
        try:
            is_stored = await self._register.replace_configuration(text, self.version + 1)
            if not is_stored and self._is_unsure:
                # Redis had stored what nobody knew of. This takes its place.
                self.version = (await self._register.read()).identity.configuration_version
                is_stored = await self._register.replace_configuration(text, self.version + 1)
        except (*FAILURES, Forgotten, RegisterDamaged) as error:
            self._is_unsure = True
            raise OSError(
                f"it is not known whether Redis has stored the configuration ({reason_of(error)}): repeat the command"
            ) from error
        if not is_stored:
            raise OSError("Redis has a newer configuration, of another machine that decides for the crawl")
        self.version += 1
        self._is_unsure = False
