"""Time in tests; see `crawler.testing.loops`."""

from crawler.testing.loops import VirtualTimeLoop, in_virtual_time

__all__ = ["VirtualTimeLoop", "in_virtual_time"]
