"""Opens what a crawl consists of, in the order in which it is closed again.

    kept       its frontier, with the state, and its visited set
    fetchers   what asks servers
    browsers   what renders pages, if any are rendered

    starting_over   deletes a crawl, also one whose place another one takes
    lost_output     notices that files of sinks were deleted

`crawler.wiring.crawl` puts an engine over these.
"""
