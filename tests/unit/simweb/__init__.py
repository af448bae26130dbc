"""The simulated web."""
