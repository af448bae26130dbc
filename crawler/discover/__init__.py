"""Decides which links become URLs to crawl. Pure.

`discovery` turns the links of a page into URLs to crawl, each with its canonical form, queue and precedence. `links`
decides which links are followed, and checks those out of scope. `marks` are the other names of a page. `scope` says
what belongs to the crawl, `surt_prefixes` reads lists of places on the web, `traps` refuses URLs of endless sites,
`calendars` finds dates in URLs, `quota` limits the pages of a host. `focus` weighs links by guide words, `precedence`
orders them. `refusal_counts` counts what traps refused, for the owner. `sites` finds the blocks of settings that apply
to a URL. `recanonicalize` applies new canonical rules to a crawl.
"""
