"""What the running parts of a crawl share: a limit of pages, addresses that several of them ask, and the configuration.

The decisions are in `crawler.parts.allowances` and `crawler.parts.reservations`. These modules carry them out, as the
two sides of services of the line between a part and its supervisor (`crawler.parts.line`).

    page_allowance       a part's side of the limit of pages, and the frontier that keeps to it
    page_bank            the supervisor's side
    address_holder       a part's side of the addresses
    address_authority    the supervisor's side
    configuration_taker  a part's side of a change of the configuration
    configuration_giver  the supervisor's side
"""
