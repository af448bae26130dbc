"""Counts all visits of a crawl. Each URL counts by its last visit, types and refused links by the last one that was not
answered by 304; what was received, and when, counts for each."""

from collections.abc import Collection, Iterable
from pathlib import Path

from crawler.operate.report.counting import ActivityCount, Checks, Hosts, Totals
from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.last_visits import LastVisits
from crawler.operate.report.lists.temporary import temporary_database
from crawler.operate.report.visits import Visit, may_have_repeats, recorded_visits
from crawler.page import LinkKind
from crawler.write.records import extents_now


class Counted:
    def __init__(self) -> None:
        self.totals, self.hosts, self.checks, self.activity = Totals(), Hosts(), Checks(), ActivityCount()
        self.told = 0
        """URLs of which a visit tells what they hold."""
        self.has_repeats = False
        """Whether URLs may have been fetched again."""

    def add(self, visits: Iterable[Visit]) -> None:
        """Visits of different URLs."""
        for visit in visits:
            self._add(visit, is_last=True, is_current=True)

    def add_records(self, directories: Collection[Path], canonical: Canonical, *, has_forgotten: bool = False) -> None:
        """The visits that records tell of. If URLs were fetched again, the records are read once more for that; so
        they are if the crawl `has_forgotten` URLs, which may have been fetched anew."""
        extents = extents_now(*directories)
        self.has_repeats = has_forgotten or may_have_repeats(extents)
        if not self.has_repeats:
            self.add(recorded_visits(extents))
            return
        with temporary_database() as database:
            last_visits = LastVisits(database, canonical, recorded_visits(extents), has_forgotten=has_forgotten)
            for visit in recorded_visits(extents):
                is_last, is_current = last_visits.judge(visit)
                self._add(visit, is_last=is_last, is_current=is_current)

    def _add(self, visit: Visit, *, is_last: bool, is_current: bool) -> None:
        self.told += is_current
        if visit.kind == LinkKind.EXTERNAL:
            if is_last:
                self.checks.add(visit)
            return
        self.totals.add(visit, is_last=is_last, is_current=is_current)
        self.hosts.add(visit, is_last=is_last)
        self.activity.add(visit)
