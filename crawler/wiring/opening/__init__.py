"""Opens what a crawl consists of, in this order. It is closed in reverse.

    kept       its frontier, with the state, and its visited set
    leasing    where its leases come from, if it shares the pace of hosts, or limits with other parts
    output     its sinks, and what watches the disk
    fetchers   what asks servers
    browsers   what renders pages, if any are rendered

    starting_over   deletes a crawl, also one whose place another one takes
    lost_output     notices that files of sinks were deleted

`crawler.wiring.crawl` opens them, one after the other, and puts an engine over them.
"""
