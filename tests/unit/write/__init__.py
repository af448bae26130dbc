"""What the sinks write, read back by other people's programs."""
