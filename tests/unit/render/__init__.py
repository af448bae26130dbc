"""Tests of what renders pages; those with a browser need Debian's chromium."""
