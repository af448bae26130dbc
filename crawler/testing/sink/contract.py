"""The suite as a whole."""

from crawler.testing.sink.crashes import CrashTests
from crawler.testing.sink.full_disks import FullDiskTests
from crawler.testing.sink.reading import ReadingTests
from crawler.testing.sink.writing import WritingTests


class SinkContract(WritingTests, ReadingTests, CrashTests, FullDiskTests):
    """What every sink promises, wherever it writes."""
