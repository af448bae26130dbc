"""Makes the components of a crawl from its configuration, each from plain values.

    discovering      which URLs are crawled: scope, traps, order and quotas
    fetching         connections, routes, robots.txt and politeness
    signing          what signs requests
    rendering        which pages are rendered in browsers
    processing       the extractor and the sinks
    content          what reads texts and documents, and what of them is kept
    repeating        what finds pages that repeat others
    disk_space       what keeps the crawl within its disk space
    exchanging       what carries links between parts
    part_limits      what the parts of a crawl do together to keep its limits
    visited_servers  what reaches the servers of visited sets

The modules do not know each other. `crawler.wiring.crawl` puts their components together; commands that need
one component alone, as `config check` or `add`, make that one.
"""
