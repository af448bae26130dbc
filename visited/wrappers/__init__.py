"""Sets around sets. Each keeps the promise of the set that it wraps.

`recent` is a small cache in front, because most links point to what was met a moment ago. `verified` confirms a
filter's "known" in the ledger, so that nothing is lost. `whitelist` lists URLs that a filter must never swallow.
`sharded` spreads URLs over several sets by their hash.
"""
