"""The links of a page: what each means, and whether the crawl follows it. Pure.

`cache` remembers the `judgement` of an href, because most links repeat. `filter` decides which links are followed from
a page, `followed` collects them. `bulk` has the loops over all links, in C (`_bulk`) if it is compiled. `external`
makes checks of those out of scope.
"""
