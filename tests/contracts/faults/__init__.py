"""Implementations with one fault each, for `test_suites`. Each says in `FAILS` which tests of its suite must fail."""
