"""The commands about the daemon: `daemon` runs it, `crawls` starts and lists its crawls, `token` is about its API."""
