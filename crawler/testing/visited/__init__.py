"""What every visited set promises, as a suite of tests."""
