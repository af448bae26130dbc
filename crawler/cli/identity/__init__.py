"""onceover identity: makes and renews the keys with which a crawl signs its requests."""
