"""The suite as a whole."""

from crawler.testing.visited.answers import AnswerTests, DescriptionTests
from crawler.testing.visited.crashes import CrashTests
from crawler.testing.visited.full_disks import FullDiskTests
from crawler.testing.visited.random_calls import RandomCallTests
from crawler.testing.visited.snapshots import SnapshotTests


class VisitedSetContract(AnswerTests, SnapshotTests, RandomCallTests, DescriptionTests, CrashTests, FullDiskTests):
    """What every visited set promises, however it remembers URLs."""
