"""What elements and attributes mean, whichever parser found them.

`element_readers` turns elements into links and metadata, `attributes` reads srcset, refresh and robots, `speculative`
finds what may be URLs in scripts. `hostile` recognises pages that would hold a parser for minutes, by the counts of
`markup` (in C: `_markup`); `flatten` makes them harmless. `xhtml` rewrites XHTML for HTML parsers.
"""
