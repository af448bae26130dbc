"""The fixtures of these tests."""

from tests.unit.plugins.installing import site

__all__ = ["site"]
