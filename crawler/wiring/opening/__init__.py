"""Opens what a crawl consists of, in the order in which it is closed again.

    kept       its frontier, with the state, and its visited set
    fetchers   what asks servers
    browsers   what renders pages, if any are rendered

`crawler.wiring.crawl` puts an engine over these.
"""
