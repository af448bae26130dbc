"""Visited sets that wrap other visited sets. Each keeps the promise of the set that it wraps.

`recent` is a small cache, because most links point to URLs that the crawl has just seen. `verified` looks up in the
ledger what a filter calls known, so that no URL is lost. `whitelist` stores the URLs of a list exactly, so that a
filter never loses them. `forgetting` lets a filter forget. `sharded` distributes URLs over several sets by their hash.
`simple` makes a set of a filter that takes one URL at a time, as most libraries have it.
"""
