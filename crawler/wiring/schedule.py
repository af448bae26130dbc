"""Reads the schedule of a crawl."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from config import Loaded
from crawler.politeness.hours import read_zone
from crawler.wiring.storage import chosen_set, is_on_server

_FIELDS: Final = 5
_NEVER_S: Final = timedelta(days=36_525).total_seconds()


def next_tick(loaded: Loaded) -> Callable[[float], float] | None:
    """A function that returns when the schedule is next due after a moment, both in seconds since 1970. None if there
    is no schedule. Raises `ConfigError`, also for a schedule whose second run would find nothing to do."""
    schedule = loaded.config.daemon.schedule
    with loaded.refusing("daemon.time_zone"):
        zone = read_zone(loaded.config.daemon.time_zone)
    if schedule is None:
        return None
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - most crawls have no schedule

    try:
        if len(schedule.split()) != _FIELDS:
            raise CronSimError("Wrong number of fields")
        ticks = CronSim(schedule, datetime(2000, 1, 1, tzinfo=zone))
        if next(ticks, None) is None:
            raise CronSimError("It is never due")
    except CronSimError as error:
        raise loaded.refuse(
            "daemon.schedule",
            "expected minute, hour, day of the month, month and day of the week, as in "
            f'"0 3 * * 1" for each Monday at three, found {schedule!r}: {str(error).lower()}',
        ) from None
    _check_set(loaded)

    def tick_after(moment: float) -> float:
        found = (each.astimezone(UTC).timestamp() for each in CronSim(schedule, datetime.fromtimestamp(moment, zone)))
        # In the hour that comes twice when daylight saving ends, the library may begin with the earlier one.
        return next((each for each in found if each > moment), moment + _NEVER_S)

    return tick_after


def _check_set(loaded: Loaded) -> None:
    """Refuse a visited set that remembers the seeds of earlier runs, if those of later ones are the same."""
    config = loaded.config
    share = config.visited.options.get("share")
    if share is not None and not config.crawl.seed_files and is_on_server(chosen_set(config)):
        raise loaded.refuse(
            "visited.options.share",
            f"expected none with daemon.schedule, found {share!r}: after the first run the set knows all seeds, so the "
            "next ones would fetch nothing. Without it, each run has a set of its own. If each run is to fetch only "
            "new URLs, name files with their seeds (crawl.seed_files)",
        )
