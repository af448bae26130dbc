"""The commands about the daemon: it itself, its crawls, and the tokens of its API."""
