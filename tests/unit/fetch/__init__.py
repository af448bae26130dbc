"""Tests of the fetcher and what stands on its way."""
