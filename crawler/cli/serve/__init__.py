"""The commands about the daemon: it itself, the tokens of its API, and the options that say where it listens."""
