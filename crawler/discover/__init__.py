"""Decides which links become URLs to crawl. Pure.

`discovery` resolves the links of a page, judges them, and gives each its canonical form, queue and precedence. `scope`
says what belongs to the crawl, `surt_prefixes` reads lists of places on the web, `traps` refuses URLs of endless sites,
`quota` limits the pages of a host. `focus` weighs links by guide words, `precedence` orders them. `link_cache`
remembers what an href means, because most links repeat. `calendars` finds dates in URLs. `refusal_counts` counts what
traps refused, for the owner. `sites` says where blocks of settings hold. `recanonicalize` names the URLs of a crawl by
new rules.
"""
