"""Opens what a crawl consists of, in the order in which it is closed again.

    kept       its frontier, with the state, and its visited set
    fetchers   what asks servers

`crawler.wiring.crawl` puts an engine over both.
"""
