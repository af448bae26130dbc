"""The three HTML extractors.

`lexbor`, `lxml` and `bs4` only parse and walk: each hands the elements of interest, in document order, to
`elements.element_readers`, which knows what they mean. So the three agree wherever their trees do. `scan` reads most
pages for lexbor without building a tree, in C (`_scan`); where the standard would move or ignore what it reads, it
gives up and lexbor parses. `html_fixups` rewrites markup so that Python's parser reads it as the standard says.
"""
