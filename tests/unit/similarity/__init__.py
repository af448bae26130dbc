"""Tests of what finds pages that are almost the same."""
