"""Changes the configuration of a crawl on many machines: in the register, and in all parts that run."""

from collections.abc import Callable, Sequence

from config import Loaded, render_toml
from crawler.cluster.register import Register
from crawler.control.replies import Reconfigured, Refusal
from crawler.control.requests import Set
from crawler.exit_codes import FAILED
from crawler.supervise.cluster.stored_configuration import StoredConfiguration
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.settings import SettingsOfParts, reconfigure


class ClusterSettings:
    """Works for the coordinator."""

    def __init__(
        self, coordinator: Coordinator, register: Register, version: int, on_adopted: Callable[[int, list[int]], object]
    ) -> None:
        """`version` is that of the configuration with which this coordinator begins. Calls `on_adopted` with each new
        one, and the parts that have taken it over."""
        self._coordinator = coordinator
        self._stored = StoredConfiguration(register, version)
        self._on_adopted = on_adopted
        self._settings = SettingsOfParts(coordinator, store=self._store, on_adopted=self._tell)

    async def change(self, settings: Sequence[str], *, dry_run: bool) -> Reconfigured | Refusal:
        """Change all that an operator asks for in all parts, or nothing."""
        silent = [number for number, part in enumerate(self._coordinator.parts) if not part.is_open]
        if silent:
            names = ", ".join(map(str, silent))
            return Refusal(
                f"nothing was changed: parts {names} can't be reached, and all parts change together or not at all. "
                "`onceover cluster status` says where they are; try again when they run",
                FAILED,
            )
        return await reconfigure(self._coordinator, self._settings, Set(settings=list(settings), dry_run=dry_run))

    async def _store(self, recorded: Loaded) -> None:
        await self._stored.replace(render_toml(recorded.lasting))

    def _tell(self, parts: Sequence[int]) -> None:
        self._on_adopted(self._stored.version, list(parts))
