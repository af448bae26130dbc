"""Reads the schedule of a crawl."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config import Loaded

_FIELDS: Final = 5
_NEVER_S: Final = timedelta(days=36_525).total_seconds()


def next_tick(loaded: Loaded) -> Callable[[float], float] | None:
    """A function that returns when the schedule is next due after a moment, both in seconds since 1970. None if there
    is no schedule. Raises `ConfigError`."""
    schedule, zone = loaded.config.daemon.schedule, _zone(loaded)
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

    def tick_after(moment: float) -> float:
        found = (each.astimezone(UTC).timestamp() for each in CronSim(schedule, datetime.fromtimestamp(moment, zone)))
        # In the hour that comes twice when daylight saving ends, the library may begin with the earlier one.
        return next((each for each in found if each > moment), moment + _NEVER_S)

    return tick_after


def _zone(loaded: Loaded) -> ZoneInfo:
    name = loaded.config.daemon.time_zone
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise loaded.refuse(
            "daemon.time_zone",
            f"this machine knows no time zone {name!r}: check its name, or bring them all with `pip install tzdata`",
        ) from None
