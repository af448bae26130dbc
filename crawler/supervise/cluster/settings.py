"""Changes the configuration of a crawl on many machines: in the register, and in all parts that run."""

from collections.abc import Callable, Sequence

from config import Loaded, render_run
from crawler.cluster.register import Register
from crawler.cluster.values import Forgotten, RegisterDamaged
from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Reconfigured, Refusal
from crawler.control.requests import Set
from crawler.operate.refused import Refused
from crawler.redis.client import FAILURES, reason_of
from crawler.status import name_parts
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.settings import SettingsOfParts, reconfigure


class ClusterSettings:
    """Works for the coordinator."""

    def __init__(
        self, coordinator: Coordinator, register: Register, version: int, on_adopted: Callable[[int, int], object]
    ) -> None:
        """`version` is that of the configuration with which this coordinator begins. Calls `on_adopted` with each new
        one and each part that has taken it over."""
        self._coordinator = coordinator
        self._stored = StoredConfiguration(register, version)
        self._on_adopted = on_adopted
        self._settings = SettingsOfParts(coordinator, store=self._store, on_adopted=self._tell)

    async def change(self, settings: Sequence[str], *, dry_run: bool) -> Reconfigured | Refusal:
        """Change all that an operator asks for in all parts, or nothing."""
        silent = [number for number, part in enumerate(self._coordinator.parts) if not part.is_open]
        if silent:
            return Refusal(
                f"nothing was changed: {name_parts(silent)} can't be reached, and all parts change together or not at "
                "all. `onceover cluster status` says where they are; try again when they run",
                FAILED,
            )
        return await reconfigure(self._coordinator, self._settings, Set(settings=list(settings), dry_run=dry_run))

    async def _store(self, recorded: Loaded) -> None:
        await self._stored.replace(render_run(recorded.lasting))

    def _tell(self, part: int) -> None:
        self._on_adopted(self._stored.version, part)


class StoredConfiguration:
    """Replaces the configuration in the register, also after an answer of Redis was lost."""

    def __init__(self, register: Register, version: int) -> None:
        """`version` is that of the configuration with which this coordinator begins."""
        self.version = version
        self._register = register
        self._unsure: set[str] = set()
        """What Redis may have stored, of which it has said nothing."""

    async def replace(self, text: str) -> None:
        """Store the next version. Raises `Refused`."""
        try:
            is_stored = await self._register.replace_configuration(text, self.version + 1)
            if not is_stored and self._unsure:
                known = (await self._register.read()).identity
                if known.configuration in self._unsure:
                    # Redis had stored what nobody knew of. This takes its place.
                    self.version = known.configuration_version
                    is_stored = await self._register.replace_configuration(text, self.version + 1)
        except (*FAILURES, Forgotten, RegisterDamaged) as error:
            self._unsure.add(text)
            raise Refused(
                f"it is not known whether Redis has stored the settings ({reason_of(error)}): repeat the command",
                FAILED,
            ) from error
        if not is_stored:
            raise Refused(
                "nothing was changed: Redis has newer settings than the machine that decides for the crawl works with. "
                "Repeat the command. If that does not help, that machine can't use them, and has said why: stop it "
                "(`onceover cluster status` says which one it is), so that another decides, or use `onceover cluster "
                "stop`, and then the same command",
                FAILED,
            )
        self.version += 1
        self._unsure.clear()
